"""Export a tenant's log to JSON lines, and read an export with every line checked."""

import base64
import errno
import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, BinaryIO, Final, TypeVar, get_args

from phronesis.core.entries import NOTHING
from phronesis.core.ids import LaneKind, LaneName, is_id
from phronesis.core.results import ExportResult
from phronesis.core.serialization import encode
from phronesis.core.timestamps import isoformat
from phronesis.errors import InputError, IntegrityError, SchemaTooNew, StorageFull
from phronesis.log.payloads import body_of, problems
from phronesis.store.database import Database, Unit
from phronesis.store.lanes import GENESIS, Lane, find_secret, list_lanes
from phronesis.store.log import EntryRow, PartRow, failures_of, read_entries, read_outcomes, read_parts

# Export to a file. ``import_`` rebuilds an equal store from it.

FORMAT: Final = "phronesis-export"
VERSION: Final = 1
PAGE: Final = 200
"""Entries read at a time: memory holds one page and the entry being written."""

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Operating system errors of a full disk, for which another path of the same disk would not help."""

ENTRY_FIELDS: Final = tuple(
    "seq entry_id verb handler_version actor recorded_at parent_id idempotency paths hash".split()
)
"""Columns of an entry that are exported unchanged; the commitments are bytes."""


def write_export(database: Database, tenant: str, path: str | os.PathLike[str], now: datetime) -> ExportResult:
    """Write the tenant's log from one snapshot; the file is complete or absent, and readable by its owner only.

    IntegrityError when the log does not verify: such a file could not be imported.
    """
    target = Path(path)
    counts = {"lane": 0, "entry": 0}
    try:
        with tempfile.NamedTemporaryFile(
            dir=target.parent, prefix=f".{target.name}.", suffix=".part", delete=False
        ) as file:
            partial = Path(file.name)
            try:
                with database.transaction(tenant, "read") as unit:
                    for name, line in export_lines(unit, now):
                        counts[name] = counts.get(name, 0) + 1
                        file.write(line)
                file.flush()
                os.fsync(file.fileno())
                partial.replace(target)
            except BaseException:
                partial.unlink(missing_ok=True)
                raise
    except FileNotFoundError as error:
        raise InputError(f"path: the folder {target.parent} does not exist; make it first", field="path") from error
    except (PermissionError, IsADirectoryError, NotADirectoryError) as error:
        raise InputError(f"path: {target} cannot be written ({type(error).__name__})", field="path") from error
    except OSError as error:
        if error.errno in _FULL:
            raise StorageFull(f"the export could not be written ({error.strerror}); nothing was left behind") from error
        raise InputError(f"path: {target} cannot be written ({error.strerror}); give another", field="path") from error
    return ExportResult(str(target), lanes=counts["lane"], entries=counts["entry"])


def export_lines(unit: Unit, now: datetime) -> Iterator[tuple[str, bytes]]:
    """Return the file's lines in order, each with its record type."""
    header = {"format": FORMAT, "version": VERSION, "tenant": unit.tenant, "created_at": isoformat(now)}
    yield "header", encode(header) + b"\n"
    total = hashlib.sha256()
    counts = {"lanes": 0, "entries": 0}
    for name, record in _records(unit):
        line = encode({name: record}) + b"\n"
        total.update(line)
        counts["lanes"] += name == "lane"
        counts["entries"] += name == "entry"
        yield name, line
    yield "end", encode({"end": {**counts, "sha256": total.hexdigest()}}) + b"\n"


def _records(unit: Unit) -> Iterator[tuple[str, dict[str, Any]]]:
    secret = find_secret(unit)
    if secret is not None:
        yield "tenant", {"secret": base64.b64encode(secret).decode()}
    for lane in list_lanes(unit):
        if lane.head_seq:  # a lane without entries is one whose import was never finished
            yield "lane", {name: getattr(lane, name) for name in LaneRecord.__dataclass_fields__}
            yield from (("entry", entry) for entry in _entries(unit, lane))


