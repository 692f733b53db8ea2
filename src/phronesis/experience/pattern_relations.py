"""Relations of patterns: events that contradict them, edges between similar ones, and the part of a lane to regroup.

A pattern is compared by its most typical events. Groups by one view overlap: to follow every event to all its patterns
and back would reach a whole lane.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from phronesis.core.entries import Entry
from phronesis.core.relations import Edge
from phronesis.experience.event_matrix import EventTable
from phronesis.experience.event_views import ALONE, ViewReader, constraint_pairs, item_edge, must_link_closure
from phronesis.experience.laws.neighbour_graph import NOBODY, PairConstraints
from phronesis.experience.laws.records import CONTRADICTS, MEMBER_OF, PATTERN, SIMILAR
from phronesis.experience.laws.similarity import ListedPairs, Rows
from phronesis.store.lane_view import LaneView

# Counterexamples of patterns: events of the other outcome that are similar to the most typical members.

COUNTER: Final = 0.5
"""Similarity to a pattern's members from which an event of the other outcome is a counterexample, in units of the
threshold and without shared neighbours, which events of two outcomes do not have."""

MAX_COUNTER: Final = 5
"""Counterexamples of a pattern, the most similar first."""

_TYPICAL: Final = 3
"""Members that are compared with the nearest events of the other outcome."""


def counterexamples(table: EventTable, groups: Sequence[Sequence[int]]) -> list[list[tuple[str, float]]]:
    """Return for each group, its most typical members first, the events of the other outcome that resemble them.

    Each comes with its similarity in units of `MembershipThresholds.likeness_unit`, the most similar first.
    """
    out = []
    for group in groups:
        typical = np.array(group[:_TYPICAL], dtype=np.int64)
        met = np.unique(table.neighbours.across(typical))
        met = met[met != NOBODY]
        mean = table.neighbours.metric.matrix(typical, met).mean(axis=0) / table.belonging.likeness_unit
        like = [(table.ids[met[n]], float(mean[n])) for n in np.flatnonzero(mean >= COUNTER).tolist()]
        out.append(sorted(like, key=lambda one: (-one[1], one[0]))[:MAX_COUNTER])
    return out


def _contradicted_patterns(view: LaneView, table: EventTable, news: Sequence[str]) -> set[str]:
    """Return the patterns that some events contradict or contradicted, by the stored weights of members."""
    did = {edge.to_id for edge in view.edges_from(news, CONTRADICTS)}
    fresh = table.rows(news)
    if not len(fresh):
        return did
    opposite = table.neighbours.across(fresh)
    table.neighbours.lists(np.unique(opposite[opposite != NOBODY]))  # lists of a freshly read table are empty
    least = COUNTER * table.belonging.likeness_unit
    naming = table.neighbours.against(fresh, least)
    named = {edge.to_id for edge in view.edges_from([table.ids[row] for row in naming.tolist()], MEMBER_OF)}
    for one, members in members_of(view, sorted(named - did)).items():
        typical, metric = table.rows(members[:_TYPICAL]), table.neighbours.metric
        if np.isin(typical, naming).any() and metric.matrix(typical, fresh).mean(axis=0).max() >= least:
            did.add(one)
    return did


def members_of(view: LaneView, patterns: Sequence[str]) -> dict[str, list[str]]:
    """Return the events of each pattern, the most typical first."""
    found: dict[str, list[tuple[str, float]]] = {one: [] for one in patterns}
    for edge in view.edges_to(patterns, MEMBER_OF):
        found[edge.to_id].append((edge.from_id, edge.weight))
    return {one: [event for event, _ in rank_by_typicality(members)] for one, members in found.items()}


def rank_by_typicality(members: Iterable[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return members with their weights, the most typical first."""
    return sorted(members, key=lambda one: (-one[1], one[0]))


# Edges between similar patterns that are not one (EMB-06), so that a query that finds one reaches the others.

LIKE: Final = 0.4
"""Similarity of the most typical members of two patterns for an edge, in thresholds and without shared neighbours."""

MOST: Final = 3
"""Edges from a pattern to those most similar to it; it may have more incoming ones."""

DIGITS: Final = 4


