"""Statements on the log: entries, payload parts, blobs and outcomes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

import sqlalchemy as sa

from phronesis.store.compiled_statements import (
    bound_lane,
    each_in,
    each_of,
    in_list,
    insert,
    insert_ignore,
    looked_up,
    own_rows,
    upsert,
)
from phronesis.store.database import Unit
from phronesis.store.lanes import new_lane
from phronesis.store.schema import blobs, entries, failures, lanes, outcomes, payload_parts


@dataclass(frozen=True, slots=True, kw_only=True)
class EntryRow:
    """An entry as stored, without its payload."""

    lane_id: int
    seq: int
    entry_id: str
    verb: str
    handler_version: int
    actor: str
    recorded_at: int
    parent_id: str | None
    idempotency: str | None
    paths: Sequence[str]
    commitments: bytes
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PartRow:
    """One part of a payload: its salt and body, or the blob that holds the body."""

    entry_id: str
    n: int
    salt: bytes
    body: bytes | None
    blob_id: str | None


_ENTRY_COLUMNS: Final = [entries.c[name] for name in EntryRow.__dataclass_fields__]
_PART_COLUMNS: Final = [payload_parts.c[name] for name in PartRow.__dataclass_fields__]
_BY_SEQ: Final = (
    sa.select(*_ENTRY_COLUMNS)
    .where(*bound_lane(entries), entries.c.seq > sa.bindparam("after"), entries.c.seq <= sa.bindparam("until"))
    .order_by(entries.c.seq)
    .limit(sa.bindparam("limit"))
)


def insert_entry(unit: Unit, row: EntryRow, parts: Sequence[PartRow]) -> None:
    """Store an entry and its parts."""
    insert(unit, entries, [{"tenant_id": unit.tenant, **_values(row), "paths": list(row.paths)}])
    insert(unit, payload_parts, [{"tenant_id": unit.tenant, **_values(part)} for part in parts])


def _values(row: EntryRow | PartRow) -> dict[str, Any]:
    return {name: getattr(row, name) for name in type(row).__dataclass_fields__}


def insert_blob(unit: Unit, blob_id: str, body: bytes) -> None:
    """Store a blob unless it exists."""
    insert_ignore(unit, blobs, [{"tenant_id": unit.tenant, "blob_id": blob_id, "body": body}])


def read_blob(unit: Unit, blob_id: str) -> bytes | None:
    """Return a blob's body, or None when there is none."""
    query = sa.select(blobs.c.body).where(*own_rows(unit, blobs, blob_id=blob_id))
    body = unit.run(query).scalar_one_or_none()
    return None if body is None else bytes(body)


def read_entries(unit: Unit, lane_id: int, *, after: int, until: int, limit: int = 500) -> list[EntryRow]:
    """Return a lane's entries with ``after`` < seq ≤ ``until``, in order."""
    bound = {"t": unit.tenant, "l": lane_id, "after": after, "until": until, "limit": limit}
    return [EntryRow(**row) for row in unit.run(_BY_SEQ, bound).mappings()]


def find_entry(unit: Unit, entry_id: str) -> EntryRow | None:
    """Return an entry by id."""
    query = sa.select(*_ENTRY_COLUMNS).where(*own_rows(unit, entries, entry_id=entry_id))
    row = unit.run(query).mappings().one_or_none()
    return None if row is None else EntryRow(**row)


def seqs_of_entries(unit: Unit, entry_ids: Iterable[str]) -> dict[str, int]:
    """Return the seqs of entries by id."""
    return {row[0]: row[1] for row in each_of(unit, _seqs(unit.dialect), entry_ids)}


@cache
def _seqs(dialect: str) -> sa.Select[Any]:
    return sa.select(entries.c.entry_id, entries.c.seq).where(looked_up(entries.c.entry_id, dialect))


def entries_of_verb(
    unit: Unit, lane_id: int, verb: str, *, after: int = 0, before: int | None = None
) -> list[EntryRow]:
    """Return a lane's entries of one verb with ``after`` < seq (< ``before``), in order."""
    query = sa.select(*_ENTRY_COLUMNS).where(
        *own_rows(unit, entries, lane_id=lane_id), entries.c.seq > after, entries.c.verb == verb
    )
    if before is not None:
        query = query.where(entries.c.seq < before)
    return [EntryRow(**row) for row in unit.run(query.order_by(entries.c.seq)).mappings()]


