"""The launcher and the fixtures keep what they promise to the tests that build on them."""

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from sqlalchemy import select

import postgres_server
from phronesis.store.database import connect
from phronesis.store.migrate import check
from phronesis.store.schema import metadata

own_server = pytest.mark.skipif("PHRONESIS_TEST_DSN" in os.environ, reason="the server is not ours to stop")


def test_owner_is_not_a_superuser_and_may_create_roles(postgres_dsn: str) -> None:
    with psycopg.connect(postgres_dsn) as connection:
        row = connection.execute(
            "SELECT rolsuper, rolbypassrls, rolcreaterole, datdba = r.oid FROM pg_roles r, pg_database"
            " WHERE rolname = current_user AND datname = current_database()"
        ).fetchone()
    assert row == (False, False, True, True)


@pytest.mark.both_databases
def test_database_url_is_prepared_empty_and_of_its_kind(database_url: str, request: pytest.FixtureRequest) -> None:
    postgres = database_url.startswith("postgresql://")
    assert postgres is (request.node.get_closest_marker("postgres") is not None)
    database = connect(database_url)
    check(database)
    with database.transaction("default", "read") as unit:
        assert [unit.run(select(table)).all() for table in metadata.sorted_tables] == [[] for _ in metadata.tables]
    database.close()


JOINER = """
import sys, time
from pathlib import Path
sys.path.insert(0, sys.argv[1])
import postgres_server
print(postgres_server.join(Path(sys.argv[2])), flush=True)
time.sleep(600)
"""


@own_server
@pytest.mark.postgres
def test_server_is_shared_and_outlives_no_user(tmp_path: Path) -> None:
    command = [sys.executable, "-c", JOINER, str(Path(postgres_server.__file__).parent), str(tmp_path)]
    users = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    try:
        addresses = [user.stdout.readline().strip() for user in users if user.stdout]
        assert addresses[0]
        assert addresses[0] == addresses[1]
        users[0].kill()
        users[0].wait()
        with psycopg.connect(addresses[1]) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)
            settings = connection.execute("SELECT current_setting('fsync'), current_setting('data_directory')")
            fsync, data = settings.fetchone() or ("", "")
        assert fsync == "off"
    finally:
        for user in users:
            user.kill()
            user.communicate()
    _wait_until(lambda: not Path(data).parent.exists())
    _wait_until(lambda: not (tmp_path / "dsn").exists())
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(addresses[1], connect_timeout=5)


def _wait_until(done: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        time.sleep(0.02)
