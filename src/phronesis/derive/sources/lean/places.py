"""Errors of one place: what Lean says of one declaration, one line or one range belongs together."""

from dataclasses import dataclass, field

from phronesis.derive.sources.lean.kinds import LOOPING, normal
from phronesis.derive.sources.lean.program import Declaration
from phronesis.derive.sources.lean.units import Message, Position, Unit


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
