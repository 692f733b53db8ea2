"""The hottest statements, compiled once for a database and run at the driver.

SQLAlchemy spends about ten times what SQLite needs to insert a row on building its execution context. A write runs
some twenty statements, so the ones that every write runs go past it: same statement, same types, same SQL text.
``docs/decisions/0005-statements-at-the-driver.md`` holds what was measured.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Final

import sqlalchemy as sa

from phronesis.storage.columns import SELDOM
from phronesis.storage.database import Unit

_FLOAT8: Final = 701  # pg_type.oid of double precision
_Make = Callable[[Any], Any]

MAX_FORMS: Final = 1_000
"""Compiled statements that a database keeps; at 1,001 it begins anew."""


@dataclass(frozen=True, slots=True)
class _Form:
    """A statement as one driver takes it: its text, how a row gives its values, and what is made of them."""

    text: str
    values: Callable[[Mapping[str, Any]], Any]
    reading: Sequence[tuple[int, _Make]] = ()
    short: "_Short | None" = None
    cursor: Mapping[str, bool] = field(default_factory=dict)
    """What the driver's cursor is made with."""

    def for_rows(self, rows: Sequence[Mapping[str, Any]]) -> "_Form":
        """Give the form without the columns that are seldom set, where no row sets any of them."""
        short = self.short
        return self if short is None or any(short.seldom(row) != short.unset for row in rows) else short.form

    def read(self, row: Sequence[Any]) -> Sequence[Any]:
        values = list(row)
        for n, make in self.reading:
            if values[n] is not None:  # NULL is None, of whatever type
                values[n] = make(values[n])
        return values


@dataclass(frozen=True, slots=True)
class _Short:
    """An insert without its table's columns that are ``seldom`` set: a NULL that is bound costs more than a text."""

    form: _Form
    seldom: Callable[[Mapping[str, Any]], tuple[Any, ...]]
    unset: tuple[None, ...]


def _form(unit: Unit, statement: Any, columns: tuple[str, ...]) -> _Form:
    # As many as there are statements in this package, and as many shapes of listings as callers think of.
    form: _Form | None = unit.forms.get((statement, columns))
    if form is None:
        if len(unit.forms) >= MAX_FORMS:
            unit.forms.clear()
        form = unit.forms[statement, columns] = _compiled(statement, unit.connection.dialect, columns)
    return form


def _compiled(statement: Any, dialect: sa.Dialect, columns: tuple[str, ...]) -> _Form:
    compiled = statement.compile(dialect=dialect, column_keys=list(columns) or None)
    names = compiled.positiontup if compiled.positional else list(compiled.binds)
    binds = [(name, _making(compiled.binds[name].type, dialect)) for name in names]
    fixed = {name: bind.effective_value for name, bind in compiled.binds.items() if not bind.required}
    columns_read = list(enumerate(statement.selected_columns if isinstance(statement, sa.Select) else ()))
    made = ((n, c.type.dialect_impl(dialect).result_processor(dialect, _code(c.type))) for n, c in columns_read)
    reading = [(n, make) for n, make in made if make is not None]
    values = _by_position(binds) if compiled.positional else _by_name(binds)
    if fixed:
        values = _with(fixed, values)
    # PostgreSQL would send bytes as text, two digits each.
    sends_bytes = dialect.name == "postgresql" and any(_is_bytes(c.type) for _, c in columns_read)
    cursor = {"binary": True} if sends_bytes else {}
    return _Form(str(compiled), values, reading, _short(statement, dialect, columns), cursor)


def _is_bytes(kind: Any) -> bool:
    return isinstance(kind.impl if isinstance(kind, sa.types.TypeDecorator) else kind, sa.LargeBinary)


def _short(statement: Any, dialect: sa.Dialect, columns: tuple[str, ...]) -> _Short | None:
    if not isinstance(statement, sa.Insert):
        return None
    seldom = [column.name for column in statement.table.c if column.name in columns and column.info.get(SELDOM)]
    if len(seldom) < 2:  # noqa: PLR2004 - one is found out for as much as it saves
        return None
    often = tuple(name for name in columns if name not in seldom)
    return _Short(_compiled(statement, dialect, often), itemgetter(*seldom), (None,) * len(seldom))


