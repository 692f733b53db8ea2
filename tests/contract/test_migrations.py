"""Databases are made and upgraded to the schema that the code believes in, on both databases, whoever comes first."""

import hashlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import conninfo

from phronesis import Memory
from phronesis.errors import SchemaMissing, SchemaTooNew, StorageError
from phronesis.store import schema
from phronesis.store.database import SEARCH_PATH, Database, connect
from phronesis.store.migrations import HEAD, open_schema, read_version, sqlite_statements, upgrade
from phronesis.store.schema import RESOURCE_TABLES
from postgres_databases import Databases, _url

EVERY = schema.metadata.tables.values()
NO_MODEL = {"embedder": "none"}
OPENING = "import sys; from phronesis import Memory; Memory.open(sys.argv[1], policy={'embedder': 'none'}).close()"


@pytest.fixture
def bare_dsn(postgres_databases: Databases) -> Iterator[str]:
    """A PostgreSQL database of the owner's where nothing was ever migrated."""
    name = postgres_databases.create()
    with psycopg.connect(postgres_databases.admin_dsn(name)) as connection:
        connection.execute("CREATE EXTENSION vector")
    yield postgres_databases.dsn(name)
    postgres_databases.drop(name)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def bare_url(request: pytest.FixtureRequest) -> str:
    url: str = request.getfixturevalue("sqlite_url" if request.param == "sqlite" else "bare_dsn")
    return url


@pytest.fixture
def bound() -> Iterator[Callable[[str], Database]]:
    databases: list[Database] = []

    def bind(url: str) -> Database:
        databases.append(connect(url))
        return databases[-1]

    yield bind
    for database in databases:
        database.engine.dispose()


def test_tables_of_resources_have_a_schema_of_their_own(postgres_dsn: str) -> None:
    with psycopg.connect(postgres_dsn) as connection:
        found = connection.execute(
            "SELECT table_schema, table_name FROM information_schema.tables WHERE table_schema LIKE 'phronesis%'"
        ).fetchall()
    wanted = {("phronesis_resources" if table in RESOURCE_TABLES else "phronesis", table.name) for table in EVERY}
    assert {*found} == wanted | {("phronesis", "alembic_version")}


def test_a_schema_of_other_statements_has_a_migration_of_its_own() -> None:
    worded = "\n".join(sorted(" ".join(statement.split()) for statement in sqlite_statements()))
    # With another digest, write the migration that brings existing databases there, and give HEAD its number.
    assert (HEAD, hashlib.sha256(worded.encode()).hexdigest()[:16]) == ("0006", "7d7777180d280b9f")


FIRST = """
DROP TABLE composed_contexts; DROP TABLE answered_requests; DROP TABLE oauth_clients; DROP TABLE oauth_tokens;
DROP INDEX ix_items_external; ALTER TABLE items DROP COLUMN external_id;
ALTER TABLE api_keys DROP COLUMN user_id; ALTER TABLE api_keys DROP COLUMN client_id;
ALTER TABLE api_keys DROP COLUMN made_by; ALTER TABLE shown_contexts DROP COLUMN aliases;
DROP INDEX ix_edges_out; CREATE INDEX ix_edges_tenant_id_from_id ON edges (tenant_id, from_id);
DROP INDEX ix_edges_in; CREATE INDEX ix_edges_tenant_id_to_id ON edges (tenant_id, to_id);
UPDATE alembic_version SET version_num = '0001'
"""
"""What turns today's tables into those of the first Phronesis."""


def test_an_older_file_is_upgraded_when_it_is_opened_and_an_older_server_when_its_operator_says_so(
    bare_url: str, bound: Callable[[str], Database]
) -> None:
    with Memory.open(bare_url, policy=NO_MODEL) as memory:
        memory.add("hello", user_id="ada")
    database = bound(bare_url)
    made = _tables_of(database)
    with database.engine.begin() as connection:
        path = [f"SET LOCAL search_path = {SEARCH_PATH}"] if database.dialect == "postgresql" else []
        for statement in (*path, *FIRST.split(";")):
            connection.exec_driver_sql(statement)
    assert _tables_of(database) != made
    if database.dialect == "postgresql":
        with pytest.raises(SchemaMissing, match="is at schema 0001"):
            Memory.open(bare_url, policy=NO_MODEL)
        upgrade(database)
    with Memory.open(bare_url, policy=NO_MODEL) as memory:
        assert [item.content for item in memory.get_all(user_id="ada")] == ["hello"]
        memory.add("Ann is here.", user_id="ada", kind="fact", external_id="crm:1")
        assert memory.get(external_id="crm:1", user_id="ada").content == "Ann is here."
        assert memory.admin.rebuild(verify=True).equal
    assert (read_version(database), _tables_of(database)) == (HEAD, made)


