"""PostgreSQL's connections: how often a call asks the server, and what becomes of those that it closed."""

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa

from phronesis.errors import StorageError
from phronesis.store import database as database_module
from phronesis.store.database import Database, connect
from phronesis.store.migrations import upgrade
from phronesis.store.schema import items


@pytest.fixture
def database(postgres_dsn: str) -> Iterator[Database]:
    database = connect(postgres_dsn)
    upgrade(database)
    yield database
    database.close()


def count_items(database: Database) -> int:
    with database.transaction("acme", "read") as unit:
        return int(unit.run(sa.select(sa.func.count()).select_from(items)).scalar_one())


def test_connections_that_the_server_closed_are_replaced(database: Database) -> None:
    with database.transaction("acme", "read"), database.transaction("acme", "read"):
        assert count_items(database) == 0  # three connections are in the pool now
    with psycopg.connect(database.engine.url.render_as_string(hide_password=False).replace("+psycopg", "")) as other:
        ended = other.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
            " AND usename = current_user AND pid <> pg_backend_pid()"
        ).fetchall()
    assert ended == [(True,)] * 3
    with database.transaction("acme", "derive"):
        assert count_items(database) == 0


def test_what_the_server_refuses_is_not_tried_again(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    assert count_items(database) == 0
    with monkeypatch.context() as patch:
        patch.setitem(database_module._BEGINNING, "read", ("BEGIN", "SELECT 1/0"))
        with pytest.raises(StorageError) as refused:
            count_items(database)
    assert refused.value.details["sqlstate"] == "22012"
    assert count_items(database) == 0


def test_a_connection_given_up_while_it_begins_goes_back(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    assert count_items(database) == 0
    with monkeypatch.context() as patch:
        patch.setattr(psycopg.Connection, "execute", interrupted)
        with pytest.raises(KeyboardInterrupt):
            count_items(database)
    pool = database.engine.pool
    assert isinstance(pool, sa.pool.QueuePool)
    assert pool.checkedout() == 0
    assert count_items(database) == 0