def entries_back(
    unit: Unit,
    lane_ids: Sequence[int] | None,
    verbs: Sequence[str],
    *,
    upto: str | None = None,
    times: tuple[int | None, int | None] = (None, None),
    limit: int,
) -> list[EntryRow]:
    """Return entries of some verbs, the latest ids first: of a few lanes or of the whole tenant, from ``upto`` down.

    ``times`` bound when they were recorded: from the first, before the second, in microseconds.
    """
    query = sa.select(*_ENTRY_COLUMNS).where(*own_rows(unit, entries), entries.c.verb.in_(verbs))
    since, until = times
    if lane_ids is not None:
        query = query.where(entries.c.lane_id.in_(lane_ids))
    if upto is not None:
        query = query.where(entries.c.entry_id <= upto)
    if since is not None:
        query = query.where(entries.c.recorded_at >= since)
    if until is not None:
        query = query.where(entries.c.recorded_at < until)
    return [EntryRow(**row) for row in unit.run(query.order_by(entries.c.entry_id.desc()).limit(limit)).mappings()]


def verbs_of_lane(unit: Unit, lane_id: int) -> list[str]:
    """Return the verbs of a lane's entries, each once, sorted."""
    query = sa.select(entries.c.verb).where(*own_rows(unit, entries, lane_id=lane_id))
    return list(unit.run(query.distinct().order_by(entries.c.verb)).scalars())


def find_entries(unit: Unit, lane_id: int, entry_ids: Sequence[str]) -> list[EntryRow]:
    """Return a lane's entries of these ids, in order."""
    rows = each_of(unit, _entries_by_id(unit.dialect), entry_ids, l=lane_id)
    found = [EntryRow(**dict(zip(EntryRow.__dataclass_fields__, row, strict=True))) for row in rows]
    return sorted(found, key=lambda row: row.seq)


def find_idempotent(unit: Unit, idempotency: str) -> EntryRow | None:
    """Return the entry that was recorded under an idempotency commitment."""
    query = sa.select(*_ENTRY_COLUMNS).where(*own_rows(unit, entries, idempotency=idempotency))
    row = unit.run(query).mappings().one_or_none()
    return None if row is None else EntryRow(**row)


def read_parts(unit: Unit, entry_ids: Sequence[str]) -> dict[str, list[PartRow]]:
    """Return the remaining payload parts, by entry."""
    out: dict[str, list[PartRow]] = {entry_id: [] for entry_id in entry_ids}
    for row in each_of(unit, _parts_of(unit.dialect), entry_ids):
        part = PartRow(**dict(zip(PartRow.__dataclass_fields__, row, strict=True)))
        out[part.entry_id].append(part)
    return out


@cache
def _entries_by_id(dialect: str) -> sa.Select[Any]:
    # The sum keeps SQLite from walking the whole lane instead of looking the ids up.
    lane = entries.c.lane_id + sa.literal_column("0")
    return sa.select(*_ENTRY_COLUMNS).where(looked_up(entries.c.entry_id, dialect), lane == sa.bindparam("l"))


@cache
def _parts_of(dialect: str) -> sa.Select[Any]:
    query = sa.select(*_PART_COLUMNS).where(
        payload_parts.c.tenant_id == sa.bindparam("t"), in_list(payload_parts.c.entry_id, dialect)
    )
    return query.order_by(payload_parts.c.entry_id, payload_parts.c.n)


def delete_parts(unit: Unit, entry_id: str, numbers: Sequence[int]) -> None:
    """Delete parts with their salts, and blobs without references."""
    condition = sa.and_(*own_rows(unit, payload_parts, entry_id=entry_id), payload_parts.c.n.in_(numbers))
    held = unit.run(sa.select(payload_parts.c.blob_id).where(condition, payload_parts.c.blob_id.is_not(None)))
    blob_ids = [row.blob_id for row in held]
    unit.run(sa.delete(payload_parts).where(condition))
    for blob_id in blob_ids:
        users = sa.select(sa.func.count()).where(*own_rows(unit, payload_parts, blob_id=blob_id))
        if not unit.run(users).scalar_one():
            unit.run(sa.delete(blobs).where(*own_rows(unit, blobs, blob_id=blob_id)))


