"""Keep an external index in step with the database: send changes before each search, and repair the whole on request.

The index lies outside every transaction and is never authoritative. Pending changes are recorded in the database
(``store.deltas``) and sent by the next search, flush, background pass or worker.
"""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np

from phronesis.core.items import Item
from phronesis.errors import StorageError
from phronesis.index.projections import PROSE, OutsideDocument, OutsideIndex, Space, Where, match_id, part_name
from phronesis.index.vectorizer import Vectorizer
from phronesis.reasoning.laws.claim_status import status_of
from phronesis.reasoning.laws.records import CLAIM, REASONING
from phronesis.store.database import Database, Unit
from phronesis.store.deltas import Mark, changed_items, drop_marks, followed_spaces, move_mark, read_mark, reset_marks
from phronesis.store.dialects import Vector
from phronesis.store.documents import DocumentRow, documents_of_items, read_vectors
from phronesis.store.items import items_of_kind, read_items
from phronesis.store.lanes import Lane, active_model, find_secret, get_lane, list_lanes

MAX_TRIES: Final = 5
"""Maximum passes over a lane that others change meanwhile; the next caller continues."""

PAGE: Final = 500
"""Items read at a time."""

CLOSE: Final = 1e-3
"""Tolerance of each component of a stored vector: rounding to half precision moves values below 1 by at most 5e-4."""


SEPARATOR: Final = "::"
"""Separator between the parts of a claim document's id."""


@dataclass(frozen=True, slots=True)
class Mirrored:
    """Mirrored documents of some items; ``ids`` are all ids they ever had. ``whole``.

    None still waits for its vector.
    """

    documents: Sequence[OutsideDocument]
    ids: Collection[str]
    whole: bool


def documents_of(unit: Unit, lane: Lane, items: Iterable[Item], *, store: str, model: str) -> Mirrored:
    """Return what an external index must hold of some items of a lane; nothing of items hidden from ordinary reads.

    The item's document has the vector of its text. A text without content has a zero vector and is left out.
    """
    by_id = {item.id: item for item in items}
    rows = documents_of_items(unit, lane.lane_id, list(by_id))
    current = [row for row in rows if row.current_to is None and by_id[row.item_id].live]
    found = read_vectors(unit, lane.lane_id, model, [row.id for row in current])
    vectors = {row.document_id: row.embedding for row in found}
    common = {"tenant": unit.tenant, "store": store, "lane": str(lane.lane_id)}
    out = []
    for row in current:
        vector = vectors.get(row.id)
        if vector is not None and np.any(vector) and _is_mirrored(row.part):
            out.append(_document(by_id[row.item_id], row, vector, common))
    ids = {match_id(row.item_id, row.part) for row in rows if _is_mirrored(row.part)} | by_id.keys()
    return Mirrored(out, ids, whole=len(vectors) == len(current))


def parent_of(document_id: str) -> str:
    """Return the item id contained in a document's id."""
    return document_id.partition(SEPARATOR)[0]


def _is_mirrored(part: str) -> bool:
    """Return whether a part is mirrored: claims, and the first chunk of a text for its item."""
    return part_name(part) == CLAIM or part in (PROSE, f"{PROSE}:0")


def _document(item: Item, row: DocumentRow, vector: Vector, common: dict[str, Any]) -> OutsideDocument:
    facts = {**common, "kind": item.kind, "version": item.version, "document_id": row.id}
    if item.label is not None:
        facts["scope"] = item.label
    if part_name(row.part) != CLAIM:
        return OutsideDocument(item.id, item.content, {**facts, "doc_type": "item"}, vector)
    claim_id = row.part.partition(":")[2]
    facts |= {
        "doc_type": "claim",
        "parent_mem_id": item.id,
        "claim_id": claim_id,
        "claim_status": status_of(item, claim_id),
    }
    return OutsideDocument(match_id(item.id, row.part), row.text or "", facts, vector)


@dataclass(frozen=True, slots=True)
class MirrorState:
    """State of an external index: documents expected, and lanes not yet fully mirrored.

    ``missing`` documents are absent or differ; ``strange`` ones are present and should not be.
    """

    documents: int = 0
    behind: int = 0
    missing: int = 0
    strange: int = 0


@dataclass(frozen=True, slots=True)
class _LaneChanges:
    """Changes to send to the index for a lane, as of one moment."""

    lane: Lane
    mark: Mark
    put: Sequence[OutsideDocument]
    remove: Sequence[str]
    touched: Collection[str]
    whole: bool


@dataclass(frozen=True, slots=True)
class _Tenant:
    """A tenant's documents and where they are stored."""

    name: str
    store: str
    model: str
    space: Space

    def of(self, lane_id: int | None = None) -> Where:
        """Return the filter for the tenant's documents, or for those of a lane."""
        own = {"store": [self.store]}
        return own if lane_id is None else {**own, "lane": [str(lane_id)]}


