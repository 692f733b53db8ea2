"""A brain.yml: read into plain values, with the line of every field, and everything refused that YAML makes doubtful.

Its mistakes are told as ``Origin.refusal`` tells those of the fields.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn

import yaml

from phronesis.config.mistakes import FieldPath, Mistake, Origin, shown
from phronesis.errors import InputError

MAX_BYTES: Final = 1 << 20
"""A policy has a few kilobytes; a file a thousand times as large is another one."""

MAX_DEPTH: Final = 16
"""Mappings in mappings. The policy has three; the parser calls itself for each, and must not run out of stack."""

_TAG: Final = "tag:yaml.org,2002:"
_TEXTS: Final = frozenset({f"{_TAG}str", f"{_TAG}timestamp", f"{_TAG}value"})
"""What stands for itself. A date is one: a model may be named by it, and no field is one."""
_DECIMAL: Final = re.compile(r"[-+]?(0|[1-9][0-9_]{0,17})?(\.[0-9]{1,17})?([eE][-+]?[0-9]{1,3})?")
"""Numbers that mean to YAML what they mean to a reader; 010 is eight, and 1:30 ninety, to YAML alone."""


@dataclass(slots=True)
class _Reading:
    """What has been read so far."""

    lines: dict[FieldPath, int] = field(default_factory=dict)
    mistakes: list[Mistake] = field(default_factory=list)


class _Loader(yaml.SafeLoader):
    """Composes nodes, never objects; stops at what may not stand in the file before it is worked on."""

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
    """What YAML allows and a policy does not hold."""

    def __init__(self, mistake: Mistake) -> None:
        super().__init__(mistake.what)
        self.mistake = mistake


def read_brain_file(path: Path) -> tuple[Mapping[str, Any], Origin]:
    """Give the plain values of a file and the lines of its fields.

    InputError names the file and the line: it cannot be read, is not YAML, or holds what could be misread (a repeated
    field, a key that is not a text, an alias, a tag).
    """
    text = _text(path)
    root, mistake = _composed(text)
    reading = _Reading()
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


def _composed(text: str) -> tuple[yaml.Node | None, Mistake | None]:
    # YAML's own messages show the text around a fault; only what they say of it is told.
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
        mark = error.context_mark or mark  # where it began: the end of the file says nothing
        what = "is not YAML: what begins here has no end; look for a quote or bracket that is not closed"
    elif "\\t" in problem:
        what = "a tab stands where blanks must; indent with blanks"
    elif "but found another document" in problem:
        what = "a second document begins; a policy is one: take away '---'"
    else:
        during = f" {error.context}," if error.context else ""
        what = f"is not YAML:{during} {problem}; look at the blanks and colons here and above"
    return Mistake((), what, line=None if mark is None else mark.line + 1)


def _value(node: yaml.Node, path: FieldPath, reading: _Reading) -> Any:
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, path, reading)
    if isinstance(node, yaml.SequenceNode):
        return [_value(part, path, reading) for part in node.value]
    return _scalar(node, path, reading)


def _mapping(node: yaml.MappingNode, path: FieldPath, reading: _Reading) -> dict[str, Any]:
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
    return f"YAML takes the name {shown(key.value)} for {_kind(key)}; put it in quotes"


def _scalar(node: yaml.Node, path: FieldPath, reading: _Reading) -> Any:
    if _is_null(node):
        return None
    if node.tag == f"{_TAG}bool":
        return node.value.lower() in {"yes", "true", "on"}
    if node.tag not in {f"{_TAG}int", f"{_TAG}float"}:
        return str(node.value)
    if not _DECIMAL.fullmatch(node.value):
        what = f"is no plain number: {shown(node.value)}; write decimal digits, or put a text in quotes"
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
    """Give where a part begins, in the numbers of editors."""
    return 1 if part.start_mark is None else part.start_mark.line + 1
