"""The policy that is in force: every field with its value, and where that comes from."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import Any, Final

import pydantic

from phronesis.config.mistakes import FieldPath, Origin
from phronesis.config.policy import Policy
from phronesis.core.results import PolicyValue

DEFAULT: Final = "default"
ARGUMENT: Final = "argument"
"""What a source is called that is no file and no variable: what stands when nobody says anything, and a call's own."""


def effective_policy(policy: Policy, origin: Origin) -> tuple[PolicyValue, ...]:
    """Give every field in the order of the schema, defaults too; a mapping that holds nothing is a field of its own.

    Keys are never among it: the policy holds the names of the variables that hold them.
    """
    return tuple(_fields(policy, (), origin, given=True))


def _fields(part: pydantic.BaseModel, path: FieldPath, origin: Origin, *, given: bool) -> Iterator[PolicyValue]:
    for name in type(part).model_fields:
        own = given and name in part.model_fields_set  # a default may be a part that somebody filled in
        yield from _values(getattr(part, name), (*path, name), origin, given=own)


def _values(value: Any, path: FieldPath, origin: Origin, *, given: bool) -> Iterator[PolicyValue]:
    if isinstance(value, pydantic.BaseModel):
        yield from _fields(value, path, origin, given=given)
    elif path == ("budgets",):
        everything = asdict(Policy(budgets=value).budget)
        for name, number in everything.items():
            yield from _values(number, (*path, name), origin, given=name in value)
    elif isinstance(value, Mapping) and value:
        for name, member in value.items():
            yield from _values(member, (*path, str(name)), origin, given=given)
    else:
        plain = list(value) if isinstance(value, tuple) else value
        yield PolicyValue(".".join(path), plain, _source(path, origin) if given else DEFAULT)


def _source(path: FieldPath, origin: Origin) -> str:
    if path in origin.variables:
        return origin.variables[path]
    if origin.name is None:
        return ARGUMENT
    # What a section adds to a mapping of the file by itself stands in no line.
    return f"{origin.name}, line {origin.lines[path]}" if path in origin.lines else DEFAULT
