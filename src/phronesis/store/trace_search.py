"""Search for remains of erased texts in every row of a tenant and, under SQLite, in the bytes of the files.

An erased text may legitimately occur elsewhere: another user said the same words, a live lane has them as its name, or
a public source returned them to somebody else. These places are read first, and probes that occur there are dropped
from the search.
"""

import bisect
import contextlib
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import sqlalchemy as sa

from phronesis.errors import StorageError
from phronesis.store.compiled_statements import own_rows
from phronesis.store.database import Database, Unit
from phronesis.store.erasure_queries import SHINGLE_BYTES, Probes
from phronesis.store.schema import (
    TABLE_SETS,
    api_keys,
    blobs,
    entries,
    lanes,
    lookups,
    metadata,
    payload_parts,
    tenants,
)

CHUNK_BYTES: Final = 4 << 20
"""Bytes scanned at a time: with their hashes they fit a processor's cache."""

SUFFIXES: Final = ("", "-wal", "-shm", "-journal")
"""Suffixes of SQLite's additional files."""

MAX_NAMED: Final = 50
"""Maximum number of places named in a result."""

LEFT_IN_FILE: Final = (
    "it could not be written anew, and its free space holds traces: run VACUUM on it when nobody else writes to it and"
    " the disk has room for a copy"
)

_WORDLESS: Final = (payload_parts, blobs, tenants, *(home.vectors for home in TABLE_SETS))
_FETCHED: Final = 500
_OWN_ID: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")

Located = tuple[str, bytes]
"""A place and its bytes."""


@dataclass(slots=True)
class Scan:
    """The result of a scan. ``residue`` names places, never their text.

    ``outstanding`` names files with traces that could not be overwritten now, and what to do.
    """

    rows: int = 0
    files: int = 0
    held_elsewhere: int = 0
    residue: list[str] = field(default_factory=list)
    outstanding: list[str] = field(default_factory=list)

    def note(self, place: str) -> None:
        """Add a place that holds a trace."""
        if place not in self.residue and len(self.residue) < MAX_NAMED:
            self.residue.append(place)


def scan(database: Database, tenant: str, probes: Probes) -> Scan:
    """Search for probes in all parts of the database that this process can read."""
    result = Scan()
    with database.transaction(tenant, "read") as unit:
        query = sa.select(tenants.c.tenant_id).order_by(tenants.c.tenant_id)
        # One file holds the words of all tenants.
        everyone = [tenant] if database.path is None else list(unit.run(query).scalars())
    known: set[bytes] = set()
    for each in everyone:
        with database.transaction(each, "read") as unit:
            known |= {piece for _, piece in _find_traces(probes.without(known), _remaining_texts(unit))}
    foreign = probes.without(known)
    result.held_elsewhere = probes.texts - foreign.texts
    with database.transaction(tenant, "read") as unit:
        for place, _ in _find_traces(foreign, _count_rows(_rows(unit), result)):
            result.note(place)
    _scan_files(database, everyone, foreign, result)
    return result


def _scan_files(database: Database, tenants: Sequence[str], probes: Probes, result: Scan) -> None:
    """Scan a SQLite database's files; if they hold a trace, rewrite them without free space and scan again."""
    if database.path is None:
        return
    for attempt in range(2):
        files = [file for file in (Path(database.path + suffix) for suffix in SUFFIXES) if file.is_file()]
        found = {path.name: set(_pieces_in(path, probes)) for path in files}
        result.files = len(found)
        chance = _accidental_probes(database, tenants, probes.only(set().union(*found.values())))
        traces = [name for name, pieces in found.items() if pieces - chance]
        if traces and attempt == 0 and not result.residue:
            try:
                database.compact()
            except StorageError as error:  # the erasure is done, and its certificate says what is left to do
                result.outstanding += [f"file {name}: {LEFT_IN_FILE} ({error.code})" for name in traces]
            else:
                continue
        for name in traces:
            result.note(f"file {name}")
        return


def _accidental_probes(database: Database, tenants: Sequence[str], probes: Probes) -> set[bytes]:
    """Return the probes that occur only across the border of two adjacent columns of a live row.

    SQLite stores values without separators: "at 1" before an id that begins with "0" reads "at 10".
    """
    out: set[bytes] = set()
    for tenant in tenants if len(probes) else ():
        with database.transaction(tenant, "read") as unit:
            joined = (("", b"".join(value for _, value in row)) for row in _rows(unit))
            out |= {piece for _, piece in _find_traces(probes, joined)}
    return out


