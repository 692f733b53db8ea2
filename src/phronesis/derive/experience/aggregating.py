"""The verb ``aggregate``: events that belong together become patterns, which go on as their events come (EMB-09).

Preparing groups the events that something new touches, or all of them, and describes each group; its outcome holds ids,
weights and words. Applying makes, continues and retires patterns. What was looked at is marked by an item, so that a
rollback takes the mark back too, and the next call looks at it again.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import log
from threading import Lock
from typing import Final

from phronesis.core.entries import Entry, Outcome
from phronesis.core.experience.neighbours import NOBODY
from phronesis.core.experience.records import PATTERN
from phronesis.core.instants import to_micros
from phronesis.derive.experience.bonds import bonds_among
from phronesis.derive.experience.finding import Found, Part, clusters_of
from phronesis.derive.experience.marks import marked, returning
from phronesis.derive.experience.meaning import Encoders
from phronesis.derive.experience.reaching import near_to, reach_of, views_of
from phronesis.derive.experience.table import EventTable, EventTables
from phronesis.derive.experience.views import ALONE, ViewReader
from phronesis.derive.handler import Bench
from phronesis.models.embedders import Embedders
from phronesis.storage.lane_view import LaneView

AGGREGATE: Final = "aggregate"

CLUSTERS: Final = "clusters"
"""The role of the outcome: which groups there are, of the part that was looked at, and what is said of each."""

MADE_BY: Final = "average-link/13"
"""Rises when the same events would give other groups or words."""

MIN_MEMBERS: Final = 2
"""One event is no pattern."""

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
        return [Outcome(role=CLUSTERS, made_by=MADE_BY, body=clusters_of(reader, part))]

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
    members = {**reached.opposed, **reached.patterns}
    live = {one for one, item in view.items(members).items() if item.live}
    known = {one: Found([table.row_of[event] for event in members[one]], views_of(table.methods[one]))
             for one in sorted(live)
             if table.alive.issuperset(table.row_of.get(event, NOBODY) for event in members[one])}  # fmt: skip
    return Part(
        table.rows(sorted(reached.events)), by_view, sorted(reached.patterns), bonds_among(view, ids, table), back,
        known, known.keys() & reached.opposed, frozenset(table.rows(news).tolist()),
    )  # fmt: skip


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
