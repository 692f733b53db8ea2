"""PostgreSQL looks rows up by the ids it is given, also where its statistics know nothing of a tenant.

Statistics are made now and then, of all tenants together. A tenant that came since, or that is one of many, is taken
for a handful of rows, and then any index that begins with the tenant seems as good as that of the ids.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

import psycopg
import pytest
import sqlalchemy as sa

from phronesis.memory import Memory
from phronesis.store import schema
from phronesis.store.database import SEARCH_PATH, TENANT_SETTING
from worked_memory import worked

IDENTITY: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-")
COMPARED: Final = re.compile(r"\((\w+)(?: \+ 0\))? (?:=|<|>|>=|<=) |\(COALESCE\(|\(\w+ IS ")
"""A column that a condition of an index compares."""

KEPT_WHOLE: Final = {"tenants", "lanes", "sessions", "documents", "embedding_models", "api_keys"}
"""Few rows each: a copy of one would be another lane, session or document."""

ROWS: Final = 8_000
"""What a tenant holds in each table: enough that to walk it is plainly wrong."""

ERASING: Final = "evidence.source_key IN"
"""What rests on a source that is erased, or forgotten for good, is sought in all of a tenant's evidence."""

Asked = list[tuple[str, dict[str, Any]]]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    """What the driver is asked, with the values that are bound."""
    out: Asked = []
    execute = psycopg.Cursor.execute

    def noted(self: Any, query: Any, params: Any = None, **how: Any) -> Any:
        out.append((str(query), dict(params or {})))
        return execute(self, query, params, **how)

    monkeypatch.setattr(psycopg.Cursor, "execute", noted)
    return out


def grown(connection: psycopg.Connection[Any], tenant: str) -> None:
    """Let a tenant hold some thousand copies of its rows in each table, with ids of their own."""
    connection.execute(f"SET search_path = {SEARCH_PATH}")
    connection.execute(f"SET {TENANT_SETTING} = '{tenant}'")
    for table in schema.metadata.sorted_tables:
        if table.name in KEPT_WHOLE:
            continue
        unique = {column.name for key in _unique(table) for column in key} - {"tenant_id", "lane_id"}
        values = ", ".join(_other(column) if column.name in unique else f'"{column.name}"' for column in table.columns)
        own = f"FROM {table.name} WHERE tenant_id = '{tenant}'"
        connection.execute(
            f"INSERT INTO {table.name} WITH own AS MATERIALIZED (SELECT * {own})"
            f" SELECT {values} FROM own, generate_series(1, {ROWS} / (SELECT 1 + count(*) FROM own)) AS g"
            " ON CONFLICT DO NOTHING"
        )


def _unique(table: sa.Table) -> Iterator[Any]:
    yield table.primary_key.columns
    yield from (one.columns for one in table.constraints if isinstance(one, sa.UniqueConstraint))
    yield from (one.columns for one in table.indexes if one.unique)


def _other(column: Any) -> str:
    if isinstance(column.type, sa.Text):
        return f"\"{column.name}\" || '-' || g"
    return f'"{column.name}" + g * 1000'


def walks(plan: Mapping[str, Any]) -> Iterator[str]:
    """Give the steps of a plan that go through all that a table holds of a lane or of a tenant."""
    for step in plan.get("Plans", ()):
        yield from walks(step)
    if plan["Node Type"] == "Seq Scan" and plan["Relation Name"] not in KEPT_WHOLE:
        yield f"Seq Scan on {plan['Relation Name']}"
    condition = plan.get("Index Cond")
    if condition is None or plan.get("Relation Name") in KEPT_WHOLE:
        return
    if not set(COMPARED.findall(condition)) - {"tenant_id", "lane_id"}:
        yield f"{plan['Node Type']} {plan.get('Index Name')} {condition}"


def test_ids_are_looked_up_where_statistics_do_not_know_the_tenant(postgres_dsn: str, asked: Asked) -> None:
    policy = {"embedder": "hashing"}
    with Memory.open(postgres_dsn, tenant="crowd", policy=policy) as memory:
        worked(memory)
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        grown(connection, "crowd")
        connection.execute("ANALYZE")
    asked.clear()
    with Memory.open(postgres_dsn, tenant="acme", policy=policy) as memory:
        worked(memory)
    named = {query: bound for query, bound in asked if _names_ids(query, bound)}
    found = []
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        grown(connection, "acme")
        for query, bound in sorted(named.items()):
            ids = {name: value * 20 if isinstance(value, list) else value for name, value in bound.items()}
            (row,) = connection.execute(f"EXPLAIN (FORMAT JSON) {query}", ids).fetchall()
            found += [(step, query) for step in walks(row[0][0]["Plan"]) if ERASING not in query]
    assert len(named) > 10
    assert found == []


def _names_ids(query: str, bound: Mapping[str, Any]) -> bool:
    values = [one for value in bound.values() for one in (value if isinstance(value, list) else [value])]
    return query.startswith(("SELECT", "UPDATE", "DELETE")) and any(IDENTITY.match(str(one)) for one in values)


def test_whether_a_document_has_a_vector_is_asked_of_its_key_where_there_were_none(
    postgres_dsn: str, asked: Asked
) -> None:
    with Memory.open(postgres_dsn, tenant="acme", policy={"embedder": "none"}) as memory:
        memory.add([{"role": "user", "content": f"tea of number {n}"} for n in range(99)], user_id="u", infer=False)
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute("ANALYZE")
    with Memory.open(postgres_dsn, tenant="acme", policy={"embedder": "hashing"}) as memory:
        asked.clear()
        memory.flush()
    waiting = {query: bound for query, bound in asked if query.startswith("SELECT found.id")}
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute(f"SET search_path = {SEARCH_PATH}")
        connection.execute(f"SET {TENANT_SETTING} = 'acme'")
        plans = [
            connection.execute(f"EXPLAIN (FORMAT JSON) {query}", bound).fetchall()[0][0][0]["Plan"]
            for query, bound in waiting.items()
        ]
    looks = [one for plan in plans for one in _steps(plan) if one.get("Relation Name") == "vectors"]
    assert looks
    assert all("document_id" in COMPARED.findall(one["Index Cond"]) for one in looks)


def _steps(plan: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    yield plan
    for step in plan.get("Plans", ()):
        yield from _steps(step)
