"""The database: connections, transactions with the required durability, and translation of driver errors."""

import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal

import sqlalchemy as sa

from phronesis.core.serialization import dumps
from phronesis.errors import InputError, MissingExtra, StorageBusy
from phronesis.store.dialects import LOWER, loads, translate_error

BUSY_TIMEOUT_MS: Final = 60_000
"""Milliseconds that a SQLite writer waits for another process. A write takes milliseconds; a rebuild or an erasure,
seconds."""

APPLICATION_ROLE: Final = "phronesis_app"
"""PostgreSQL's role for every transaction. It owns no table, so that row-level security applies whatever the login."""

TENANT_SETTING: Final = "phronesis.tenant_id"
"""The setting that row-level security compares with ``tenant_id``."""

SEARCH_PATH: Final = "phronesis, phronesis_resources, public"
"""PostgreSQL's schemas: memory, resources, and the usual one of the vector extension.

Table names are unique across them, so that statements need no schema.
"""

_IMPATIENT: Final = "20ms"
"""Lock timeout of an impatient transaction: PostgreSQL takes zero as no limit."""

_WAL_PAUSES: Final = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2)
"""Seconds between attempts to enable WAL: the switch takes milliseconds, and collides only when a new file is first
opened."""

Mode = Literal["read", "append", "derive"]
"""The mode of a transaction: read (a snapshot), append (log writes, durable when acknowledged) or derive (rebuildable).

An erasure must survive a crash, so it uses ``append`` although it changes derived rows too.
"""

_SYNCHRONOUS: Final[dict[str, str]] = {"append": "FULL", "derive": "NORMAL"}

# PostgreSQL. A snapshot for readers; writers take a row lock and must then see what its last holder committed. A
# derive that a crash takes back takes ``applied_seq`` back with it, and no commit after it survives without it.
_BEGINNING: Final[dict[str, tuple[str, ...]]] = {
    "read": ("BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY",),
    "append": ("BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE",),
    "derive": ("BEGIN ISOLATION LEVEL READ COMMITTED, READ WRITE", "SET LOCAL synchronous_commit = off"),
}

_SERVED: Final = "served"
"""Key of a connection's ``info`` once a transaction began on it: it may have been lost since."""


_SQLITE_FORMS: Final[dict[Any, Any]] = {}
"""SQLite statements compiled for its driver, shared by all files, so that opening another one compiles none."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One transaction of one tenant. Every function of ``store`` takes a Unit first."""

    connection: sa.Connection
    tenant: str
    dialect: str
    driver: Any
    """The driver's own connection."""
    forms: dict[Any, Any]
    """Statements as this database's driver takes them (`compiled_statements`)."""

    def run(self, statement: sa.Executable, rows: Any = None) -> sa.CursorResult[Any]:
        """Execute a statement; ``rows`` a mapping or a list of mappings of bound values."""
        return self.connection.execute(statement, rows)


