"""Compute vectors in the background, without delaying writes, and switch to another model without downtime."""

import logging
import threading
import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import Final

import numpy as np

from phronesis.errors import ModelError
from phronesis.experience.laws.records import L1
from phronesis.index.projections import is_compared
from phronesis.models.embedder import Embedder, Floats, embed_queries, may_be_the_text
from phronesis.models.embedders import Embedders
from phronesis.store.database import Database, Unit
from phronesis.store.documents import PendingDocument, documents_without_vector, existing_documents, put_vectors
from phronesis.store.lanes import (
    DocumentState,
    active_model,
    documented_lanes,
    drop_other_models,
    has_model,
    lock_lane,
    put_model,
)
from phronesis.store.schema import MEMORY, TABLE_SETS, TableSet, table_set_of
from phronesis.traits.laws.strength import MEMORY_KINDS

# Encoding of a batch. A text that the encoder rejects loses only its own vector.

SHORTER: Final = (4_000, 2_000, 1_000, 500, 250)
"""Lengths of the beginning of a rejected text to try, in turn. The smallest models read 512 tokens: some 250
characters in scripts that need two tokens for each. A beginning that is still rejected is not too long."""

PROBE: Final = "text"
"""A text that any encoder accepts: if it fails too, the server is at fault and not the text."""

logger = logging.getLogger(__name__)

_Encode = Callable[[Sequence[str]], Floats]


def encode_documents(embedder: Embedder, todo: Sequence[PendingDocument]) -> Floats:
    """Return the vectors of a batch: compared parts are encoded as queries, the rest as documents, equal texts once.

    A text that is rejected where others are not is encoded by its beginning; if no beginning is accepted, it gets a
    zero vector and is found by its terms alone. ModelError: the encoder accepts no text at present.
    """
    out = np.zeros((len(todo), embedder.dimension), np.float32)
    for compared, encode in ((True, partial(embed_queries, embedder)), (False, embedder.embed_documents)):
        rows = [n for n, one in enumerate(todo) if is_compared(one.part) is compared]
        texts = {text: n for n, text in enumerate(dict.fromkeys(todo[row].text for row in rows))}
        if texts:
            try:
                vectors = encode(list(texts))
            except ModelError as error:
                _check_taken(embedder, error)
                vectors = np.concatenate([_encode_alone(embedder, encode, text) for text in texts])
            out[rows] = vectors[[texts[todo[row].text] for row in rows]]
    return out


def _check_taken(embedder: Embedder, error: ModelError) -> None:
    """Raise ``error`` unless it concerns the text, that is, unless the encoder accepts another text now."""
    if not may_be_the_text(error):
        raise error
    try:
        embedder.embed_documents([PROBE])
    except ModelError:
        raise error from None


def _encode_alone(embedder: Embedder, encode: _Encode, text: str) -> Floats:
    """Encode a text of a batch that was rejected, or its longest accepted beginning; zeros where none is accepted."""
    for length in (len(text), *(length for length in SHORTER if length < len(text))):
        try:
            return encode([text[:length]])
        except ModelError as error:
            _check_taken(embedder, error)
    logger.warning(
        "encoder %s takes nothing of a text of %d characters; it is found by its words alone", embedder.name, len(text)
    )
    return np.zeros((1, embedder.dimension), np.float32)


# Lanes that may lack vectors: those written to by this process, and periodically all lanes.

LOOK_AROUND_SECONDS: Final = 60.0
"""Seconds during which only lanes written by this process are checked; others may have been killed before theirs were.
"""


@dataclass(slots=True)
class WrittenLanes:
    """Remembers which lanes were written to until their vectors are made. Thread-safe."""

    seconds: Callable[[], float] = time.monotonic
    _lanes: dict[str, set[int]] = field(default_factory=dict)
    """Lanes by tenant; every lane of a missing tenant is to be checked."""
    _looked: dict[str, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, tenant: str, lane_id: int) -> None:
        """Record a write to a lane. Call it after the write, or a concurrent run would miss it and drop the note."""
        with self._lock:
            known = self._lanes.get(tenant)
            if known is not None:
                known.add(lane_id)

    def note_all(self, tenant: str) -> None:
        """Record that any lane of a tenant may have changed."""
        with self._lock:
            self._lanes.pop(tenant, None)

    def take(self, tenant: str) -> Collection[int] | None:
        """Return and clear the lanes to check, None for all; a caller that cannot finish them calls ``give_back``."""
        now = self.seconds()
        with self._lock:
            taken = self._lanes.get(tenant)
            if now - self._looked.get(tenant, -LOOK_AROUND_SECONDS) >= LOOK_AROUND_SECONDS:
                taken = None
            if taken is None:
                self._looked[tenant] = now
            self._lanes[tenant] = set()
            return taken

    def give_back(self, tenant: str, taken: Collection[int] | None) -> None:
        """Return lanes to the set of lanes to check."""
        with self._lock:
            known = self._lanes.get(tenant)
            if taken is None:
                self._lanes.pop(tenant, None)
            elif known is not None:
                known.update(taken)


