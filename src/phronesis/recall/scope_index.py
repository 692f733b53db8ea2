"""The in-memory index of each lane, cached while in use and brought up to date before every search."""

import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress, count, product
from typing import Final

import numpy as np

from phronesis.core.lexical_index import ScopeIndex
from phronesis.core.relations import normal_name
from phronesis.core.vectors import VectorScope
from phronesis.index.projections import WHOLE, Part, chunk_start, is_compared, part_name, terms_of
from phronesis.recall.scoring.lane_arrays import ALONE, Layout, Mask, Rows, make_layout, read_marks
from phronesis.recall.scoring.signals import Properties
from phronesis.recall.scoring.text_properties import NO_DAY, SAID, WHOLE_TERMS
from phronesis.store.compiled_statements import batches
from phronesis.store.database import Unit
from phronesis.store.documents import IndexedDocument, changed_documents, document_texts, read_vectors, stack_embeddings
from phronesis.store.items import read_items
from phronesis.store.lanes import Lane
from phronesis.store.schema import MEMORY, TABLE_SETS, TableSet

CACHE_BYTES: Final = 256 * 1024 * 1024
"""Maximum bytes of all lanes' indexes in one process: about 170,000 documents with 384-dimensional vectors."""

ROW_OVERHEAD: Final = 1_000
"""Bytes per document in Python objects, for ids and columns: 937 by tracemalloc on 10,000 documents.

20 more if the experience base is queried.
"""

NOBODY: Final = -1
"""The code in ``LaneLayout.speakers`` of a row without speaker and subject."""

NO_SESSION: Final = -2
"""A number that no session of a lane has."""

NO_PART: Final = -1
"""The code in ``LaneLayout.parts`` of a name that no part of the lane has."""

NEVER: Final = 2**63 - 1
"""The end of a current row."""

ANSWERS: Final = 16
"""Number of queries whose item masks a lane's index caches, one byte per item each."""

Key = tuple[str, int, bool, TableSet]


_COLUMNS: Final = (
    *("items", "kinds", "parts", "sessions", "origins", "positions", "offsets", "speakers"),
    *("flags", "days", "importance", "stages", "dated", "begins", "ends", "current_from", "current_to"),
)
"""Row attributes in typed arrays: reading ten thousand Python numbers would take longer than a search."""


@dataclass(frozen=True, slots=True)
class LaneLayout:
    """A lane's rows in chronological order, with the attributes that do not depend on the query."""

    layout: Layout
    properties: Properties
    items: Rows
    speakers: Rows
    kinds: Rows
    parts: Rows
    days: tuple[int, ...]
    """The first and last day (ordinals) of the places; empty if no place has a day."""