def similar_groups(table: EventTable, groups: Sequence[Sequence[int]]) -> list[list[tuple[int, float]]]:
    """Return for each group, its most typical member first, the later groups that are similar, with the similarity."""
    out: list[list[tuple[int, float]]] = [[] for _ in groups]
    if not groups:
        return out
    owners: dict[int, list[int]] = {}
    for n, group in enumerate(groups):
        for row in group:
            owners.setdefault(row, []).append(n)
    centres = np.array([group[0] for group in groups], dtype=np.int64)
    nearest, _ = table.neighbours.lists(centres)
    pairs = {
        (min(n, other), max(n, other))
        for n, rows in enumerate(nearest.tolist())
        for row in rows
        for other in owners.get(row, ())
        if not set(groups[n]) & set(groups[other])
    }
    by_row: dict[tuple[int, int], tuple[int, int]] = {}
    for one, other in sorted(pairs):
        first, second = sorted((int(centres[one]), int(centres[other])))
        by_row[first, second] = (one, other)
    builder = ListedPairs(sorted(by_row), LIKE * table.belonging.likeness_unit)
    links = builder.build(table.neighbours.metric, np.unique(centres))
    found = sorted(((link.weight, *by_row[link.first, link.second]) for link in links), key=lambda one: (-one[0], one))
    had = [0] * len(groups)
    for weight, one, other in found:
        if min(had[one], had[other]) < MOST:
            had[one] += 1
            had[other] += 1
            share = min(1.0, weight / table.belonging.likeness_unit)
            out[min(one, other)].append((max(one, other), round(share, DIGITS)))
    return [sorted(others) for others in out]


def similarity_edge_changes(
    view: LaneView, entry: Entry, touched: Sequence[str], wished: Mapping[tuple[str, str], float]
) -> tuple[list[Edge], list[Edge]]:
    """Return the edges to add and to remove so that ``touched`` patterns have only the ``wished`` ones among them."""
    known = {edge.identity: edge for edge in (*view.edges_from(touched, SIMILAR), *view.edges_to(touched, SIMILAR))}
    said = {frozenset((edge.from_id, edge.to_id)) for edge in known.values() if edge.grade is not None}
    free = {pair: weight for pair, weight in sorted(wished.items()) if frozenset(pair) not in said}
    edges = [item_edge(SIMILAR, one, other, entry.id, weight=weight) for (one, other), weight in free.items()]
    stays, inside = {edge.identity for edge in edges}, set(touched)
    own = (edge for edge in known.values() if edge.grade is None and inside.issuperset((edge.from_id, edge.to_id)))
    dropped = [edge for edge in own if edge.identity not in stays]
    drawn = [edge for edge in edges if edge.identity not in known or not edge.adds_nothing_to(known[edge.identity])]
    return drawn, sorted(dropped, key=lambda edge: edge.identity)


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
class EventGroup:
    """A group: its rows, and the views in which it is similar; none if it is similar overall."""

    rows: Sequence[int]
    views: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AggregationScope:
    """The part of a lane to be grouped: events by row, patterns that may change, and must-link and cannot-link pairs.

    ``rows`` are grouped by overall similarity, those of ``by_view`` by one view and by two crossed views.
    """

    rows: Rows
    by_view: Mapping[str, Rows]
    touched: Sequence[str]
    bonds: PairConstraints
    returning: Sequence[str]
    known: Mapping[str, EventGroup] = field(default_factory=dict)
    """Live patterns whose events are all present, by id; the rows are ordered by typicality."""
    opposed: AbstractSet[str] = frozenset()
    """The known patterns whose counterexamples changed: they are described again even if their events did not
    change."""
    news: AbstractSet[int] = frozenset()
    """New and changed events."""

    @property
    def to_describe_again(self) -> list[EventGroup]:
        """Return the known patterns whose events are unchanged and that have to be described again."""
        return [self.known[one] for one in sorted(self.opposed - set(self.touched))]

    @property
    def looked_at(self) -> Rows:
        """Return the rows of all events to be grouped."""
        standing = [np.array(one.rows, dtype=np.int64) for one in self.to_describe_again]
        return np.unique(np.concatenate([self.rows, *self.by_view.values(), *standing]))

    def unchanged_pattern(self, group: EventGroup) -> str | None:
        """Return the pattern that a group equals, if nothing about it changed; else None."""
        # One that returns takes events out of others, which are the same events then, and not what they were.
        if self.returning or not self.news.isdisjoint(group.rows):
            return None
        for one, pattern in self.known.items():
            if one not in self.opposed and pattern.views == group.views and set(pattern.rows) == set(group.rows):
                return one
        return None


