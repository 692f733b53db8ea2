"""Reading a brain.yml: parsing with line numbers, rejection of ambiguous YAML, and validation of the fields.

Errors have the form of ``Origin.refusal``.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn

import pydantic
import yaml

from phronesis.config.model_roles import BY_MODEL
from phronesis.config.policy import Policy
from phronesis.config.policy_sections import FieldPath, Mistake, Origin, describe_value
from phronesis.errors import InputError

# Validating plain values against the policy; errors name the expected value and the closest field name.

_KEY_FIELDS: Final = frozenset({"api_key", "apikey", "key", "token", "api_token", "secret", "password"})
"""Fields that are often given instead of ``api_key_env``."""
_MISSING: Final = {
    "kind": "give ollama, or openai for any server that speaks as OpenAI's does",
    "gateway": "name one of the gateways",
    "model": "give the model's name at that server",
    "input": "give the money for a million tokens of prompts",
}
"""Remedies for missing fields: all that have no default."""

_SAID: Final[dict[str, Callable[[Mapping[str, Any], Any], str]]] = {
    "bool_type": lambda _, given: f"must be true or false, not {_value_kind(given)}",
    "int_type": lambda _, given: f"must be a whole number, not {_value_kind(given)}",
    "int_from_float": lambda _, given: f"must be a whole number, not {_value_kind(given)}",
    "float_type": lambda _, given: f"must be a number, not {_value_kind(given)}",
    "finite_number": lambda _, __: "must be a finite number",
    "greater_than": lambda bounds, given: f"must be more than {bounds['gt']:g}, not {describe_value(given)}",
    "greater_than_equal": lambda bounds, given: f"must be at least {bounds['ge']:g}, not {describe_value(given)}",
    "less_than": lambda bounds, given: f"must be less than {bounds['lt']:g}, not {describe_value(given)}",
    "less_than_equal": lambda bounds, given: f"must be at most {bounds['le']:g}, not {describe_value(given)}",
    "string_type": lambda _, given: f"must be a text, not {_value_kind(given)}{_in_quotes(given)}",
    "string_too_short": lambda _, __: "must not be empty",
    "string_too_long": lambda bounds, __: f"must have at most {bounds['max_length']} characters",
    "literal_error": lambda bounds, given: (
        f"must be {bounds['expected'].replace(chr(39), '')}, not {describe_value(given)}"
    ),
    "model_type": lambda _, given: f"must be a mapping of fields, not {_value_kind(given)}",
    "dict_type": lambda _, given: f"must be a mapping of fields, not {_value_kind(given)}",
    "value_error": lambda bounds, _: str(bounds["error"]),
}
"""Messages for pydantic's error types. They repeat numbers and short words only, never free text."""


def make_policy(values: Mapping[str, Any], origin: Origin, form: type[Policy]) -> Policy:
    """Return the policy of plain values in a form; InputError lists all errors."""
    policy, mistakes = _validate(values, form)
    # Raised outside of any `except`: pydantic's error holds the values, and one of them may be a key.
    if policy is None:
        raise origin.refusal(mistakes)
    return policy


def _validate(values: Mapping[str, Any], form: type[Policy]) -> tuple[Policy | None, list[Mistake]]:
    try:
        return form.model_validate(values), []
    except pydantic.ValidationError as error:
        faults = error.errors(include_url=False)
    fields = _FieldNames(form.model_json_schema())
    meant = _intended_fields(faults, fields)
    found = {m.path: m for fault in faults if (m := _mistake(fault, fields)) is not None and m.path not in meant}
    return None, list(found.values())


def _mistake(fault: Any, fields: "_FieldNames") -> Mistake | None:
    """Return one error as a message; None if it only follows from another."""
    path, kind, given = _path(fault["loc"]), fault["type"], fault["input"]
    if kind == "default_factory_not_called":
        return None
    if kind == "extra_forbidden":
        return Mistake(path, _unknown_field(path[-1], fields.of(path[:-1])), inside=True)
    if kind == "missing":
        return Mistake(path, f"is missing; {_MISSING.get(path[-1], 'give it')}")
    if given is None and kind != "value_error":
        return Mistake(path, "is empty; give it a value, or take the line away")
    say = _SAID.get(kind)
    what = f"is wrong: {fault['msg']}" if say is None else say(fault.get("ctx", {}), given)
    if kind == "model_type" and len(path) == len(("roles", "extract")) and path[0] == "roles":
        what += "; or the word rules"
    return Mistake(path, what)


def _intended_fields(faults: Iterable[Any], fields: "_FieldNames") -> set[FieldPath]:
    """Return the fields that misspelled ones were meant to be; that these are missing is no second error."""
    paths = [_path(fault["loc"]) for fault in faults if fault["type"] == "extra_forbidden"]
    return {(*path[:-1], near) for path in paths if (near := _closest(path[-1], fields.of(path[:-1])))}