def _making(kind: Any, dialect: sa.Dialect) -> _Make | None:
    if isinstance(kind, sa.LargeBinary):
        return None  # both drivers take bytes as they are; SQLAlchemy would wrap each
    make: _Make | None = kind.dialect_impl(dialect).bind_processor(dialect)
    return make


def _by_position(binds: Sequence[tuple[str, _Make | None]]) -> Callable[[Mapping[str, Any]], Any]:
    names = [name for name, _ in binds]
    making = [(n, make) for n, (_, make) in enumerate(binds) if make is not None]
    pick = itemgetter(*names) if len(names) > 1 else lambda row: (row[names[0]],)
    if not making:
        return pick

    def values(row: Mapping[str, Any]) -> Any:
        picked = [*pick(row)]
        for n, make in making:
            if picked[n] is not None:  # which is NULL, of whatever type
                picked[n] = make(picked[n])
        return picked

    return values


def _by_name(binds: Sequence[tuple[str, _Make | None]]) -> Callable[[Mapping[str, Any]], Any]:
    return lambda row: {name: row[name] if make is None else make(row[name]) for name, make in binds}


def _with(fixed: Mapping[str, Any], values: Callable[[Mapping[str, Any]], Any]) -> Callable[[Mapping[str, Any]], Any]:
    """Add the values that stand in the statement itself."""
    return lambda row: values({**fixed, **row})


def _code(kind: Any) -> int | None:
    """Give PostgreSQL's type code of a float: SQLAlchemy asks for it to tell what psycopg reads from decimals."""
    return _FLOAT8 if isinstance(kind, sa.Double) else None


def run_many(unit: Unit, statement: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    """Run an insert for each row; every row has the same keys."""
    form = _form(unit, statement, tuple(rows[0])).for_rows(rows)
    if len(rows) == 1:
        unit.driver.cursor().execute(form.text, form.values(rows[0]))
    else:
        unit.driver.cursor().executemany(form.text, [form.values(row) for row in rows])


def run_each(unit: Unit, statement: Any, rows: Sequence[Mapping[str, Any]]) -> None:
    """Run a statement that names its bind parameters, for each row of them."""
    form = _form(unit, statement, ())
    unit.driver.cursor().executemany(form.text, [form.values(row) for row in rows])


def run_one(unit: Unit, statement: Any, bound: Mapping[str, Any]) -> None:
    """Run a statement that gives no rows; ``bound`` are its bind parameters."""
    form = _form(unit, statement, ())
    unit.driver.cursor().execute(form.text, form.values(bound))


def fetch(unit: Unit, statement: Any, bound: Mapping[str, Any]) -> list[Sequence[Any]]:
    """Run a select; gives its rows."""
    return list(each(unit, statement, bound))


def fetch_together(unit: Unit, asked: Sequence[tuple[Any, Mapping[str, Any]]]) -> list[list[Sequence[Any]]]:
    """Run selects none of which waits for another, each with what is bound; gives the rows of each.

    PostgreSQL is asked all of them in one round trip.
    """
    if unit.dialect != "postgresql":
        return [fetch(unit, statement, bound) for statement, bound in asked]
    forms = [_form(unit, statement, ()) for statement, _ in asked]
    with unit.driver.pipeline():
        cursors = [
            unit.driver.cursor(**form.cursor).execute(form.text, form.values(bound))
            for form, (_, bound) in zip(forms, asked, strict=True)
        ]
    return [[form.read(row) for row in cursor.fetchall()] for form, cursor in zip(forms, cursors, strict=True)]


def each(unit: Unit, statement: Any, bound: Mapping[str, Any]) -> Iterator[Sequence[Any]]:
    """Run a select; gives its rows one by one, so that the JSON of one that is done with is not held any longer."""
    form = _form(unit, statement, ())
    rows = unit.driver.cursor(**form.cursor).execute(form.text, form.values(bound)).fetchall()
    return map(form.read, rows) if form.reading else iter(rows)
