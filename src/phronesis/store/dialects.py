"""SQL expressions that give equal results in SQLite and PostgreSQL.

The databases differ otherwise: SQLite's LIKE ignores case and its ``lower`` knows ASCII only; PostgreSQL fails where a
metadata value has another type than the value it is compared with; and each converts types in its own way.
"""

import sqlite3
from typing import Any, Final, Literal

import sqlalchemy as sa
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from phronesis.errors import StorageBusy, StorageError, StorageFull, StorageReadOnly, StorageRefused

JsonKind = Literal["text", "number", "boolean"]

LOWER: Final = "phronesis_lower"
"""SQLite function registered on each connection: ``str.lower``."""

_SQLITE_TYPES: Final[dict[JsonKind, str]] = {
    "text": "('text')",
    "number": "('integer', 'real')",
    "boolean": "('true', 'false')",
}
_POSTGRES_TYPES: Final[dict[JsonKind, str]] = {"text": "string", "number": "number", "boolean": "boolean"}

_DIGITS: Final = 300
"""Number of characters from which a number may exceed the range of a double."""


class contains(FunctionElement[bool]):  # noqa: N801 - reads as the SQL function that it is
    """``contains(text, part)``: case- and accent-sensitive, without wildcards."""

    type = sa.Boolean()
    inherit_cache = True


class lowered(FunctionElement[str]):  # noqa: N801
    """``lowered(text)``: lower case of every script."""

    type = sa.Text()
    inherit_cache = True


class member_text(FunctionElement[str]):  # noqa: N801
    """``member_text(json, key)``: the member if it is a string, else NULL."""

    type = sa.Text()
    inherit_cache = True
    kind: JsonKind = "text"


class member_number(FunctionElement[float]):  # noqa: N801
    """``member_number(json, key)``: the member if it is a number, else NULL."""

    type = sa.Double()
    inherit_cache = True
    kind: JsonKind = "number"


class member_boolean(FunctionElement[bool]):  # noqa: N801
    """``member_boolean(json, key)``: the member if it is true or false, else NULL."""

    type = sa.Boolean()
    inherit_cache = True
    kind: JsonKind = "boolean"


class has_member(FunctionElement[bool]):  # noqa: N801
    """``has_member(json, key)``: whether a member exists and is not null."""

    type = sa.Boolean()
    inherit_cache = True


class _Key(sa.types.TypeDecorator[str]):
    """The name of a member, rendered for the dialect."""

    impl = sa.Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: sa.Dialect) -> str | None:
        if value is None or dialect.name != "sqlite":
            return value
        return f'$."{value}"'


def key(name: str) -> sa.BindParameter[str]:
    """Return a member name to bind; it may hold no quotation marks, backslashes or control characters."""
    return sa.literal(name, _Key())


def bound_key(bound: str) -> sa.BindParameter[str]:
    """Return a bind parameter for a member name, for a statement that is built once."""
    return sa.bindparam(bound, type_=_Key())


class parsed(FunctionElement[Any]):  # noqa: N801
    """``parsed(text)``: JSON text as JSON; NULL where PostgreSQL might reject an escape in it."""

    type = sa.Text()
    inherit_cache = True


def _arguments(element: FunctionElement[Any], compiler: Any, **kw: Any) -> list[str]:
    return [compiler.process(clause, **kw) for clause in element.clauses]


@compiles(contains)
def _contains(element: contains, compiler: Any, **kw: Any) -> str:
    text, part = _arguments(element, compiler, **kw)
    name = "strpos" if compiler.dialect.name == "postgresql" else "instr"
    return f"({name}({text}, {part}) > 0)"


@compiles(lowered)
def _compile_lowered(element: lowered, compiler: Any, **kw: Any) -> str:
    (text,) = _arguments(element, compiler, **kw)
    # Under the columns' own collation, "C", PostgreSQL too would know ASCII only.
    return f'lower({text} COLLATE "default")' if compiler.dialect.name == "postgresql" else f"{LOWER}({text})"


@compiles(parsed)
def _compile_parsed(element: parsed, compiler: Any, **kw: Any) -> str:
    (text,) = _arguments(element, compiler, **kw)
    if compiler.dialect.name == "postgresql":
        return f"(CASE WHEN strpos({text}, '\\u') = 0 THEN ({text})::json END)"
    return text


@compiles(member_text)
@compiles(member_number)
@compiles(member_boolean)
def _member(element: Any, compiler: Any, **kw: Any) -> str:
    json, name = _arguments(element, compiler, **kw)
    if compiler.dialect.name == "postgresql":
        value = f"({json} ->> {name})"
        number = f"CASE WHEN length({value}) < {_DIGITS} THEN {value}::float8 END"  # of more it says: out of range
        cast = {"text": f'{value} COLLATE "C"', "number": number, "boolean": f"{value}::boolean"}
        wanted = _POSTGRES_TYPES[element.kind]
        return f"(CASE json_typeof({json} -> {name}) WHEN '{wanted}' THEN {cast[element.kind]} END)"
    value = f"json_extract({json}, {name})"
    value = f"CAST({value} AS REAL)" if element.kind == "number" else value
    return f"(CASE WHEN json_type({json}, {name}) IN {_SQLITE_TYPES[element.kind]} THEN {value} END)"


@compiles(has_member)
def _has_member(element: has_member, compiler: Any, **kw: Any) -> str:
    json, name = _arguments(element, compiler, **kw)
    if compiler.dialect.name == "postgresql":
        return f"(({json} ->> {name}) IS NOT NULL)"
    return f"(json_extract({json}, {name}) IS NOT NULL)"


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
