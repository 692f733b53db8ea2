"""The migrations make the schema that the code believes in, on both databases, whoever comes first."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from psycopg import conninfo

from phronesis import Memory
from phronesis.errors import SchemaMissing, SchemaTooNew, StorageError
from phronesis.store import migrations, schema
from phronesis.store.database import Database, connect
from phronesis.store.migrations import HEAD, check, open_schema, read_version, upgrade
from phronesis.store.schema import RESOURCE_TABLES
from postgres_databases import Databases, _url

TABLES = sorted(schema.metadata.tables)
SCHEMAS = {"phronesis_resources": sorted(table.name for table in RESOURCE_TABLES)}
SCHEMAS["phronesis"] = [name for name in TABLES if name not in SCHEMAS["phronesis_resources"]]
NO_MODEL = {"embedder": "none"}
OPENING = "import sys; from phronesis import Memory; Memory.open(sys.argv[1], policy={'embedder': 'none'}).close()"


@pytest.fixture(autouse=True)
def _by_alembic(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what the other tests open new files by."""
    monkeypatch.setattr(migrations, "_raise_to_head", migrations._raise_to_head.__wrapped__)  # type: ignore[attr-defined]


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


def _inspected(database: Database, name: str = "phronesis") -> tuple[sa.Connection, sa.Inspector]:
    connection = database.engine.connect()
    if database.dialect == "postgresql":
        # Alembic and the inspector ask for what lies in the connection's first schema.
        connection.exec_driver_sql(f"SET search_path = {name}, public")
        connection.dialect.default_schema_name = name
    return connection, sa.inspect(connection)


@pytest.mark.filterwarnings("ignore:Skipped unsupported reflection of expression-based index ix_items_newest")
@pytest.mark.filterwarnings("ignore:autogenerate skipping metadata-specified expression-based index 'ix_items_newest'")
@pytest.mark.parametrize("part", sorted(SCHEMAS))
def test_migrations_and_code_have_the_same_schema(
    database_url: str, bound: Callable[[str], Database], part: str
) -> None:
    connection, inspector = _inspected(bound(database_url), part)

    def of_part(_object: Any, name: str | None, kind: str, *_more: Any) -> bool:
        return kind != "table" or name in SCHEMAS[part]

    with connection:
        options = {"compare_type": True, "compare_server_default": True, "include_object": of_part}
        assert compare_metadata(MigrationContext.configure(connection, opts=options), schema.metadata) == []
        everything = TABLES if connection.dialect.name == "sqlite" else SCHEMAS[part]
        found = [name for name in inspector.get_table_names() if name != "alembic_version"]
        assert sorted(found) == everything
        for name in SCHEMAS[part]:
            table = schema.metadata.tables[name]
            assert _keys_of(inspector, name) == _keys_of_code(table)
            if connection.dialect.name == "sqlite":
                text = connection.exec_driver_sql(f"SELECT sql FROM sqlite_master WHERE name = '{name}'").scalar_one()
                assert ("WITHOUT ROWID" in text) is (table.dialect_options["sqlite"]["with_rowid"] is False), name


def test_indexes_of_expressions_are_the_same_in_migrations_and_code(
    database_url: str, bound: Callable[[str], Database]
) -> None:
    """The inspector passes over them on SQLite: what the database itself keeps of them is compared."""
    connection, _ = _inspected(bound(database_url))
    (index,) = (one for one in schema.items.indexes if one.name == "ix_items_newest")
    with connection:
        asked = "SELECT indexdef FROM pg_indexes WHERE indexname = '{}'"
        if connection.dialect.name == "sqlite":
            asked = "SELECT sql FROM sqlite_master WHERE name = '{}'"
        migrated = connection.exec_driver_sql(asked.format(index.name)).scalar_one()
        connection.exec_driver_sql("DROP INDEX ix_items_newest")
        index.create(connection)
        made = connection.exec_driver_sql(asked.format(index.name)).scalar_one()
        if connection.dialect.name == "postgresql":  # its condition is the migrations' alone
            migrated = migrated.partition(" WHERE ")[0]
        assert made == migrated
        connection.rollback()


