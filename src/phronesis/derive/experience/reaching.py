"""How far something new reaches: which events are grouped anew with it, and which patterns that may change.

Groups of what events are on the whole are apart from each other. Those of one view, or of two crossed, lie across them
and across each other: whoever went from each event to all its patterns, and from these to all their events, would come
to a whole lane by one event of a situation that many are in.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

from phronesis.core.experience.records import MEMBER_OF
from phronesis.derive.experience.bonds import beside
from phronesis.derive.experience.table import EventTable
from phronesis.derive.experience.views import ALONE
from phronesis.storage.lane_view import LaneView

JOINT: Final = "average link"
"""The method of a group that is alike on the whole; one that is alike in one view, or in two, says in which."""

_BY: Final = " by "
_AND: Final = " and "


def method_of(views: Sequence[str]) -> str:
    """Give the method of a group that is alike in some views; `JOINT` without any."""
    return JOINT + (_BY + _AND.join(views) if views else "")


def views_of(method: str) -> tuple[str, ...]:
    """Give the views of a method; none for `JOINT`."""
    _, by, names = method.partition(_BY)
    return tuple(names.split(_AND)) if by else ()


@dataclass(frozen=True, slots=True)
class Reach:
    """The ids of events to be grouped on the whole, and by each view; and of the patterns that come of it or end."""

    events: AbstractSet[str]
    by_view: Mapping[str, AbstractSet[str]]
    patterns: Sequence[str]


def reach_of(view: LaneView, table: EventTable, near: AbstractSet[str]) -> Reach:
    """Give how far some events and their neighbours reach.

    On the whole they are grouped with the members of their patterns, with what people put together with any of these,
    and so on. By a view they are grouped with the members of their own patterns of that view, and with those of the
    others that are in no pattern of it, since all that are in one go on there.
    """
    events, of_event = _on_the_whole(view, table, near)
    own = sorted({one for event in near for one in of_event[event] if _views(table, one)})
    by_view: dict[str, set[str]] = {}
    members = _members(view, own)
    for name in ALONE:
        held = {one for one in own if name in _views(table, one)}
        free = {event for event, patterns in of_event.items()
                if not any(name in _views(table, one) for one in patterns)}  # fmt: skip
        by_view[name] = free.union(near, *(members[one] for one in held))
    joint = {one for patterns in of_event.values() for one in patterns if not _views(table, one)}
    return Reach(events, by_view, sorted({*own, *joint}))


def _on_the_whole(
    view: LaneView, table: EventTable, near: AbstractSet[str]
) -> tuple[set[str], dict[str, AbstractSet[str]]]:
    """Give the events that are grouped on the whole with some, and the patterns of each."""
    events, of_event = set(near), dict[str, AbstractSet[str]]()
    while missing := events - of_event.keys():
        found = _patterns_of(view, missing)
        of_event |= found
        _learn_methods(view, table, {one for patterns in found.values() for one in patterns})
        joint = sorted({one for patterns in found.values() for one in patterns if not _views(table, one)})
        events |= set().union(*_members(view, joint).values())
        events |= beside(view, events)
    return events, of_event


def _patterns_of(view: LaneView, events: Iterable[str]) -> dict[str, AbstractSet[str]]:
    out: dict[str, set[str]] = {one: set() for one in sorted(events)}
    for edge in view.edges_from(list(out), MEMBER_OF):
        out[edge.from_id].add(edge.to_id)
    return dict(out)


def _members(view: LaneView, patterns: Sequence[str]) -> dict[str, set[str]]:
    out: dict[str, set[str]] = {one: set() for one in patterns}
    for edge in view.edges_to(patterns, MEMBER_OF):
        out[edge.to_id].add(edge.from_id)
    return out


def _learn_methods(view: LaneView, table: EventTable, patterns: AbstractSet[str]) -> None:
    """Note how patterns were made, which stays as it is."""
    for one, item in view.items(sorted(patterns - table.methods.keys())).items():
        table.methods[one] = item.data["cluster_info"]["method"]


def _views(table: EventTable, pattern: str) -> tuple[str, ...]:
    return views_of(table.methods.get(pattern, JOINT))
