"""Column types (half-precision vectors, JSON, times, ids) and the metadata with which tables are declared.

Vectors are ``halfvec`` under PostgreSQL (pgvector) and little-endian bytes under SQLite.
"""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import sqlalchemy as sa
from pydantic_core import from_json
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

from phronesis.core.lazy_loading import lazy_module

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
    """Stores a float32 vector as float16; gives float32. The dimension is the model's, not the column's."""

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

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        """Return a float32 vector."""
        if value is None:
            return None
        if dialect.name == "postgresql":
            return np.asarray(value.to_numpy() if hasattr(value, "to_numpy") else value, dtype=np.float32)
        return np.frombuffer(value, dtype="<f2").astype(np.float32)


class _HalfBytes(sa.types.TypeDecorator[Vector]):
    """What ``half_bytes`` gives, as a float32 vector."""

    impl = sa.LargeBinary
    cache_ok = True

    def process_result_value(self, value: Any, dialect: sa.Dialect) -> Any:
        """Read little-endian halves; PostgreSQL sends the dimension and an unused number, then big-endian ones."""
        if value is None:
            return None
        if dialect.name == "postgresql":
            return np.frombuffer(value, dtype=">f2", offset=_SENT_BEFORE).astype(np.float32)
        return np.frombuffer(value, dtype="<f2").astype(np.float32)


_SENT_BEFORE = 4
"""Bytes before the numbers: two int16 (pgvector, ``halfvec_send``)."""


class half_bytes(FunctionElement[Any]):  # noqa: N801 - a function of SQL
    """Read half vectors as bytes. PostgreSQL would send each as text, which takes ten times as long to parse."""

    type: sa.types.TypeEngine[Any] = _HalfBytes()
    inherit_cache = True


@compiles(half_bytes)
def _compile_plain(element: Any, compiler: Any, **more: Any) -> str:
    return str(compiler.process(element.clauses.clauses[0], **more))


@compiles(half_bytes, "postgresql")
def _compile_halfvec(element: Any, compiler: Any, **more: Any) -> str:
    return f"halfvec_send({_compile_plain(element, compiler, **more)})"


class sent_bytes(half_bytes):  # noqa: N801 - a function of SQL
    """Read half vectors as bytes, for `halves` to decode many rows at once."""

    type = sa.LargeBinary()
    inherit_cache = True


def halves(sent: Sequence[bytes], dialect: str) -> Halves:
    """Return vectors of one length as rows, from the results of `sent_bytes`, in one conversion."""
    if not sent:
        return np.zeros((0, 0), np.float16)
    rows = np.frombuffer(b"".join(sent), np.uint8).reshape(len(sent), -1)
    if dialect == "postgresql":
        return np.ascontiguousarray(rows[:, _SENT_BEFORE:]).view(">f2").astype(np.float16)
    return rows.view("<f2").astype(np.float16)


# Column constructors for the schema.

# The same order as SQLite's, on every server; an index does not break when the operating system's collation moves.
TEXT: Final = sa.Text().with_variant(sa.TEXT(collation="C"), "postgresql")


def tenant() -> sa.Column[str]:
    """Return the tenant column, which leads every row and key."""
    return sa.Column("tenant_id", TEXT, primary_key=True, nullable=False)


def key(name: str, kind: Any = TEXT) -> sa.Column[Any]:
    """Return a column of the primary key."""
    return sa.Column(name, kind, primary_key=True, nullable=False, autoincrement=False)


SELDOM: Final = "seldom"
"""Key of a column's ``info`` for columns that are NULL in most rows; inserts of such rows omit them."""


def text(name: str, *, required: bool = False, seldom: bool = False) -> sa.Column[str]:
    """Return a column of text."""
    return sa.Column(name, TEXT, nullable=not required, info={SELDOM: seldom})


def big(name: str, *, required: bool = False, seldom: bool = False) -> sa.Column[int]:
    """Return a column of 64-bit integers: times in microseconds, lanes, seqs."""
    return sa.Column(name, sa.BigInteger, nullable=not required, info={SELDOM: seldom})


def number(name: str, *, required: bool = True) -> sa.Column[float]:
    """Return a column of doubles."""
    return sa.Column(name, sa.Double, nullable=not required)


def json_text(name: str, *, seldom: bool = False) -> sa.Column[Any]:
    """Return a column of JSON, None when there is nothing."""
    return sa.Column(name, Json(), nullable=True, info={SELDOM: seldom})


def blob(name: str, *, required: bool = False) -> sa.Column[bytes]:
    """Return a column of bytes."""
    return sa.Column(name, sa.LargeBinary, nullable=not required)


# Table declarations: shared metadata, constraint names, and the leading tenant column.

collection: Final = sa.MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "pk": "pk_%(table_name)s",
    }
)


def table(name: str, *columns: sa.schema.SchemaItem, small: bool = False) -> sa.Table:
    """Return a table with a tenant column; a ``small`` table stores its rows in the key's tree (WITHOUT ROWID)."""
    # A small row lives in the key's own tree; a wide one would make that tree deep. Every tree that a write touches is
    # a page more to write and to sync: an index must earn its keep.
    return sa.Table(name, collection, tenant(), *columns, sqlite_with_rowid=not small)
