"""The in-memory index of each lane, kept as long as it is used and caught up before every search."""

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from phronesis.core.entities import normal_name
from phronesis.core.fusion import Rows
from phronesis.core.lexical import ScopeIndex
from phronesis.core.vectors import VectorScope
from phronesis.index.projections import WHOLE
from phronesis.storage.database import Unit
from phronesis.storage.documents import changed_documents, read_vectors, stacked
from phronesis.storage.lanes import Lane

CACHE_BYTES: Final = 256 * 1024 * 1024
"""What the indexes of all lanes in one process may hold: about 170,000 documents with 384-dimensional vectors."""

ROW_OVERHEAD: Final = 900
"""Bytes that a document's ids and columns take in Python objects, measured with tracemalloc on 10,000: 855."""

NOWHERE: Final = -1

Key = tuple[str, int, bool]


@dataclass(slots=True)
class LaneIndex:
    """A lane's documents as parallel arrays, with their lexical and vector scores.

    ``history`` says that documents which are no longer current are in it too, for ``as_of`` and ended items.
    """

    lane_id: int
    history: bool
    epoch: int
    seen_seq: int = 0
    lexical: ScopeIndex = field(default_factory=ScopeIndex)
    vectors: VectorScope | None = None
    model_id: str | None = None
    row_of: dict[str, int] = field(default_factory=dict)
    document_ids: list[str] = field(default_factory=list)
    item_ids: list[str] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    before: list[int] = field(default_factory=list)
    after: list[int] = field(default_factory=list)
    speakers: dict[str, list[int]] = field(default_factory=dict)
    places: dict[tuple[str, int], int] = field(default_factory=dict)
    current: list[tuple[int, int | None]] = field(default_factory=list)
    unembedded: set[str] = field(default_factory=set)
    _beside: tuple[int, Rows, Rows] | None = None

    @property
    def nbytes(self) -> int:
        """What it holds, roughly."""
        vectors = self.vectors.nbytes if self.vectors is not None else 0
        return self.lexical.nbytes + vectors + ROW_OVERHEAD * len(self.document_ids)

    def catch_up(self, unit: Unit, lane: Lane) -> None:
        """Take in the documents that changed since the last look."""
        if self.seen_seq >= lane.documents_seq:
            return
        fresh: list[tuple[int, bytes]] = []
        gone: list[int] = []
        for row in changed_documents(unit, self.lane_id, after=self.seen_seq):
            known = self.row_of.get(row.id)
            if row.current_to is not None and not self.history:
                if known is not None:
                    gone.append(known)
            elif known is not None:
                self.current[known] = (row.current_from, row.current_to)
            else:
                fresh.append((self._append(row), row.terms))
        self.lexical.add(fresh)
        self.lexical.remove(gone)
        if self.vectors is not None:
            self.vectors.remove(gone)
        self.unembedded.difference_update(self.document_ids[row] for row in gone)
        self.seen_seq = lane.documents_seq

    def _append(self, row: Any) -> int:
        number = len(self.document_ids)
        self.row_of[row.id] = number
        self.document_ids.append(row.id)
        self.item_ids.append(row.item_id)
        self.parts.append(row.part)
        self.kinds.append(row.kind)
        self._place(number, row)
        if row.speaker is not None:
            self.speakers.setdefault(normal_name(row.speaker), []).append(number)
        self.current.append((row.current_from, row.current_to))
        self.unembedded.add(row.id)
        return number

    def _place(self, number: int, row: Any) -> None:
        """Note which rows stand before and after in the same session; -1 for none."""
        self.before.append(NOWHERE)
        self.after.append(NOWHERE)
        if row.session_id is None or row.position is None or row.part != WHOLE:
            return
        earlier = self.places.get((row.session_id, row.position - 1), NOWHERE)
        later = self.places.get((row.session_id, row.position + 1), NOWHERE)
        self.places[row.session_id, row.position] = number
        self.before[number], self.after[number] = earlier, later
        if earlier != NOWHERE:
            self.after[earlier] = number
        if later != NOWHERE:
            self.before[later] = number

    def beside(self) -> tuple[Rows, Rows]:
        """Give, for every row, the rows before and after it in its session, -1 for none."""
        if self._beside is None or self._beside[0] != self.seen_seq:
            before, after = np.asarray(self.before, dtype=np.int64), np.asarray(self.after, dtype=np.int64)
            self._beside = (self.seen_seq, before, after)
        return self._beside[1], self._beside[2]

    def load_vectors(self, unit: Unit, model_id: str, dimension: int) -> None:
        """Take in the vectors that were made since the last look; all of them anew after a change of model."""
        if self.model_id != model_id:
            self.model_id, self.vectors = model_id, VectorScope(dimension)
            self.unembedded = set(self.document_ids)
        if not self.unembedded:
            return
        wanted = None if len(self.unembedded) * 2 > len(self.document_ids) else sorted(self.unembedded)
        rows = [row for row in read_vectors(unit, self.lane_id, model_id, wanted) if row.document_id in self.unembedded]
        if rows and self.vectors is not None:
            self.vectors.put([self.row_of[row.document_id] for row in rows], stacked(rows))
            self.unembedded.difference_update(row.document_id for row in rows)

    def mask_at(self, moment: int) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Give which rows were current at ``moment`` (microseconds)."""
        rows = (start <= moment and (end is None or moment < end) for start, end in self.current)
        return np.fromiter(rows, dtype=np.bool_, count=len(self.current))


@dataclass(slots=True)
class ScopeIndexes:
    """The lanes' indexes of one process, least recently used out first. Thread-safe under ``lock``."""

    limit: int = CACHE_BYTES
    lock: threading.RLock = field(default_factory=threading.RLock)
    _kept: "OrderedDict[Key, LaneIndex]" = field(default_factory=OrderedDict)
    _sizes: dict[Key, int] = field(default_factory=dict)
    _held: int = 0

    def of(self, unit: Unit, lane: Lane, *, history: bool = False) -> LaneIndex:
        """Give a lane's index as of this transaction. Hold ``lock`` while using it.

        A lane whose epoch moved (rebuilt, erased) is loaded anew: nothing erased survives in memory.
        """
        key = (unit.tenant, lane.lane_id, history)
        index = self._kept.get(key)
        dead = index is not None and index.lexical.row_count > 2 * index.lexical.doc_count + 1000
        if index is None or index.epoch != lane.epoch or dead:
            index = LaneIndex(lane.lane_id, history, lane.epoch)
            self._kept[key] = index
        self._kept.move_to_end(key)
        index.catch_up(unit, lane)
        self._shrink(key)
        return index

    def drop(self, tenant: str, lane_id: int) -> None:
        """Forget a lane's indexes at once."""
        with self.lock:
            for history in (False, True):
                self._forget((tenant, lane_id, history))

    def _shrink(self, used: Key) -> None:
        size = self._kept[used].nbytes
        self._held += size - self._sizes.get(used, 0)
        self._sizes[used] = size
        while self._held > self.limit and len(self._kept) > 1:
            oldest = next(key for key in self._kept if key != used)
            self._forget(oldest)

    def _forget(self, key: Key) -> None:
        self._kept.pop(key, None)
        self._held -= self._sizes.pop(key, 0)