def put_outcomes(unit: Unit, lane_id: int, entry_id: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Store outcomes ``{role, n, made_by, body}`` of an entry."""
    values = [{"tenant_id": unit.tenant, "lane_id": lane_id, "entry_id": entry_id, **row} for row in rows]
    upsert(unit, outcomes, values)


def read_outcomes(unit: Unit, entry_ids: Sequence[str]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the outcomes by entry, ordered by role and n."""
    out: dict[str, list[Mapping[str, Any]]] = {entry_id: [] for entry_id in entry_ids}
    columns = (outcomes.c.entry_id, outcomes.c.role, outcomes.c.n, outcomes.c.made_by, outcomes.c.body)
    query = sa.select(*columns).where(*own_rows(unit, outcomes))
    for row in each_in(unit, query.order_by(*columns[:3]), outcomes.c.entry_id, entry_ids):
        out[row.entry_id].append(row._asdict())
    return out


def count_failure(unit: Unit, lane_id: int, entry_id: str, *, code: str, message: str, at: int) -> int:
    """Record one more failed attempt at an entry; return the number of attempts."""
    query = sa.select(failures.c.attempts).where(*own_rows(unit, failures, entry_id=entry_id))
    attempts = (unit.run(query).scalar_one_or_none() or 0) + 1
    row = {"lane_id": lane_id, "attempts": attempts, "code": code, "message": message, "at": at}
    upsert(unit, failures, [{"tenant_id": unit.tenant, "entry_id": entry_id, **row}])
    return attempts


# Transfer between stores: read a lane's log with all its parts, and stage imported entries.


def failures_of(unit: Unit, entry_ids: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Return the failed attempts recorded for some entries, by entry."""
    columns = (failures.c.entry_id, failures.c.attempts, failures.c.code, failures.c.message, failures.c.at)
    query = sa.select(*columns).where(*own_rows(unit, failures))
    rows = [row._asdict() for row in each_in(unit, query, failures.c.entry_id, entry_ids)]
    return {row.pop("entry_id"): row for row in rows}


def insert_failure(unit: Unit, lane_id: int, entry_id: str, row: Mapping[str, Any]) -> None:
    """Store the failed attempts of an entry."""
    insert(unit, failures, [{"tenant_id": unit.tenant, "lane_id": lane_id, "entry_id": entry_id, **row}])


def stage_lane(unit: Unit, lane_id: int, kind: str, *, head_hash: str) -> None:
    """Create an empty lane without a name under its number elsewhere, unless it exists."""
    insert_ignore(unit, lanes, [{"tenant_id": unit.tenant, **new_lane(lane_id, kind, None, head_hash=head_hash)}])


def last_seq(unit: Unit, lane_id: int) -> int:
    """Return the seq of the last entry that is stored for a lane, staged ones included; 0 for none."""
    query = sa.select(sa.func.max(entries.c.seq)).where(*own_rows(unit, entries, lane_id=lane_id))
    return unit.run(query).scalar_one() or 0


def publish_lane(
    unit: Unit, lane_id: int, *, name: str | None, head_seq: int, head_hash: str, last_recorded_at: int
) -> None:
    """Publish the staged entries of a locked lane."""
    values = {"name": name, "head_seq": head_seq, "head_hash": head_hash, "last_recorded_at": last_recorded_at}
    unit.run(sa.update(lanes).where(*own_rows(unit, lanes, lane_id=lane_id)).values(values))


def entries_with_outcome(unit: Unit, role: str) -> list[str]:
    """Return the ids of entries that have an outcome of this role, by lane and in order."""
    query = (
        sa.select(entries.c.entry_id)
        .join(outcomes, sa.and_(*own_rows(unit, outcomes, entry_id=entries.c.entry_id)))
        .where(*own_rows(unit, entries), outcomes.c.role == role)
        .order_by(entries.c.lane_id, entries.c.seq)
    )
    return list(unit.run(query).scalars())
