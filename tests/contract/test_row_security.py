"""PostgreSQL itself keeps tenants apart: whoever logs in, whatever a statement forgets."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql

from claim_blocks import COPPER, block
from memory_index import InMemoryIndex
from phronesis.core.ids import LaneName
from phronesis.errors import StorageError
from phronesis.store import schema
from phronesis.store.activity_log import RequestRow
from phronesis.store.database import Database, connect
from phronesis.store.impressions import Use
from phronesis.store.model_calls import Lookup, keep_lookup
from phronesis.store.schema import RESOURCE_TABLES
from phronesis.wiring import open_memory
from postgres_databases import Databases
from shelved import shelve

TABLES = sorted(schema.metadata.tables)
REQUEST = RequestRow(
    request_id="r",
    at=1,
    interface="http",
    route="GET /",
    status="200",
    failed=False,
    milliseconds=1.0,
    key_id=None,
    owner=None,
)
RESOURCES = {table.name for table in RESOURCE_TABLES}


def fill(dsn: str) -> None:
    """Put in two tenants with a row in most tables."""
    policy = {"embedder": "hashing"}
    with (
        open_memory(dsn, policy=policy, tenant="acme", clock=None, index=InMemoryIndex()) as acme,
        acme.for_tenant("rival") as rival,
    ):
        for memory in (acme, rival):
            turn = {
                "messages": [{"role": "user", "content": "Ada met Grace Hopper", "id": "m1"}],
                "tool_calls": [{"name": "look", "args": {}}],
                "refs": [{"type": "url", "uri": "https://example.org"}],
            }
            for _ in range(2):  # a message that repeats one has a row of its own
                memory.commit_turn("s1", turn, user_id="ada")
            tea = memory.add("tea", user_id="ada", kind="preference", subject="Ada", key="drink").items[0]
            memory.items.pin(tea.id)
            memory.reasoning.add(block(COPPER), user_id="ada")
            memory.admin.components.used.note(
                memory.admin.tenant, LaneName("user", "ada"), "r", [Use(tea.id, "", "mem_get")]
            )
            with memory.admin.components.database.transaction(memory.admin.tenant, "derive") as unit:
                keep_lookup(unit, "n", Lookup(1, 2, {"total": 0, "listed": []}))
            shelve(memory, "file:///tea.md", "Tea", {"Brewing": "Pour the water slowly."}, user_id="ada")
            memory.flush()
            memory.compose_context("s2", "What does Ada drink? tea", user_id="ada")
            memory.admin.components.usage.settle(memory.admin.tenant)
            memory.admin.components.activity.note_request(memory.admin.tenant, REQUEST)
            memory.admin.keys.create("read", label="a laptop")


@contextmanager
def opened(dsn: str) -> Iterator[Database]:
    database = connect(dsn)
    yield database
    database.engine.dispose()


@pytest.fixture
def filled(postgres_dsn: str) -> Iterator[Database]:
    fill(postgres_dsn)
    with opened(postgres_dsn) as database:
        yield database


@pytest.fixture(scope="module")
def unchanged(postgres_databases: Databases, postgres_template: str) -> Iterator[Database]:
    """One for those who only look."""
    name = postgres_databases.create(postgres_template)
    fill(postgres_databases.dsn(name))
    with opened(postgres_databases.dsn(name)) as database:
        yield database
    postgres_databases.drop(name)


def test_every_table_forces_row_security_on_its_owner(postgres_dsn: str) -> None:
    with psycopg.connect(postgres_dsn) as connection:
        rows = connection.execute(
            "SELECT c.relname, c.relrowsecurity AND c.relforcerowsecurity, p.polpermissive, p.polcmd,"
            " pg_get_expr(p.polqual, c.oid), pg_get_expr(p.polwithcheck, c.oid)"
            " FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace"
            " LEFT JOIN pg_policy p ON p.polrelid = c.oid"
            " WHERE n.nspname LIKE 'phronesis%' AND c.relkind IN ('r', 'p') AND c.relname <> 'alembic_version'"
        ).fetchall()
    rule = "(tenant_id = current_setting('phronesis.tenant_id'::text, true))"
    assert sorted(rows) == [(name, True, True, "*", rule, rule) for name in TABLES]


def test_the_role_owns_nothing_and_may_not_log_in(postgres_dsn: str) -> None:
    with psycopg.connect(postgres_dsn) as connection:
        role = connection.execute(
            "SELECT rolcanlogin, rolsuper, rolbypassrls, rolcreaterole, rolcreatedb FROM pg_roles"
            " WHERE rolname = 'phronesis_app'"
        ).fetchone()
        owned = connection.execute("SELECT count(*) FROM pg_class WHERE relowner = 'phronesis_app'::regrole").fetchone()
    assert (role, owned) == ((False,) * 5, (0,))


def test_a_connection_without_a_tenant_sees_nothing(unchanged: Database) -> None:
    for table in TABLES:
        counts: dict[str, int] = {}
        for tenant in ("acme", None):
            with unchanged.engine.connect() as connection:
                connection.exec_driver_sql("SET LOCAL ROLE phronesis_app")
                if tenant is not None:
                    connection.exec_driver_sql(f"SET LOCAL phronesis.tenant_id = '{tenant}'")
                place = "phronesis_resources" if table in RESOURCES else "phronesis"
                query = f"SELECT count(*), count(*) FILTER (WHERE tenant_id = 'acme') FROM {place}.{table}"
                total, own = connection.exec_driver_sql(query).one()
                assert total == own, table
                counts[tenant or ""] = total
        assert counts[""] == 0, table
        empty = table in "blobs failures edges evidence model_calls summaries oauth_clients oauth_tokens".split()
        assert counts["acme"] > 0 or empty, table


def test_owner_and_former_tenant_see_nothing_either(filled: Database) -> None:
    with filled.transaction("acme", "read") as unit:
        assert unit.run(sa.select(sa.func.count()).select_from(schema.items)).scalar_one() == 5
    with filled.engine.connect() as connection:  # the pooled connection that acme just used, as its owner
        assert connection.exec_driver_sql("SELECT count(*) FROM phronesis.items").scalar_one() == 0
        assert connection.exec_driver_sql("SELECT current_setting('phronesis.tenant_id', true)").scalar_one() == ""


def test_a_superusers_login_is_bound_too(filled: Database, postgres_databases: Databases) -> None:
    database = connect(postgres_databases.admin_dsn(str(filled.engine.url.database)))
    try:
        with database.transaction("rival", "read") as unit:
            seen = unit.run(sa.select(schema.items.c.tenant_id).distinct()).scalars().all()
            assert unit.connection.exec_driver_sql("SELECT current_user").scalar_one() == "phronesis_app"
        assert seen == ["rival"]
    finally:
        database.engine.dispose()


def test_rows_of_another_tenant_can_be_neither_written_nor_touched(filled: Database) -> None:
    row = {"model_id": "m", "dimension": 1, "prefix_scheme": "", "active": False}
    with pytest.raises(StorageError) as refused, filled.transaction("acme", "derive") as unit:
        unit.run(sa.insert(schema.embedding_models), [{"tenant_id": "rival", **row}])
    assert refused.value.details["sqlstate"] == "42501"
    with filled.transaction("acme", "derive") as unit:
        assert unit.run(sa.update(schema.items).values(content="mine")).rowcount == 5
        assert unit.run(sa.delete(schema.deltas).where(schema.deltas.c.tenant_id == "rival")).rowcount == 0
    with filled.transaction("rival", "read") as unit:
        assert "mine" not in unit.run(sa.select(schema.items.c.content)).scalars().all()


def test_the_application_may_not_alter_tables_or_versions(filled: Database) -> None:
    for statement in (
        "ALTER TABLE items DISABLE ROW LEVEL SECURITY",
        "DROP TABLE items",
        "TRUNCATE items",
        "UPDATE alembic_version SET version_num = '9999'",
        "CREATE TABLE phronesis.mine (n int)",
    ):
        with pytest.raises(StorageError) as refused, filled.transaction("acme", "derive") as unit:
            unit.connection.exec_driver_sql(statement)
        assert refused.value.details["sqlstate"] == "42501", statement


def test_tables_that_come_later_are_the_applications_to_use(postgres_dsn: str) -> None:
    with psycopg.connect(postgres_dsn) as connection:
        for name in ("phronesis.later", "phronesis_resources.later"):
            table = sql.Identifier(*name.split("."))
            connection.execute(sql.SQL("CREATE TABLE {} (n bigserial PRIMARY KEY, text text)").format(table))
        connection.execute("SET ROLE phronesis_app")
        for name in ("phronesis.later", "phronesis_resources.later"):
            table = sql.Identifier(*name.split("."))
            connection.execute(sql.SQL("INSERT INTO {} (text) VALUES ('x')").format(table))
            connection.execute(sql.SQL("UPDATE {} SET text = 'y' WHERE text = 'x'").format(table))
            assert connection.execute(sql.SQL("DELETE FROM {} RETURNING text").format(table)).fetchall() == [("y",)]


def test_readers_see_one_snapshot_and_write_nothing(filled: Database) -> None:
    count = sa.select(sa.func.count()).select_from(schema.items)
    with filled.transaction("acme", "read") as reader:
        before = reader.run(count).scalar_one()
        with filled.transaction("acme", "derive") as writer:
            writer.run(sa.delete(schema.items).where(schema.items.c.tenant_id == "acme"))
        assert reader.run(count).scalar_one() == before > 0
    with pytest.raises(StorageError), filled.transaction("acme", "read") as unit:
        unit.run(sa.delete(schema.items).where(schema.items.c.tenant_id == "acme"))