def _entries(unit: Unit, lane: Lane) -> Iterator[dict[str, Any]]:
    after, previous = 0, GENESIS
    while after < lane.head_seq:
        page = read_entries(unit, lane.lane_id, after=after, until=lane.head_seq, limit=PAGE)
        ids = [row.entry_id for row in page]
        parts, outcomes, failed = read_parts(unit, ids), read_outcomes(unit, ids), failures_of(unit, ids)
        for row in page:
            bodies = [(part, body_of(unit, part)) for part in parts[row.entry_id]]
            wrong = problems(row, bodies, previous=previous, expected=after + 1)
            if wrong:
                raise _broken(lane, row, wrong[0])
            yield {
                **{name: getattr(row, name) for name in ENTRY_FIELDS},
                "paths": list(row.paths),
                "commitments": base64.b64encode(row.commitments).decode(),
                "parts": [
                    {"n": part.n, "salt": base64.b64encode(part.salt).decode(), "body": body.decode()}
                    for part, body in bodies
                ],
                "outcomes": [_outcome(found) for found in outcomes[row.entry_id] or _no_outcomes(row, lane)],
                "failure": failed.get(row.entry_id),
            }
            after, previous = row.seq, row.hash
        if not page:
            raise _broken(lane, None, f"seq {after + 1} is missing")


def _no_outcomes(row: EntryRow, lane: Lane) -> list[dict[str, Any]]:
    """Return what stands for no outcomes: the mark of an entry that was applied without any."""
    return [] if row.seq > lane.applied_seq else [{**asdict(NOTHING), "body": encode(NOTHING.body)}]


def _outcome(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"role": row["role"], "n": row["n"], "made_by": row["made_by"], "body": bytes(row["body"]).decode()}


def _broken(lane: Lane, row: EntryRow | None, problem: str) -> IntegrityError:
    where = "" if row is None else f" at entry {row.entry_id}"
    return IntegrityError(
        f"lane {lane.lane_id} does not verify{where}: {problem}; run doctor, and restore the database from a copy",
        details={"lane_id": lane.lane_id, "seq": None if row is None else row.seq},
    )


REMEDY: Final = "the file is damaged: export again, or take another copy"

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class LaneRecord:
    """A lane in the file."""

    lane_id: int
    kind: LaneKind
    name: str | None
    head_seq: int
    head_hash: str
    last_recorded_at: int

    @property
    def lane_name(self) -> LaneName | None:
        """The name of the lane; None when it was detached by an erasure."""
        return None if self.name is None else LaneName(self.kind, self.name)


@dataclass(frozen=True, slots=True)
class EntryRecord:
    """An entry in the file, with its remaining parts, its outcomes and its failed attempts."""

    row: EntryRow
    parts: Sequence[tuple[PartRow, bytes]]
    outcomes: Sequence[Mapping[str, Any]]
    failure: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class SecretRecord:
    """The secret of the exported tenant."""

    secret: bytes


Record = SecretRecord | LaneRecord | EntryRecord


def read_export(file: BinaryIO) -> Iterator[Record]:
    """Return the file's records in order, checked; they are valid only once iteration ends without an error.

    Raises InputError if it is no export, or damaged (the message names the line); SchemaTooNew if a newer Phronesis
    wrote it; IntegrityError if its chain does not verify.
    """
    _check_header(file.readline())
    total = hashlib.sha256()
    counts = {"lanes": 0, "entries": 0}
    lane: LaneRecord | None = None
    seq, previous = 0, GENESIS
    for number, line in enumerate(file, start=2):
        name, body = _parse_line(line, number)
        if name == "end":
            _check_finished(lane, seq, previous, number)
            if any(body.get(name) != value for name, value in {**counts, "sha256": total.hexdigest()}.items()):
                raise _damage_error(number, "the lines before it are not those that were written")
            if file.read(1):
                raise _damage_error(number + 1, "something follows the last line")
            return
        total.update(line)
        if name == "entry":
            record = _entry(body, lane, number)
            found = problems(record.row, record.parts, previous=previous, expected=seq + 1)
            if found:
                raise _broken_line(number, found[0])
            seq, previous = record.row.seq, record.row.hash
            counts["entries"] += 1
            yield record
        elif name == "lane":
            _check_finished(lane, seq, previous, number)
            lane, seq, previous = _lane(body, number), 0, GENESIS
            counts["lanes"] += 1
            yield lane
        else:
            yield SecretRecord(_bytes(body, "secret", number))
    raise InputError(f"path: the file ends without its last line; {REMEDY}", field="path")


def _check_header(line: bytes) -> None:
    try:
        header = json.loads(line)
    except ValueError:
        header = None
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InputError("path: line 1 is not the header of an export of Phronesis; check path", field="path")
    version = _field(header, "version", int, 1)
    if version > VERSION:
        raise SchemaTooNew(
            f"the export is of version {version}, this Phronesis reads up to {VERSION}; use the one that wrote it",
            details={"version": version, "known": VERSION},
        )