BATCH: Final = 32
"""Texts encoded at a time: few enough for a quick stop, enough to write vectors in batches."""

BATCH_CHARACTERS: Final = 16_000
"""Characters encoded at a time, or one text: a stop waits for one batch, seconds on a slow encoder."""

SPAN: Final = BATCH
"""Entries searched at first for documents without a vector; later, twice as many as the last batch covered."""

TWICE: Final = (L1, *MEMORY_KINDS)
"""Parts that are compared with others of their kind: events for patterns, conversation memories for traits. They get
vectors of a second encoder too, where one is configured; documents that are only searched do not. The encoder of
lessons covers events alone, and the whole of each."""

TURNS: Final = 64
"""Number of locks that lanes share; two lanes with the same lock at worst wait for one batch of each other."""


@dataclass(frozen=True, slots=True)
class _Job:
    """The documents to embed, the encoder, and the tenant."""

    tenant: str
    lane_id: int
    embedder: Embedder
    kinds: Sequence[str]
    home: TableSet
    beside: bool = False
    """Whether the encoder is a second one, besides the tenant's own, which searches use."""


@dataclass(slots=True)
class Vectorizer:
    """Computes the vectors of documents. Thread-safe; any number of processes may run at once.

    Threads of one process take turns at a lane, a batch each, since encoding is expensive and the background thread
    and a `flush` would both do all of it. Two processes may compute the same vector twice.
    """

    database: Database
    embedders: Embedders
    written: WrittenLanes = field(default_factory=WrittenLanes)
    _done: dict[tuple[str, int, bool], tuple[str, int, int]] = field(default_factory=dict)
    _failed: set[tuple[str, int]] = field(default_factory=set)
    _turns: tuple[threading.Lock, ...] = field(default_factory=lambda: tuple(threading.Lock() for _ in range(TURNS)))

    def serves(self, tenant: str) -> bool:
        """Return whether the tenant has an encoder."""
        return self.embedders.serving(tenant) is not None

    def catch_up(self, tenant: str, *, stopped: Callable[[], bool], rest: Callable[[], bool]) -> int:
        """Run for the lanes that were written to; at first and periodically for all lanes.

        ``rest`` is called before the second encoders' vectors are made; if it returns True, they are left.
        """
        lanes = self.written.take(tenant)
        is_done = False
        try:
            made = self.run(tenant, stopped=stopped, only=lanes, comparing=False)
            if not rest():
                made += self.run(tenant, stopped=stopped, only=lanes)
                is_done = not stopped()
        finally:
            if not is_done:
                self.written.give_back(tenant, lanes)
        return made

    def run(
        self,
        tenant: str,
        *,
        stopped: Callable[[], bool] = lambda: False,
        only: Collection[int] | None = None,
        comparing: bool = True,
    ) -> int:
        """Embed every current document of the tenant without a vector of its model; return the number of vectors made.

        ``only`` names the lanes to check, since a tenant may have thousands of idle ones. ``comparing``: the second
        encoders' vectors too, by which memories and events are compared; loading these takes a second or more.

        The first model becomes the active one; only ``reembed`` changes it. Nothing is made for a model that is not
        loaded here. A lane that fails ends the run after the others are done; the next run takes it last.
        """
        with self.database.transaction(tenant, "read") as unit:
            lanes = documented_lanes(unit, only)
            embedder = self._embedder(unit)
        if embedder is None:
            return 0
        if only is None:
            self._forget(tenant, {lane.lane_id for lane in lanes})
        names = " beside ".join(one.name for one in [embedder, *self.embedders.comparison_encoders(embedder)])
        made = 0
        for lane in sorted(lanes, key=lambda lane: (tenant, lane.lane_id) in self._failed):
            mark = (names, lane.epoch, lane.documents_seq)
            done = self._done.get((tenant, lane.lane_id, comparing))
            if done == mark:
                continue
            # What had its vectors when this process last looked has them still: only an epoch takes any away.
            start = done[2] + 1 if done is not None and done[:2] == mark[:2] else 1
            failed = True
            try:
                made += self._lane(tenant, lane, embedder, stopped, start=start)
                for one in self.embedders.comparison_encoders(embedder) if comparing else ():
                    job = _Job(tenant, lane.lane_id, one, TWICE, MEMORY, beside=True)
                    made += self._round(job, range(start, lane.documents_seq + 1), stopped)
                failed = False
            finally:
                (self._failed.add if failed else self._failed.discard)((tenant, lane.lane_id))
            if stopped():
                return made
            self._done[tenant, lane.lane_id, comparing] = mark
        return made

    def _forget(self, tenant: str, lane_ids: Collection[int]) -> None:
        """Forget the progress in lanes that no longer exist."""
        for key in [key for key in list(self._done) if key[0] == tenant and key[1] not in lane_ids]:
            self._done.pop(key, None)
        self._failed.difference_update([key for key in self._failed if key[0] == tenant and key[1] not in lane_ids])

    def embed(self, tenant: str, lane_id: int, kind: str) -> int:
        """Embed a lane's current documents of one kind at once; return the number of vectors made."""
        with self.database.transaction(tenant, "read") as unit:
            embedder, lanes = self._embedder(unit), documented_lanes(unit, {lane_id})
        if embedder is None:
            return 0
        return sum(self._lane(tenant, lane, embedder, lambda: False, kind=kind) for lane in lanes)

    def _embedder(self, unit: Unit) -> Embedder | None:
        active = active_model(unit)
        return self.embedders.default if active is None else self.embedders.named(active[0])

    def _lane(
        self,
        tenant: str,
        lane: DocumentState,
        embedder: Embedder,
        stopped: Callable[[], bool],
        *,
        kind: str | None = None,
        start: int = 1,
    ) -> int:
        entries = range(start, lane.documents_seq + 1)
        made = 0
        for home in TABLE_SETS if kind is None else (table_set_of(kind),):
            job = _Job(tenant, lane.lane_id, embedder, () if kind is None else (kind,), home)
            # Once more from the start after each that made some, in case a vector went meanwhile.
            while more := self._round(job, entries, stopped):
                made += more
        return made

    def _round(self, job: "_Job", entries: range, stopped: Callable[[], bool]) -> int:
        """Embed the documents of a range of entries in batches, with a range that holds about one batch."""
        made, begin, span = 0, entries.start, SPAN
        turn = self._turns[hash((job.tenant, job.lane_id)) % TURNS]
        while begin < entries.stop and not stopped():
            window = range(begin, min(begin + span, entries.stop))
            with turn:
                with self.database.transaction(job.tenant, "read") as unit:
                    missing = documents_without_vector(
                        unit,
                        job.lane_id,
                        job.embedder.name,
                        limit=BATCH,
                        entries=window,
                        kinds=job.kinds,
                        home=job.home,
                    )
                todo = _short(missing)
                if todo and not self._encode(job, todo):
                    break
            made += len(todo)
            if len(missing) == BATCH or len(todo) < len(missing):
                begin, span = todo[-1].seq, 2 * (todo[-1].seq - begin + 1)
            else:
                begin, span = window.stop, span * 2
        return made

    def _encode(self, job: "_Job", todo: list[PendingDocument]) -> bool:
        """Store a batch's vectors; return False if another model has become active meanwhile."""
        embedder = job.embedder
        vectors = encode_documents(embedder, todo)
        self.embedders.mark_available(embedder)
        with self.database.transaction(job.tenant, "derive") as unit:
            lock_lane(unit, job.lane_id)  # an erasure may have gone first: what it removed gets no vector
            left = existing_documents(unit, todo, home=job.home)
            if job.beside:
                if not has_model(unit, embedder.name):
                    _put_encoder(unit, embedder, active=False)
            elif active_model(unit) is None:
                _put_encoder(unit, embedder, active=True)
            elif not has_model(unit, embedder.name):
                return False  # a reembed to another model went first and dropped this one
            rows = [(one.id, vectors[n]) for n, one in enumerate(todo) if one.id in left]
            put_vectors(unit, job.lane_id, embedder.name, rows, home=job.home)
        return True

    def reembed(self, tenant: str, embedder: Embedder) -> int:
        """Embed everything with a new encoder, then make it active and delete the old vectors; return the number made.

        Searches use the old vectors until then. An interrupted call changes nothing for them, and the next one
        continues where it stopped.
        """
        self.embedders.add(embedder)
        with self.database.transaction(tenant, "derive") as unit:
            active = active_model(unit)
            if active is None or active[0] != embedder.name:
                _put_encoder(unit, embedder, active=active is None)
        with self.database.transaction(tenant, "read") as unit:
            lanes = documented_lanes(unit)
        made = sum(self._lane(tenant, lane, embedder, lambda: False) for lane in lanes)
        with self.database.transaction(tenant, "derive") as unit:
            _put_encoder(unit, embedder, active=True)
            drop_other_models(unit, {one.name for one in [embedder, *self.embedders.comparison_encoders(embedder)]})
        self.embedders.note_active_model(tenant, embedder.name)
        return made


def _short(todo: list[PendingDocument]) -> list[PendingDocument]:
    lengths = accumulate(len(one.text) for one in todo)
    return todo[: max(1, sum(length <= BATCH_CHARACTERS for length in lengths))]


def _put_encoder(unit: Unit, embedder: Embedder, *, active: bool) -> None:
    put_model(unit, embedder.name, dimension=embedder.dimension, prefix_scheme=embedder.prefix_scheme, active=active)