def _path(place: Sequence[int | str]) -> FieldPath:
    """Return a field's path without pydantic's additions: the form of a role, and the marker of a mapping key."""
    return tuple(str(part) for part in place if part not in {BY_MODEL, "[key]"})


@dataclass(frozen=True, slots=True)
class _FieldNames:
    """The names of the fields of each section, from the JSON schema of a policy."""

    schema: Mapping[str, Any]

    def of(self, path: FieldPath) -> list[str]:
        """Return the fields that the section at ``path`` may have."""
        found = [self.schema]
        for name in path:
            found = [kind for one in found for kind in self._kinds(_member(one, name))]
        return [name for one in found for name in one.get("properties") or one.get("propertyNames", {}).get("enum", ())]

    def _kinds(self, schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """Yield the sections and mappings that a schema allows."""
        if "$ref" in schema:
            yield from self._kinds(self.schema["$defs"][schema["$ref"].rpartition("/")[2]])
        elif "anyOf" in schema or "oneOf" in schema:
            for one in schema.get("anyOf") or schema["oneOf"]:
                yield from self._kinds(one)
        else:
            yield schema


def _member(section: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return the schema of a field of a section, or of the values of a mapping."""
    others = (section.get("additionalProperties"), *section.get("patternProperties", {}).values())
    found = (section.get("properties", {}).get(name), *others)
    return next((one for one in found if isinstance(one, Mapping)), {})


def _unknown_field(name: str, known: Iterable[str]) -> str:
    names = list(known)
    if name.lower() in _KEY_FIELDS and "api_key_env" in names:
        remedy = "no key stands here: name the variable that holds it in 'api_key_env'"
        return f"unknown field {describe_value(name)}; {remedy}"
    near = _closest(name, names)
    return f"unknown field {describe_value(name)}; " + (
        f"did you mean {near!r}?" if near else f"there are {', '.join(names)}"
    )


def _closest(name: str, known: Iterable[str]) -> str | None:
    return next(iter(difflib.get_close_matches(name.lower(), list(known), n=1)), None)


def _value_kind(given: object) -> str:
    return "a text" if isinstance(given, str) else describe_value(given)


def _in_quotes(given: object) -> str:
    return "; put it in quotes" if isinstance(given, bool | int | float) else ""


MAX_BYTES: Final = 1 << 20
"""Maximum bytes of a policy file, which normally has a few kilobytes."""
MAX_DEPTH: Final = 16
"""Maximum depth of mappings. The policy has three; the parser recurses for each and must not overflow the stack."""
_TAG: Final = "tag:yaml.org,2002:"
_TEXTS: Final = frozenset({f"{_TAG}str", f"{_TAG}timestamp", f"{_TAG}value"})
"""YAML tags that are read as text. A date is one: a model's name may look like a date, and no field is one."""
_DECIMAL: Final = re.compile(r"[-+]?(0|[1-9][0-9_]{0,17})?(\.[0-9]{1,17})?([eE][-+]?[0-9]{1,3})?")
"""Numbers with the same meaning in YAML and to a reader; 010 would be eight and 1:30 ninety."""


@dataclass(slots=True)
class _ParseState:
    """The state of parsing."""

    lines: dict[FieldPath, int] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)


class _Loader(yaml.SafeLoader):
    """A YAML loader that composes nodes, never objects, and stops at disallowed constructs before processing them."""

    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        event: yaml.Event = self.peek_event()  # type: ignore[no-untyped-call]
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            self._refuse("anchors (&) and aliases (*) are not taken; write the value where it is meant", event)
        if getattr(event, "tag", None) is not None:
            self._refuse("tags (!) are not taken; write the plain value", event)
        if self.depth >= MAX_DEPTH:
            self._refuse(f"is nested more than {MAX_DEPTH} deep", event)
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        return node

    def _refuse(self, what: str, event: yaml.Event) -> NoReturn:
        raise _RefusedError(Mistake((), what, line=_line(event)))


class _RefusedError(yaml.YAMLError):
    """A construct that YAML allows and a policy does not."""

    def __init__(self, mistake: Mistake) -> None:
        super().__init__(mistake.what)
        self.mistake = mistake


def read_brain_file(path: Path) -> tuple[Mapping[str, Any], Origin]:
    """Return the plain values of a file and the lines of its fields.

    InputError names the file and the line: it cannot be read, is not YAML, or is ambiguous (a repeated field, a key
    that is not a text, an alias, a tag).
    """
    text = _text(path)
    root, mistake = _compose_nodes(text)
    reading = _ParseState()
    if mistake is not None:
        raise Origin(str(path)).refusal([mistake])
    if not isinstance(root, yaml.MappingNode):
        what = "is empty" if root is None or _is_null(root) else f"holds {_kind(root)}"
        raise InputError(f"{path}: the file {what}; a policy is a mapping: begin with 'version: 1'", field="policy")
    values = _mapping(root, (), reading)
    origin = Origin(str(path), reading.lines)
    if reading.mistakes:
        raise origin.refusal(reading.mistakes)
    return values, origin


def _text(path: Path) -> str:
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file; give the path of a brain.yml", field="policy") from None
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        reason = error.strerror if isinstance(error, OSError) else "no file can have this name"
        raise InputError(f"{str(path)!r:.200} cannot be read: {reason}; give a file", field="policy") from error
    if len(data) > MAX_BYTES:
        raise InputError(f"{path}: larger than {MAX_BYTES >> 20} MB; give the path of a brain.yml", field="policy")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, reason = data.count(b"\n", 0, error.start) + 1, error.reason
    raise InputError(f"{path}, line {line}: not UTF-8 ({reason}); save the file as UTF-8", field="policy")


def _compose_nodes(text: str) -> tuple[yaml.Node | None, Mistake | None]:
    # YAML's own messages quote the text around an error; only their description is repeated.
    try:
        return yaml.compose(text, Loader=_Loader), None
    except _RefusedError as error:
        return None, error.mistake
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        return None, Mistake((), "holds a control character; take it out", line=line)
    except yaml.MarkedYAMLError as error:
        return None, _fault(error)


def _fault(error: yaml.MarkedYAMLError) -> Mistake:
    problem, mark = error.problem or "", error.problem_mark
    if "end of stream" in problem or "stream end" in problem:
        mark = error.context_mark or mark  # the start of the construct: the end of the file says nothing
        what = "is not YAML: what begins here has no end; look for a quote or bracket that is not closed"
    elif "\\t" in problem:
        what = "a tab stands where blanks must; indent with blanks"
    elif "but found another document" in problem:
        what = "a second document begins; a policy is one: take away '---'"
    else:
        during = f" {error.context}," if error.context else ""
        what = f"is not YAML:{during} {problem}; look at the blanks and colons here and above"
    return Mistake((), what, line=None if mark is None else mark.line + 1)


def _value(node: yaml.Node, path: FieldPath, reading: _ParseState) -> Any:
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, path, reading)
    if isinstance(node, yaml.SequenceNode):
        return [_value(part, path, reading) for part in node.value]
    return _scalar(node, path, reading)