def _check_finished(lane: LaneRecord | None, seq: int, head: str, number: int) -> None:
    if lane is not None and (lane.head_seq, lane.head_hash) != (seq, head):
        raise _broken_line(number, f"lane {lane.lane_id} should end with entry {lane.head_seq}, and ends with {seq}")


def _parse_line(line: bytes, number: int) -> tuple[str, Mapping[str, Any]]:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise _damage_error(number, "it is not JSON") from error
    if not isinstance(value, dict) or len(value) != 1:
        raise _damage_error(number, "it is not one record")
    name, body = next(iter(value.items()))
    if name not in {"tenant", "lane", "entry", "end"} or not isinstance(body, dict):
        raise _damage_error(number, "it is no record of this format")
    return name, body


def _lane(body: Mapping[str, Any], number: int) -> LaneRecord:
    if body.get("kind") not in get_args(LaneKind):
        raise _damage_error(number, "kind is neither user nor shared")
    types = {"lane_id": int, "head_seq": int, "head_hash": str, "last_recorded_at": int}
    return LaneRecord(kind=body["kind"], name=_optional(body, "name", str, number), **_fields(body, types, number))


def _entry(body: Mapping[str, Any], lane: LaneRecord | None, number: int) -> EntryRecord:
    if lane is None:
        raise _damage_error(number, "an entry stands before its lane")
    kinds: dict[str, type] = {"seq": int, "handler_version": int, "recorded_at": int, "paths": list}
    values: dict[str, Any] = {}
    for name in ENTRY_FIELDS:
        read: Callable[..., Any] = _optional if name in {"parent_id", "idempotency"} else _field
        values[name] = read(body, name, kinds.get(name, str), number)
    if not is_id(values["entry_id"]):  # the ids of what it makes are made of it
        raise _damage_error(number, "entry_id is no UUID")
    row = EntryRow(lane_id=lane.lane_id, commitments=_bytes(body, "commitments", number), **values)
    parts: list[tuple[PartRow, bytes]] = []
    for part in _mappings(body, "parts", number):
        text = _field(part, "body", str, number).encode()
        n, salt = _field(part, "n", int, number), _bytes(part, "salt", number)
        parts.append((PartRow(entry_id=row.entry_id, n=n, salt=salt, body=text, blob_id=None), text))
    types = {"role": str, "n": int, "made_by": str, "body": str}
    outcomes = [_fields(outcome, types, number) for outcome in _mappings(body, "outcomes", number)]
    outcomes = [{**outcome, "body": outcome["body"].encode()} for outcome in outcomes]
    failure = _optional(body, "failure", dict, number)
    if failure is not None:
        failure = _fields(failure, {"attempts": int, "code": str, "message": str, "at": int}, number)
    return EntryRecord(row, parts, outcomes, failure)


def _fields(body: Mapping[str, Any], types: Mapping[str, type], number: int) -> dict[str, Any]:
    return {name: _field(body, name, kind, number) for name, kind in types.items()}


def _field(body: Mapping[str, Any], name: str, kind: type[_T], number: int) -> _T:
    value = body.get(name)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise _damage_error(number, f"{name} is missing or no {kind.__name__}")
    return value


def _optional(body: Mapping[str, Any], name: str, kind: type[_T], number: int) -> _T | None:
    return None if body.get(name) is None else _field(body, name, kind, number)


def _mappings(body: Mapping[str, Any], name: str, number: int) -> list[Mapping[str, Any]]:
    members: list[Any] = _field(body, name, list, number)
    if not all(isinstance(member, dict) for member in members):
        raise _damage_error(number, f"{name} has a member that is no record")
    return members


def _bytes(body: Mapping[str, Any], name: str, number: int) -> bytes:
    try:
        return base64.b64decode(_field(body, name, str, number), validate=True)
    except ValueError as error:
        raise _damage_error(number, f"{name} is not base64") from error


def _damage_error(number: int, problem: str) -> InputError:
    return InputError(f"path: line {number}: {problem}; {REMEDY}", field="path", details={"line": number})


def _broken_line(number: int, problem: str) -> IntegrityError:
    return IntegrityError(
        f"line {number} of the file: {problem}; the file was altered or damaged: export again, or take another copy",
        field="path",
        details={"line": number},
    )
