"""The terms of one lane as an in-memory inverted index in numpy, with additions and removals.

A scope is one or more lanes (a user's own and the shared ones). Each lane has one :class:`ScopeIndex`;
``recall.scoring.lexical_scores`` takes all indexes of the scope together, because the number of documents, document
frequencies and the average length are statistics of the *scope*: with a global index, other tenants' words would change
a user's ranking.

Not thread-safe: the owner (recall's cache) locks around ``add`` and ``remove``.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log
from typing import Final, TypeVar

import numpy as np
import numpy.typing as npt

from phronesis.errors import InputError

Floats = npt.NDArray[np.float32]
_Scalar = TypeVar("_Scalar", bound=np.generic)
TERM_RECORD: Final = np.dtype([("term", "<u8"), ("tf", "<u2")])
"""One term of a document as it is stored: 64-bit hash and frequency, little-endian, packed into 10 bytes."""
K1: Final = 1.2
B: Final = 0.75
"""Robertson & Zaragoza 2009, 'The Probabilistic Relevance Framework: BM25 and Beyond': k1 in 1.2..2, b in .5..8."""
TAIL_POSTINGS: Final = 4096
TAIL_SHARE: Final = 4
"""The tail is merged beyond max(4096 postings, a quarter of the main segment): O(1) merges a document, amortised."""


def unpack_terms(blob: bytes) -> npt.NDArray[np.void]:
    """Return the records (``term`` u8, ``tf`` u2) of a packed document, sorted by term; read-only, no copy.

    Raises InputError when the blob is not a whole number of 10-byte records.
    """
    if len(blob) % TERM_RECORD.itemsize:
        raise InputError(
            f"terms: {len(blob)} bytes are not whole {TERM_RECORD.itemsize}-byte records; rebuild the search document",
            field="terms",
        )
    return np.frombuffer(blob, dtype=TERM_RECORD)


@dataclass(frozen=True, slots=True)
class _Segment:
    """Postings sorted by term: parallel arrays, 14 bytes a posting."""

    term: npt.NDArray[np.uint64]
    doc: npt.NDArray[np.int32]
    tf: npt.NDArray[np.uint16]

    @property
    def nbytes(self) -> int:
        return self.term.nbytes + self.doc.nbytes + self.tf.nbytes

    def slices(self, terms: npt.NDArray[np.uint64]) -> list[tuple[int, int]]:
        left = self.term.searchsorted(terms, "left")
        right = self.term.searchsorted(terms, "right")
        return list(zip(left.tolist(), right.tolist(), strict=True))


def _empty_segment() -> _Segment:
    return _Segment(np.empty(0, np.uint64), np.empty(0, np.int32), np.empty(0, np.uint16))


def _join_segments(first: _Segment, second: _Segment) -> _Segment:
    term = np.concatenate((first.term, second.term))
    # Stable sort merges the two sorted runs in linear time (numpy's timsort).
    order = term.argsort(kind="stable")
    doc = np.concatenate((first.doc, second.doc))[order]
    return _Segment(term[order], doc, np.concatenate((first.tf, second.tf))[order])


class ScopeIndex:
    """The inverted index of one lane's search documents; rows are numbered 0, 1, 2 … by the caller.

    A row is never reused: a changed document is removed and added again under a new number. Dead rows keep their place
    (and their postings) until the owner builds a new index, which it should when fewer than half of the rows are alive.
    """

    def __init__(self) -> None:
        self._main = _empty_segment()
        self._tail = _empty_segment()
        self._lengths: npt.NDArray[np.int32] = np.zeros(0, np.int32)
        self._alive: npt.NDArray[np.bool_] = np.zeros(0, np.bool_)
        self._rows = 0
        self._doc_count = 0

    @property
    def row_count(self) -> int:
        """Rows ever added, dead ones too: the length of a score array and the number the next row must have."""
        return self._rows

    @property
    def doc_count(self) -> int:
        """Documents alive: this index's part of N."""
        return self._doc_count

    @property
    def alive(self) -> npt.NDArray[np.bool_]:
        """A read-only mask over the rows, True where the document was not removed."""
        mask = self._alive[: self._rows]
        mask.flags.writeable = False
        return mask

    @property
    def lengths(self) -> Floats:
        """A float32 array over the rows: the document's length in tokens, dead rows too."""
        return self._lengths[: self._rows].astype(np.float32)

    @property
    def nbytes(self) -> int:
        """Bytes held in arrays: what a cache should charge for this index."""
        return self._main.nbytes + self._tail.nbytes + self._lengths.nbytes + self._alive.nbytes

    def add(self, rows: Sequence[tuple[int, bytes]]) -> None:
        """Append documents: (row number, packed terms) with the numbers following ``row_count`` without a gap.

        Raises InputError, having changed nothing, for a number out of order or a blob that is not whole records.
        """
        if not rows:
            return
        expected = range(self._rows, self._rows + len(rows))
        for number, (doc_no, blob) in zip(expected, rows, strict=True):
            if doc_no != number:
                raise InputError(f"doc_no: {doc_no} where {number} was due; number rows consecutively", field="doc_no")
            if len(blob) % TERM_RECORD.itemsize:
                unpack_terms(blob)
        records = unpack_terms(b"".join(blob for _, blob in rows))
        counts = np.fromiter((len(blob) // TERM_RECORD.itemsize for _, blob in rows), np.int64, len(rows))
        local = np.repeat(np.arange(len(rows)), counts)
        lengths = np.bincount(local, weights=records["tf"], minlength=len(rows)).astype(np.int64)
        self._append_lengths(lengths)
        order = records["term"].argsort(kind="stable")
        block = _Segment(
            records["term"][order].astype(np.uint64, copy=False),
            (local[order] + expected.start).astype(np.int32),
            records["tf"][order].astype(np.uint16, copy=False),
        )
        self._append_block(block)

    def _append_lengths(self, lengths: npt.NDArray[np.int64]) -> None:
        start, end = self._rows, self._rows + len(lengths)
        if end > len(self._lengths):
            capacity = max(end, 2 * len(self._lengths))
            self._lengths = _grow_array(self._lengths, capacity)
            self._alive = _grow_array(self._alive, capacity)
        self._lengths[start:end] = lengths
        self._alive[start:end] = True
        self._rows = end
        self._doc_count += len(lengths)

    def _append_block(self, block: _Segment) -> None:
        tail = _join_segments(self._tail, block) if len(self._tail.term) else block
        if len(tail.term) > max(TAIL_POSTINGS, len(self._main.term) // TAIL_SHARE):
            self._main = _join_segments(self._main, tail) if len(self._main.term) else tail
            tail = _empty_segment()
        self._tail = tail

    def remove(self, doc_nos: Sequence[int]) -> None:
        """Mark rows dead; a row that is dead already stays so. Raises InputError for a row that was never added."""
        for doc_no in doc_nos:
            if not 0 <= doc_no < self._rows:
                raise InputError(f"doc_no: {doc_no} was never added; rows are 0..{self._rows - 1}", field="doc_no")
        rows = np.unique(np.asarray(doc_nos, dtype=np.int64))
        rows = rows[self._alive[rows]]
        self._alive[rows] = False
        self._doc_count -= len(rows)

    def postings(self, terms: Sequence[int]) -> list[tuple[npt.NDArray[np.int32], npt.NDArray[np.uint16]]]:
        """Give, for each term hash, two parallel arrays, unordered: the rows of its live documents, the frequencies."""
        wanted = np.array(terms, dtype=np.uint64)
        dead = self._doc_count < self._rows
        found = []
        for (a, b), (c, d) in zip(self._main.slices(wanted), self._tail.slices(wanted), strict=True):
            doc, tf = self._main.doc[a:b], self._main.tf[a:b]
            if c < d:
                doc = np.concatenate((doc, self._tail.doc[c:d]))
                tf = np.concatenate((tf, self._tail.tf[c:d]))
            if dead:
                keep = self._alive[doc]
                doc, tf = doc[keep], tf[keep]
            found.append((doc, tf))
        return found


def _grow_array(array: npt.NDArray[_Scalar], capacity: int) -> npt.NDArray[_Scalar]:
    bigger = np.zeros(capacity, array.dtype)
    bigger[: len(array)] = array
    return bigger


def idf_of(documents: int, df: int) -> float:
    """Return ln(1 + (N - df + .5) / (df + .5)), above 0 for df <= N (Robertson & Sparck Jones 1976, as in Lucene)."""
    return log(1.0 + (documents - df + 0.5) / (df + 0.5))