@dataclass(slots=True)
class LaneIndex:
    """A lane's documents of one store as parallel arrays, with their lexical and vector scores.

    ``history`` means that documents which are no longer current are included, for ``as_of`` and ended items. ``items``,
    ``speakers``, ``subjects``, ``kinds`` and ``part_names`` number the items, the speakers of messages, the subjects of
    other items, the kinds, and the names of parts.
    """

    lane_id: int
    history: bool
    epoch: int
    home: TableSet = MEMORY
    seen_seq: int = 0
    lexical: ScopeIndex = field(default_factory=ScopeIndex)
    vectors: VectorScope | None = None
    model_id: str | None = None
    row_of: dict[str, int] = field(default_factory=dict)
    document_ids: list[str] = field(default_factory=list)
    item_ids: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    items: dict[str, int] = field(default_factory=dict)
    speakers: dict[str, int] = field(default_factory=dict)
    subjects: dict[str, int] = field(default_factory=dict)
    kinds: dict[str, int] = field(default_factory=dict)
    part_names: dict[str, int] = field(default_factory=dict)
    unembedded: set[str] = field(default_factory=set)
    _sessions: dict[str, int] = field(default_factory=dict)
    _columns: dict[str, "array[int]"] = field(default_factory=lambda: {name: array("q") for name in _COLUMNS})
    _laid: LaneLayout | None = None
    _of_kinds: dict[tuple[str, ...], Mask] = field(default_factory=dict)
    _of_items: tuple[Rows, Rows] | None = None
    _answers: dict[Hashable, tuple[int, Mask]] = field(default_factory=dict)

    @property
    def nbytes(self) -> int:
        """The approximate size in bytes."""
        vectors = self.vectors.nbytes if self.vectors is not None else 0
        return self.lexical.nbytes + vectors + ROW_OVERHEAD * len(self.document_ids)

    def catch_up(self, unit: Unit, lane: Lane) -> None:
        """Apply the documents that changed since the last call."""
        if self.seen_seq >= lane.documents_seq:
            return
        fresh: list[IndexedDocument] = []
        gone: list[int] = []
        for row in changed_documents(unit, self.lane_id, after=self.seen_seq, home=self.home):
            self._laid = self._of_items = None  # derived from the previous rows of this store
            self._of_kinds.clear()
            known = self.row_of.get(row.id)
            if row.current_to is not None and not self.history:
                if known is not None:
                    gone.append(known)
            elif known is not None:
                self._columns["current_to"][known] = NEVER if row.current_to is None else row.current_to
            else:
                fresh.append(row)
        if fresh:
            self._append(self._reread(unit, lane, fresh))
        self.lexical.remove(gone)
        if self.vectors is not None:
            self.vectors.remove(gone)
        self.unembedded.difference_update(self.document_ids[row] for row in gone)
        self.seen_seq = lane.documents_seq

    def _reread(self, unit: Unit, lane: Lane, rows: list[IndexedDocument]) -> list[IndexedDocument]:
        """Return rows with current terms: rows written by an older version are indexed again from their texts.

        A rebuild stores them; until then each process reads the texts when it loads the lane.
        """
        whole = [row for row in rows if row.current_to is None and not is_compared(row.part)]
        old = [row for row in whole if not row.marks[0] & WHOLE_TERMS]
        if not old:
            return rows
        texts = document_texts(unit, {row.id: row.item_id for row in old if row.part != WHOLE}, home=self.home)
        terms: dict[str, bytes] = {}
        for batch in batches(old):
            items = read_items(unit, lane, {row.item_id for row in batch})
            known = [(row, items[row.item_id]) for row in batch if row.item_id in items]
            terms |= {row.id: terms_of(item, Part(row.part, texts.get(row.id))) for row, item in known}
        return [row._replace(terms=terms.get(row.id, row.terms)) for row in rows]

    def _append(self, rows: Sequence[IndexedDocument]) -> None:
        """Append new rows column by column: row by row took most of a lane's loading time."""
        number, columns = len(self.document_ids), self._columns
        ids, item_ids, parts, kinds, sessions, positions, speakers, terms, marks, begins, ends = zip(*rows, strict=True)
        read = read_marks(marks)
        self.lexical.add(list(enumerate(terms, number)))
        self.row_of.update(zip(ids, count(number)))
        self.document_ids.extend(ids)
        self.item_ids.extend(item_ids)
        self.parts.extend(parts)
        self.unembedded.update(ids)
        columns["items"].extend(_number_names(self.items, item_ids))
        columns["kinds"].extend(_number_names(self.kinds, kinds))
        starts = {part: chunk_start(part) for part in set(parts)}
        names = {part: part_name(part) for part in starts}
        columns["parts"].extend(_number_names(self.part_names, [names[part] for part in parts]))
        columns["offsets"].extend([starts[part] for part in parts])
        said = [s is not None and p is not None for s, p in zip(sessions, positions, strict=True)]
        origins = [ALONE if s is None else self._sessions.setdefault(s, len(self._sessions)) for s in sessions]
        columns["origins"].extend(origins)
        known = iter(list(compress(origins, said)))
        columns["sessions"].extend([next(known) if there else ALONE for there in said])
        columns["positions"].extend([p if there else 0 for p, there in zip(positions, said, strict=True)])
        columns["speakers"].extend(self._speakers(speakers, read.flags))
        columns["flags"].extend(read.flags)
        columns["days"].extend(read.days)
        columns["importance"].extend(read.importance)
        columns["stages"].extend(read.stages)
        for row, first, last in read.dates:
            columns["dated"].append(number + row)
            columns["begins"].append(first)
            columns["ends"].append(last)
        columns["current_from"].extend(begins)
        columns["current_to"].extend([NEVER if end is None else end for end in ends])

    def _speakers(self, speakers: Sequence[str | None], flags: Sequence[int]) -> Iterator[int]:
        """Return the codes of rows: speakers count up from 0, subjects down from -2."""
        codes: dict[tuple[str | None, bool], int] = {(None, True): NOBODY, (None, False): NOBODY}
        for speaker, flag in zip(speakers, flags, strict=True):
            who = (speaker, bool(flag & SAID))
            if who not in codes and speaker is not None:
                names = self.speakers if flag & SAID else self.subjects
                (named,) = _number_names(names, [normal_name(speaker)])
                codes[who] = named if flag & SAID else subject_code(named)
            yield codes[who]

    def laid(self, moment: int | None = None) -> LaneLayout:
        """Return the layout of the live documents; with ``moment`` (microseconds) of those current then."""
        if moment is not None:
            return self._make_layout(self.lexical.alive & self.mask_at(moment))
        if self._laid is None:
            self._laid = self._make_layout(self.lexical.alive)
        return self._laid

    def _make_layout(self, alive: Mask) -> LaneLayout:
        sessions, positions, offsets = map(self._column, ("sessions", "positions", "offsets"))
        lengths = self.lexical.lengths
        layout = make_layout(sessions=sessions, positions=positions, offsets=offsets, alive=alive, lengths=lengths)
        dated = layout.place_of[self._column("dated")] if self._columns["dated"] else np.zeros(0, np.int64)
        there = dated >= 0
        marks = ("flags", "days", "importance", "stages")
        flags, days, importance, stages = (self._column(name)[layout.rows] for name in marks)
        begins, ends = (self._column(name)[there] for name in ("begins", "ends"))
        properties = Properties(flags, days, importance, stages, dated[there], begins, ends)
        days = days[days != NO_DAY]
        bounds = (int(days.min()), int(days.max())) if len(days) else ()
        codes = ("items", "speakers", "kinds", "parts")
        items, speakers, kinds, parts = (self._column(name)[layout.rows] for name in codes)
        return LaneLayout(layout, properties, items, speakers, kinds, parts, bounds)

    def _column(self, name: str) -> Rows:
        """Copy a column: a view would prevent it from growing."""
        return np.array(self._columns[name], dtype=np.int64)

    def places_of(self, laid: LaneLayout, item_ids: Iterable[str]) -> Mask:
        """Return a mask of the places of some items; unknown items are ignored."""
        return self._mask_of_ids(item_ids)[laid.items]

    def places_of_session(self, laid: LaneLayout, session_id: str) -> Mask:
        """Return a mask of the places of a session: its messages, and items extracted from them."""
        there: Mask = self._column("origins")[laid.layout.rows] == self._sessions.get(session_id, NO_SESSION)
        return there

    def remembered(self, laid: LaneLayout, question: Hashable, seq: int, ask: Callable[[], Iterable[str]]) -> Mask:
        """Return a mask of the places of the items returned by ``ask``, cached per question until the lane changes.

        Narrow searches are often repeated, and reading thousands of ids is slow.
        """
        return self._cached_mask(question, seq, ask)[laid.items]

    def remembered_rows(self, question: Hashable, seq: int, ask: Callable[[], Iterable[str]]) -> Mask:
        """Return the same as a mask of rows, without a layout."""
        return self._cached_mask(question, seq, ask)[self._column("items")]

    def rows_of_kinds(self, kinds: tuple[str, ...], moment: int | None = None) -> Mask:
        """Return a mask of rows of some kinds that were current at ``moment`` (microseconds) or were never removed.

        The mask is read-only: it is shared until a row is added or removed.
        """
        mask = self._of_kinds.get(kinds)
        if mask is None:
            wanted = np.zeros(len(self.kinds), dtype=np.bool_)
            wanted[[self.kinds[kind] for kind in kinds if kind in self.kinds]] = True
            mask = self._of_kinds[kinds] = self.lexical.alive & wanted[self._column("kinds")]
            mask.flags.writeable = False
        return mask if moment is None else mask & self.mask_at(moment)

    def rows_of_days(self, first: int, last: int) -> Mask:
        """Return a mask of the rows whose day (an ordinal) lies between two, both inclusive."""
        days = self._column("days")
        return (first <= days) & (days <= last)

    def rows_of_items(self, item_ids: Iterable[str]) -> Rows:
        """Return the numbers of the rows of some items, ascending."""
        if self._of_items is None:  # rows grouped by item, and the start of each group
            items = self._column("items")
            rows = items.argsort(kind="stable")
            self._of_items = rows, items[rows].searchsorted(np.arange(len(self.items) + 1))
        rows, starts = self._of_items
        numbers = {number for number in map(self.items.get, item_ids) if number is not None}
        return np.sort(np.concatenate([rows[:0], *(rows[starts[one] : starts[one + 1]] for one in numbers)]))

    def _cached_mask(self, question: Hashable, seq: int, ask: Callable[[], Iterable[str]]) -> Mask:
        known = self._answers.get(question)
        if known is None or known[0] != seq:
            if len(self._answers) >= ANSWERS:
                self._answers.clear()
            known = self._answers[question] = (seq, self._mask_of_ids(ask()))
        return known[1]

    def _mask_of_ids(self, item_ids: Iterable[str]) -> Mask:
        chosen = np.zeros(len(self.items), dtype=np.bool_)
        chosen[[number for number in map(self.items.get, item_ids) if number is not None]] = True
        return chosen

    def load_vectors(self, unit: Unit, model_id: str, dimension: int) -> None:
        """Load the vectors made since the last call; all of them after a change of model."""
        if self.model_id != model_id:
            self.model_id, self.vectors = model_id, VectorScope(dimension)
            self.unembedded = set(self.document_ids)
        if not self.unembedded:
            return
        # By id even if all are missing: a lane may hold five view vectors for each searched one.
        rows = read_vectors(unit, self.lane_id, model_id, sorted(self.unembedded), home=self.home)
        if rows and self.vectors is not None:
            self.vectors.put([self.row_of[row.document_id] for row in rows], stack_embeddings(rows))
            self.unembedded.difference_update(row.document_id for row in rows)

    def current(self, laid: LaneLayout) -> Mask:
        """Return a mask of the places of current documents."""
        there: Mask = self._column("current_to")[laid.layout.rows] == NEVER
        return there

    def mask_at(self, moment: int) -> Mask:
        """Return a mask of the rows current at ``moment`` (microseconds)."""
        return (self._column("current_from") <= moment) & (moment < self._column("current_to"))