def affected_scope(reader: ViewReader, news: Sequence[str], back: Sequence[str]) -> AggregationScope:
    """Return the part of a lane that some events may affect.

    Overall, events are grouped with the members of their patterns and what must be together with these, and so on; by a
    view, with the members of their own patterns of it and with neighbours in none.
    """
    view, table = reader.view, reader.table
    opposed = _contradicted_patterns(view, table, news)
    overall, alike = _near_events(reader, news)
    events, of_event, touched = _overall_scope(view, table, overall.union(*alike.values()))
    alike = _near_by_view(table, alike, of_event)
    own = {
        name: {one for event in alike[name] for one in of_event[event] if name in _views(table, one)} for name in ALONE
    }
    touched |= members_of(view, sorted(set().union(*own.values())))
    by_view: dict[str, set[str]] = {}
    for name in ALONE:
        free = {
            event for event, patterns in of_event.items() if not any(name in _views(table, one) for one in patterns)
        }
        by_view[name] = free.union(alike[name], *(touched[one] for one in own[name]))
    _learn_methods(view, table, opposed)
    members = touched | members_of(view, sorted(opposed - touched.keys()))
    known = {
        one: EventGroup([table.row_of[event] for event in members[one]], views_of(table.methods[one]))
        for one, item in sorted(view.items(members).items())
        if item.live and table.row_of.keys() >= set(members[one])
    }
    return AggregationScope(
        table.rows(events),
        {name: table.rows(ids) for name, ids in by_view.items()},
        sorted(touched),
        constraint_pairs(view, events.union(*by_view.values()), table),
        back,
        known,
        known.keys() & opposed,
        frozenset(table.rows(news).tolist()),
    )


def _near_events(reader: ViewReader, news: Sequence[str]) -> tuple[set[str], dict[str, set[str]]]:
    """Return the events that some may belong together with, overall and by each view.

    They are neighbours in either direction that are similar enough.
    """
    table, overall, by_view = reader.table, set(news), {name: set(news) for name in ALONE}
    fresh = table.rows(news)
    if not len(fresh):
        return overall, by_view
    nearest, _ = table.neighbours.lists(fresh)
    told = np.unique(nearest[nearest != NOBODY])
    table.neighbours.lists(told)  # the cached lists of a freshly read table are empty
    met = np.unique(np.concatenate((fresh, told, table.neighbours.naming(fresh))))
    pairs, alike = table.grouper(PairConstraints()).pairs(met)
    of_news = np.flatnonzero(np.isin(pairs, fresh).any(axis=1))
    pairs, alike = pairs[of_news], alike[of_news]
    overall |= {table.ids[row] for row in np.unique(pairs[alike >= NEAR]).tolist()}
    ids = [table.ids[row] for row in np.unique(pairs).tolist()]
    views = reader.of(reader.view.items(ids), dict.fromkeys(ALONE, frozenset(ids)))
    held = {place: one for one, place in views.places.items()}
    placed = [[views.places.get(table.ids[row], NOBODY) for row in pair] for pair in pairs.tolist()]
    for name in ALONE:
        both = [(one, other) for one, other in placed if views.having[name].issuperset((one, other))]
        links = ListedPairs(both, views.threshold).build(views.metrics[name], np.arange(len(held)))
        by_view[name] |= {held[place] for link in links for place in (link.first, link.second)}
    return overall, by_view


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
        events |= must_link_closure(view, events)
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


def whole_scope(
    view: LaneView, table: EventTable, *, again: bool = False, back: Sequence[str] = ()
) -> AggregationScope:
    """Return the whole lane; if it changed since the entry, with the patterns that ended meanwhile."""
    touched = [item.id for item in view.find(kinds=(PATTERN,), live=not again)]
    everything = table.rows(table.ids)
    return AggregationScope(
        everything, dict.fromkeys(ALONE, everything), touched, constraint_pairs(view, table.ids, table), back
    )
