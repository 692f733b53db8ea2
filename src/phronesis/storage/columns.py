"""The kinds of columns that the tables are made of."""

from typing import Any, Final

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql

from phronesis.storage.json_column import Json

# The same order as SQLite's, on every server; an index does not break when the operating system's collation moves.
TEXT: Final = sa.Text().with_variant(postgresql.TEXT(collation="C"), "postgresql")


def tenant() -> sa.Column[str]:
    """Give the column that every row and every key begins with."""
    return sa.Column("tenant_id", TEXT, primary_key=True, nullable=False)


def key(name: str, kind: Any = TEXT) -> sa.Column[Any]:
    """Give a column of the primary key."""
    return sa.Column(name, kind, primary_key=True, nullable=False, autoincrement=False)


SELDOM: Final = "seldom"
"""What a column's ``info`` says where most rows have nothing in it: inserts of such rows leave it out."""


def text(name: str, *, required: bool = False, seldom: bool = False) -> sa.Column[str]:
    """Give a column of text."""
    return sa.Column(name, TEXT, nullable=not required, info={SELDOM: seldom})


def big(name: str, *, required: bool = False, seldom: bool = False) -> sa.Column[int]:
    """Give a column of 64-bit integers: times in microseconds, lanes, seqs."""
    return sa.Column(name, sa.BigInteger, nullable=not required, info={SELDOM: seldom})


def number(name: str, *, required: bool = True) -> sa.Column[float]:
    """Give a column of doubles."""
    return sa.Column(name, sa.Double, nullable=not required)


def json(name: str, *, seldom: bool = False) -> sa.Column[Any]:
    """Give a column of JSON, None when there is nothing."""
    return sa.Column(name, Json(), nullable=True, info={SELDOM: seldom})


def blob(name: str, *, required: bool = False) -> sa.Column[bytes]:
    """Give a column of bytes."""
    return sa.Column(name, sa.LargeBinary, nullable=not required)
