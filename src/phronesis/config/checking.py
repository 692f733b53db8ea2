"""A policy of plain values, or all that is wrong with them: what must stand there, and which name was perhaps meant."""

import difflib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, get_args, get_origin

import pydantic

from phronesis.config.conversation import TYPE_NAMES
from phronesis.config.mistakes import FieldPath, Mistake, Origin, shown
from phronesis.config.policy import ROLES, Policy, unknown_gateway
from phronesis.config.privacy import PRIVATE_KINDS
from phronesis.config.roles import BY_MODEL
from phronesis.core.context import Budget
from phronesis.core.scoring.features import FEATURES

_KEY_FIELDS: Final = frozenset({"api_key", "apikey", "key", "token", "api_token", "secret", "password"})
"""Fields that people give where ``api_key_env`` is meant."""

_MISSING: Final = {
    "kind": "give ollama, or openai for any server that speaks as OpenAI's does",
    "gateway": "name one of the gateways",
    "model": "give the model's name at that server",
    "input": "give the money for a million tokens of prompts",
}
"""What to do about a field that is not there: all that have no default."""

_SAID: Final[dict[str, Callable[[Mapping[str, Any], Any], str]]] = {
    "bool_type": lambda _, given: f"must be true or false, not {_kind(given)}",
    "int_type": lambda _, given: f"must be a whole number, not {_kind(given)}",
    "int_from_float": lambda _, given: f"must be a whole number, not {_kind(given)}",
    "float_type": lambda _, given: f"must be a number, not {_kind(given)}",
    "finite_number": lambda _, __: "must be a finite number",
    "greater_than": lambda bounds, given: f"must be more than {bounds['gt']:g}, not {shown(given)}",
    "greater_than_equal": lambda bounds, given: f"must be at least {bounds['ge']:g}, not {shown(given)}",
    "less_than": lambda bounds, given: f"must be less than {bounds['lt']:g}, not {shown(given)}",
    "less_than_equal": lambda bounds, given: f"must be at most {bounds['le']:g}, not {shown(given)}",
    "string_type": lambda _, given: f"must be a text, not {_kind(given)}{_in_quotes(given)}",
    "string_too_short": lambda _, __: "must not be empty",
    "string_too_long": lambda bounds, __: f"must have at most {bounds['max_length']} characters",
    "literal_error": lambda bounds, given: f"must be {bounds['expected'].replace(chr(39), '')}, not {shown(given)}",
    "model_type": lambda _, given: f"must be a mapping of fields, not {_kind(given)}",
    "dict_type": lambda _, given: f"must be a mapping of fields, not {_kind(given)}",
    "value_error": lambda bounds, _: str(bounds["error"]),
}
"""Pydantic's kinds of faults, in this project's words. They repeat numbers and words of a few, never free text."""


def make_policy(values: Mapping[str, Any], origin: Origin) -> Policy:
    """Give the policy of plain values; InputError tells all that is wrong with them."""
    policy, mistakes = _judged(values)
    # Raised outside of any `except`: pydantic's error holds the values, and one of them may be a key.
    if policy is None:
        raise origin.refusal(mistakes)
    return policy


def _judged(values: Mapping[str, Any]) -> tuple[Policy | None, list[Mistake]]:
    try:
        return Policy.model_validate(values), []
    except pydantic.ValidationError as error:
        faults = error.errors(include_url=False)
    meant = _meant(faults)
    found = {m.path: m for fault in faults if (m := _mistake(fault)) is not None and m.path not in meant}
    for mistake in _unknown_gateways(values):
        found.setdefault(mistake.path, mistake)
    return None, list(found.values())


