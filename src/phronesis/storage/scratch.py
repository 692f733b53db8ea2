"""A store in memory with the same tables, for replays."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import sqlalchemy as sa
from sqlalchemy.dialects import sqlite

from phronesis.storage.database import Unit, in_memory
from phronesis.storage.lanes import Lane
from phronesis.storage.schema import metadata
from phronesis.storage.statements import insert
from phronesis.storage.truth_tables import lanes


@contextmanager
def open_scratch(tenant: str, lane: Lane) -> Iterator[Unit]:
    """Give a unit on an empty store that knows one lane, as it was before its first entry."""
    database = in_memory()
    try:
        with database.transaction(tenant, "derive") as unit:
            for statement in _statements():
                unit.driver.execute(statement)
            row = dataclasses.asdict(lane) | {"applied_seq": 0, "documents_seq": 0}
            insert(unit, lanes, [{"tenant_id": tenant, **row}])
            yield unit
    finally:
        database.close()


@cache
def _statements() -> tuple[str, ...]:
    """Give the statements that make the tables: to word them takes four times as long as to run them."""
    worded: list[str] = []
    dialect = sqlite.dialect()
    engine = sa.create_mock_engine(
        "sqlite://", lambda made, *_, **__: worded.append(str(made.compile(dialect=dialect)))
    )
    metadata.create_all(engine, checkfirst=False)
    return tuple(worded)
