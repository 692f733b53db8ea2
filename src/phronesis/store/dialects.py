"""What differs between SQLite and PostgreSQL: column types, SQL expressions with equal results, and error codes.

Vectors are ``halfvec`` under PostgreSQL (pgvector) and little-endian bytes under SQLite. SQLite's LIKE ignores case and
its ``lower`` knows ASCII only; PostgreSQL fails where a metadata value has another type than the value it is compared
with; and each converts types in its own way. Driver errors become the package's exceptions by code, never by message.
Here are also the columns and the metadata with which tables are declared.
"""

import json
import sqlite3
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

import sqlalchemy as sa
from pydantic_core import from_json
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from phronesis.core.lazy_loading import lazy_module
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


def json_key(name: str) -> sa.BindParameter[str]:
    """Return a member name to bind; it may hold no quotation marks, backslashes or control characters."""
    return sa.literal(name, _Key())


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


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vector = NDArray[np.float32]
    Halves = NDArray[np.float16]
else:
    np = lazy_module("numpy")
    Vector = Halves = Any

# A JSON column that keeps its text verbatim.


def loads(text: str | bytes) -> Any:
    """Parse what ``core.serialization.dumps`` wrote; equal to ``json.loads``.

    Pydantic's parser takes half the time, because it caches the member names that thousands of rows share. JSON that
    it rejects (half of a surrogate pair, 200 levels) is parsed by ``json``.
    """
    try:
        return from_json(text, cache_strings="keys")
    except (ValueError, TypeError):  # a text that is no UTF-8 is none to it
        return json.loads(text)


class Json(sa.JSON):
    """JSON: ``json`` under PostgreSQL, ``TEXT`` under SQLite.

    Not ``jsonb``, which turns 1e16 into an integer, and not SQLite's ``JSON``, a column of numeric affinity that turns
    0.0 into 0: a replay in SQLite would then differ from the live lane.
    """

    cache_ok = True

    def __init__(self) -> None:
        super().__init__(none_as_null=True)


@compiles(Json, "sqlite")
def _text(_kind: Json, _compiler: Any, **_options: Any) -> str:
    return "TEXT"


class HalfVector(sa.types.TypeDecorator[Vector]):
    """Stores a float32 vector as float16, which `sent_bytes` reads. The dimension is the model's, not the column's."""

    impl = sa.LargeBinary
    cache_ok = True

    def load_dialect_impl(self, dialect: sa.Dialect) -> Any:
        """Use pgvector's type where there is one."""
        if dialect.name == "postgresql":
            from pgvector.sqlalchemy import HALFVEC  # noqa: PLC0415 - an optional package

            return dialect.type_descriptor(HALFVEC())
        return dialect.type_descriptor(sa.LargeBinary())

    def process_bind_param(self, value: Vector | None, dialect: sa.Dialect) -> Any:
        """Return the value that the driver takes."""
        if value is None:
            return None
        half = np.asarray(value, dtype="<f2")
        return half.tolist() if dialect.name == "postgresql" else half.tobytes()


class sent_bytes(FunctionElement[bytes]):  # noqa: N801 - a function of SQL
    """Read half vectors as bytes, for `halves`. PostgreSQL would send each as text, which takes ten times as long."""

    type = sa.LargeBinary()
    inherit_cache = True


@compiles(sent_bytes)
def _compile_sent_bytes(element: Any, compiler: Any, **more: Any) -> str:
    column = str(compiler.process(element.clauses.clauses[0], **more))
    return f"halfvec_send({column})" if compiler.dialect.name == "postgresql" else column


_SENT_BEFORE: Final = 4
"""Bytes before the numbers: two int16, the dimension and an unused number (pgvector, ``halfvec_send``)."""


def halves(sent: Sequence[bytes], dialect: str) -> Halves:
    """Return vectors of one length as rows, from the results of `sent_bytes`, in one conversion."""
    if not sent:
        return np.zeros((0, 0), np.float16)
    rows = np.frombuffer(b"".join(sent), np.uint8).reshape(len(sent), -1)
    if dialect == "postgresql":
        return np.ascontiguousarray(rows[:, _SENT_BEFORE:]).view(">f2").astype(np.float16)
    return rows.view("<f2").astype(np.float16)


# Columns and tables as the schema and the migrations declare them.

# The same order as SQLite's, on every server; an index does not break when the operating system's collation moves.
TEXT: Final = sa.Text().with_variant(sa.TEXT(collation="C"), "postgresql")
_KINDS: Final[dict[str, Any]] = {
    "text": TEXT,
    "big": sa.BigInteger(),  # times in microseconds, lanes, seqs
    "int": sa.Integer(),
    "small": sa.SmallInteger(),
    "double": sa.Double(),
    "bool": sa.Boolean(),
    "json": Json(),
    "bytes": sa.LargeBinary(),
    "vector": HalfVector(),
}


def declared(columns: str, key: str = "") -> Iterator[sa.Column[Any]]:
    """Yield columns behind the tenant's, which leads every row and key: ``name:kind``, of which some are the ``key``.

    ``!`` follows the kind of a column that is not null.
    """
    keys = key.split()
    yield sa.Column("tenant_id", TEXT, primary_key=True)
    for name, kind in (column.split(":") for column in columns.split()):
        null = name not in keys and not kind.endswith("!")
        own = _KINDS[kind.rstrip("!")]
        yield sa.Column(name, own, primary_key=name in keys, nullable=null, autoincrement=False)


NAMING: Final = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "pk": "pk_%(table_name)s",
}
collection: Final = sa.MetaData(naming_convention=NAMING)


def table(name: str, columns: str, *more: sa.schema.SchemaItem, key: str = "", small: bool = False) -> sa.Table:
    """Return a table of `declared` columns; a ``small`` table stores its rows in the key's tree (WITHOUT ROWID)."""
    # A small row lives in the key's own tree; a wide one would make that tree deep. Every tree that a write touches is
    # a page more to write and to sync: an index must earn its keep.
    return sa.Table(name, collection, *declared(columns, key), *more, sqlite_with_rowid=not small)


def index(columns: str, *, name: str | None = None, where: str | None = None, unique: bool = False) -> sa.Index:
    """Return an index of columns behind the tenant, of the rows that meet a condition (SQLite's)."""
    condition = None if where is None else sa.text(where)
    return sa.Index(name, "tenant_id", *columns.split(), unique=unique, sqlite_where=condition)
