"""Statements on sessions, turns, messages, tool calls and references, and on documents with their sections."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict
from datetime import datetime
from functools import cache
from typing import Any, Final, TypeVar

import sqlalchemy as sa

from phronesis.core.entries import (
    ConversationRows,
    DocumentRow,
    MessageRow,
    ResourceRows,
    SectionRow,
    SessionRow,
    SummaryLine,
    SummaryRow,
    TurnRow,
)
from phronesis.core.timestamps import from_micros, optional_moment, to_micros
from phronesis.store.compiled_statements import bound_lane, fetch, in_list, insert, list_value, own_rows, upsert
from phronesis.store.database import Unit
from phronesis.store.schema import (
    documents,
    items,
    refs,
    repeated_messages,
    sections,
    sessions,
    summaries,
    tool_calls,
    turns,
)

_T = TypeVar("_T")
_TIMES: Final = frozenset({"created_at", "updated_at", "recorded_at", "occurred_at"})
_SESSION_NAMES: Final = ("session_id", "created_at", "updated_at", "turn_count", "message_count", "metadata")
_SESSION: Final = sa.select(*(sessions.c[name] for name in _SESSION_NAMES))
_ONE_SESSION: Final = _SESSION.where(*bound_lane(sessions), sessions.c.session_id == sa.bindparam("s"))


def find_session(unit: Unit, lane_id: int, session_id: str) -> SessionRow | None:
    """Return a session of the lane, or None."""
    rows = fetch(unit, _ONE_SESSION, {"t": unit.tenant, "l": lane_id, "s": session_id})
    return _session(rows[0]) if rows else None


@cache
def _session_and_messages(dialect: str) -> sa.Select[Any]:
    held = sa.exists().where(
        *bound_lane(items), items.c.session_id == sa.bindparam("s"), in_list(items.c.message_id, dialect)
    )
    return _ONE_SESSION.add_columns(held)


def find_session_holding(
    unit: Unit, lane_id: int, session_id: str, message_ids: Sequence[str]
) -> tuple[SessionRow | None, bool]:
    """Return a session of the lane, and whether it holds a message of any of these ids, from the index alone."""
    bound = {"t": unit.tenant, "l": lane_id, "s": session_id, "ids": list_value(unit.dialect, message_ids)}
    rows = fetch(unit, _session_and_messages(unit.dialect), bound)
    return (_session(rows[0][:-1]), rows[0][-1]) if rows else (None, False)


def list_sessions(unit: Unit, lane_ids: Sequence[int] | None) -> list[tuple[int, SessionRow]]:
    """Return the sessions of a few lanes, or of the whole tenant, with their lane's number, latest first."""
    query = _SESSION.add_columns(sessions.c.lane_id).where(*own_rows(unit, sessions))
    if lane_ids is not None:
        query = query.where(sessions.c.lane_id.in_(lane_ids))
    rows = unit.run(query.order_by(sessions.c.updated_at.desc(), sessions.c.session_id))
    return [(row.lane_id, _session(row[:-1])) for row in rows]


def list_turns(
    unit: Unit,
    lane_id: int,
    session_id: str,
    *,
    last: int | None = None,
    before: int | None = None,
    as_of: int | None = None,
) -> list[TurnRow]:
    """Return a session's turns in order: those ``before`` a number, the ``last`` few, as of a time in microseconds."""
    bound = {"t": unit.tenant, "l": lane_id, "s": session_id, "last": last, "before": before, "as_of": as_of}
    query = _turns(last=last is not None, before=before is not None, as_of=as_of is not None)
    found = [_record(TurnRow, zip(TurnRow.__dataclass_fields__, row, strict=True)) for row in fetch(unit, query, bound)]
    return found if last is None else found[::-1]


@cache
def _turns(*, last: bool, before: bool, as_of: bool) -> sa.Select[Any]:
    query = sa.select(*(turns.c[name] for name in TurnRow.__dataclass_fields__)).where(
        *bound_lane(turns), turns.c.session_id == sa.bindparam("s")
    )
    if before:
        query = query.where(turns.c.number < sa.bindparam("before"))
    if as_of:
        query = query.where(turns.c.recorded_at <= sa.bindparam("as_of"))
    query = query.order_by(turns.c.number.desc() if last else turns.c.number)
    return query.limit(sa.bindparam("last", type_=sa.Integer)) if last else query


def repeats_of_entries(unit: Unit, entry_ids: Sequence[str]) -> list[MessageRow]:
    """Return the messages of some entries that duplicated an item, in payload order."""
    columns = [repeated_messages.c[name] for name in MessageRow.__dataclass_fields__]
    query = sa.select(*columns).where(*own_rows(unit, repeated_messages), repeated_messages.c.entry_id.in_(entry_ids))
    rows = unit.run(query.order_by(repeated_messages.c.entry_id, repeated_messages.c.n)).mappings()
    return [_record(MessageRow, dict(row).items()) for row in rows]