def _mapping(node: yaml.MappingNode, path: FieldPath, reading: _ParseState) -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in node.value:
        line = _line(key)
        fault = _key_fault(key)
        if fault is not None:
            reading.mistakes.append(Mistake((*path, str(key.value)) if path else (), fault, inside=True, line=line))
            continue
        here = (*path, str(key.value))
        if key.value in values:
            what = f"is given twice, first in line {reading.lines[here]}; take one away"
            reading.mistakes.append(Mistake(here, what, line=line))
            continue
        reading.lines[here] = line
        values[key.value] = _value(value, here, reading)
    return values


def _key_fault(key: yaml.Node) -> str | None:
    if not isinstance(key, yaml.ScalarNode):
        return f"a field's name must be a text, not {_kind(key)}"
    if key.tag in _TEXTS:
        return None
    if key.tag == f"{_TAG}merge":
        return "merging (<<) is not taken; write the fields where they are meant"
    if _is_null(key):
        return "a field has no name; write one before the colon"
    return f"YAML takes the name {describe_value(key.value)} for {_kind(key)}; put it in quotes"


def _scalar(node: yaml.Node, path: FieldPath, reading: _ParseState) -> Any:
    if _is_null(node):
        return None
    if node.tag == f"{_TAG}bool":
        return node.value.lower() in {"yes", "true", "on"}
    if node.tag not in {f"{_TAG}int", f"{_TAG}float"}:
        return str(node.value)
    if not _DECIMAL.fullmatch(node.value):
        what = f"is no plain number: {describe_value(node.value)}; write decimal digits, or put a text in quotes"
        reading.mistakes.append(Mistake(path, what, line=_line(node)))
        return None
    plain = node.value.replace("_", "")
    return int(plain) if node.tag == f"{_TAG}int" else float(plain)


def _is_null(node: yaml.Node) -> bool:
    return bool(node.tag == f"{_TAG}null")


def _kind(node: yaml.Node) -> str:
    kinds = {"map": "a mapping", "seq": "a list", "bool": "true or false", "int": "a number", "float": "a number"}
    return kinds.get(str(node.tag).removeprefix(_TAG), "a text")


def _line(part: yaml.Node | yaml.Event) -> int:
    """Return the line of a node, counted from 1."""
    return 1 if part.start_mark is None else part.start_mark.line + 1
