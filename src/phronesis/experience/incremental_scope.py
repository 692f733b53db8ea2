"""Determine which events are regrouped with new events, and which patterns may change.

Groups by one view overlap: to follow every event to all its patterns and back would reach a whole lane.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Final

import numpy as np

from phronesis.experience.event_matrix import EventTable
from phronesis.experience.event_views import ALONE, ViewReader, bonded_events
from phronesis.experience.laws.clustering import PairConstraints
from phronesis.experience.laws.neighbour_graph import NOBODY
from phronesis.experience.laws.records import MEMBER_OF
from phronesis.experience.laws.similarity import ListedPairs
from phronesis.experience.pattern_relations import members_of, spoken_against
from phronesis.store.lane_view import LaneView

JOINT: Final = "average link"
"""The method of a group by overall similarity; a group by one view, or by two, is named after its views."""

NEAR: Final = 0.3
"""Share of the threshold that two neighbours must reach for one to be regrouped with the other: weaker ones are listed
only for want of nearer ones (docs/decisions/14-experience-at-scale.md)."""

_BY: Final = " by "
_AND: Final = " and "


def method_of(views: Sequence[str]) -> str:
    """Return the method of a group by some views; `JOINT` without any."""
    return JOINT + (_BY + _AND.join(views) if views else "")


def views_of(method: str) -> tuple[str, ...]:
    """Return the views of a method; none for `JOINT`."""
    _, by, names = method.partition(_BY)
    return tuple(names.split(_AND)) if by else ()


@dataclass(frozen=True, slots=True)
class NearbyEvents:
    """The ids of new events with the events they may belong together with: overall, and by each view."""

    on_the_whole: AbstractSet[str]
    by_view: Mapping[str, AbstractSet[str]]
    opposed: Sequence[str] = ()
    """Ids of the patterns that they contradict or contradicted."""


@dataclass(frozen=True, slots=True)
class RegroupingScope:
    """The ids of events to be grouped overall and by each view, and of the patterns that may end or change."""

    events: AbstractSet[str]
    by_view: Mapping[str, AbstractSet[str]]
    patterns: Mapping[str, Sequence[str]]
    """Patterns with their present events, the most typical first."""
    opposed: Mapping[str, Sequence[str]]
    """Patterns to be described again, whether or not they are among those that may end."""


def near_to(reader: ViewReader, news: Sequence[str]) -> NearbyEvents:
    """Return the events that some may belong together with: neighbours in either direction that are similar enough."""
    table = reader.table
    whole, by_view = set(news), {name: set(news) for name in ALONE}
    opposed = spoken_against(reader.view, table, news)
    fresh = table.rows(news)
    if table.neighbours is None or not len(fresh):
        return NearbyEvents(whole, by_view, opposed)
    nearest, _ = table.neighbours.lists(fresh)
    told = np.unique(nearest[nearest != NOBODY])
    table.neighbours.lists(told)  # the cached lists of a freshly read table are empty
    met = np.unique(np.concatenate((fresh, told, table.neighbours.naming(fresh))))
    pairs, alike = table.grouper(PairConstraints()).pairs(met)
    of_news = np.flatnonzero(np.isin(pairs, fresh).any(axis=1))
    pairs, alike = pairs[of_news], alike[of_news]
    whole |= {table.ids[row] for row in np.unique(pairs[alike >= NEAR]).tolist()}
    ids = [table.ids[row] for row in np.unique(pairs).tolist()]
    views = reader.of(reader.view.items(ids), dict.fromkeys(ALONE, frozenset(ids)))
    held = {place: one for one, place in views.places.items()}
    placed = [[views.places.get(table.ids[row], NOBODY) for row in pair] for pair in pairs.tolist()]
    for name in ALONE:
        both = [(one, other) for one, other in placed if views.having[name].issuperset((one, other))]
        links = ListedPairs(both, views.threshold).build(views.metrics[name], np.arange(len(held)))
        by_view[name] |= {held[place] for link in links for place in (link.first, link.second)}
    return NearbyEvents(whole, by_view, opposed)


def reach_of(view: LaneView, table: EventTable, near: NearbyEvents) -> RegroupingScope:
    """Return which events and patterns some new events and their neighbours affect.

    Overall, they are grouped with the members of their patterns and what must be together with these, and so on; by a
    view, with the members of their own patterns of it and with neighbours in none.
    """
    events, of_event, members = _overall_scope(view, table, set(near.on_the_whole).union(*near.by_view.values()))
    alike = _near_by_view(table, near.by_view, of_event)
    own = {
        name: {one for event in alike[name] for one in of_event[event] if name in _views(table, one)} for name in ALONE
    }
    members |= members_of(view, sorted(set().union(*own.values())))
    by_view: dict[str, set[str]] = {}
    for name in ALONE:
        free = {
            event for event, patterns in of_event.items() if not any(name in _views(table, one) for one in patterns)
        }
        by_view[name] = free.union(alike[name], *(members[one] for one in own[name]))
    return RegroupingScope(events, by_view, members, _known_counterexamples(view, table, near.opposed, members))


def _known_counterexamples(
    view: LaneView, table: EventTable, patterns: Sequence[str], known: Mapping[str, Sequence[str]]
) -> dict[str, Sequence[str]]:
    """Return the events of some patterns, and note in the table how these were made."""
    _learn_methods(view, table, set(patterns))
    read = members_of(view, [one for one in patterns if one not in known])
    return {one: known[one] if one in known else read[one] for one in patterns}


def _near_by_view(
    table: EventTable, by_view: Mapping[str, AbstractSet[str]], of_event: Mapping[str, AbstractSet[str]]
) -> dict[str, set[str]]:
    """Return the near events by view; an event in a pattern of a view and in a crossed one is near by both views."""
    out: dict[str, set[str]] = {name: set() for name in ALONE}
    for event in set().union(*by_view.values()):
        near = {name for name in ALONE if event in by_view[name]}
        crossed = [views for one in of_event[event] if len(views := _views(table, one)) > 1]
        while more := {name for views in crossed if near.intersection(views) for name in views} - near:
            near |= more
        for name in near:
            out[name].add(event)
    return out


def _overall_scope(
    view: LaneView, table: EventTable, near: AbstractSet[str]
) -> tuple[set[str], dict[str, AbstractSet[str]], dict[str, list[str]]]:
    """Return the events to be grouped overall with some, the patterns of each, and the events of those patterns."""
    events, of_event, members = set(near), dict[str, AbstractSet[str]](), dict[str, list[str]]()
    while missing := events - of_event.keys():
        found = _patterns_of(view, missing)
        of_event |= found
        patterns = {one for named in found.values() for one in named}
        _learn_methods(view, table, patterns)
        members |= members_of(view, sorted(one for one in patterns if not _views(table, one)))
        events = events.union(*members.values())
        events |= bonded_events(view, events)
    return events, of_event, members


def _patterns_of(view: LaneView, events: Iterable[str]) -> dict[str, AbstractSet[str]]:
    out: dict[str, set[str]] = {one: set() for one in sorted(events)}
    for edge in view.edges_from(list(out), MEMBER_OF):
        out[edge.from_id].add(edge.to_id)
    return dict(out)


def _learn_methods(view: LaneView, table: EventTable, patterns: AbstractSet[str]) -> None:
    """Note in the table how patterns were made, which never changes."""
    for one, item in view.items(sorted(patterns - table.methods.keys())).items():
        table.methods[one] = item.data["cluster_info"]["method"]


def _views(table: EventTable, pattern: str) -> tuple[str, ...]:
    return views_of(table.methods.get(pattern, JOINT))
