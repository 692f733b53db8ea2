"""Projections from items to search documents, their update and rebuilding, and the port of an index outside.

An outside index holds copies; the database is authoritative. An entry point of the group ``phronesis.indexes`` names
what makes one from ``path``, ``url``, ``collection``, ``token`` and ``timeout`` (seconds), given by keyword. The policy
chooses it by the entry point's name.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, Protocol

from phronesis.core.changes import Delta, ResolvedChanges, as_of
from phronesis.core.ids import document_id
from phronesis.core.items import Item
from phronesis.core.timestamps import to_micros
from phronesis.index.tokens import boost_of, marks_of, pack_terms, search_terms, tokenize
from phronesis.recall.scoring.text_properties import WHOLE_TERMS, Marks
from phronesis.store.database import Database, Unit
from phronesis.store.deltas import deltas_of_items
from phronesis.store.dialects import Vector
from phronesis.store.documents import (
    DocumentRow,
    delete_documents,
    documents_of_items,
    insert_documents,
    stray_documents,
)
from phronesis.store.items import each_item, ids_of_kind
from phronesis.store.lanes import Lane, list_lanes, lock_lane, mark_documents, next_epoch
from phronesis.store.log import seqs_of_entries
from phronesis.store.schema import table_set_of

WHOLE: Final = "whole"
CHUNK: Final = "chunk:"
PROSE: Final = "prose"
"""The part that states a non-prose item in words."""
ALIKE: Final = "alike"
"""The part that is compared with others of its kind. It is encoded like a query, since encoders with separate query
and passage modes measure similarity between queries (E5, Wang et al. 2022)."""
ASIDE: Final = "~"
"""The prefix of parts that have a vector and no terms: they are compared, not searched."""
CHUNK_CHARACTERS: Final = 4_000
"""Length above which a text is also searched in chunks: about a thousand tokens, more than the encoders read."""
CHUNK_OVERLAP: Final = 200
"""Characters that consecutive chunks share, so that every sentence is whole in one of them."""


@dataclass(frozen=True, slots=True)
class Part:
    """One searchable part of an item; ``text`` None means the item's own content.

    ``dated`` False: the text is valid at any time and is not searched for dates.
    """

    part: str
    text: str | None
    dated: bool = True


_HELD_ONCE: Final = frozenset({"superseded", "retired"})
"""Ways of ending that apply to items that were valid until then."""
Projection = Callable[[Item], Sequence[Part]]


def whole(item: Item) -> list[Part]:
    """Project an item as its content: whole, and in overlapping chunks when long."""
    if len(item.content) <= CHUNK_CHARACTERS:
        return [Part(WHOLE, None)]
    return [Part(f"{CHUNK}{start}", text) for start, text in _chunks(item.content)]


def in_words(text: str, *, dated: bool = True) -> list[Part]:
    """Project a non-prose item as ``text``, which states it in words; no part when empty."""
    if len(text) <= CHUNK_CHARACTERS:
        return [Part(PROSE, text, dated)] if text else []
    return [Part(f"{PROSE}:{start}", piece, dated) for start, piece in _chunks(text)]


def _chunks(text: str) -> list[tuple[int, str]]:
    starts = range(0, len(text) - CHUNK_OVERLAP, CHUNK_CHARACTERS - CHUNK_OVERLAP)
    return [(start, text[start : start + CHUNK_CHARACTERS]) for start in starts]


def chunk_start(part: str) -> int:
    """Return the offset of a part in its item's content: a chunk's offset in characters, 0 for the whole."""
    return int(part.removeprefix(CHUNK)) if part.startswith(CHUNK) else 0


def of_content(part: str) -> bool:
    """Return whether a part is a section of its item's content, not a text of its own."""
    return part == WHOLE or part.startswith(CHUNK)


def own_words(item: Item, part: str, text: str | None) -> str:
    """Return the text to show for a part with the indexed text ``text``.

    For a section of the content, that is the content without prefixes added for search, such as headings.
    """
    if text is None or not of_content(part):
        return item.content if text is None else text
    start = chunk_start(part)
    return item.content[start : start + len(text)]


def is_compared(part: str) -> bool:
    """Return whether a part is encoded like a query, to be compared with others of its kind."""
    return part == ALIKE or part.startswith(ASIDE)


def part_name(part: str) -> str:
    """Return the type of a part, such as ``chunk``: its name before the colon."""
    return part.partition(":")[0]


def match_id(item_id: str, part: str) -> str:
    """Return the id of an item's part in results: the item's id for the whole, else ``{item}::chunk::3800``."""
    name, _, which = part.partition(":")
    return item_id if part in (WHOLE, PROSE, ALIKE) else f"{item_id}::{name}::{which}"