_SUMMARY: Final = sa.select(
    summaries.c.entry_id, summaries.c.turn, summaries.c.position, summaries.c.recorded_at, summaries.c.lines
).where(*bound_lane(summaries), summaries.c.session_id == sa.bindparam("s"))


def find_summary(unit: Unit, lane_id: int, session_id: str) -> SummaryRow | None:
    """Return a session's summary by a model, or None."""
    rows = fetch(unit, _SUMMARY, {"t": unit.tenant, "l": lane_id, "s": session_id})
    if not rows:
        return None
    entry_id, turn, position, recorded_at, lines = rows[0]
    return SummaryRow(
        session_id=session_id,
        entry_id=entry_id,
        turn=turn,
        position=position,
        recorded_at=from_micros(recorded_at),
        lines=tuple(SummaryLine(line["text"], tuple(line["of"])) for line in lines),
    )


def write_conversation(unit: Unit, lane_id: int, rows: ConversationRows, made: Collection[str]) -> None:
    """Store what one entry adds; ``made`` are the ids of the items it made."""

    def row(record: Any, **changed: Any) -> dict[str, Any]:
        values = {name: getattr(record, name) for name in type(record).__dataclass_fields__}
        times = {name: to_micros(value) for name, value in values.items() if isinstance(value, datetime)}
        return {"tenant_id": unit.tenant, "lane_id": lane_id, **values, **times, **changed}

    upsert(unit, sessions, [row(rows.session, metadata=dict(rows.session.metadata) or None)])
    insert(unit, turns, [row(rows.turn)])
    insert(unit, repeated_messages, [row(one) for one in rows.messages if one.item_id not in made])
    insert(unit, tool_calls, [row(one) for one in rows.tool_calls])
    insert(unit, refs, [row(one) for one in rows.refs])
    if rows.summary is not None:
        lines = [{"text": line.text, "of": list(line.of)} for line in rows.summary.lines]
        upsert(unit, summaries, [row(rows.summary, lines=lines)])


def _session(row: Sequence[Any]) -> SessionRow:
    """Read a row of ``_SESSION``."""
    return _record(SessionRow, {**dict(zip(_SESSION_NAMES, row, strict=True)), "metadata": row[-1] or {}}.items())


def _record(kind: Callable[..., _T], row: Iterable[tuple[str, Any]]) -> _T:
    """Return the record of a row, whose times are microseconds."""
    return kind(**{name: optional_moment(value) if name in _TIMES else value for name, value in row})


# Documents: their versions, and the sections of each.

_VERSION: Final = [documents.c[name] for name in DocumentRow.__dataclass_fields__]
_SECTION: Final = [sections.c[name] for name in SectionRow.__dataclass_fields__]
_ANY_DOCUMENT: Final = sa.select(documents.c.document_id).where(*bound_lane(documents)).limit(sa.literal_column("1"))


def write_resources(unit: Unit, lane_id: int, rows: ResourceRows) -> None:
    """Store the rows of one entry."""
    own = {"tenant_id": unit.tenant, "lane_id": lane_id}
    versions = [{**own, **asdict(row), "recorded_at": to_micros(row.recorded_at)} for row in rows.documents]
    insert(unit, documents, versions)
    insert(unit, sections, [{**own, **asdict(row)} for row in rows.sections])


def has_documents(unit: Unit, lane_ids: Sequence[int]) -> bool:
    """Return whether any of some lanes holds a document."""
    return any(fetch(unit, _ANY_DOCUMENT, {"t": unit.tenant, "l": lane_id}) for lane_id in lane_ids)


def documents_at(unit: Unit, lane_id: int, uri: str) -> list[DocumentRow]:
    """Return the versions of the document at a uri, oldest first."""
    return _versions(unit, lane_id, documents.c.uri == uri)


def versions_of(unit: Unit, lane_id: int, document_id: str, *, as_of: int | None = None) -> list[DocumentRow]:
    """Return a document's versions, oldest first; ``as_of`` (microseconds) leaves out later ones."""
    return _versions(unit, lane_id, documents.c.document_id == document_id, as_of=as_of)


def _versions(
    unit: Unit, lane_id: int, condition: sa.ColumnElement[bool], *, as_of: int | None = None
) -> list[DocumentRow]:
    query = sa.select(*_VERSION).where(*own_rows(unit, documents, lane_id=lane_id), condition)
    if as_of is not None:
        query = query.where(documents.c.recorded_at <= as_of)
    order = (documents.c.recorded_at, documents.c.document_id, documents.c.number)
    rows = unit.run(query.order_by(*order)).mappings()
    return [_record(DocumentRow, dict(row).items()) for row in rows]


def sections_of(unit: Unit, lane_id: int, document_id: str, number: int) -> list[SectionRow]:
    """Return the sections of a version of a document, in reading order."""
    query = sa.select(*_SECTION).where(
        *own_rows(unit, sections, lane_id=lane_id, document_id=document_id, number=number)
    )
    rows = unit.run(query.order_by(sections.c.n)).mappings()
    return [SectionRow(**{**row, "path": tuple(row["path"])}) for row in rows]
