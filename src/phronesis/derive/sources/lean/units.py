"""What Lean checked, and what it said of it, by place: the records between reading a text and drafting its attempts."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from phronesis.derive.sources.lean.kinds import LOOPING, normal
from phronesis.derive.sources.lean.program import Declaration, Program

Position = tuple[int, int]
"""Line from 1, column from 0, in the Lean file: as Lean counts."""

Form = Literal["json", "lake", "repl", "plain"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message of Lean. ``first`` and ``last`` are lines of the input, from 0."""

    severity: str
    text: str
    first: int
    last: int
    file: str = ""
    position: Position | None = None
    end: Position | None = None


@dataclass(slots=True, kw_only=True)
class Unit:
    """Something that was checked as one: a file, a module of a build, a command or a tactic step of a REPL.

    ``verdict`` is what is said of it as a whole: "ok", "failed", or nothing. ``before`` are the goals that a tactic
    step met, None where nobody knows; ``after`` those it left; ``steps`` the tactics that a REPL lists of a proof.
    """

    form: Form
    first: int
    last: int
    file: str = ""
    module: str = ""
    verdict: Literal["ok", "failed", ""] = ""
    signal: str = ""
    messages: list[Message] = field(default_factory=list)
    program: Program | None = None
    tactic: str = ""
    before: list[str] | None = None
    after: list[str] = field(default_factory=list)
    sorries: list[str] = field(default_factory=list)
    steps: list[Mapping[str, Any]] = field(default_factory=list)
    seconds: float | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    episode: str = ""


@dataclass(slots=True)
class Place:
    """Errors of one place: of one declaration where the source shows it, else of one line or one range."""

    messages: list[Message] = field(default_factory=list)
    start: Position | None = None
    end: Position | None = None
    declaration: Declaration | None = None


def places_of(unit: Unit) -> list[Place]:
    """Put the errors of a unit together by place, in the order of the text. Errors without a place come last or not."""
    placed: dict[object, Place] = {}
    last: Place | None = None
    loose = Place()
    for message in unit.messages:
        looping = LOOPING in normal(message.text[:200])
        if message.severity != "error" and not looping:
            continue
        if message.position is None:
            loose.messages.append(message)
            continue
        declaration = unit.program.declaration_at(message.position[0]) if unit.program is not None else None
        key: object = ("declaration", declaration.first) if declaration is not None else message.position[0]
        if key not in placed and last is not None and declaration is None and _inside(message.position, last):
            placed[key] = last
        last = placed.setdefault(key, Place(declaration=declaration))
        last.messages.append(message)
        last.start = min(last.start or message.position, message.position)
        last.end = max(last.end or message.position, message.end or message.position)
    found = list(
        {
            id(place): place for place in placed.values() if any(one.severity == "error" for one in place.messages)
        }.values()
    )
    if not found and any(one.severity == "error" for one in loose.messages):
        return [loose]
    return found


def _inside(position: Position, place: Place) -> bool:
    return place.start is not None and place.end is not None and place.start <= position < place.end