@dataclass(frozen=True, slots=True)
class Projector:
    """Makes search documents; ``by_kind`` holds the projections of kinds with parts of their own.

    ``of_members`` names, by kind, the members of ``data`` from which all parts of a live item are made: if they did
    not change, the parts did not either.
    """

    by_kind: Mapping[str, Projection] = field(default_factory=dict)
    of_members: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def parts(self, item: Item) -> list[Part]:
        """Return an item's parts; none when ordinary reads do not show it."""
        return list(self.by_kind.get(item.kind, whole)(item)) if item.live else []

    def project(
        self, settled: ResolvedChanges, before: Mapping[str, Item], *, seq: int
    ) -> tuple[list[DocumentRow], list[str]]:
        """Return the new documents and the ids of items whose current documents end.

        An update that changes neither parts nor boosts changes no document. An item that is already over when recorded
        gets documents that were never current, for searches at a past time.
        """
        fresh: list[DocumentRow] = []
        for item in settled.created:
            if item.ended in _HELD_ONCE and item.valid_to is not None:  # a retracted one was never valid
                rows = self._rows(replace(item, ended=None), seq)
                fresh += [row._replace(current_to=row.current_from) for row in rows]
            else:
                fresh += self._rows(item, seq)
        closed: list[str] = []
        for item in settled.updated:
            old = before[item.id]
            if not self._is_unchanged(old, item):
                closed.append(item.id)
                fresh += self._rows(item, seq)
        return fresh, closed

    def _is_unchanged(self, old: Item, item: Item) -> bool:
        """Return whether an update left all indexed text unchanged."""
        if (boost_of(old), old.valid_from) != (boost_of(item), item.valid_from):
            return False
        members = self.of_members.get(item.kind)
        same = members is not None and all(old.data.get(name) == item.data.get(name) for name in members)
        if same and old.live and item.live:
            return True
        parts = self.parts(item)
        searched = item.content == old.content or all(part.text is not None for part in parts)
        return searched and parts == self.parts(old)

    def _rows(self, item: Item, seq: int) -> list[DocumentRow]:
        return [
            DocumentRow(
                id=document_id(item.id, part.part, item.version),
                item_id=item.id,
                part=part.part,
                version=item.version,
                kind=item.kind,
                session_id=item.session_id,
                position=item.position,
                speaker=item.name if item.kind == "message" else item.subject,
                text=part.text,
                terms=terms_of(item, part),
                marks=_marks(item, part).pack(),
                current_from=to_micros(item.updated_at),
                current_to=None,
                changed_seq=seq,
            )
            for part in self.parts(item)
        ]


def terms_of(item: Item, part: Part) -> bytes:
    """Return the packed terms of a part, including whole identifiers unless the part is only compared."""
    if part.part.startswith(ASIDE):
        return pack_terms([])
    text = item.content if part.text is None else part.text
    labelled = " ".join([*filter(None, (item.subject, item.key)), text])
    return pack_terms((tokenize if is_compared(part.part) else search_terms)(labelled))


def _marks(item: Item, part: Part) -> Marks:
    marks = marks_of(item, item.content if part.text is None else part.text, dated=part.dated)
    return marks if is_compared(part.part) else replace(marks, flags=marks.flags | WHOLE_TERMS)


# Kinds that are listed and read by id but not searched: runs and reflections.


def no_parts(_item: Item) -> list[Part]:
    """Return no parts: attempts and reflections are not searched, so that they do not crowd out memories."""
    return []


BATCH: Final = 500
"""Items of one transaction, so that writers wait for a fraction of a second."""


@dataclass(slots=True)
class ReindexResult:
    """Counts of examined and repaired documents; ``counted`` are current documents of the requested part."""

    items: int = 0
    counted: int = 0
    documents: int = 0
    repaired: int = 0


