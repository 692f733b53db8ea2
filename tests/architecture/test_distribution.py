"""Tables and statements distribute by tenant: what Citus asks, checked without it."""

import inspect
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from architecture.statements import TABLES, faults, recorded, touches_tables
from found_evidence import plan
from memory_index import InMemoryIndex
from phronesis import Memory
from phronesis.core.ids import make_scope
from phronesis.core.reports import ModelCall
from phronesis.errors import PhronesisError
from phronesis.models.embedder import HashingEmbedder
from phronesis.store.model_calls import StoredLedger
from phronesis.store.schema import metadata
from phronesis.wiring import open_memory
from shelved import shelve

ALL = sorted(metadata.tables.values(), key=lambda table: table.name)


def test_the_tenant_is_there_and_leads_every_key() -> None:
    for table in ALL:
        assert table.c.tenant_id.nullable is False
        assert next(iter(table.primary_key.columns)) is table.c.tenant_id
        for constraint in table.constraints:
            if isinstance(constraint, sa.UniqueConstraint):
                assert next(iter(constraint.columns)) is table.c.tenant_id
            if isinstance(constraint, sa.ForeignKeyConstraint):
                assert "tenant_id" in constraint.column_keys
                assert constraint.ondelete != "SET NULL"
        for index in table.indexes:
            assert next(iter(index.columns)) is table.c.tenant_id


def test_columns_are_of_types_that_distribute() -> None:
    for column in (column for table in ALL for column in table.columns):
        assert not isinstance(column.type, sa.Enum), column
        assert column.onupdate is None, column
        assert column.server_default is None, column
        assert column.identity is None, column
        assert column.computed is None, column


def test_there_are_no_triggers_functions_or_sequences(postgres_dsn: str) -> None:
    engine = sa.create_engine(postgres_dsn.replace("postgresql://", "postgresql+psycopg://"))
    with engine.connect() as connection:
        for query in (
            "SELECT tgname FROM pg_trigger WHERE starts_with(tgrelid::regclass::text, 'phronesis')",
            "SELECT proname FROM pg_proc WHERE starts_with(pronamespace::regnamespace::text, 'phronesis')",
            "SELECT 1 FROM pg_class WHERE starts_with(relnamespace::regnamespace::text, 'phronesis') AND relkind = 'S'",
            "SELECT 1 FROM pg_type WHERE starts_with(typnamespace::regnamespace::text, 'phronesis') AND typtype = 'e'",
        ):
            assert connection.exec_driver_sql(query).scalars().all() == []
    engine.dispose()


T: dict[str, Any] = {"t": "acme", "u": "rival"}


CALL = ModelCall(
    call_id="c",
    at=datetime(2026, 5, 1, tzinfo=UTC),
    role="extract",
    model="m",
    status="ok",
    prompt_tokens=1,
    completion_tokens=1,
    cost=0.0,
    milliseconds=1,
)


@pytest.mark.slow
def test_every_statement_names_its_tenant_for_every_table(database_url: str, tmp_path: Path) -> None:
    policy = {"embedder": "hashing"}
    with (
        open_memory(database_url, policy=policy, tenant="acme", clock=None, index=InMemoryIndex()) as memory,
    ):
        engine = memory._runtime._components.database.engine
        with recorded(engine) as seen:
            _live(memory, tmp_path)
            assert memory.admin.components.mirror is not None
            memory.admin.components.mirror._sweep("acme", None)
            ledger = StoredLedger(memory.admin.components.database)
            ledger.record("acme", CALL)
            ledger.spent("acme", since=CALL.at, role="extract")
            ledger.settle()
    ours = [(statement, bound) for statement, bound in seen if touches_tables(statement)]
    touched = {name for name in TABLES if any(name in statement for statement, _ in ours)}
    assert touched == TABLES
    if database_url.startswith("sqlite"):
        # An erasure looks whether another tenant of the same file said the same words; a server's scan cannot.
        ours = [(text, bound) for text, bound in ours if not text.startswith("SELECT tenants.tenant_id")]
    wrong = {statement: found for statement, bound in ours if (found := faults(statement, bound, "acme"))}
    assert wrong == {}