@dataclass(slots=True)
class Database:
    """An engine with the transaction modes of Phronesis. Thread-safe; close it when done."""

    engine: sa.Engine
    path: str | None = None
    _writing: threading.RLock = field(default_factory=threading.RLock)
    _writer: sa.Connection | None = None
    _forms: dict[Any, Any] = field(default_factory=dict)

    @property
    def dialect(self) -> str:
        """``sqlite`` or ``postgresql``."""
        return self.engine.dialect.name

    @contextmanager
    def transaction(self, tenant: str, mode: Mode, *, patient: bool = True) -> Iterator[Unit]:
        """Open a transaction of ``tenant``; commit at the end, roll back on any exception.

        If not ``patient``, a write raises StorageBusy instead of waiting for another writer.
        """
        is_live = False
        try:
            with self._connection(tenant, mode, patient=patient) as connection:
                driver = connection.connection.driver_connection
                try:
                    yield Unit(connection, tenant, self.dialect, driver, self._forms)
                except BaseException:
                    is_live = not getattr(driver, "closed", False)
                    _transaction_end(connection, driver).rollback()
                    raise
                _transaction_end(connection, driver).commit()
        except (sa.exc.SQLAlchemyError, self.engine.dialect.loaded_dbapi.Error, UnicodeEncodeError) as error:
            # A driver's own error comes from statements that go past SQLAlchemy (`compiled_statements`); a text that is
            # no text in UTF-8 is an error of Python's before it is one of the driver's.
            raise translate_error(error, is_live=is_live) from error

    @contextmanager
    def _connection(self, tenant: str, mode: Mode, *, patient: bool) -> Iterator[sa.Connection]:
        """Return a connection with a transaction begun.

        Readers, and everyone on PostgreSQL, get their own. SQLite's writers of one process share one connection and
        queue here, because waiters on the file's lock poll. An in-memory database is one connection, so its readers
        queue as well.
        """
        if self.dialect != "sqlite":
            with self._begin_postgres(tenant, mode, patient=patient) as connection:
                yield connection
            return
        if mode == "read" and self.path is not None:
            with self.engine.connect() as connection:
                _begin_sqlite(connection, mode, patient=patient)
                yield connection
            return
        if not self._writing.acquire(blocking=patient):
            raise StorageBusy("another thread is writing; call again")
        try:
            if self._writer is None:
                self._writer = self.engine.connect()
            try:
                _begin_sqlite(self._writer, mode, patient=patient)
                yield self._writer
            except BaseException:
                self._close_writer()
                raise
        finally:
            self._writing.release()

    def _close_writer(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = None

    def _begin_postgres(self, tenant: str, mode: Mode, *, patient: bool) -> sa.Connection:
        """Return a connection of PostgreSQL's pool on which a transaction began, in one round trip.

        Settings end with the transaction, so that poolers may share connections. A connection that the server closed
        meanwhile is detected here and replaced; a check in advance would cost another round trip.
        """
        text = _begin_statements(tenant, mode, patient=patient)
        while True:
            connection = self.engine.connect()
            driver: Any = connection.connection.driver_connection
            try:
                driver.execute(text, prepare=False)
            except self.engine.dialect.loaded_dbapi.Error:
                stale = driver.closed and _SERVED in connection.info
                if driver.closed:
                    connection.invalidate()
                connection.close()
                if not stale:
                    raise
            except BaseException:
                connection.close()
                raise
            else:
                connection.info[_SERVED] = True
                return connection

    def close(self) -> None:
        """Close every connection; a SQLite write-ahead log is merged into the file."""
        with self._writing:
            self._close_writer()
        if self.dialect == "sqlite" and self.path is not None:
            self.checkpoint()
        self.engine.dispose()

    def compact(self) -> None:
        """Rewrite a SQLite file without free pages and empty its write-ahead log; do nothing on PostgreSQL.

        StorageError when that is impossible now: another process is writing, or the disk has no space for a copy.
        """
        if self.dialect != "sqlite" or self.path is None:
            return
        with self._writing:
            try:
                with self.engine.connect() as connection:
                    connection.exec_driver_sql("VACUUM")
            except sa.exc.SQLAlchemyError as error:
                raise translate_error(error) from error
            self.checkpoint()

    def checkpoint(self) -> None:
        """Merge SQLite's write-ahead log into the file and empty it; do nothing on PostgreSQL or while others read."""
        if self.dialect != "sqlite":
            return
        with self._writing, self.engine.connect() as connection:
            try:
                connection.exec_driver_sql("PRAGMA wal_checkpoint(TRUNCATE)")
            except sa.exc.OperationalError as error:
                fault = translate_error(error)
                if fault.code not in {"storage.busy", "storage.read_only"}:
                    raise fault from error


def _begin_sqlite(connection: sa.Connection, mode: Mode, *, patient: bool) -> None:
    # At the driver: these run before every transaction, and SQLAlchemy's context costs more than they do.
    driver: Any = connection.connection.driver_connection
    synchronous = _SYNCHRONOUS.get(mode)
    if synchronous is not None and connection.info.get("synchronous") != synchronous:
        driver.execute(f"PRAGMA synchronous={synchronous}")
        connection.info["synchronous"] = synchronous
    if patient:
        driver.execute("BEGIN" if mode == "read" else "BEGIN IMMEDIATE")
        return
    driver.execute("PRAGMA busy_timeout=0")
    try:
        driver.execute("BEGIN IMMEDIATE")
    finally:
        driver.execute(f"PRAGMA busy_timeout={BUSY_TIMEOUT_MS}")


def _begin_statements(tenant: str, mode: Mode, *, patient: bool) -> str:
    # Citus passes such settings on to its workers when told to, and elsewhere its own setting is a mere name. SET takes
    # no bound value; a tenant's name holds no quotes (config.check_tenant).
    settings = (
        *_BEGINNING[mode],
        "SET LOCAL citus.propagate_set_commands = 'local'",
        f"SET LOCAL ROLE {APPLICATION_ROLE}",
        f"SET LOCAL search_path = {SEARCH_PATH}",
        f"SET LOCAL {TENANT_SETTING} = '{tenant}'",
        *(() if patient else (f"SET LOCAL lock_timeout = '{_IMPATIENT}'",)),
    )
    return "; ".join(settings)


def _transaction_end(connection: sa.Connection, driver: Any) -> Any:
    """Return the object that ends a transaction: SQLAlchemy, or the driver if every statement bypassed SQLAlchemy."""
    return connection if connection.in_transaction() else driver


def connect(url: str) -> Database:
    """Return a Database for ``sqlite:///path``, ``sqlite://`` (in memory) or ``postgresql://…``.

    InputError for another kind of URL, MissingExtra when the driver is not installed. Only the connection pool is
    created.
    """
    try:
        parsed = sa.make_url(url)
    except sa.exc.ArgumentError as error:
        raise InputError(
            "url must look like sqlite:///memory.db or postgresql://user@host/database;"
            f" for the file {url} it is sqlite:///{url}",
            field="url",
        ) from error
    if parsed.get_backend_name() == "sqlite" and parsed.database in (None, "", ":memory:"):
        return Database(_sqlite_engine(parsed, poolclass=sa.pool.StaticPool), _forms=_SQLITE_FORMS)
    if parsed.get_backend_name() == "sqlite":
        engine = _sqlite_engine(parsed, pool_size=8, max_overflow=32)
        return Database(engine, path=parsed.database, _forms=_SQLITE_FORMS)
    if parsed.get_backend_name() == "postgresql":
        return _postgres(parsed)
    raise InputError(f"url must be sqlite or postgresql, not {parsed.get_backend_name()}", field="url")


def in_memory() -> Database:
    """Return a new, empty in-memory SQLite database for a single writer.

    All of them share an engine and its compiled statements, which take longer to make than a database to open.
    """
    return Database(_private(), _forms=_SQLITE_FORMS)


@cache
def _private() -> sa.Engine:
    return _sqlite_engine(sa.make_url("sqlite://"), poolclass=sa.pool.NullPool)  # a connection is a database here


def _sqlite_engine(url: sa.URL, **pool: Any) -> sa.Engine:
    engine = sa.create_engine(
        url.set(drivername="sqlite+pysqlite"),
        json_serializer=dumps,
        json_deserializer=loads,
        connect_args={"check_same_thread": False, "isolation_level": None, "timeout": BUSY_TIMEOUT_MS / 1000},
        **pool,
    )

    @sa.event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: Any) -> None:
        cursor = connection.cursor()
        # secure_delete from the first page on: what an erase removes is overwritten, not only unlinked.
        for pragma in (
            f"busy_timeout={BUSY_TIMEOUT_MS}",
            "secure_delete=ON",
            "foreign_keys=ON",
            "temp_store=MEMORY",
            "cache_size=-32768",
        ):
            cursor.execute(f"PRAGMA {pragma}")
        _use_wal(cursor)
        cursor.close()
        connection.create_function(LOWER, 1, _lower, deterministic=True)

    return engine


