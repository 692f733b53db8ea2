"""The verb ``aggregate``: events that belong together become patterns, which go on as their events come (EMB-09).

Preparing groups the events that something new touches, or all of them, and describes each group; its outcome holds ids,
weights and words. Applying makes, continues and retires patterns. What was looked at is marked by an item, so that a
rollback takes the mark back too, and the next call looks at it again.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from math import log
from threading import Lock
from typing import Any, Final

import numpy as np

from phronesis.core.entries import Entry, Outcome
from phronesis.core.experience.describing import describe
from phronesis.core.experience.grouping import Bonds
from phronesis.core.experience.records import CROSSED, PATTERN, event_of
from phronesis.core.experience.similarity import Floats, Rows
from phronesis.core.experience.viewing import view_of
from phronesis.core.instants import to_micros
from phronesis.core.items import Item
from phronesis.derive.experience.bonds import bonds_among
from phronesis.derive.experience.marks import marked, returning
from phronesis.derive.experience.meaning import Encoders
from phronesis.derive.experience.opposing import counterexamples
from phronesis.derive.experience.reaching import JOINT, method_of, near_to, reach_of
from phronesis.derive.experience.resembling import resembling
from phronesis.derive.experience.table import EventTable, EventTables
from phronesis.derive.experience.views import ALONE, ViewReader, ViewTable, pairs_of_lists
from phronesis.derive.experience.wording import readable
from phronesis.derive.handler import Bench
from phronesis.models.embedders import Embedders
from phronesis.storage.lane_view import LaneView

AGGREGATE: Final = "aggregate"

CLUSTERS: Final = "clusters"
"""The role of the outcome: which groups there are, of the part that was looked at, and what is said of each."""

MADE_BY: Final = "average-link/12"
"""Rises when the same events would give other groups or words."""

MIN_MEMBERS: Final = 2
"""One event is no pattern."""

WEIGHT_DIGITS: Final = 4

FULLY: Final = 0.25
"""From this share of new events on, all are looked at: most patterns would be touched anyway."""

GROWTH: Final = 1.1
BY_WORDS: Final = 1.03
CLOSE: Final = 1.01
SMALL: Final = 200
WORDED: Final = 1_000
"""All events are looked at, too, each time that there are `GROWTH` times as many, or `BY_WORDS` where they are compared
by words alone: by then words are not as rare as they were. In a lane of up to `SMALL` events it is at `CLOSE`, by words
of up to `WORDED`, where that takes two seconds at most. So events that came one by one end in patterns whose pairs have
an F1 of .97 and more against those of all at once, with vectors .996; by words it was .88 at `GROWTH`
(docs/benchmarks.md)."""

_WEIGHED: Final = 32
"""Members that are compared with each other, for their weights."""


@dataclass(frozen=True, slots=True)
class Part:
    """What of a lane is looked at: events by row, the patterns that may change, and what people said of the events.

    ``rows`` are grouped as what they are on the whole; those of ``by_view`` by one view, and where two are crossed.
    """

    rows: Rows
    by_view: Mapping[str, Rows]
    touched: Sequence[str]
    bonds: Bonds
    returning: Sequence[str]

    @property
    def looked_at(self) -> Rows:
        """All events that are looked at."""
        return np.unique(np.concatenate([self.rows, *self.by_view.values()]))


@dataclass(slots=True)
class Aggregating:
    """Prepares aggregations, over tables that are kept in memory."""

    embedders: Embedders
    tables: EventTables = field(default_factory=EventTables)
    _lock: Lock = field(default_factory=Lock)
    _last: tuple[tuple[str, str, int], list[Outcome]] | None = None

    def __call__(self, bench: Bench, entry: Entry) -> Sequence[Outcome]:
        """Give the groups of what is new since the last time, or of everything with ``full``.

        Two threads may come with one entry; the second is given what the first has prepared meanwhile, and nothing
        once that is applied.
        """
        with self._lock, bench.view() as view:
            if bench.overtaken(view):
                return []
            if view.lane.applied_seq >= entry.seq:
                return self._prepared(bench, view, entry)
            key = (bench.tenant, entry.id, view.lane.applied_seq)
            if self._last is None or self._last[0] != key:
                self._last = (key, self._prepared(bench, view, entry))
            return self._last[1]

    def _prepared(self, bench: Bench, view: LaneView, entry: Entry) -> list[Outcome]:
        before = to_micros(entry.recorded_at)
        again = view.lane.applied_seq >= entry.seq  # prepared anew, in a lane that went on: as it was then
        if entry.payload.get("full"):
            self.tables.forget(view)
        own = self.embedders.serving(bench.tenant)
        encoders = None if own is None else Encoders(own, self.embedders.beside(own), self.embedders.of_lessons(own))
        table, _ = self.tables.of(view, encoders, before=before, fresh=again)
        reader = ViewReader(view, table, own if table.model is not None else None)
        part = _everything(view, table, again=True) if again else self._part(reader, entry)
        if part is None:
            return [Outcome(role=CLUSTERS, made_by=MADE_BY, body={"clusters": [], "touched": [], "looked_at": 0})]
        body = _grouped(reader, part)
        return [Outcome(role=CLUSTERS, made_by=MADE_BY, body=body)]

    def _part(self, reader: ViewReader, entry: Entry) -> Part | None:
        """Give what an aggregation looks at; None where nothing is new."""
        view, table = reader.view, reader.table
        last = marked(view)
        news, back = table.changed_since(view, last), returning(view, last)
        if not news and not entry.payload.get("full"):
            return None
        if entry.payload.get("full") or last == 0 or len(news) > FULLY * len(table.alive) or _grown(table, len(news)):
            self.tables.renew(table)
            return _everything(view, table, back=back)
        return _near(reader, news, back)


def _near(reader: ViewReader, news: Sequence[str], back: Sequence[str]) -> Part:
    """Give what some events reach."""
    view, table = reader.view, reader.table
    reached = reach_of(view, table, near_to(reader, news))
    by_view = {name: table.rows(sorted(ids)) for name, ids in reached.by_view.items()}
    ids = sorted(set().union(reached.events, *reached.by_view.values()))
    bonds = bonds_among(view, ids, table)
    return Part(table.rows(sorted(reached.events)), by_view, reached.patterns, bonds, back)


def _grown(table: EventTable, news: int) -> bool:
    """Tell whether a lane passed one of the sizes at which everything is looked at, each so much above the last."""
    now = len(table.alive)
    beyond, small = (BY_WORDS, WORDED) if table.model is None else (GROWTH, SMALL)
    growth = CLOSE if now <= small else beyond
    return int(log(max(1, now), growth)) > int(log(max(1, now - news), growth))


def _everything(view: LaneView, table: EventTable, *, again: bool = False, back: Sequence[str] = ()) -> Part:
    """Give all there is; of a lane that went on since, the patterns that ended meanwhile too."""
    touched = [item.id for item in view.find(kinds=(PATTERN,), live=not again)]
    everything = table.everything()
    return Part(everything, dict.fromkeys(ALONE, everything), touched, bonds_among(view, table.ids, table), back)


@dataclass(frozen=True, slots=True)
class Found:
    """A group: its rows, how alike some of them are, in units of what belonging together needs, and how it was made."""

    rows: Sequence[int]
    alike: Floats
    method: str
    crossed: Sequence[str] = ()
    """The two views of which it is what groups have in common."""


def _grouped(reader: ViewReader, part: Part) -> dict[str, Any]:
    table, looked_at = reader.table, part.looked_at
    events = reader.view.items([table.ids[row] for row in looked_at.tolist()])
    rows = {row for row in looked_at.tolist() if table.ids[row] in events}
    views = reader.of({table.ids[row]: events[table.ids[row]] for row in sorted(rows)})
    made = _found(table, part, views, rows)
    members = [sorted(zip((table.ids[row] for row in found.rows), _weights(found.alike, len(found.rows)), strict=True),
                      key=_typical) for found in made]  # fmt: skip
    groups = [[table.row_of[one] for one, _ in group] for group in members]
    counters = counterexamples(table, groups)
    clusters = []
    for found, group, counter in zip(made, members, counters, strict=True):
        cohesions = views.cohesions([one for one, _ in group])
        seen = {"view": view_of(cohesions), "cohesion": cohesions, "method": found.method,
                CROSSED: list(found.crossed)}  # fmt: skip
        clusters.append(_body([events[one] for one, _ in group], group, counter, table.rarity) | seen)
    for body, others in zip(clusters, resembling(table, groups), strict=True):
        body["similar"] = [list(one) for one in others]
    return {
        "clusters": clusters, "touched": list(part.touched), "looked_at": len(looked_at),
        "returning": list(part.returning),
    }  # fmt: skip


def _found(table: EventTable, part: Part, views: ViewTable, held: AbstractSet[int]) -> list[Found]:
    """Give the groups that are alike on the whole, then those of one view only, then those of two crossed (EMB-08).

    ``held`` are the rows whose events are there.
    """
    if not held or table.neighbours is None:
        return []
    grouper = table.grouper(part.bonds)
    groups = grouper.groups(np.array([row for row in part.rows.tolist() if row in held], dtype=np.int64))
    out = [Found(group, grouper.alike(np.array(group[:_WEIGHED], dtype=np.int64)), JOINT) for group in groups]
    rows = sorted(held)
    nearest, _ = table.neighbours.lists(np.array(rows, dtype=np.int64))
    place = {row: views.places[table.ids[row]] for row in rows}
    row_at = {n: row for row, n in place.items()}
    pairs = pairs_of_lists(place, dict(zip(rows, nearest.tolist(), strict=True)))
    # Of events that people put together or apart, nothing is grouped by one view: they said how these belong.
    said = {place[row] for pair in (*part.bonds.together, *part.bonds.apart) for row in pair if row in place}
    pairs = [pair for pair in pairs if not said.intersection(pair)]
    among = {name: {place[row] for row in allowed.tolist() if row in held} for name, allowed in part.by_view.items()}
    for names, group in views.groups(pairs, [[place[row] for row in known] for known in groups], among):
        there = np.array(group[:_WEIGHED], dtype=np.int64)
        alike = views.alike(names, there)
        crossed = names if len(names) > 1 else ()
        out.append(Found([row_at[n] for n in group], alike, method_of(names), crossed))
    return out


def _typical(member: tuple[str, float]) -> tuple[float, str]:
    return (-member[1], member[0])


def _weights(alike: Floats, size: int) -> list[float]:
    """Give each member's mean likeness to the others, 1 for twice what belonging together needs."""
    sampled = len(alike)
    total = alike.sum(axis=1) - np.diag(alike)
    means = np.clip(total / max(1, sampled - 1) / 2.0, 0.0, 1.0)
    out = [round(float(mean), WEIGHT_DIGITS) for mean in means]
    return out + [round(float(means.min()), WEIGHT_DIGITS)] * (size - sampled)


def _body(
    held: Sequence[Item],
    members: Sequence[tuple[str, float]],
    counter: Sequence[tuple[str, float]],
    rarity: Callable[[str], float],
) -> dict[str, Any]:
    events = [event_of(item) for item in held]
    outcome = outcome_of(item.label for item in held)
    described = describe(events, outcome, terms_of=readable, rarity=rarity)
    return {
        "members": [list(one) for one in members],
        "counter": [[one, round(alike, WEIGHT_DIGITS)] for one, alike in counter],
        "outcome": outcome, "summary": described.summary,
        "signature": described.signature, "recommendation": described.recommendation, "content": described.content,
    }  # fmt: skip


def outcome_of(labels: Iterable[str | None]) -> str:
    """Give failure where at least one failed, else success, else unknown: failures go first (EMB-08)."""
    found = set(labels)
    return next((label for label in ("failure", "success") if label in found), "unknown")
