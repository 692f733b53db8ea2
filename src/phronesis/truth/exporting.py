"""Writing the log of a tenant to a file: JSON lines, from which ``import_`` makes the same store anywhere.

::

    {"format": "phronesis-export", "version": 1, "tenant": …, "created_at": …}    the header
    {"tenant": {"secret": …}}              keys the idempotency keys; as confidential as all that follows
    {"lane": {"lane_id", "kind", "name", "head_seq", "head_hash", "last_recorded_at"}}
    {"entry": {"seq", "entry_id", …, "parts": […], "outcomes": […], "failure": …}}   its entries, in order
    …
    {"end": {"lanes", "entries", "sha256"}}     over every line but the header and this one

Only truth is written: derived state follows from it. Salts and commitments are base64, bodies are the canonical JSON
texts that the commitments cover, blobs stand in line. Parts that were erased are absent. An entry that was interpreted
without an outcome, or whose outcomes an erasure took, is given the one that says so: no import prepares it anew.
"""

import base64
import errno
import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from phronesis.core.canonical import encode
from phronesis.core.entries import NOTHING
from phronesis.core.instants import isoformat
from phronesis.core.results import ExportResult
from phronesis.errors import InputError, IntegrityError, StorageFull
from phronesis.storage.database import Database, Unit
from phronesis.storage.lanes import GENESIS, Lane, list_lanes
from phronesis.storage.log import EntryRow, read_entries, read_outcomes, read_parts
from phronesis.storage.transfer import failures_of, tenant_secret
from phronesis.truth.chain import problems
from phronesis.truth.reader import body_of

FORMAT: Final = "phronesis-export"
VERSION: Final = 1
PAGE: Final = 200
"""Entries read at a time: what is held in memory is one page and the entry being written."""

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""What the system says where there is no more room: no other path of the same disk would help."""

ENTRY_FIELDS: Final = ("seq", "entry_id", "verb", "handler_version", "actor", "recorded_at", "parent_id",
                       "idempotency", "paths", "hash")  # fmt: skip
"""Columns of an entry that stand in the file as they are; the commitments are bytes."""


def write_export(database: Database, tenant: str, path: str | os.PathLike[str], now: datetime) -> ExportResult:
    """Write the tenant's log as of one moment; the file is complete or not there.

    Only its owner may read it. IntegrityError when the log does not verify: such a file could not be imported.
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
    """Give the file's lines in order, each with the name of what it is."""
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
    secret = tenant_secret(unit)
    if secret is not None:
        yield "tenant", {"secret": base64.b64encode(secret).decode()}
    for lane in list_lanes(unit):
        if lane.head_seq:  # a lane without entries is one whose import was never finished
            yield "lane", {
                "lane_id": lane.lane_id, "kind": lane.kind, "name": lane.name, "head_seq": lane.head_seq,
                "head_hash": lane.head_hash, "last_recorded_at": lane.last_recorded_at,
            }  # fmt: skip
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
                "outcomes": [_outcome(found) for found in outcomes[row.entry_id] or _nothing(row, lane)],
                "failure": failed.get(row.entry_id),
            }
            after, previous = row.seq, row.hash
        if not page:
            raise _broken(lane, None, f"seq {after + 1} is missing")


def _nothing(row: EntryRow, lane: Lane) -> list[dict[str, Any]]:
    if row.seq > lane.applied_seq:
        return []
    return [{"role": NOTHING.role, "n": NOTHING.n, "made_by": NOTHING.made_by, "body": encode(NOTHING.body)}]


def _outcome(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"role": row["role"], "n": row["n"], "made_by": row["made_by"], "body": bytes(row["body"]).decode()}


def _broken(lane: Lane, row: EntryRow | None, problem: str) -> IntegrityError:
    where = "" if row is None else f" at entry {row.entry_id}"
    return IntegrityError(
        f"lane {lane.lane_id} does not verify{where}: {problem}; run doctor, and restore the database from a copy",
        details={"lane_id": lane.lane_id, "seq": None if row is None else row.seq},
    )