def _use_wal(cursor: Any) -> None:
    """Switch to write-ahead logging, retrying while others do the same.

    The switch needs exclusive access, and SQLite reports busy at once regardless of the timeout, since waiting for
    other upgrading readers could deadlock.
    """
    for pause in _WAL_PAUSES:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:  # the primary code is in the lowest byte
                raise
            time.sleep(pause)
        else:
            return
    cursor.execute("PRAGMA journal_mode=WAL")


def _lower(text: Any) -> Any:
    return text.lower() if isinstance(text, str) else text


def _postgres(url: sa.URL) -> Database:
    try:
        from psycopg.pq import TransactionStatus  # noqa: PLC0415 - an optional package
    except ImportError as error:
        raise MissingExtra("PostgreSQL needs: pip install 'phronesis[postgres]'") from error
    engine = sa.create_engine(
        url.set(drivername="postgresql+psycopg"),
        json_serializer=dumps,
        json_deserializer=loads,
        pool_size=8,
        max_overflow=32,
    )

    @sa.event.listens_for(engine, "connect")
    def _prepare(connection: Any, _record: Any) -> None:
        connection.autocommit = True  # or psycopg sends a BEGIN of its own, a round trip ahead of the first statement

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        driver: Any = connection.connection.driver_connection
        # A transaction of ours has begun before SQLAlchemy hears of it; any other begins here.
        if driver.info.transaction_status == TransactionStatus.IDLE:
            driver.execute("BEGIN")

    return Database(engine)


def sqlite_settings(database: Database, tenant: str, mode: Mode) -> dict[str, str]:
    """Return the pragmas that durability and erasure depend on, in a transaction of that mode."""
    names = ("journal_mode", "synchronous", "secure_delete")
    with database.transaction(tenant, mode) as unit:
        return {name: str(unit.connection.exec_driver_sql(f"PRAGMA {name}").scalar_one()).lower() for name in names}


def free_bytes(database: Database) -> int | None:
    """Return the free bytes on a SQLite file's disk; None for a server or a database in memory."""
    if database.path is None:
        return None
    return shutil.disk_usage(Path(database.path).absolute().parent).free


def may_write(path: str) -> bool:
    """Return whether this process may write to a SQLite file."""
    return os.access(path, os.W_OK)
