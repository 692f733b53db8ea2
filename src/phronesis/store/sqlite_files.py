"""SQLite files that are no store and have no tenants: a client's outbox, and tables of another program, read-only.

The outbox holds writes in order until a server has them, and those that it refused.
"""

import os
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from phronesis.errors import IdempotencyConflict, InputError, StorageBusy, StorageError, StorageFull

MAX_WRITES: Final = 10_000
MAX_BYTES: Final = 64 << 20
"""Limits of a file: writes that wait or were refused, and the size of their requests."""

_BUSY_SECONDS: Final = 10.0
_PRIVATE: Final = 0o600
_KINDS: Final[Mapping[int, type[StorageError]]] = {
    sqlite3.SQLITE_BUSY: StorageBusy,
    sqlite3.SQLITE_LOCKED: StorageBusy,
    sqlite3.SQLITE_FULL: StorageFull,
}
_FOREIGN: Final = (
    "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name NOT IN ('writes', 'sender', 'sqlite_sequence')"
)

_TABLES: Final = """
CREATE TABLE IF NOT EXISTS writes (
  id INTEGER PRIMARY KEY AUTOINCREMENT, at TEXT NOT NULL, key TEXT NOT NULL UNIQUE, request TEXT NOT NULL, code TEXT,
  message TEXT
);
CREATE TABLE IF NOT EXISTS sender (id INTEGER PRIMARY KEY CHECK (id = 1), address TEXT, owner TEXT, until REAL);
INSERT OR IGNORE INTO sender VALUES (1, NULL, NULL, 0);
"""


@dataclass(frozen=True, slots=True)
class OutboxRow:
    """A write: when it was made, its idempotency key and its request; ``code`` and ``message`` if it was refused."""

    id: int
    at: str
    key: str
    request: str
    code: str | None = None
    message: str | None = None


