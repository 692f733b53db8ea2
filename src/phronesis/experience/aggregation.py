"""Prepare the verb ``aggregate``: group events into patterns and describe each group (EMB-08, EMB-09)."""

from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field
from math import log
from threading import Lock
from typing import Any, Final

import numpy as np

from phronesis.core.entries import Entry, Outcome
from phronesis.core.items import Item
from phronesis.core.timestamps import to_micros
from phronesis.engine.handler import PrepareContext
from phronesis.experience.event_matrix import EventTable, EventTables
from phronesis.experience.event_views import SAMPLED, ViewReader, ViewTable, readable
from phronesis.experience.laws.clustering import view_of
from phronesis.experience.laws.event_draft import VIEWS
from phronesis.experience.laws.neighbour_graph import NOBODY, PairConstraints, candidate_pairs
from phronesis.experience.laws.principle_text import describe
from phronesis.experience.laws.records import CROSSED, L1, event_of
from phronesis.experience.laws.similarity import Floats
from phronesis.experience.maintenance_schedule import last_processed, spoken_of, unmerged_patterns
from phronesis.experience.pattern_relations import (
    AggregationScope,
    EventGroup,
    affected_scope,
    counterexamples,
    method_of,
    rank_by_typicality,
    similar_groups,
    whole_scope,
)
from phronesis.index.projections import ALIKE
from phronesis.models.embedders import Embedders
from phronesis.store.experience import changed_parts
from phronesis.store.lane_view import LaneView

STAYS: Final = "stays"
"""Member that names the pattern a group equals when nothing about it changed: it is not described again."""

WEIGHT_DIGITS: Final = 4

_WEIGHED: Final = 32
"""Members that are compared with each other to compute their weights."""


def clusters_of(reader: ViewReader, part: AggregationScope) -> dict[str, Any]:
    """Return the body of an aggregation's outcome: the groups, and a description of each."""
    table, looked_at = reader.table, part.looked_at
    events = reader.view.items([table.ids[row] for row in looked_at.tolist()])
    rows = {row for row in looked_at.tolist() if table.ids[row] in events}
    wanted = {name: {table.ids[row] for row in allowed.tolist()} for name, allowed in part.by_view.items()}
    for one in part.to_describe_again:
        for name in one.views:
            wanted[name] |= {table.ids[row] for row in one.rows[:_WEIGHED]}
    views = reader.of(events, wanted)
    clusters, groups = list[dict[str, Any]](), list[list[int]]()
    for found in _find_groups(table, part, views, rows):
        if (pattern := part.unchanged_pattern(found)) is None:
            members = _weigh_members(table, part.bonds, views, found)
            groups.append([table.row_of[one] for one, _ in members])
            crossed = list(found.views) if len(found.views) > 1 else []
            body = {"members": [list(one) for one in members], "method": method_of(found.views), CROSSED: crossed}
            clusters.append(body)
        else:
            groups.append(list(part.known[pattern].rows))
            clusters.append({STAYS: pattern})
    made = [(body, group) for body, group in zip(clusters, groups, strict=True) if STAYS not in body]
    _describe_groups(reader, events, made)
    for body, others in zip(clusters, similar_groups(table, groups), strict=True):
        body["similar"] = [list(one) for one in others]
    touched = sorted({*part.touched, *part.opposed} - {body.get(STAYS) for body in clusters})
    returning = list(part.returning)
    return {"clusters": clusters, "touched": touched, "looked_at": len(looked_at), "returning": returning}


def _describe_groups(
    reader: ViewReader, events: Mapping[str, Item], groups: Sequence[tuple[dict[str, Any], Sequence[int]]]
) -> None:
    """Add a description and counterexamples to each group; its rows are ordered by typicality."""
    table = reader.table
    counters = counterexamples(table, [rows for _, rows in groups])
    typical = frozenset(table.ids[row] for _, rows in groups for row in rows[:SAMPLED])
    views = reader.of(events, dict.fromkeys(VIEWS, typical))
    for (body, rows), counter in zip(groups, counters, strict=True):
        held = [events[table.ids[row]] for row in rows]
        cohesions = views.cohesions([item.id for item in held])
        body |= {"view": view_of(cohesions), "cohesion": cohesions, **_description_of(held, table.rarity)}
        body["counter"] = [[one, round(alike, WEIGHT_DIGITS)] for one, alike in counter]


