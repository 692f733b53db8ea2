"""The ledger of model calls is kept by tenant, and sums up what was spent."""

import dataclasses
import threading
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import sqlalchemy as sa

from phronesis.core.reports import ModelCall, ModelUsage, day_of
from phronesis.core.timestamps import to_micros
from phronesis.store.database import Database, connect
from phronesis.store.model_calls import StoredLedger
from phronesis.store.schema import model_calls

NOON = datetime(2026, 5, 1, 12, 30, 15, 7, tzinfo=UTC)
CALL = ModelCall(
    call_id="c1",
    at=NOON,
    role="extract",
    model="local/m",
    status="ok",
    prompt_tokens=1_000,
    completion_tokens=10,
    cost=0.25,
    milliseconds=12,
)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = connect(database_url)
    yield database
    database.close()


@pytest.mark.both_databases
def test_what_was_spent_since_a_moment_by_tenant_and_role(database: Database) -> None:
    ledger = StoredLedger(database)
    ledger.record("acme", CALL)
    ledger.record("acme", dataclasses.replace(CALL, call_id="c2", role="rerank", at=NOON + timedelta(seconds=1)))
    ledger.record("acme", dataclasses.replace(CALL, call_id="c3", at=NOON - timedelta(days=1)))
    ledger.record("other", CALL)
    assert ledger.spent("acme", since=NOON) == ModelUsage(2, 2_020, 0.5)
    assert ledger.spent("acme", since=NOON, role="rerank") == ModelUsage(1, 1_010, 0.25)
    assert ledger.spent("acme", since=NOON + timedelta(hours=1)) == ModelUsage()
    assert ledger.spent("other", since=day_of(NOON)) == ModelUsage(1, 1_010, 0.25)
    assert ledger.spent("nobody", since=day_of(NOON)) == ModelUsage(0, 0, 0.0)


def rows_of(database: Database, tenant: str = "acme") -> list[tuple[Any, ...]]:
    with database.transaction(tenant, "read") as unit:
        columns = [model_calls.c[name] for name in ("at", "role", "model", "status", "calls", "milliseconds")]
        query = sa.select(*columns).where(model_calls.c.tenant_id == tenant).order_by(*columns)
        return [tuple(row) for row in unit.run(query)]


@pytest.mark.both_databases
def test_calls_of_days_that_are_over_are_one_row_for_each_role_and_model(database: Database) -> None:
    ledger = StoredLedger(database)
    for n in range(20):
        role, model = ("embed", "lab/v") if n % 4 else ("extract", "lab/m")
        call = dataclasses.replace(
            CALL,
            call_id=f"a{n}",
            at=NOON + timedelta(minutes=n),
            role=role,
            model=model,
            status="ok" if n % 3 else "model.unavailable",
        )
        ledger.record("acme", call)
    ledger.record("rival", CALL)
    ledger.settle()
    assert len(rows_of(database)) == 20
    first, midnight = ledger.spent("acme", since=day_of(NOON)), to_micros(day_of(NOON))
    for day in (1, 2):
        for one in (StoredLedger(database), ledger):  # two processes
            call = dataclasses.replace(CALL, call_id=f"{day}{id(one)}", at=NOON + timedelta(days=day))
            one.record("acme", call)
            one.settle()
    folded = [row for row in rows_of(database) if row[3] == "day"]
    assert folded == [
        (midnight, "embed", "lab/v", "day", 15, 180),
        (midnight, "extract", "lab/m", "day", 5, 60),
        (midnight + 86_400_000_000, "extract", "local/m", "day", 2, 24),
    ]
    assert len(rows_of(database)) == 5
    assert len(rows_of(database, "rival")) == 1
    assert ledger.spent("acme", since=day_of(NOON)) == first.plus(ModelUsage(4, 4_040, 1.0))
    assert ledger.spent("acme", since=day_of(NOON), role="embed") == ModelUsage(15, 15_150, 3.75)
    assert ledger.spent("acme", since=day_of(NOON) + timedelta(days=2)) == ModelUsage(2, 2_020, 0.5)


@pytest.mark.both_databases
def test_calls_wait_for_no_other_writer(database: Database) -> None:
    ledger = StoredLedger(database)
    begun, go = threading.Event(), threading.Event()

    def write() -> None:
        with database.transaction("acme", "derive"):
            begun.set()
            go.wait(20)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert begun.wait(20)
        ledger.record("acme", CALL)
        assert ledger.settle(patient=False) is (database.dialect != "sqlite")  # which has one writer at a time
        assert ledger.spent("acme", since=NOON) == ModelUsage(1, 1_010, 0.25)
    finally:
        go.set()
        writer.join()
    assert ledger.settle()
    assert StoredLedger(database).spent("acme", since=NOON) == ModelUsage(1, 1_010, 0.25)
