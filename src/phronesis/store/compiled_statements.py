"""The most frequent statements, compiled once per database and executed directly on the driver.

SQLAlchemy spends about ten times what SQLite needs to insert a row on building its execution context. A write runs some
twenty statements, so those of every write bypass it: same statement, same types, same SQL text. Measurements:
``docs/decisions/03-databases.md``.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeVar

import sqlalchemy as sa

from phronesis.core.lazy_loading import lazy_module
from phronesis.store.database import Unit

if TYPE_CHECKING:
    from sqlalchemy.dialects import postgresql, sqlite
else:
    postgresql = lazy_module("sqlalchemy.dialects.postgresql")
    sqlite = lazy_module("sqlalchemy.dialects.sqlite")

_FLOAT8: Final = 701
"""PostgreSQL's type code of a float (pg_type.oid), by which SQLAlchemy tells psycopg's floats from decimals."""
_Make = Callable[[Any], Any]

MAX_FORMS: Final = 1_000
"""Maximum number of compiled statements that a database keeps; beyond it, the cache is cleared."""


@dataclass(frozen=True, slots=True)
class _Form:
    """A statement compiled for one driver: its text, its parameters, and the conversion of its rows."""

    text: str
    values: Callable[[Mapping[str, Any]], Any]
    reading: Sequence[tuple[int, _Make]] = ()
    cursor: Mapping[str, bool] = field(default_factory=dict)
    """Arguments for the driver's cursor."""

    def read(self, row: Sequence[Any]) -> Sequence[Any]:
        values = list(row)
        for n, make in self.reading:
            if values[n] is not None:  # NULL is None, of whatever type
                values[n] = make(values[n])
        return values


def _form(unit: Unit, statement: Any, columns: tuple[str, ...]) -> _Form:
    # As many as there are statements in this package, and as many shapes of listings as callers think of.
    form: _Form | None = unit.forms.get((statement, columns))
    if form is None:
        if len(unit.forms) >= MAX_FORMS:
            unit.forms.clear()
        form = unit.forms[statement, columns] = _compile_form(statement, unit.connection.dialect, columns)
    return form


def _compile_form(statement: Any, dialect: sa.Dialect, columns: tuple[str, ...]) -> _Form:
    compiled = statement.compile(dialect=dialect, column_keys=list(columns) or None)
    names = compiled.positiontup if compiled.positional else list(compiled.binds)
    binds = [(name, _bind_processor(compiled.binds[name].type, dialect)) for name in names]
    fixed = {name: bind.effective_value for name, bind in compiled.binds.items() if not bind.required}
    columns_read = list(enumerate(statement.selected_columns if isinstance(statement, sa.Select) else ()))
    codes = ((n, c.type, _FLOAT8 if isinstance(c.type, sa.Double) else None) for n, c in columns_read)
    made = ((n, kind.dialect_impl(dialect).result_processor(dialect, code)) for n, kind, code in codes)
    reading = [(n, make) for n, make in made if make is not None]

    def bound(row: Mapping[str, Any]) -> Any:
        made = ((name, row[name] if make is None else make(row[name])) for name, make in binds)
        return [value for _, value in made] if compiled.positional else dict(made)

    values = (lambda row: bound({**fixed, **row})) if fixed else bound  # with the literal values of the statement
    # PostgreSQL would send bytes as text, two digits each.
    sends_bytes = dialect.name == "postgresql" and any(_is_bytes(c.type) for _, c in columns_read)
    cursor = {"binary": True} if sends_bytes else {}
    return _Form(str(compiled), values, reading, cursor)


def _is_bytes(kind: Any) -> bool:
    return isinstance(kind.impl if isinstance(kind, sa.types.TypeDecorator) else kind, sa.LargeBinary)


def _bind_processor(kind: Any, dialect: sa.Dialect) -> _Make | None:
    if isinstance(kind, sa.LargeBinary):
        return None  # both drivers take bytes as they are; SQLAlchemy would wrap each
    make: _Make | None = kind.dialect_impl(dialect).bind_processor(dialect)
    return make


