"""Append entries to the log durably, before they are interpreted."""

import secrets
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, Final

from phronesis.core.entries import Entry
from phronesis.core.ids import LaneName
from phronesis.core.timestamps import to_micros
from phronesis.errors import Erased, IdempotencyConflict, InputError
from phronesis.log.payloads import (
    SALT_BYTES,
    Part,
    as_read,
    body_of,
    commitment,
    facts_of,
    keyed_hash,
    link,
    make_entry,
    split,
)
from phronesis.store.database import Database, Unit
from phronesis.store.lanes import (
    Lane,
    advance_head,
    ensure_tenant,
    find_secret,
    lock_lane,
    lock_lane_named,
)
from phronesis.store.log import EntryRow, PartRow, find_idempotent, insert_blob, insert_entry, read_parts
from phronesis.uuid7 import new_id

BLOB_BYTES: Final = 65_536
"""Bytes above which a part's body is stored as a compressed blob, so that rows fit a page cache."""

MAX_PAYLOAD_BYTES: Final = 64 << 20
"""Maximum bytes of one call's canonical JSON: twice the largest single text in Chinese."""

_LANE_NUMBERS: Final = 1 << 62


@dataclass(frozen=True, slots=True)
class RecordedEntry:
    """The result of appending: the entry, and its lane before it.

    ``repeated``: an earlier call with the same idempotency key recorded the entry.
    """

    entry: Entry
    lane: Lane
    repeated: bool


@dataclass(frozen=True, slots=True)
class NewEntry:
    """An entry to record."""

    verb: str
    version: int
    payload: Mapping[str, Any]
    actor: str
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry to be written: id, verb, handler version, payload parts, and actor."""

    entry_id: str
    verb: str
    version: int
    parts: Sequence[Part]
    actor: str
    parent_id: str | None = None
    idempotency: str | None = None


@dataclass(frozen=True, slots=True)
class Recorder:
    """Appends entries. ``clock`` gives the time; order within a lane is ``seq``, independent of the clock."""

    database: Database
    clock: Callable[[], datetime]
    _secrets: dict[str, bytes] = field(default_factory=dict)

    def append(self, tenant: str, lane: LaneName | int, new: NewEntry) -> RecordedEntry:
        """Append one entry in a transaction, synced to disk on return.

        ``lane`` is a name, whose lane is created if missing, or the number of an existing lane. With a known
        idempotency key, returns the entry recorded then; IdempotencyConflict if that entry had another verb, lane or
        payload, Erased if its payload is gone. InputError for a payload that is too large; its content was checked
        before.
        """
        payload, parts = _check_payload(new.payload)
        with self.database.transaction(tenant, "append") as unit:
            secret = self.tenant_secret(unit)
            if isinstance(lane, LaneName):
                locked = lock_lane_named(unit, lane, new_id=lambda: secrets.randbelow(_LANE_NUMBERS) + 1)
            else:
                locked = lock_lane(unit, lane)
            keyed_key = None
            if new.idempotency_key is not None:
                keyed_key = _commitment_of(secret, new.idempotency_key)
                known = find_idempotent(unit, keyed_key)
                if known is not None:
                    _check_same(unit, known, locked, verb=new.verb, parts=parts)
                    return RecordedEntry(make_entry(known, locked, payload), locked, repeated=True)
            draft = Draft(new_id(), new.verb, new.version, parts, new.actor, idempotency=keyed_key)
            entry = make_entry(self.write(unit, locked, draft), locked, payload)
        self._secrets[tenant] = secret  # only now is a new tenant's secret committed
        return RecordedEntry(entry, locked, repeated=False)

    def known(self, tenant: str, idempotency_key: str) -> str | None:
        """Return the id of the entry with an idempotency key, or None. Writes nothing."""
        with self.database.transaction(tenant, "read") as unit:
            secret = find_secret(unit)
            found = None if secret is None else find_idempotent(unit, _commitment_of(secret, idempotency_key))
            return None if found is None else found.entry_id

    def tenant_secret(self, unit: Unit) -> bytes:
        """Return the tenant's secret, creating the tenant if it is new."""
        known = self._secrets.get(unit.tenant)
        if known is not None:
            return known
        return ensure_tenant(unit, secret=secrets.token_bytes(32), created_at=to_micros(self.clock()))

    def write_new(
        self, unit: Unit, lane: Lane, *, verb: str, version: int, payload: Mapping[str, Any], actor: str
    ) -> EntryRow:
        """Write an entry under a fresh id after the head of a locked lane, within the caller's transaction."""
        return self.write(unit, lane, Draft(new_id(), verb, version, split(payload), actor))

    def write(self, unit: Unit, lane: Lane, draft: Draft) -> EntryRow:
        """Write an entry after the head of a locked lane, within the caller's transaction."""
        parts = draft.parts
        salts = [secrets.token_bytes(SALT_BYTES) for _ in parts]
        commitments = b"".join(commitment(part, salt) for part, salt in zip(parts, salts, strict=True))
        unlinked = EntryRow(
            lane_id=lane.lane_id,
            seq=lane.head_seq + 1,
            entry_id=draft.entry_id,
            verb=draft.verb,
            handler_version=draft.version,
            actor=draft.actor,
            recorded_at=self._moment_after(lane),
            parent_id=draft.parent_id,
            idempotency=draft.idempotency,
            paths=[part.path for part in parts],
            commitments=commitments,
            hash="",
        )
        row = replace(unlinked, hash=link(lane.head_hash, facts_of(unlinked), commitments))
        secret = self.tenant_secret(unit)
        whole = (
            PartRow(entry_id=row.entry_id, n=n, salt=salts[n], body=part.body, blob_id=None)
            for n, part in enumerate(parts)
        )
        insert_entry(unit, row, [part_row(unit, secret, one) for one in whole])
        advance_head(unit, lane.lane_id, seq=row.seq, entry_hash=row.hash, recorded_at=row.recorded_at)
        return row

    def _moment_after(self, lane: Lane) -> int:
        """Return the time of a lane's next entry: later than the previous one, so that an instant names one state."""
        return max(to_micros(self.clock()), lane.last_recorded_at + 1)


