"""A store in memory with the same tables, for replays."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager

from phronesis.storage.database import Unit, connect
from phronesis.storage.lanes import Lane
from phronesis.storage.schema import metadata
from phronesis.storage.statements import insert
from phronesis.storage.truth_tables import lanes


@contextmanager
def open_scratch(tenant: str, lane: Lane) -> Iterator[Unit]:
    """Give a unit on an empty store that knows one lane, as it was before its first entry."""
    database = connect("sqlite://")
    try:
        metadata.create_all(database.engine)
        with database.transaction(tenant, "derive") as unit:
            row = dataclasses.asdict(lane) | {"applied_seq": 0, "documents_seq": 0}
            insert(unit, lanes, [{"tenant_id": tenant, **row}])
            yield unit
    finally:
        database.close()
