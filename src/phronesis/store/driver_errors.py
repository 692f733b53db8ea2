"""Map driver errors to the package's exceptions by error code, never by message."""

import sqlite3
from typing import Final

import sqlalchemy as sa

from phronesis.errors import StorageBusy, StorageError, StorageFull, StorageReadOnly, StorageRefused

_REFUSED: Final = "the schema does not take these values: a repeated key, a wrong type or a text too long"
_SQLITE: Final = {
    sqlite3.SQLITE_FULL: (StorageFull, "the disk is full: nothing of this call was stored; free space and call again"),
    sqlite3.SQLITE_IOERR: (StorageFull, "the disk failed or is full: nothing of this call was stored"),
    sqlite3.SQLITE_READONLY: (StorageReadOnly, "the database file cannot be written; check its permissions"),
    sqlite3.SQLITE_CANTOPEN: (StorageReadOnly, "the database file cannot be opened or created; check path and rights"),
    sqlite3.SQLITE_BUSY: (StorageBusy, "another process holds the database's write lock; call again"),
    sqlite3.SQLITE_LOCKED: (StorageBusy, "another connection holds the database's write lock; call again"),
    sqlite3.SQLITE_CORRUPT: (StorageError, "the database file is damaged; restore it from an export"),
    sqlite3.SQLITE_CONSTRAINT: (StorageRefused, _REFUSED),
    sqlite3.SQLITE_MISMATCH: (StorageRefused, _REFUSED),
    sqlite3.SQLITE_TOOBIG: (StorageRefused, _REFUSED),
    sqlite3.SQLITE_NOTADB: (StorageError, "the file is not a SQLite database; check url"),
}
_SQLSTATE: Final = {
    "53100": (StorageFull, "the server's disk is full: nothing of this call was stored"),
    "25006": (StorageReadOnly, "the server is read-only (a standby?); point url at the primary"),
    "42501": (StorageReadOnly, "the role may not do this; run `phronesis store upgrade` as the owner"),
    "55P03": (StorageBusy, "a lock was not had in time; call again"),
    "40001": (StorageBusy, "another transaction went first; call again"),
    "40P01": (StorageBusy, "two transactions waited for each other; call again"),
    "57P03": (StorageBusy, "the server is starting up; call again"),
    "XX000": (StorageBusy, "the cluster could not order two transactions; call again"),
}
_REFUSING_CLASSES: Final = frozenset({"22", "23", "54"})
"""SQLSTATE classes of data that does not fit: 22 data exception, 23 integrity constraint violation, 54 program limit
exceeded (a text too long for an index)."""

_REFUSING_ERRORS: Final = frozenset({"DataError", "IntegrityError"})
"""PEP 249's names of data errors, for statements that bypass SQLAlchemy."""

_PRIMARY_CODE: Final = 0xFF
"""SQLite's extended result codes carry the primary code in the lowest byte."""


def translate_error(error: Exception, *, is_live: bool = False) -> StorageError:
    """Return the package's exception for a driver's error, wrapped by SQLAlchemy or not.

    Unknown errors name the driver's class. ``is_live``: the connection still works, so that the database is reachable.
    """
    original = getattr(error, "orig", error)
    if isinstance(original, UnicodeEncodeError):
        return StorageRefused("a text holds half of a character (a lone surrogate), which no database takes")
    if isinstance(original, sqlite3.Error):
        code = getattr(original, "sqlite_errorcode", -1)
        unknown = (_unknown(error), f"SQLite refused: {type(original).__name__}")
        kind, message = _SQLITE.get(code & _PRIMARY_CODE, unknown)
        return kind(message, details={"sqlite": getattr(original, "sqlite_errorname", type(original).__name__)})
    state = sqlstate_of(error)
    if state is not None:
        unknown = (StorageRefused, _REFUSED) if state[:2] in _REFUSING_CLASSES else (_unknown(error), "")
        kind, message = _SQLSTATE.get(state, unknown)
        message = message or f"PostgreSQL refused (SQLSTATE {state})"
        return kind(message, details={"sqlstate": state})
    if isinstance(error, sa.exc.OperationalError) and not is_live:
        return StorageError("the database cannot be reached; check url, network and credentials")
    return _unknown(error)(f"the database refused: {type(error).__name__}")


def _unknown(error: Exception) -> type[StorageError]:
    """Return the exception for an unknown error: invalid data if the value could not be bound, else a failure."""
    refused = (sa.exc.IntegrityError, sa.exc.DataError, sa.exc.ProgrammingError, sa.exc.InterfaceError)
    lost = isinstance(error, sa.exc.DBAPIError) and error.connection_invalidated
    unbound = isinstance(error, sa.exc.StatementError) and not isinstance(error, sa.exc.DBAPIError)
    bare = not _REFUSING_ERRORS.isdisjoint(one.__name__ for one in type(error).__mro__)
    return StorageRefused if unbound or ((bare or isinstance(error, refused)) and not lost) else StorageError


def sqlstate_of(error: Exception) -> str | None:
    """Return PostgreSQL's code of an error, or None."""
    state: str | None = getattr(getattr(error, "orig", error), "sqlstate", None)
    return state