def _description_of(held: Sequence[Item], rarity: Callable[[str], float]) -> dict[str, Any]:
    labels = {item.label for item in held}  # one failure makes a pattern of failures (EMB-08)
    outcome = next((label for label in ("failure", "success") if label in labels), "unknown")
    described = describe([event_of(item) for item in held], outcome, terms_of=readable, rarity=rarity)
    return {"outcome": outcome, **asdict(described), "content": described.content}


def _find_groups(
    table: EventTable, part: AggregationScope, views: ViewTable, held: AbstractSet[int]
) -> list[EventGroup]:
    """Return the groups by overall similarity, then by one view, then by two crossed views (EMB-08).

    ``held`` are the rows whose events are present. Unchanged patterns come last.
    """
    if not held:
        return []
    grouper = table.grouper(part.bonds)
    groups = grouper.groups(np.array([row for row in part.rows.tolist() if row in held], dtype=np.int64))
    out = [EventGroup(group) for group in groups]
    rows = np.array(sorted(held), dtype=np.int64)
    places = np.array([views.places[table.ids[row]] for row in rows.tolist()], dtype=np.int64)
    place = dict(zip(rows.tolist(), places.tolist(), strict=True))
    row_at = {n: row for row, n in place.items()}
    asked = np.intersect1d(rows, np.concatenate(list(part.by_view.values())))
    nearest, _ = table.neighbours.lists(asked)
    pairs = candidate_pairs(asked, np.where(np.isin(nearest, asked), nearest, NOBODY))
    # Of events that people put together or apart, nothing is grouped by one view: they said how these belong.
    said = [row for pair in (*part.bonds.together, *part.bonds.apart) for row in pair]
    pairs = places[np.searchsorted(rows, pairs[~np.isin(pairs, said).any(axis=1)])]
    among = {name: {place[row] for row in allowed.tolist() if row in held} for name, allowed in part.by_view.items()}
    found = views.groups(pairs, [[place[row] for row in known] for known in groups], among)
    out += [EventGroup([row_at[n] for n in group], names) for names, group in found]
    return out + [EventGroup([row for row in one.rows if row in held], one.views) for one in part.to_describe_again]


def _weigh_members(
    table: EventTable, bonds: PairConstraints, views: ViewTable, found: EventGroup
) -> list[tuple[str, float]]:
    """Return the ids of a group's events with their weights, the most typical first."""
    compared = found.rows[:_WEIGHED]
    if found.views:
        places = [views.places[table.ids[row]] for row in compared]
        alike = views.alike(found.views, np.array(places, dtype=np.int64))
    else:
        alike = table.grouper(bonds).alike(np.array(compared, dtype=np.int64))
    return rank_by_typicality(
        zip((table.ids[row] for row in found.rows), _weights(alike, len(found.rows)), strict=True)
    )


def _weights(alike: Floats, size: int) -> list[float]:
    """Return each member's mean similarity to the others; 1 at twice the threshold of belonging together."""
    sampled = len(alike)
    total = alike.sum(axis=1) - np.diag(alike)
    means = np.clip(total / max(1, sampled - 1) / 2.0, 0.0, 1.0)
    out = [round(float(mean), WEIGHT_DIGITS) for mean in means]
    return out + [round(float(means.min()), WEIGHT_DIGITS)] * (size - sampled)


# The prepare step of ``aggregate``.


CLUSTERS: Final = "clusters"
"""The role of the outcome: the groups of the part that was examined, and their descriptions."""

MADE_BY: Final = "average-link/15"
"""Version of the grouping; rises when the same events would give other groups or descriptions."""

