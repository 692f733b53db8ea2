"""Import an export into a store: append the entries that are missing, in order.

The whole file is checked before its first entry is stored, in itself and against the store. If any lane conflicts,
nothing is imported. A lane's entries are staged in transactions of bounded size and become visible together, after the
last one is staged; until then, readers and writers see the lane unchanged. An interrupted import continues when it is
called again with the same file.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Final

from phronesis.core.results import ImportResult
from phronesis.core.timestamps import to_micros
from phronesis.errors import Conflict, Erased, InputError
from phronesis.log.export import EntryRecord, LaneRecord, SecretRecord, read_export
from phronesis.log.recorder import part_row
from phronesis.store.database import Database, Unit
from phronesis.store.lanes import GENESIS, Lane, ensure_tenant, find_lane, find_numbered, find_secret, lock_lane
from phronesis.store.log import (
    EntryRow,
    find_idempotent,
    insert_entry,
    insert_failure,
    last_seq,
    publish_lane,
    put_outcomes,
    read_entries,
    stage_lane,
)

MAX_ENTRIES: Final = 500
MAX_BYTES: Final = 8_000_000
"""Maximum bytes of one transaction, which bounds the wait of other writers and the loss at a kill."""

PAGE: Final = 500
"""Stored entries that are compared at a time."""


@dataclass(slots=True)
class Importer:
    """Imports one file into one tenant; used once."""

    database: Database
    tenant: str
    clock: Callable[[], datetime]
    _storing: bool = False
    """Whether records are stored, or only checked."""
    _secret: bytes = b""
    _foreign: bool = False
    _batch: list[EntryRecord] = field(default_factory=list)
    _size: int = 0
    _stored: dict[int, str] = field(default_factory=dict)

    def run(self, path: str | os.PathLike[str]) -> ImportResult:
        """Import a file; see ``Memory.import_``. The lanes are not interpreted yet."""
        try:
            with Path(path).open("rb") as file:
                self._take(file)  # damaged, newer, broken or at odds with what is here: nothing of it is stored
                file.seek(0)
                self._storing = True
                return self._take(file)
        except OSError as error:
            raise InputError(f"path: {path} cannot be read ({error.strerror})", field="path") from error

    def _take(self, file: BinaryIO) -> ImportResult:
        lane: LaneRecord | None = None
        lanes = added = known = present = 0
        for record in read_export(file):
            match record:
                case SecretRecord():
                    self._adopt(record.secret)
                case LaneRecord():
                    self._finish(lane)
                    lane, lanes = record, lanes + 1
                    present = self._begin(lane)
                case EntryRecord() if record.row.seq <= present:
                    self._compare(record.row, present)
                    known += 1
                case EntryRecord():
                    self._stage(record)
                    added += 1
        self._finish(lane)
        return ImportResult(lanes=lanes, entries_added=added, entries_known=known)

    def _adopt(self, secret: bytes) -> None:
        """Take the file's secret in an empty tenant; under another one the file's idempotency keys do not match."""
        with self.database.transaction(self.tenant, "append" if self._storing else "read") as unit:
            if self._storing:
                self._secret = ensure_tenant(unit, secret=secret, created_at=to_micros(self.clock()))
            self._foreign = find_secret(unit) not in (None, secret)

    def _begin(self, lane: LaneRecord) -> int:
        """Find or create the lane; return the seq up to which its entries are stored."""
        self._stored = {}
        with self.database.transaction(self.tenant, "append" if self._storing else "read") as unit:
            held, present = _stored_lane(unit, lane)
            if held is None and self._storing:
                stage_lane(unit, lane.lane_id, lane.kind, head_hash=GENESIS)
            return present

    def _compare(self, row: EntryRow, present: int) -> None:
        if row.seq not in self._stored:
            with self.database.transaction(self.tenant, "read") as unit:
                page = read_entries(unit, row.lane_id, after=row.seq - 1, until=present, limit=PAGE)
            self._stored = {stored.seq: stored.hash for stored in page}
        if self._stored.get(row.seq) != row.hash:
            raise Conflict(
                f"lane {row.lane_id} holds another entry {row.seq} than the file: they went separate ways; import it"
                " into an empty store or another tenant",
                field="path",
                details={"lane_id": row.lane_id, "seq": row.seq},
            )

    def _stage(self, record: EntryRecord) -> None:
        self._batch.append(record)
        self._size += sum(len(body) for _, body in record.parts) + sum(len(o["body"]) for o in record.outcomes)
        if len(self._batch) >= MAX_ENTRIES or self._size >= MAX_BYTES:
            self._write()

    def _write(self) -> None:
        if not self._batch:
            return
        with self.database.transaction(self.tenant, "append" if self._storing else "read") as unit:
            first = self._batch[0].row
            if self._storing:
                lock_lane(unit, first.lane_id)
                if last_seq(unit, first.lane_id) != first.seq - 1:
                    raise _moved_error(first.lane_id)
            for record in self._batch:
                self._store(unit, record)
        self._batch, self._size = [], 0

    def _store(self, unit: Unit, record: EntryRecord) -> None:
        row = record.row
        key = self._key_of(unit, row)
        if not self._storing:
            return
        insert_entry(
            unit, replace(row, idempotency=key), [part_row(unit, self._secret, part) for part, _ in record.parts]
        )
        put_outcomes(unit, row.lane_id, row.entry_id, record.outcomes)
        if record.failure is not None:
            insert_failure(unit, row.lane_id, row.entry_id, record.failure)

    def _key_of(self, unit: Unit, row: EntryRow) -> str | None:
        """Return the idempotency key that a new entry keeps; Conflict when another call used it here."""
        key = None if self._foreign else row.idempotency
        used = None if key is None else find_idempotent(unit, key)
        if used is not None and used.entry_id != row.entry_id:
            raise Conflict(
                f"the idempotency key of entry {row.entry_id} was used here for another call; import the file into"
                " another tenant",
                field="path",
            )
        return key

    def _finish(self, lane: LaneRecord | None) -> None:
        """Publish the lane's staged entries, if there are any."""
        if lane is None:
            return
        self._write()
        if not self._storing:
            return
        with self.database.transaction(self.tenant, "append") as unit:
            held: Lane = lock_lane(unit, lane.lane_id)
            if held.head_seq >= lane.head_seq:
                return  # an older file, or one that was imported before
            named = None if lane.lane_name is None else find_lane(unit, lane.lane_name)
            if (named is not None and named.lane_id != lane.lane_id) or last_seq(unit, lane.lane_id) != lane.head_seq:
                raise _moved_error(lane.lane_id)
            publish_lane(
                unit,
                lane.lane_id,
                name=lane.name,
                head_seq=lane.head_seq,
                head_hash=lane.head_hash,
                last_recorded_at=lane.last_recorded_at,
            )