def subject_code(number: int) -> int:
    """Return the code in ``LaneLayout.speakers`` of the subject of that number."""
    return NOBODY - 1 - number


def _number_names(names: dict[str, int], wanted: Iterable[str]) -> list[int]:
    return [names.setdefault(name, len(names)) for name in wanted]


@dataclass(slots=True)
class ScopeIndexes:
    """The lanes' indexes of one process, one per store, with LRU eviction. Thread-safe under ``lock``."""

    limit: int = CACHE_BYTES
    lock: threading.RLock = field(default_factory=threading.RLock)
    _kept: "OrderedDict[Key, LaneIndex]" = field(default_factory=OrderedDict)
    _sizes: dict[Key, int] = field(default_factory=dict)
    _held: int = 0

    def of(self, unit: Unit, lane: Lane, *, history: bool = False, home: TableSet = MEMORY) -> LaneIndex:
        """Return a lane's index of a store as of this transaction. Hold ``lock`` while using it.

        A lane whose epoch changed (rebuilt, erased) is loaded again, so that no erased text stays in memory.
        """
        key = (unit.tenant, lane.lane_id, history, home)
        index = self._kept.get(key)
        dead = index is not None and index.lexical.row_count > 2 * index.lexical.doc_count + 1000
        if index is None or index.epoch != lane.epoch or dead:
            index = LaneIndex(lane.lane_id, history, lane.epoch, home)
            self._kept[key] = index
        self._kept.move_to_end(key)
        index.catch_up(unit, lane)
        self._held += index.nbytes - self._sizes.get(key, 0)
        self._sizes[key] = index.nbytes
        while self._held > self.limit and len(self._kept) > 1:
            self._forget(next(other for other in self._kept if other != key))  # the one that was not used for longest
        return index

    def drop(self, tenant: str, lane_id: int) -> None:
        """Drop a lane's indexes at once."""
        with self.lock:
            for history, home in product((False, True), TABLE_SETS):
                self._forget((tenant, lane_id, history, home))

    def _forget(self, key: Key) -> None:
        self._kept.pop(key, None)
        self._held -= self._sizes.pop(key, 0)