def run_many(unit: Unit, statement: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    """Run an insert for each row; every row has the same keys."""
    form = _form(unit, statement, tuple(rows[0]))
    if len(rows) == 1:
        unit.driver.cursor().execute(form.text, form.values(rows[0]))
    else:
        unit.driver.cursor().executemany(form.text, [form.values(row) for row in rows])


def run_each(unit: Unit, statement: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    """Run a statement that names its bind parameters, for each row of them."""
    form = _form(unit, statement, ())
    unit.driver.cursor().executemany(form.text, [form.values(row) for row in rows])


def run_one(unit: Unit, statement: Any, bound: Mapping[str, Any]) -> None:
    """Run a statement without result rows; ``bound`` are its bind parameters."""
    form = _form(unit, statement, ())
    unit.driver.cursor().execute(form.text, form.values(bound))


def fetch(unit: Unit, statement: Any, bound: Mapping[str, Any]) -> list[Sequence[Any]]:
    """Run a select and return its rows."""
    return list(each(unit, statement, bound))


def each(unit: Unit, statement: Any, bound: Mapping[str, Any]) -> Iterator[Sequence[Any]]:
    """Run a select and yield its rows one by one, so that consumed JSON is freed."""
    form = _form(unit, statement, ())
    rows = unit.driver.cursor(**form.cursor).execute(form.text, form.values(bound)).fetchall()
    return map(form.read, rows) if form.reading else iter(rows)


# Statements whose form differs between the two databases, and reads of many ids at once.

_T = TypeVar("_T")

BATCH: Final = 500
"""Ids bound in one statement: SQLite allows 32,766 variables, PostgreSQL 65,535; one size keeps plans cached."""


# Building a statement costs more than running it: each is built once for its table, and keeps its cache key.
@cache
def _insert_statement(table: sa.Table) -> sa.Insert:
    return sa.insert(table)


@cache
def _insert_or_ignore(table: sa.Table, dialect: str) -> sa.Insert:
    return (postgresql.insert if dialect == "postgresql" else sqlite.insert)(table).on_conflict_do_nothing()


@cache
def _insert_or_replace(table: sa.Table, dialect: str) -> sa.Insert:
    statement = (postgresql.insert if dialect == "postgresql" else sqlite.insert)(table)
    values = {column.name: statement.excluded[column.name] for column in table.columns if not column.primary_key}
    return statement.on_conflict_do_update(index_elements=list(table.primary_key), set_=values)


def insert_ignore(unit: Unit, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows, skipping those whose primary or unique key exists."""
    if rows:
        run_many(unit, _insert_or_ignore(table, unit.dialect), rows)


def upsert(unit: Unit, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert whole rows; where the primary key exists, update the other columns."""
    if rows:
        run_many(unit, _insert_or_replace(table, unit.dialect), rows)


def insert(unit: Unit, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> None:
    """Insert rows; do nothing for none."""
    if rows:
        run_many(unit, _insert_statement(table), rows)


def bound_lane(table: Any) -> tuple[sa.ColumnElement[bool], ...]:
    """Return the conditions that rows are of the tenant and lane bound as ``t`` and ``l``."""
    return (table.c.tenant_id == sa.bindparam("t"), table.c.lane_id == sa.bindparam("l"))


def own_rows(unit: Unit, table: Any, /, **equal: Any) -> tuple[sa.ColumnElement[bool], ...]:
    """Return the conditions that rows are of the transaction's tenant and have certain values."""
    return (table.c.tenant_id == unit.tenant, *(table.c[name] == value for name, value in equal.items()))


def in_list(column: sa.ColumnElement[str], dialect: str, name: str = "ids") -> sa.ColumnElement[bool]:
    """Return the condition "column in list" with the list bound as one value, so that the statement text is constant.

    PostgreSQL takes an array, SQLite a JSON text: bind with ``list_value``.
    """
    if dialect == "postgresql":
        # Selected, so that its plan does not know how long it is: of a list that it takes for long beside what it
        # guesses of the tenant, it walks the tenant instead, and it guesses low.
        given: sa.Select[Any] = sa.select(sa.bindparam(name, type_=postgresql.ARRAY(sa.Text)))
        return column == sa.func.any(sa.cast(given.scalar_subquery(), postgresql.ARRAY(sa.Text)))
    return column.in_(sa.select(sa.column("value")).select_from(sa.func.json_each(sa.bindparam(name, type_=sa.Text))))


def listed_in_lane(column: Any, dialect: str, name: str = "ids") -> tuple[sa.ColumnElement[bool], ...]:
    """Return the conditions "lane's row with column in list", bound as ``t``, ``l`` and as for `in_list`.

    The sum keeps SQLite from walking the whole lane by one of its indexes instead of looking the values up.
    """
    tenant, lane = column.table.c.tenant_id, column.table.c.lane_id + sa.literal_column("0")
    return (tenant == sa.bindparam("t"), lane == sa.bindparam("l"), in_list(column, dialect, name))


def in_subquery(column: sa.ColumnElement[str], values: Any, dialect: str) -> sa.ColumnElement[bool]:
    """Return the condition "column in subquery" for a subquery of few values, which are looked up one by one.

    PostgreSQL would join with the subquery and scan the tenant; an array's values are looked up.
    """
    if dialect == "postgresql":
        return column == sa.func.any(sa.func.array(values.scalar_subquery(), type_=postgresql.ARRAY(sa.Text)))
    return column.in_(values)


def looked_up(column: sa.Column[str], dialect: str) -> sa.ColumnElement[bool]:
    """Return the condition "tenant's row with column in list", bound as ``t`` and as for `in_list`.

    For a column that follows the tenant in an index. Where that is not the table's key, SQLite prefers a scan of the
    tenant by key, unless tenant and value are compared as one.
    """
    tenant = column.table.c.tenant_id
    if dialect == "postgresql":
        return sa.and_(tenant == sa.bindparam("t"), in_list(column, dialect))
    given = sa.func.json_each(sa.bindparam("ids", type_=sa.Text))
    pairs: sa.Select[Any, Any] = sa.select(sa.bindparam("t", type_=sa.Text), sa.column("value")).select_from(given)
    return sa.tuple_(tenant, column).in_(pairs)


def each_of(unit: Unit, statement: Any, values: Iterable[str], **bound: Any) -> Iterator[Sequence[Any]]:
    """Run a select for each batch of distinct values, bound as ``ids`` beside the tenant, and yield its rows."""
    for batch in batches(dict.fromkeys(values)):
        yield from each(unit, statement, {"t": unit.tenant, **bound, "ids": list_value(unit.dialect, batch)})


def each_in(unit: Unit, query: sa.Select[Any], column: Any, values: Iterable[Any]) -> Iterator[sa.Row[Any]]:
    """Run a select for each batch of values of a column, through SQLAlchemy, and yield its rows."""
    for batch in batches(values):
        yield from unit.run(query.where(column.in_(batch)))


def list_value(dialect: str, values: Sequence[str]) -> Any:
    """Return a list in the form that `in_list` takes."""
    return list(values) if dialect == "postgresql" else json.dumps(list(values))


def batches(values: Iterable[_T]) -> Iterator[list[_T]]:
    """Return ``values`` in lists of at most ``BATCH``."""
    batch: list[_T] = []
    for value in values:
        batch.append(value)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
