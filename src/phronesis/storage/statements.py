"""The few statements whose form differs between the two databases, and reading many ids at once."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, TypeVar

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from phronesis.storage.database import Unit
from phronesis.storage.prepared import run_many

_T = TypeVar("_T")
_TEXTS: Final = postgresql.ARRAY(sa.Text)

BATCH: Final = 500
"""Ids bound in one statement: SQLite allows 32,766 variables, PostgreSQL 65,535; plans stay cached at one size."""


# Building a statement costs more than running it: each is built once for its table, and keeps its cache key.
@cache
def _inserting(table: sa.Table) -> sa.Insert:
    return sa.insert(table)


@cache
def _ignoring(table: sa.Table, dialect: str) -> sa.Insert:
    return (postgresql.insert if dialect == "postgresql" else sqlite.insert)(table).on_conflict_do_nothing()


@cache
def _replacing(table: sa.Table, dialect: str) -> sa.Insert:
    statement = (postgresql.insert if dialect == "postgresql" else sqlite.insert)(table)
    values = {column.name: statement.excluded[column.name] for column in table.columns if not column.primary_key}
    return statement.on_conflict_do_update(index_elements=list(table.primary_key), set_=values)


def insert_ignore(unit: Unit, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows, passing over those whose primary or unique key is there already."""
    if rows:
        run_many(unit, _ignoring(table, unit.dialect), rows)


def upsert(unit: Unit, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert whole rows; where the primary key is there, take the new values of the other columns."""
    if rows:
        run_many(unit, _replacing(table, unit.dialect), rows)


def insert(unit: Unit, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows; nothing for none."""
    if rows:
        run_many(unit, _inserting(table), rows)


def listed(column: sa.ColumnElement[str], dialect: str, name: str = "ids") -> sa.ColumnElement[bool]:
    """Give "the column is one of a list" with the whole list bound as one value, so that the statement stays the same.

    PostgreSQL takes an array, SQLite a JSON text: bind with ``list_value``.
    """
    if dialect == "postgresql":
        # Selected, so that its plan does not know how long it is: of a list that it takes for long beside what it
        # guesses of the tenant, it walks the tenant instead, and it guesses low.
        given: sa.Select[Any] = sa.select(sa.bindparam(name, type_=_TEXTS))
        return column == sa.func.any(sa.cast(given.scalar_subquery(), _TEXTS))
    return column.in_(sa.select(sa.column("value")).select_from(sa.func.json_each(sa.bindparam(name, type_=sa.Text))))


def selected(column: sa.ColumnElement[str], values: Any, dialect: str) -> sa.ColumnElement[bool]:
    """Give "the column is one of what a query of one column selects": of a few values, each looked up.

    PostgreSQL joins with a query, and walks the tenant to do so; it looks an array's values up.
    """
    if dialect == "postgresql":
        return column == sa.func.any(sa.func.array(values.scalar_subquery(), type_=_TEXTS))
    return column.in_(values)


def looked_up(column: sa.Column[str], dialect: str, name: str = "ids") -> sa.ColumnElement[bool]:
    """Give "a row of the tenant whose column is one of a list", bound as ``t`` and as ``listed`` binds it.

    For a column that an index holds right behind the tenant. Where that is not the table's key, SQLite holds it for
    cheaper to walk the tenant by the key than to look several values up, unless tenant and value are compared as one.
    """
    tenant = column.table.c.tenant_id
    if dialect == "postgresql":
        return sa.and_(tenant == sa.bindparam("t"), listed(column, dialect, name))
    given = sa.func.json_each(sa.bindparam(name, type_=sa.Text))
    pairs: sa.Select[Any, Any] = sa.select(sa.bindparam("t", type_=sa.Text), sa.column("value")).select_from(given)
    return sa.tuple_(tenant, column).in_(pairs)


def list_value(dialect: str, values: Sequence[str]) -> Any:
    """Give a list as ``listed`` takes it."""
    return list(values) if dialect == "postgresql" else json.dumps(list(values))


def batches(values: Iterable[_T], size: int = BATCH) -> Iterator[list[_T]]:
    """Give ``values`` in lists of at most ``size``."""
    batch: list[_T] = []
    for value in values:
        batch.append(value)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