@dataclass(slots=True)
class Mirror:
    """Keeps one external index in step. Safe to run concurrently, in any number of processes."""

    database: Database
    vectorizer: Vectorizer
    index: OutsideIndex
    _seen: dict[tuple[str, int], tuple[str, int, int]] = field(default_factory=dict)

    def follow(self, tenant: str, lane_ids: Collection[int] | None = None) -> int:
        """Send the changes of some lanes, or of all; return the number of documents moved.

        Documents without a vector are encoded. With all lanes, spaces of former encoders are cleared. IndexUnavailable
        when the index is not reached, ModelError when the encoder is not; nothing is lost in either case.
        """
        whose, moved = self._tenant(tenant), 0
        for lane_id in self._unseen(tenant, whose, lane_ids):
            self.vectorizer.embed(tenant, lane_id, REASONING)
            whose = whose or self._tenant(tenant)
            if whose is not None:
                moved += self._follow(whose, lane_id)
        if whose is not None and lane_ids is None:
            with self.database.transaction(tenant, "read") as unit:
                others = followed_spaces(unit) - {whose.space.id}
            if others:
                self._sweep(tenant, whose)
        return moved

    def repair(self, tenant: str) -> int:
        """Make the index match the database completely; return the number of documents that were wrong.

        The tenant's documents in spaces of other encoders are removed.
        """
        for lane_id in self._unseen(tenant, None, None):
            self.vectorizer.embed(tenant, lane_id, REASONING)
        whose = self._tenant(tenant)
        self._sweep(tenant, whose)
        if whose is None:
            return 0
        known = self._unseen(tenant, None, None)
        wrong = sum(self._follow(whose, lane_id, anew=True) for lane_id in known)
        lanes = set(map(str, known))
        strays = [one.id for one in whose.space.list_documents(whose.of()) if one.facts.get("lane") not in lanes]
        whose.space.remove(strays)
        return wrong + len(strays)

    def remove_erased(self, tenant: str, lane_ids: Collection[int]) -> int:
        """Remove erased documents, also in spaces of other encoders; return the number that are left.

        No encoder is called. IndexUnavailable: the removal stays pending.
        """
        whose = self._tenant(tenant)
        self._sweep(tenant, whose)
        if whose is None:
            return 0
        for lane_id in lane_ids:
            self._follow(whose, lane_id)
        return self._compare(whose, lane_ids).strange

    def compare(self, tenant: str) -> MirrorState:
        """Compare index and database without changing anything."""
        whose = self._tenant(tenant)
        return MirrorState() if whose is None else self._compare(whose, None)

    def space_of(self, tenant: str, model: str) -> tuple[Space, str] | None:
        """Return the space of a model's vectors and the tenant's mark there; None if the vectors are elsewhere."""
        whose = self._tenant(tenant)
        return None if whose is None or whose.model != model else (whose.space, whose.store)

    def _tenant(self, tenant: str) -> _Tenant | None:
        with self.database.transaction(tenant, "read") as unit:
            secret, active = find_secret(unit), active_model(unit)
        if secret is None or active is None:
            return None
        return _Tenant(tenant, _store(secret), active[0], self.index.space(*active))

    def _unseen(self, tenant: str, whose: _Tenant | None, lane_ids: Collection[int] | None) -> list[int]:
        """Return those of the lanes, by default all, that changed since this process last saw them."""
        with self.database.transaction(tenant, "read") as unit:
            lanes = list_lanes(unit) if lane_ids is None else [get_lane(unit, lane_id) for lane_id in lane_ids]
        return [lane.lane_id for lane in lanes if whose is None or not self._is_seen(whose, lane)]

    def _is_seen(self, whose: _Tenant, lane: Lane) -> bool:
        return self._seen.get((whose.name, lane.lane_id)) == (whose.space.id, lane.epoch, lane.applied_seq)

    def _note_seen(self, whose: _Tenant, lane: Lane) -> None:
        self._seen[whose.name, lane.lane_id] = (whose.space.id, lane.epoch, lane.applied_seq)

    def _compare(self, whose: _Tenant, lane_ids: Collection[int] | None) -> MirrorState:
        expected: dict[str, OutsideDocument] = {}
        behind = 0
        with self.database.transaction(whose.name, "read") as unit:
            lanes = list_lanes(unit) if lane_ids is None else [get_lane(unit, lane_id) for lane_id in lane_ids]
            for lane in lanes:
                found = self._expected_documents(unit, lane, whose)
                expected.update({document.id: document for document in found.documents})
                mark = read_mark(unit, whose.space.id, lane.lane_id)
                late = mark.epoch != lane.epoch or bool(changed_items(unit, lane.lane_id, REASONING, after=mark.seq))
                behind += late and bool(found.ids or lane.epoch)
        wheres = [whose.of()] if lane_ids is None else [whose.of(lane_id) for lane_id in lane_ids]
        held = {document.id: document for where in wheres for document in whose.space.list_documents(where)}
        missing = sum(_differs(document, held.get(one)) for one, document in expected.items())
        return MirrorState(len(expected), behind, missing, len(held.keys() - expected.keys()))

    def _follow(self, whose: _Tenant, lane_id: int, *, anew: bool = False) -> int:
        """Bring one lane up to date; return the number of documents written or removed.

        The lane's mark is moved after writing. If another process moved it first, its newer data may have been
        overwritten by ours, so ours is sent again in its current state.
        """
        moved = 0
        again: set[str] = set()
        for _ in range(MAX_TRIES):
            told = self._changes_of(whose, lane_id, again, anew=anew)
            if told is None:
                return moved
            whose.space.put(told.put)
            whose.space.remove(told.remove)
            moved += len(told.put) + len(told.remove)
            again |= set(told.touched)
            if self._move_lane_mark(whose, told):
                return moved
            anew = False
        return moved

    def _changes_of(self, whose: _Tenant, lane_id: int, again: Collection[str], *, anew: bool) -> _LaneChanges | None:
        """Return the changes to send for a lane; None if it is up to date."""
        with self.database.transaction(whose.name, "read") as unit:
            lane = get_lane(unit, lane_id)
            if not again and not anew and self._is_seen(whose, lane):
                return None
            mark = read_mark(unit, whose.space.id, lane_id)
            if mark.epoch == lane.epoch and not anew:
                ids = changed_items(unit, lane_id, REASONING, after=mark.seq) | set(again)
                items = read_items(unit, lane, ids).values()
                found = documents_of(unit, lane, items, store=whose.store, model=whose.model)
                kept = {document.id for document in found.documents}
                return _LaneChanges(lane, mark, found.documents, sorted({*found.ids} - kept), ids, found.whole)
            found = self._expected_documents(unit, lane, whose)
        if mark.stamp == 0 and not found.ids and lane.epoch == 0 and not anew:
            self._note_seen(whose, lane)  # the lane was always empty
            return None
        held = {document.id: document for document in whose.space.list_documents(whose.of(lane_id), vectors=anew)}
        right = {document.id: document for document in found.documents}
        put = [document for one, document in right.items() if _differs(document, held.get(one))]
        gone = sorted(held.keys() - right.keys())
        return _LaneChanges(lane, mark, put, gone, {parent_of(one) for one in [*right, *gone]}, found.whole)

    def _expected_documents(self, unit: Unit, lane: Lane, whose: _Tenant) -> Mirrored:
        pages = [documents_of(unit, lane, page, store=whose.store, model=whose.model) for page in _pages(unit, lane)]
        documents = [document for page in pages for document in page.documents]
        return Mirrored(documents, set().union(*(page.ids for page in pages)), all(page.whole for page in pages))

    def _move_lane_mark(self, whose: _Tenant, told: _LaneChanges) -> bool:
        """Move the lane's mark; return False if another process moved it, so that the changes must be sent again.

        While documents wait for their vectors the mark stays, and later changes are sent again. If nothing was sent, a
        locked database is not waited for: the mark then only saves others a check.
        """
        lane, mark, sent = told.lane, told.mark, bool(told.put or told.remove)
        seq = lane.applied_seq if told.whole else mark.seq if mark.epoch == lane.epoch else 0
        moved = True
        if sent or (lane.epoch, seq) != (mark.epoch, mark.seq):
            # A locked database is no fault: the next caller sends it again.
            with suppress(StorageError), self.database.transaction(whose.name, "derive", patient=sent) as unit:
                moved = move_mark(unit, whose.space.id, lane.lane_id, mark, epoch=lane.epoch, seq=seq)
        if sent and not moved:
            return False
        if told.whole:
            self._note_seen(whose, lane)
        return True

    def _sweep(self, tenant: str, whose: _Tenant | None) -> None:
        with self.database.transaction(tenant, "read") as unit:
            secret = find_secret(unit)
        if secret is None:
            return
        for space in self.index.spaces():
            if whose is None or space.id != whose.space.id:
                with self.database.transaction(tenant, "derive") as unit:
                    reset_marks(unit, space.id)  # repeated if the rest fails; refilled if the space is used again
                space.clear({"store": [_store(secret)]})
                with self.database.transaction(tenant, "derive") as unit:
                    drop_marks(unit, space.id)


def _store(secret: bytes) -> str:
    """Return the mark of a tenant's documents: unique across tenants and databases, and opaque."""
    return hashlib.sha256(b"outside index\0" + secret).hexdigest()[:32]


def _pages(unit: Unit, lane: Lane) -> Iterator[Sequence[Item]]:
    after = ""
    while page := items_of_kind(unit, lane, REASONING, after=after, limit=PAGE):
        yield page
        after = page[-1].id


def _differs(right: OutsideDocument, held: OutsideDocument | None) -> bool:
    if held is None or held.text != right.text or dict(held.facts) != dict(right.facts):
        return True
    if held.vector is None or right.vector is None:
        return False
    return held.vector.shape != right.vector.shape or not np.allclose(held.vector, right.vector, atol=CLOSE)