def _pieces_in(path: Path, probes: Probes) -> Iterator[bytes]:
    with path.open("rb") as file:
        tail = b""
        while chunk := file.read(CHUNK_BYTES):
            yield from (piece for _, piece in probes.find(tail + chunk))
            tail = chunk[-SHINGLE_BYTES:]


def _find_traces(probes: Probes, located: Iterable[Located]) -> Iterator[tuple[str, bytes]]:
    """Return (place, probe) of each trace; many small bodies are scanned as one."""
    places: list[str] = []
    starts: list[int] = []
    gathered = bytearray()

    def look() -> Iterator[tuple[str, bytes]]:
        for at, piece in probes.find(bytes(gathered)):
            yield places[bisect.bisect_right(starts, at) - 1], piece

    for place, body in located:
        places.append(place)
        starts.append(len(gathered))
        gathered += body + b"\0"
        if len(gathered) >= CHUNK_BYTES:
            yield from look()
            places, starts, gathered = [], [], bytearray()
    yield from look()


def _count_rows(rows: Iterable[list[Located]], result: Scan) -> Iterator[Located]:
    for row in rows:
        result.rows += 1
        yield from row


def _remaining_texts(unit: Unit) -> Iterator[Located]:
    """Return the texts that may legitimately remain: remaining payloads, and the names of live lanes."""
    parts = sa.select(payload_parts.c.body).where(*own_rows(unit, payload_parts), payload_parts.c.body.is_not(None))
    for row in _stream(unit, parts):
        yield "payload_parts", bytes(row.body)
    for row in _stream(unit, sa.select(blobs.c.body).where(*own_rows(unit, blobs))):
        yield "blobs", bytes(row.body)
        with contextlib.suppress(zlib.error):  # a damaged one says nothing; doctor finds it
            yield "blobs", zlib.decompress(bytes(row.body))
    # Erasing empties this table: what stands there now was looked up for others, or for what is left.
    answers = sa.select(_readable(lookups.c.answer)).where(*own_rows(unit, lookups))
    for (answer,) in _stream(unit, answers):
        yield "lookups", _bytes(answer or "")
    named = (
        sa.select(lanes.c.name).where(*own_rows(unit, lanes), lanes.c.name.is_not(None)),
        sa.select(entries.c.actor).where(*own_rows(unit, entries)).distinct(),
        sa.select(api_keys.c.label).where(*own_rows(unit, api_keys)),  # an operator wrote it, not a memory
        sa.select(api_keys.c.actor).where(*own_rows(unit, api_keys)),
    )
    for query in named:
        for (name,) in unit.run(query):
            yield "names", name.encode("utf-8", "surrogatepass")
    yield "names", unit.tenant.encode()
    if unit.dialect == "sqlite":
        for (definition,) in unit.run(sa.text("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL")):
            yield "schema", definition.encode()


def _rows(unit: Unit) -> Iterator[list[Located]]:
    """Yield each row of each table with its texts and bytes, except the log's bodies, which were scanned before."""
    for table in metadata.sorted_tables:
        if table in _WORDLESS:
            continue
        keys = [column for column in table.primary_key.columns if column.name != "tenant_id"]
        texts = (column for column in table.columns if isinstance(column.type, sa.Text | sa.JSON | sa.LargeBinary))
        told = [column for column in texts if column.name != "tenant_id"]
        query = sa.select(
            *(column.label(f"key_{n}") for n, column in enumerate(keys)),
            *(_readable(column).label(f"value_{n}") for n, column in enumerate(told)),
        ).where(*own_rows(unit, table))
        for row in _stream(unit, query):
            name = "/".join([table.name, *(_safe_key(key) for key in row[: len(keys)])])
            yield [
                (f"{name}: {column.name}", _bytes(value))
                for column, value in zip(told, row[len(keys) :], strict=True)
                if value is not None
            ]


def _safe_key(key: Any) -> str:
    """Return a key that is a number or a generated id; a caller's own key may be erased text."""
    return str(key) if isinstance(key, int) or _OWN_ID.fullmatch(str(key)) else "…"


def _readable(column: sa.Column[Any]) -> sa.ColumnElement[Any]:
    return sa.cast(column, sa.Text) if isinstance(column.type, sa.JSON) else column


def _bytes(value: Any) -> bytes:
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else bytes(value)


def _stream(unit: Unit, query: sa.Select[Any]) -> Iterator[Any]:
    yield from unit.run(query.execution_options(yield_per=_FETCHED))