def _keys_of(inspector: sa.Inspector, name: str) -> Any:
    primary = inspector.get_pk_constraint(name)
    checks = {check["name"] for check in inspector.get_check_constraints(name)}
    return primary["name"], primary["constrained_columns"], checks


def _keys_of_code(table: sa.Table) -> Any:
    checks = {f"ck_{table.name}_{c.name}" for c in table.constraints if isinstance(c, sa.CheckConstraint)}
    checks = {name.replace(f"ck_{table.name}_ck_{table.name}_", f"ck_{table.name}_") for name in checks}
    return f"pk_{table.name}", [column.name for column in table.primary_key.columns], checks


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
    check(database)
    upgrade(database)
    assert read_version(database) == HEAD


def test_an_older_file_is_upgraded_when_it_is_opened_and_an_older_server_when_its_operator_says_so(
    bare_url: str, bound: Callable[[str], Database], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as older:
        older.setattr(migrations, "HEAD", "0001")
        with Memory.open(bare_url, policy=NO_MODEL) as memory:
            memory.add("hello", user_id="ada")
    database = bound(bare_url)
    before = _indexes_of_edges(database)
    if database.dialect == "postgresql":
        with pytest.raises(SchemaMissing, match="is at schema 0001"):
            Memory.open(bare_url, policy=NO_MODEL)
        upgrade(database)
    with Memory.open(bare_url, policy=NO_MODEL) as memory:
        assert [item.content for item in memory.get_all(user_id="ada")] == ["hello"]
    assert read_version(database) == HEAD
    assert before == {"ix_edges_tenant_id_from_id", "ix_edges_tenant_id_to_id"}
    assert _indexes_of_edges(database) == {"ix_edges_in", "ix_edges_out"}
    with Memory.open(bare_url, policy=NO_MODEL) as memory:
        memory.add("Ann is here.", user_id="ada", kind="fact", external_id="crm:1")
        assert memory.get(external_id="crm:1", user_id="ada").content == "Ann is here."
        assert memory.admin.rebuild(verify=True).equal


def _indexes_of_edges(database: Database) -> set[str | None]:
    connection, inspector = _inspected(database)
    with connection:
        return {index["name"] for index in inspector.get_indexes("edges")}


@pytest.mark.slow
def test_processes_that_open_a_new_database_together_all_succeed(
    bare_url: str, bound: Callable[[str], Database]
) -> None:
    command = [sys.executable, "-c", OPENING, bare_url]
    racing = [subprocess.Popen(command, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    assert [(process.communicate()[1], process.returncode) for process in racing] == [("", 0)] * 2
    assert read_version(bound(bare_url)) == HEAD


def test_threads_that_open_new_databases_together_all_succeed(tmp_path: Path) -> None:
    def opened(n: int) -> int:
        with Memory.open(f"sqlite:///{tmp_path / f'{n}.db'}", policy={"embedder": "none"}) as memory:
            return len(memory.get_all(user_id="lin"))

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(opened, range(8))) == [0] * 8


def test_check_tells_an_empty_database(bare_url: str, bound: Callable[[str], Database]) -> None:
    with pytest.raises(SchemaMissing, match="phronesis store upgrade"):
        check(bound(bare_url))


@pytest.mark.parametrize("version", ["9999", "ae1027a6acf"])
def test_a_newer_database_is_left_alone(database_url: str, version: str, bound: Callable[[str], Database]) -> None:
    database = bound(database_url)
    with database.engine.begin() as connection:
        prefix = "phronesis." if database.dialect == "postgresql" else ""
        connection.exec_driver_sql(f"UPDATE {prefix}alembic_version SET version_num = '{version}'")
    for act in (open_schema, upgrade, check):
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