def _check_payload(payload: Mapping[str, Any]) -> tuple[Mapping[str, Any], list[Part]]:
    """Return a payload as it reads back, and its parts; InputError when it is too large."""
    payload, parts = as_read(payload)
    size = sum(len(part.body) for part in parts)
    if size > MAX_PAYLOAD_BYTES:
        raise InputError(
            f"this call holds {size:,} bytes as JSON; at most {MAX_PAYLOAD_BYTES:,} are recorded in one."
            " Split it into several calls, or keep the data in a file and refer to it",
            field="payload",
        )
    return payload, parts


def part_row(unit: Unit, secret: bytes, row: PartRow) -> PartRow:
    """Return the stored form of a part: a large body goes to a blob."""
    if row.body is None or len(row.body) <= BLOB_BYTES:
        return row
    blob_id = keyed_hash(secret, "blob", row.body)
    insert_blob(unit, blob_id, zlib.compress(row.body))
    return replace(row, body=None, blob_id=blob_id)


def _commitment_of(secret: bytes, idempotency_key: str) -> str:
    return keyed_hash(secret, "idempotency", idempotency_key.encode("utf-8", "surrogatepass"))


def _check_same(unit: Unit, known: EntryRow, lane: Lane, *, verb: str, parts: list[Part]) -> None:
    kept = {row.n: row for row in read_parts(unit, [known.entry_id])[known.entry_id]}
    if len(kept) != len(known.paths):
        raise Erased(
            "what this idempotency_key recorded has been erased; it is not recorded again", field="idempotency_key"
        )
    same = (known.verb, known.lane_id, list(known.paths)) == (verb, lane.lane_id, [part.path for part in parts])
    if not same or any(body_of(unit, kept[n]) != part.body for n, part in enumerate(parts)):
        raise IdempotencyConflict(
            "this idempotency_key was used for another call; use a new key for a new payload",
            field="idempotency_key",
            details={"entry_id": known.entry_id},
        )