@dataclass(frozen=True, slots=True)
class Reindexer:
    """Repairs the search documents of a kind, lane by lane."""

    database: Database
    projector: Projector

    def run(self, tenant: str, kind: str, *, counted: str) -> ReindexResult:
        """Repair the documents of a tenant's items of ``kind``; ``counted`` names the part that is counted."""
        done = ReindexResult()
        with self.database.transaction(tenant, "read") as unit:
            lane_ids = [lane.lane_id for lane in list_lanes(unit)]
        for lane_id in lane_ids:
            before, after = done.repaired, ""
            while True:
                with self.database.transaction(tenant, "derive") as unit:
                    lane = lock_lane(unit, lane_id)
                    batch = ids_of_kind(unit, lane, kind, after=after, limit=BATCH)
                    held = documents_of_items(unit, lane.lane_id, list(batch), home=table_set_of(kind))
                    self._repair(unit, lane, batch, held, counted=counted, done=done)
                    if len(batch) < BATCH:
                        self._finish(unit, lane, kind, done, before)
                        break
                    after = next(reversed(batch))
        return done

    def _repair(
        self,
        unit: Unit,
        lane: Lane,
        made_by: Mapping[str, str],
        held: Sequence[DocumentRow],
        *,
        counted: str,
        done: ReindexResult,
    ) -> None:
        """Repair the documents of some items, given with their entries; ``held`` are the existing ones."""
        stored = {row.id: row for row in held}
        missing: list[DocumentRow] = []
        wrong = []
        # What is right is not kept: collecting garbage would go through all of it, again and again.
        for row in self._documents(unit, lane, made_by):
            done.documents += 1
            done.counted += row.current_to is None and part_name(row.part) == counted
            found = stored.pop(row.id, None)
            if found != row:
                missing.append(row)
                wrong += [] if found is None else [found]
        done.repaired += len(missing) + len(stored)
        wrong += stored.values()
        delete_documents(unit, lane.lane_id, wrong)
        insert_documents(unit, lane.lane_id, missing)
        done.items += len(made_by)

    def _finish(self, unit: Unit, lane: Lane, kind: str, done: ReindexResult, before: int) -> None:
        """Remove documents without an item, and make every process reload the lane's documents."""
        strays = stray_documents(unit, lane.lane_id, kind)
        delete_documents(unit, lane.lane_id, strays)
        done.repaired += len(strays)
        if done.repaired > before:
            mark_documents(unit, lane.lane_id, seq=lane.applied_seq)
            next_epoch(unit, lane.lane_id)

    def _documents(self, unit: Unit, lane: Lane, made_by: Mapping[str, str]) -> Iterator[DocumentRow]:
        deltas = deltas_of_items(unit, lane.lane_id, list(made_by))
        entries = {*made_by.values(), *(delta.entry_id for found in deltas.values() for delta in found)}
        seqs = seqs_of_entries(unit, sorted(entries))
        for item in each_item(unit, lane, made_by):
            yield from self._of_item(item, deltas.get(item.id, ()), seqs)

    def _of_item(self, item: Item, deltas: Sequence[Delta], seqs: Mapping[str, int]) -> list[DocumentRow]:
        first, later = (deltas[0].entry_id if deltas else item.entry_id), deltas[1:]
        version = _item_before(item, later, item.recorded_at)
        rows, _ = self.projector.project(ResolvedChanges(created=(version,)), {}, seq=seqs[first])
        for n, delta in enumerate(later):
            older, version = version, _item_before(item, later[n + 1 :], delta.recorded_at)
            fresh, closed = self.projector.project(
                ResolvedChanges(updated=(version,)), {item.id: older}, seq=seqs[delta.entry_id]
            )
            if closed:
                at, seq = to_micros(delta.recorded_at), seqs[delta.entry_id]
                rows = [
                    row if row.current_to is not None else row._replace(current_to=at, changed_seq=seq) for row in rows
                ]
            rows += fresh
        return rows


def _item_before(item: Item, later: Sequence[Delta], at: datetime) -> Item:
    """Return an item as it was before some of its changes, last changed ``at``."""
    before = as_of(item, list(later)[::-1])
    return before if before.updated_at == at else replace(before, updated_at=at)


Facts = Mapping[str, str | int]
"""A document's attributes besides its text."""

Where = Mapping[str, Sequence[str]]
"""A filter: each named attribute has one of these values."""


@dataclass(frozen=True, slots=True)
class OutsideDocument:
    """A document as stored in the index; ``vector`` is None where it was not requested."""

    id: str
    text: str
    facts: Facts
    vector: Vector | None = None


class Space(Protocol):
    """Documents with vectors of one encoder. Every call raises IndexUnavailable when the index cannot be reached."""

    @property
    def id(self) -> str:
        """A unique id: a space that is created again has another."""
        ...

    def put(self, documents: Sequence[OutsideDocument]) -> None:
        """Store documents with their vectors, replacing those of the same ids."""
        ...

    def remove(self, ids: Sequence[str]) -> None:
        """Delete documents, ignoring missing ones."""
        ...

    def clear(self, where: Where) -> None:
        """Delete all matching documents."""
        ...

    def list_documents(self, where: Where, *, vectors: bool = False) -> Iterator[OutsideDocument]:
        """Return all matching documents."""
        ...

    def nearest(self, vector: Vector, where: Where, *, limit: int) -> list[str]:
        """Return the ids of the nearest matching documents by cosine, nearest first; may be approximate."""
        ...


class OutsideIndex(Protocol):
    """A store of spaces. Thread-safe."""

    @property
    def name(self) -> str:
        """The name of the index in results and in ``doctor``."""
        ...

    @property
    def beyond(self) -> Sequence[str]:
        """Places outside its interface where erased text may remain, for certificates."""
        ...

    def space(self, model: str, dimension: int) -> Space:
        """Return the space of a model's vectors, creating it if needed; IndexUnavailable when that fails."""
        ...

    def spaces(self) -> Sequence[Space]:
        """Return every space of this store, of all models."""
        ...

    def close(self) -> None:
        """Release files and connections."""
        ...