def _live(memory: Memory, folder: Path) -> None:
    """Call every verb that there is, so that every statement runs once."""
    long = "a very long word " * 6000
    turn = {
        "messages": [
            {"role": "user", "content": "Ada met Grace Hopper", "id": "m1"},
            {"role": "assistant", "content": long},
        ],
        "tool_calls": [{"name": "look", "args": {}}],
        "refs": [{"type": "url", "uri": "https://example.org"}],
    }
    memory.commit_turn("s1", turn, user_id="ada", idempotency_key="k")
    memory.commit_turn("s1", turn, user_id="ada", idempotency_key="k")
    memory.add("secret plans of the harbour", user_id="grace", session_id="s2")
    for text in ("Boil it.", "Boil it twice."):
        shelve(memory, "file:///kettle.md", "Kettle", {"Descaling": text}, user_id="ada")
    fact = memory.add("tea", user_id="ada", kind="preference", subject="Ada", key="drink", wait=False)
    memory.flush()
    (item,) = memory.get_all(user_id="ada", kinds=["preference"], filters={"metadata.x": None, "trust": "user"})
    memory.update(item.id, content="green tea", metadata={"x": 1})
    for verb in (
        memory.items.archive,
        memory.items.unarchive,
        memory.items.pin,
        memory.items.unpin,
        memory.items.retract,
    ):
        verb(item.id)
    later = memory.history(item.id)[-1]
    memory.rollback(later.delta_id)
    memory.rollback(fact.entry_id, cascade=True)
    for given in ({}, {"as_of": later.at}, {"valid_at": later.at}, {"across": "tenant"}, {"kinds": ["message"]}):
        memory.search("Grace Hopper tea", user_id="ada", **given)
        memory.get_all(user_id="ada", **given)
    memory.search("kettle", user_id="ada", kinds=["section"])
    memory.search("kettle", user_id="ada", kinds=["section"], as_of=later.at)
    memory.search("tea", user_id="ada", filters={"OR": [{"metadata.x": {"gte": 1}}, {"content": {"icontains": "T"}}]})
    memory.get(item.id, as_of=later.at)
    memory.explain(item.id)
    memory.sessions.turns("s1", user_id="ada")
    memory.sessions.list(user_id="ada")
    memory.admin.overview(user_id="ada")
    memory.admin.users()
    memory.items.delete_all(user_id="ada", session_id="s1")
    memory.runs.record({"run_id": "r", "output": {"M1": "Cu"}}, user_id="ada")
    memory.runs.feedback(
        "r", {"products": [{"name": "CO", "value": 1.0}], "pros": "CO is at least 0.5."}, user_id="ada"
    )
    claims = 'RBMEM_CLAIMS_V1\nCLAIMS_JSON=[{"claim_id":"c1","status":"conclusion","facts":{"source_run_ids":["x"]},'
    about = '"inference":"CO.","test":{"metric":"activity","op":">","versus":{"M1":"Zn"}}}]'
    reasoned = memory.reasoning.add(claims + about, user_id="ada")
    memory.mem_search("CO", user_id="ada", run_id="r")
    memory.reasoning.get(reasoned.id, run_id="r")
    memory.learn("r", user_id="ada")
    memory.erase(id=memory.runs.get("r", user_id="ada").item_id)
    tried = memory.ingest(
        [{"attempt": f"pinned the kernel module {n}", "source_ref": f"r{n}", "episode_id": "e"} for n in range(4)]
    )
    memory.aggregate()
    memory.abstract()
    memory.resources.get_source(tried[0][0].id)
    memory.resources.get_source("r1")
    memory.query(situation="pinned kernel module", artifacts=["kernel"], label="unknown", since="2026-01-01")
    (pattern, *_) = memory.get_all(kinds=["pattern"])
    memory.feedback(tried[0][0].id, "incorrect", actor="ada")
    parts = [[event.id for event, _ in part] for part in (tried[:2], tried[2:])]
    memory.feedback(pattern.id, "split", value=parts)
    memory.aggregate()
    memory.abstract()
    asked = plan("kettle?", scope=make_scope(user_id="ada"))
    token, known = memory.admin.keys.create("write", label="a laptop")
    assert memory.admin.keys.find(token) == known
    assert memory.admin.keys.any_active()
    assert memory.admin.keys.list() == [known]
    memory.admin.keys.revoke(known.id)
    values = {
        "plan": asked,
        "run_id": "r",
        "nei": {"attempt": "a", "source_ref": "b"},
        "source_type": "manual",
        "run": {"raw": "x"},
        "feedback": {"pros": "x"},
        "target_id": item.id,
        "kind": "useful",
        "message": "What did Grace Hopper say?",
        "id": item.id,
        "entry_id": fact.entry_id,
        "user_id": "grace",
        "query": "tea",
        "session_id": "s1",
        "user_message": "tea?",
        "path": folder / "export.jsonl",
        "model": HashingEmbedder(),
        "content": 'RBMEM_CLAIMS_V1\nCLAIMS_JSON=[{"claim_id":"c1","status":"fact",'
        '"facts":{"source_run_ids":["r"]},"inference":"Green tea."}]',
    }
    for name, verb in inspect.getmembers(memory, inspect.ismethod):
        if not name.startswith("_") and name not in CALLED:
            wanted = inspect.signature(verb).parameters.values()
            needed = {given.name for given in wanted if given.default is given.empty}
            assert needed <= set(values), f"{name} needs {needed - set(values)}: say here what to call it with"
            try:
                verb(**{given: values[given] for given in needed})
            except PhronesisError:
                continue  # what a verb says of such arguments is tested elsewhere
    scopes: list[dict[str, Any]] = [{"id": item.id}, {"session_id": "s2", "user_id": "grace"}, {"user_id": "grace"}]
    for scope in scopes:
        memory.erase(**scope)
    memory.admin.rebuild(verify=True)
    memory.admin.rebuild()


CALLED = frozenset(
    """
        open close for_tenant erase rebuild add commit_turn update archive unarchive pin unpin retract
        rollback search get get_all
    """.split()
)
"""Verbs that the scenario calls itself, and those that only make a Memory or end it."""
