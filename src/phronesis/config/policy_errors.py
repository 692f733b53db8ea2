"""Errors in a policy: message and position."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from phronesis.errors import InputError

FieldPath = tuple[str, ...]
"""The path to a field from the top: ``("roles", "extract", "model")``."""

MOST_TOLD: Final = 20
"""Maximum number of errors in one message."""

_SHOWN: Final = 40
"""Maximum characters of a name or value in a message."""


@dataclass(frozen=True, slots=True)
class Mistake:
    """One error.

    ``what`` describes the field at ``path``, as in "must be …"; with ``inside`` it describes the enclosing section, as
    in "unknown field …". ``line`` is given when it is not the field's own.
    """

    path: FieldPath
    what: str
    inside: bool = False
    line: int | None = None

    def say(self, root: FieldPath = ()) -> str:
        """Return the sentence, with the path under ``root``."""
        subject = ".".join((*root, *(self.path[:-1] if self.inside else self.path)))
        if not subject:
            return self.what
        return f"{subject}: {self.what}" if self.inside else f"{subject} {self.what}"


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a policy: a file and the lines of its fields; without a name, the arguments of a call.

    ``variables`` are the environment variables that set a field.
    """

    name: str | None = None
    lines: Mapping[FieldPath, int] = field(default_factory=dict)
    variables: Mapping[FieldPath, str] = field(default_factory=dict)

    def line(self, mistake: Mistake) -> int:
        """Return the line of the field, or of the nearest section around it."""
        if mistake.line is not None:
            return mistake.line
        path = mistake.path
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def refusal(self, mistakes: Sequence[Mistake]) -> InputError:
        """Return one InputError for all mistakes, one a line, in the order of the file; its field is the first's.

        ``details["mistakes"]`` holds the same lines.
        """
        if self.name is None:
            ordered = list(mistakes)
            told = [mistake.say(("policy",)) for mistake in ordered]
        else:
            ordered = sorted(mistakes, key=self.line)
            told = [f"{self.name}, line {self.line(mistake)}: {mistake.say()}" for mistake in ordered]
        if len(told) > MOST_TOLD:
            told = [*told[:MOST_TOLD], f"{self.name or 'policy'}: and {len(told) - MOST_TOLD} more mistakes"]
        return InputError("\n".join(told), field=".".join(("policy", *ordered[0].path)), details={"mistakes": told})


def describe_value(value: object) -> str:
    """Return a value for a message: a short plain value as it is, otherwise its type."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return str(value) if abs(value) < 10**15 else "so large a number"
        case str():
            return repr(value if len(value) <= _SHOWN else f"{value[:_SHOWN]}…")
        case dict():
            return "a mapping"
        case list() | tuple() | set():
            return "a list"
        case _:
            return f"a {type(value).__name__}"