MIN_MEMBERS: Final = 2
"""Events that make a pattern, at least."""

FULLY: Final = 0.25
"""Share of new events from which the whole lane is regrouped: most patterns would be affected anyway."""

GROWTH: Final = 1.1
BY_WORDS: Final = 1.03
CLOSE: Final = 1.01
SMALL: Final = 200
WORDED: Final = 1_000
"""All events are regrouped, too, when a lane has grown by the factor `GROWTH`, or `BY_WORDS` where there are no
vectors, since terms are less rare then; in a lane of up to `SMALL` events (by words `WORDED`), by `CLOSE`
(docs/decisions/14-experience-at-scale.md)."""


@dataclass(slots=True)
class AggregationPreparer:
    """Prepares aggregations over event matrices that are cached in memory."""

    embedders: Embedders
    tables: EventTables = field(default_factory=EventTables)
    _lock: Lock = field(default_factory=Lock)
    _last: tuple[tuple[str, str, int], list[Outcome]] | None = None

    def __call__(self, bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        """Return the groups of what is new since the last aggregation, or of all events with ``full``. Thread-safe.

        If two threads prepare one entry, the second gets the result of the first, or nothing once it is applied.
        """
        with self._lock, bench.view() as view:
            if bench.is_overtaken(view):
                return []
            if view.lane.applied_seq >= entry.seq:
                return self._prepare_outcomes(bench, view, entry)
            key = (bench.tenant, entry.id, view.lane.applied_seq)
            if self._last is None or self._last[0] != key:
                self._last = (key, self._prepare_outcomes(bench, view, entry))
            return self._last[1]

    def _prepare_outcomes(self, bench: PrepareContext, view: LaneView, entry: Entry) -> list[Outcome]:
        full = bool(entry.payload.get("full"))
        again = view.lane.applied_seq >= entry.seq  # prepared anew, in a lane that went on: as it was then
        own = self.embedders.serving(bench.tenant)
        beside = None if own is None else self.embedders.comparison_encoder(own)
        encoders = [one for one in (own, beside) if one is not None]

        def read(*, anew: bool) -> ViewReader:
            if anew:
                self.tables.forget(view)
            table = self.tables.of(view, encoders, before=to_micros(entry.recorded_at))
            return ViewReader(view, table, own if table.meaning.encoders else None)

        reader = read(anew=again or full)
        if again:
            self.tables.forget(view)
            return _outcome(clusters_of(reader, whole_scope(view, reader.table, again=True)))
        last = last_processed(view)
        news, back = _changed_since(view, last), unmerged_patterns(view, last)
        if not news and not full:
            return _outcome({"clusters": [], "touched": [], "looked_at": 0})
        if full or last == 0 or _has_outgrown(reader.table, len(news)):
            reader = read(anew=reader.table.has_grown)
            return _outcome(clusters_of(reader, whole_scope(view, reader.table, back=back)))
        return _outcome(clusters_of(reader, affected_scope(reader, news, back)))


def _outcome(body: dict[str, Any]) -> list[Outcome]:
    return [Outcome(role=CLUSTERS, made_by=MADE_BY, body=body)]


def _changed_since(view: LaneView, seq: int) -> list[str]:
    """Return the events that were added, changed, removed or judged after entry ``seq``."""
    rows = changed_parts(view.unit, view.lane_id, L1, ALIKE, after=seq)
    return sorted({row.item_id for row in rows} | spoken_of(view, seq))


def _has_outgrown(table: EventTable, news: int) -> bool:
    """Return whether so much of a lane is new, or it passed such a size, that everything is regrouped."""
    now = len(table.ids)
    if news > FULLY * now:
        return True
    beyond, small = (BY_WORDS, WORDED) if not table.meaning.encoders else (GROWTH, SMALL)
    growth = CLOSE if now <= small else beyond
    return int(log(max(1, now), growth)) > int(log(max(1, now - news), growth))
