"""The read access to its own lane that a handler has while it applies an entry."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from phronesis.core.changes import Delta
from phronesis.core.entries import DocumentRow, SectionRow, SessionRow, SummaryRow, TurnRow
from phronesis.core.items import Item
from phronesis.core.lazy_loading import lazy_module
from phronesis.core.relations import Edge, Entity, EvidenceRow
from phronesis.core.timestamps import from_micros, to_micros
from phronesis.store import conversations, deltas, relations
from phronesis.store.compiled_statements import batches, own_rows
from phronesis.store.database import Unit
from phronesis.store.items import of_kinds, read_items, read_named, read_where
from phronesis.store.lanes import Lane
from phronesis.store.log import entries_of_verb, find_entry, read_outcomes
from phronesis.store.schema import VISIBLE, items

if TYPE_CHECKING:
    from phronesis.store import erasure_queries
else:
    erasure_queries = lazy_module("phronesis.store.erasure_queries")


@dataclass(frozen=True)
class LaneView:
    """Read-only queries on the derived state of one lane, in the transaction of ``unit``.

    The same entries give the same answers on every machine: nothing here depends on time, models or other lanes.
    Nothing is written while a view is in use, so results are cached.
    """

    unit: Unit
    lane: Lane
    log: Unit | None = None
    """The unit from which the lane's entries are read; None: ``unit``."""

    @cached_property
    def lane_id(self) -> int:
        """The lane's number."""
        return self.lane.lane_id

    @cached_property
    def _read(self) -> dict[str, Item | None]:
        return {}

    def items(self, ids: Iterable[str]) -> dict[str, Item]:
        """Return those of ``ids`` that the lane holds, including ended and archived ones."""
        wanted = list(dict.fromkeys(ids))
        missing = [item_id for item_id in wanted if item_id not in self._read]
        if missing:
            found = read_items(self.unit, self.lane, missing)
            self._read.update((item_id, found.get(item_id)) for item_id in missing)
        return {item_id: item for item_id in wanted if (item := self._read[item_id]) is not None}

    def item(self, item_id: str) -> Item | None:
        """Return one item, or None."""
        return self.items([item_id]).get(item_id)

    def named(self, external_id: str) -> Item | None:
        """Return the item with an external id, or None."""
        found = [item for item in read_named(self.unit, self.lane, external_id) if item.keeps_name]
        return found[-1] if found else None

    def versions(self, kind: str, *, before: Item) -> list[tuple[str, int]]:
        """Return id and version of the live items of a kind recorded ``before`` an item, oldest first."""
        at, columns = to_micros(before.recorded_at), items.c
        earlier = sa.or_(columns.recorded_at < at, sa.and_(columns.recorded_at == at, columns.id < before.id))
        query = sa.select(columns.id, columns.version).where(
            *own_rows(self.unit, items, lane_id=self.lane_id), *of_kinds((kind,)), *VISIBLE, earlier
        )
        return [(row.id, row.version) for row in self.unit.run(query.order_by(columns.recorded_at, columns.id))]

    def find(
        self,
        *,
        kinds: Sequence[str] = (),
        subject: str | None = None,
        key: str | None = None,
        session_id: str | None = None,
        run_id: str | None = None,
        live: bool = True,
        limit: int | None = None,
    ) -> list[Item]:
        """Return items by their hot columns, oldest first.

        ``live`` leaves out ended, archived and quarantined items.
        """
        wanted: list[sa.ColumnElement[bool]] = []
        named = {items.c.subject: subject, items.c.key: key, items.c.session_id: session_id, items.c.run_id: run_id}
        if kinds:  # by the index of kinds only where no name says more: SQLite would take it before the name's own
            alone = all(value is None for value in named.values())
            wanted += of_kinds(kinds) if alone else [items.c.kind.in_(sorted(kinds))]
        for column, value in named.items():
            if value is not None:
                wanted.append(column == value)
        if live:
            wanted += [*VISIBLE]
        return read_where(self.unit, self.lane, *wanted, limit=limit)

    def newest(self, kinds: Sequence[str], *, limit: int, session_id: str | None = None) -> list[Item]:
        """Return the newest live items of ``kinds``, of a session if one is named, oldest first."""
        wanted = [*of_kinds(kinds), *VISIBLE]
        if session_id is not None:
            wanted.append(items.c.session_id == session_id)
        order = (items.c.recorded_at.desc(), items.c.position.desc(), items.c.id.desc())
        return read_where(self.unit, self.lane, *wanted, order=order, limit=limit)[::-1]

    def of_words(self, texts: Collection[str]) -> list[Item]:
        """Return the live items whose content is one of these texts, ignoring case."""
        lower = {text.lower() for text in texts}  # SQLite knows the case of ASCII's letters alone
        lower |= {"".join(one.lower() if one.isascii() else one for one in text) for text in texts}
        out: list[Item] = []
        for batch in batches(sorted(lower)):
            out += read_where(self.unit, self.lane, sa.func.lower(items.c.content).in_(batch), *VISIBLE)
        return out

    def weight(self, kinds: Collection[str], *, since: datetime | None) -> tuple[int, int]:
        """Return the number of live items of ``kinds`` recorded after ``since``, and their total importance."""
        query = sa.select(sa.func.count(), sa.func.coalesce(sa.func.sum(items.c.importance), 0)).where(
            *own_rows(self.unit, items, lane_id=self.lane_id),
            *of_kinds(kinds),
            *VISIBLE,
            items.c.recorded_at > (0 if since is None else to_micros(since)),
        )
        ((count, importance),) = map(tuple, self.unit.run(query))
        return int(count), int(importance)

    def stated(self, subjects: Collection[str], keys: Collection[str], kinds: Collection[str]) -> list[Item]:
        """Return the items of these subjects (as spelled in the items) under these keys, oldest first.

        Superseded, retracted and retired items are included; archived and quarantined ones are not.
        """
        return read_where(
            self.unit,
            self.lane,
            items.c.subject.in_(sorted(subjects)),
            items.c.key.in_(sorted(keys)),
            items.c.kind.in_(sorted(kinds)),
            items.c.status == "active",
            items.c.quarantine.is_(None),
        )

    def about(self, subjects: Collection[str]) -> list[Item]:
        """Return all items of these subjects (as spelled in the items), whatever their status, oldest first."""
        return read_where(self.unit, self.lane, items.c.subject.in_(sorted(subjects)))

    def edges_from(self, ids: Iterable[str], *types: str) -> list[Edge]:
        """Return the edges that leave these nodes."""
        return relations.read_edges(self.unit, self.lane_id, ids, types=types)

    def edges_to(self, ids: Iterable[str], *types: str) -> list[Edge]:
        """Return the edges that reach these nodes."""
        return relations.read_edges(self.unit, self.lane_id, ids, incoming=True, types=types)

    def evidence(self, item_ids: Iterable[str]) -> dict[str, list[EvidenceRow]]:
        """Return the evidence of items, by item."""
        return relations.read_evidence(self.unit, self.lane_id, item_ids)

    def evidence_from(self, source_ids: Collection[str]) -> list[EvidenceRow]:
        """Return the evidence that comes from any of these items or entries, for whatever items."""
        return erasure_queries.evidence_from(self.unit, self.lane_id, source_ids)

    def deltas(self, item_ids: Sequence[str]) -> dict[str, list[Delta]]:
        """Return items' deltas, oldest first."""
        return deltas.deltas_of_items(self.unit, self.lane_id, item_ids)

    def deltas_of_entry(self, entry_id: str) -> list[Delta]:
        """Return the deltas of an earlier entry."""
        return deltas.deltas_of_entry(self.unit, self.lane_id, entry_id)

    def delta(self, delta_id: str) -> Delta | None:
        """Return one delta of this lane, or None."""
        found = deltas.find_delta(self.unit, delta_id)
        return found[1] if found is not None and found[0] == self.lane_id else None

    def verb_of(self, entry_id: str) -> str | None:
        """Return the verb of an entry, or None where there is no such entry."""
        row = find_entry(self.log or self.unit, entry_id)
        return None if row is None else row.verb

    def last_recorded(self, verb: str, *, before: int, without: str) -> datetime | None:
        """Return when the last entry of a verb before seq ``before`` was recorded; None when there was none.

        An entry with an outcome of role ``without`` (one that failed) does not count.
        """
        log = self.log or self.unit
        for row in reversed(entries_of_verb(log, self.lane_id, verb, before=before)):
            if all(outcome["role"] != without for outcome in read_outcomes(log, [row.entry_id])[row.entry_id]):
                return from_micros(row.recorded_at)
        return None

    def session(self, session_id: str) -> SessionRow | None:
        """Return a session, or None."""
        return conversations.find_session(self.unit, self.lane_id, session_id)

    def session_holding(self, session_id: str, message_ids: Sequence[str]) -> tuple[SessionRow | None, bool]:
        """Return a session, and whether it holds a message of any of these given ids."""
        if not message_ids:
            return self.session(session_id), False
        return conversations.find_session_holding(self.unit, self.lane_id, session_id, message_ids)

    def turns(self, session_id: str) -> list[TurnRow]:
        """Return a session's turns, in order."""
        return conversations.list_turns(self.unit, self.lane_id, session_id)

    def summary(self, session_id: str) -> SummaryRow | None:
        """Return a session's summary by a model, or None."""
        return conversations.find_summary(self.unit, self.lane_id, session_id)

    def document(self, uri: str) -> Item | None:
        """Return the document at a uri, the live one or else the newest; None where there is none."""
        ids = dict.fromkeys(row.document_id for row in conversations.documents_at(self.unit, self.lane_id, uri))
        found = [*self.items(ids).values()]
        return next((item for item in reversed(found) if item.live), found[-1] if found else None)

    def document_versions(self, document_id: str) -> list[DocumentRow]:
        """Return a document's versions, oldest first, including rolled back ones.

        A new version takes the next number.
        """
        return conversations.versions_of(self.unit, self.lane_id, document_id)

    def sections(self, document_id: str, number: int) -> list[SectionRow]:
        """Return the sections of a version of a document, in reading order."""
        return conversations.sections_of(self.unit, self.lane_id, document_id, number)

    def messages_by_id(self, session_id: str, message_ids: Sequence[str]) -> list[Item]:
        """Return the session's message items of these given ids."""
        return read_where(
            self.unit,
            self.lane,
            items.c.session_id == session_id,
            items.c.message_id.in_(message_ids),
            items.c.kind == "message",
        )

    def entities(self, normals: Iterable[str]) -> list[Entity]:
        """Return the lane's entities of these normal names."""
        return relations.find_entities(self.unit, self.lane_id, normals)

    def families(self, root_ids: Iterable[str]) -> list[Entity]:
        """Return entities that are no aliases, and their aliases."""
        return relations.read_families(self.unit, self.lane_id, root_ids)

    def scope_fields(self) -> dict[str, Any]:
        """Return the scope fields that items of this lane carry."""
        return {"user_id": self.lane.user_id, "namespace": self.lane.namespace}