class OutboxFile:
    """Writes in a file that only its owner reads; threads and processes share it. Each call opens the file for itself.

    It is bound to one server's address while it holds anything.
    """

    def __init__(self, path: str | Path, address: str) -> None:
        self.path = Path(path).expanduser()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, _PRIVATE))
            self.path.chmod(_PRIVATE)
        except OSError as error:
            raise InputError(
                f"outbox: {self.path} cannot be used: {error.strerror or error}", field="outbox"
            ) from error
        with self._transaction() as rows:
            if rows.execute(_FOREIGN).fetchone():
                raise InputError(f"outbox: {self.path} is another program's database; name a new file", field="outbox")
            for statement in filter(str.strip, _TABLES.split(";")):
                rows.execute(statement)
            held, (bound,) = _count(rows), rows.execute("SELECT address FROM sender").fetchone()
            if held and bound != address:
                raise InputError(f"outbox: {self.path} holds writes for {bound}; send them there first", field="outbox")
            rows.execute("UPDATE sender SET address = ?", (address,))

    def put(self, *, at: str, key: str, request: str) -> None:
        """Add a write at the end; the same key and request again add nothing. StorageFull at the file's limits."""
        with self._transaction() as rows:
            known = rows.execute("SELECT request FROM writes WHERE key = ?", (key,)).fetchone()
            if known is not None:
                if known[0] != request:
                    raise IdempotencyConflict("this key has another write in the outbox", field="idempotency_key")
                return
            size = rows.execute("SELECT COALESCE(SUM(LENGTH(CAST(request AS BLOB))), 0) FROM writes").fetchone()[0]
            if _count(rows) >= MAX_WRITES or size + len(request.encode()) > MAX_BYTES:
                raise StorageFull(
                    f"the outbox {self.path} is full ({MAX_WRITES:,} writes or {MAX_BYTES >> 20} MiB); this write is"
                    " not kept",
                    field="outbox",
                )
            rows.execute("INSERT INTO writes (at, key, request) VALUES (?, ?, ?)", (at, key, request))

    def count_waiting(self) -> int:
        """Return the number of writes that wait."""
        with self._transaction("DEFERRED") as rows:
            return int(rows.execute("SELECT COUNT(*) FROM writes WHERE code IS NULL").fetchone()[0])

    def take(self, owner: str, *, now: float, until: float) -> OutboxRow | None:
        """Return the first write that waits, if the owner may send it: one sends at a time. Prolongs its turn."""
        with self._transaction() as rows:
            other, busy_until = rows.execute("SELECT owner, until FROM sender").fetchone()
            if other != owner and busy_until > now:
                return None
            first = rows.execute("SELECT * FROM writes WHERE code IS NULL ORDER BY id LIMIT 1").fetchone()
            rows.execute("UPDATE sender SET owner = ?, until = ?", (owner, until))
            return None if first is None else OutboxRow(*first)

    def release(self, owner: str) -> None:
        """End an owner's turn to send."""
        with self._transaction() as rows:
            rows.execute("UPDATE sender SET until = 0 WHERE owner = ?", (owner,))

    def remove(self, row_id: int) -> None:
        """Remove a write."""
        with self._transaction() as rows:
            rows.execute("DELETE FROM writes WHERE id = ?", (row_id,))

    def set_aside(self, row_id: int, *, code: str, message: str) -> None:
        """Keep a write with the error for which it was refused; it waits no longer."""
        with self._transaction() as rows:
            rows.execute("UPDATE writes SET code = ?, message = ? WHERE id = ?", (code, message, row_id))

    def requeue(self, row_id: int) -> bool:
        """Let a refused write wait again, at the end; False if there is none of this id."""
        with self._transaction() as rows:
            moved = rows.execute(
                "UPDATE writes SET code = NULL, message = NULL, id = (SELECT MAX(id) + 1 FROM writes)"
                " WHERE id = ? AND code IS NOT NULL",
                (row_id,),
            )
            return moved.rowcount == 1

    def list_refused(self) -> list[OutboxRow]:
        """Return the writes that the server refused, oldest first."""
        with self._transaction("DEFERRED") as rows:
            return [OutboxRow(*row) for row in rows.execute("SELECT * FROM writes WHERE code IS NOT NULL ORDER BY id")]

    @contextmanager
    def _transaction(self, kind: str = "IMMEDIATE") -> Iterator[sqlite3.Connection]:
        try:
            with closing(sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)) as rows:
                rows.execute("PRAGMA secure_delete = ON")  # what was sent leaves no copy here
                rows.execute(f"BEGIN {kind}")
                try:
                    yield rows
                except BaseException:
                    if rows.in_transaction:  # SQLite ends it itself where the disk is full
                        rows.execute("ROLLBACK")
                    raise
                rows.execute("COMMIT")
        except sqlite3.OperationalError as error:
            refused = _KINDS.get(error.sqlite_errorcode, StorageError)
            raise refused(f"outbox {self.path}: {error}", field="outbox") from error
        except sqlite3.DatabaseError as error:
            raise StorageError(f"outbox {self.path}: {error}; it is no outbox", field="outbox") from error


def _count(rows: sqlite3.Connection) -> int:
    return int(rows.execute("SELECT COUNT(*) FROM writes").fetchone()[0])


_MAGIC: Final = b"SQLite format 3\0"


def has_tables(path: Path, names: Collection[str]) -> bool:
    """Return whether a file is an SQLite database with these tables."""
    if not path.is_file():
        return False
    with path.open("rb") as stream:
        if stream.read(len(_MAGIC)) != _MAGIC:
            return False
    try:
        with closing(_connect(path)) as connection:
            return set(names) <= _tables(connection)
    except sqlite3.Error:
        return False


def check_file(path: Path) -> None:
    """Raise InputError if an SQLite file is damaged."""
    try:
        with closing(_connect(path)) as connection:
            [problem] = connection.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error as error:
        problem = str(error)
    if problem != "ok":
        raise InputError(f"path: {path.name} is a damaged database ({problem}); copy it again", field="path")


def read_table(path: Path, name: str) -> Iterator[Mapping[str, Any]]:
    """Yield the rows of a table by row id, none of a table that it lacks."""
    with closing(_connect(path)) as connection:
        if name in _tables(connection):
            for row in connection.execute(f'SELECT * FROM "{name}" ORDER BY rowid'):
                yield dict(row)


def _connect(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row
    return connection


def _tables(connection: sqlite3.Connection) -> set[str]:
    return {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