def _stored_lane(unit: Unit, lane: LaneRecord) -> tuple[Lane | None, int]:
    """Return the stored lane of an imported one (None if missing), and the seq up to which its entries are stored."""
    named = None if lane.lane_name is None else find_lane(unit, lane.lane_name)
    held = find_numbered(unit, lane.lane_id)
    if named is not None and named.lane_id != lane.lane_id:
        raise _differs(lane, "holds entries of its own here")
    if held is None:
        return None, 0
    present = last_seq(unit, lane.lane_id)
    if held.kind != lane.kind or (held.head_seq and held.name not in (None, lane.name)):
        raise _differs(lane, "is another lane here")
    if held.head_seq and held.name != lane.name and lane.head_seq > present:
        raise Erased(f"lane {lane.lane_id} was erased here; what followed is not brought back", field="path")
    return held, present


def _differs(lane: LaneRecord, how: str) -> Conflict:
    return Conflict(
        f"lane {lane.lane_id} of the file {how}: import it into an empty store or another tenant",
        field="path",
        details={"lane_id": lane.lane_id},
    )


def _moved_error(lane_id: int) -> Conflict:
    return Conflict(
        f"somebody wrote to lane {lane_id} during the import; call again when nobody does",
        field="path",
        details={"lane_id": lane_id},
    )