def _mistake(fault: Any) -> Mistake | None:
    """Put one fault into words; None for one that only follows from another."""
    path, kind, given = _path(fault["loc"]), fault["type"], fault["input"]
    if kind == "default_factory_not_called":
        return None
    if kind == "extra_forbidden":
        return Mistake(path, _unknown_field(path[-1], known_fields(path[:-1])), inside=True)
    if kind == "missing":
        return Mistake(path, f"is missing; {_MISSING.get(path[-1], 'give it')}")
    if given is None and kind != "value_error":
        return Mistake(path, "is empty; give it a value, or take the line away")
    say = _SAID.get(kind)
    what = f"is wrong: {fault['msg']}" if say is None else say(fault.get("ctx", {}), given)
    if kind == "model_type" and len(path) == len(("roles", "extract")) and path[0] == "roles":
        what += "; or the word rules"
    return Mistake(path, what)


def _meant(faults: Iterable[Any]) -> set[FieldPath]:
    """Give the fields that misspelled ones were meant to be: that these are missing too is no second mistake."""
    paths = [_path(fault["loc"]) for fault in faults if fault["type"] == "extra_forbidden"]
    return {(*path[:-1], near) for path in paths if (near := _near(path[-1], known_fields(path[:-1])))}


def _path(place: Sequence[int | str]) -> FieldPath:
    """Give a field's path without what pydantic adds: which form of a role it is, and that it is about a key."""
    return tuple(str(part) for part in place if part not in {BY_MODEL, "[key]"})


def _unknown_gateways(values: Mapping[str, Any]) -> Iterator[Mistake]:
    """Yield the roles whose gateway is not there; the policy looks for them only when nothing else is wrong."""
    roles, gateways = values.get("roles"), values.get("gateways", {})
    if not isinstance(roles, Mapping) or not isinstance(gateways, Mapping):
        return
    for name in ROLES:
        role = roles.get(name)
        asked = role.get("gateway") if isinstance(role, Mapping) else getattr(role, "gateway", None)
        if isinstance(asked, str) and asked not in gateways:
            yield Mistake(("roles", name, "gateway"), unknown_gateway(asked, gateways))


def known_fields(path: FieldPath) -> Iterable[str]:
    """Give the fields that what stands at ``path`` may have."""
    match path:
        case ("budgets",):
            return Budget.__dataclass_fields__
        case ("retention" | "conflict", "types"):
            return TYPE_NAMES
        case ("privacy", "kinds"):
            return PRIVATE_KINDS
        case ("ranking", _, "weights"):
            return FEATURES
    found: list[Any] = [Policy]
    for name in path:
        found = [kind for one in found for kind in _kinds(_member(one, name))]
    parts = [one for one in found if isinstance(one, type) and issubclass(one, pydantic.BaseModel)]
    return [name for part in parts for name in part.model_fields]


def _member(kind: Any, name: str) -> Any:
    """Give the type of a field of a part, or of what a mapping holds under any key."""
    if isinstance(kind, type) and issubclass(kind, pydantic.BaseModel):
        field = kind.model_fields.get(name)
        return None if field is None else field.annotation
    return get_args(kind)[1]


def _kinds(annotation: Any) -> Iterator[Any]:
    """Yield the parts and the mappings that an annotation allows."""
    if get_origin(annotation) is dict:
        yield annotation
    elif isinstance(annotation, type):
        if issubclass(annotation, pydantic.BaseModel):
            yield annotation
    else:
        for one in get_args(annotation):
            yield from _kinds(one)


def _unknown_field(name: str, known: Iterable[str]) -> str:
    names = list(known)
    if name.lower() in _KEY_FIELDS and "api_key_env" in names:
        return f"unknown field {shown(name)}; no key stands here: name the variable that holds it in 'api_key_env'"
    near = _near(name, names)
    return f"unknown field {shown(name)}; " + (f"did you mean {near!r}?" if near else f"there are {', '.join(names)}")


def _near(name: str, known: Iterable[str]) -> str | None:
    return next(iter(difflib.get_close_matches(name.lower(), list(known), n=1)), None)


def _kind(given: object) -> str:
    return "a text" if isinstance(given, str) else shown(given)


def _in_quotes(given: object) -> str:
    return "; put it in quotes" if isinstance(given, bool | int | float) else ""