def _tables_of(database: Database) -> dict[str, Any]:
    """Return the columns and key of each table, and what the database keeps of its indexes and security."""
    indexes = "SELECT sql FROM sqlite_master WHERE type = 'index' AND sql IS NOT NULL ORDER BY name"
    others = "SELECT name FROM sqlite_master WHERE sql LIKE '%WITHOUT ROWID%' ORDER BY name"
    if database.dialect == "postgresql":
        indexes = "SELECT indexdef FROM pg_indexes WHERE starts_with(schemaname, 'phronesis') ORDER BY indexname"
        others = "SELECT polrelid::regclass::text, pg_get_expr(polqual, polrelid) FROM pg_policy ORDER BY 1"
    out: dict[str, Any] = {}
    with database.engine.connect() as connection:
        out |= {asked: connection.exec_driver_sql(asked).all() for asked in (indexes, others)}
        inspector = sa.inspect(connection)
        for name in ("phronesis", "phronesis_resources") if database.dialect == "postgresql" else (None,):
            for table in inspector.get_table_names(name):
                columns = [(c["name"], str(c["type"]), c["nullable"]) for c in inspector.get_columns(table, name)]
                out[table] = (columns, inspector.get_pk_constraint(table, name))
    return out


def test_text_is_ordered_by_its_bytes_on_postgres(postgres_dsn: str) -> None:
    with psycopg.connect(postgres_dsn) as connection:
        rows = connection.execute(
            "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema LIKE 'phronesis%'"
            " AND data_type = 'text' AND table_name <> 'alembic_version' AND collation_name IS DISTINCT FROM 'C'"
        ).fetchall()
    assert rows == []


def test_opening_prepares_an_empty_database(bare_url: str, bound: Callable[[str], Database]) -> None:
    with Memory.open(bare_url, policy=NO_MODEL) as memory:
        memory.add("hello", user_id="ada")
    with Memory.open(bare_url, policy=NO_MODEL) as memory:
        assert [item.content for item in memory.get_all(user_id="ada")] == ["hello"]
    database = bound(bare_url)
    upgrade(database)
    assert read_version(database) == HEAD


@pytest.mark.slow
def test_processes_that_open_a_new_database_together_all_succeed(
    bare_url: str, bound: Callable[[str], Database]
) -> None:
    command = [sys.executable, "-c", OPENING, bare_url]
    racing = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    assert [(process.communicate()[1], process.returncode) for process in racing] == [("", 0)] * 2
    assert read_version(bound(bare_url)) == HEAD


@pytest.mark.parametrize("version", ["9999", "ae1027a6acf"])
def test_a_newer_database_is_left_alone(database_url: str, version: str, bound: Callable[[str], Database]) -> None:
    database = bound(database_url)
    with database.engine.begin() as connection:
        prefix = "phronesis." if database.dialect == "postgresql" else ""
        connection.exec_driver_sql(f"UPDATE {prefix}alembic_version SET version_num = '{version}'")
    for act in (open_schema, upgrade):
        with pytest.raises(SchemaTooNew, match=version):
            act(database)


def test_a_login_that_may_not_create_is_told_who_may(
    bare_dsn: str, postgres_databases: Databases, bound: Callable[[str], Database]
) -> None:
    with _login(postgres_databases, bare_dsn) as url, pytest.raises(SchemaMissing, match="phronesis store upgrade"):
        open_schema(bound(url))


def test_a_login_without_the_role_is_told_what_to_grant(
    postgres_dsn: str, postgres_databases: Databases, bound: Callable[[str], Database]
) -> None:
    with _login(postgres_databases, postgres_dsn) as url:
        with pytest.raises(StorageError, match="GRANT phronesis_app TO"):
            open_schema(bound(url))
        name = conninfo.conninfo_to_dict(url)["user"]
        with psycopg.connect(postgres_dsn) as owner:
            owner.execute(f'GRANT phronesis_app TO "{name}"'.encode())
        with Memory.open(url, policy=NO_MODEL) as memory:
            memory.add("hello", user_id="ada")
            assert len(memory.get_all(user_id="ada")) == 1


@contextmanager
def _login(databases: Databases, dsn: str) -> Iterator[str]:
    """A role that may log in and nothing else."""
    parts = {name: str(value) for name, value in conninfo.conninfo_to_dict(dsn).items()}
    name = f"{parts['dbname']}_guest"
    admin = databases.admin_dsn(parts["dbname"])
    with psycopg.connect(admin) as connection:
        connection.execute(f"CREATE ROLE {name} LOGIN PASSWORD 'guest'".encode())
    yield _url(parts | {"user": name, "password": "guest"})
    with psycopg.connect(admin) as connection:
        connection.execute(f"DROP ROLE {name}".encode())


def test_a_server_that_is_not_there() -> None:
    with pytest.raises(StorageError, match="cannot be reached"):
        Memory.open("postgresql://nobody@127.0.0.1:1/nothing", policy=NO_MODEL)
