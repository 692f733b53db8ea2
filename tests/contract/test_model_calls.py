"""The ledger of model calls is kept by tenant, and sums up what was spent."""

import dataclasses
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from phronesis.core.model_calls import ModelCall, Spent, day_of
from phronesis.storage.database import Database, connect
from phronesis.storage.model_calls import StoredLedger

NOON = datetime(2026, 5, 1, 12, 30, 15, 7, tzinfo=UTC)
CALL = ModelCall(
    call_id="c1", at=NOON, role="extract", model="local/m", status="ok", prompt_tokens=1_000, completion_tokens=10,
    cost=0.25, milliseconds=12,
)  # fmt: skip


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    database = connect(database_url)
    yield database
    database.close()


def test_what_was_spent_since_a_moment_by_tenant_and_role(database: Database) -> None:
    ledger = StoredLedger(database)
    ledger.record("acme", CALL)
    ledger.record("acme", dataclasses.replace(CALL, call_id="c2", role="rerank", at=NOON + timedelta(seconds=1)))
    ledger.record("acme", dataclasses.replace(CALL, call_id="c3", at=NOON - timedelta(days=1)))
    ledger.record("other", CALL)
    assert ledger.spent("acme", since=NOON) == Spent(2, 2_020, 0.5)
    assert ledger.spent("acme", since=NOON, role="rerank") == Spent(1, 1_010, 0.25)
    assert ledger.spent("acme", since=NOON + timedelta(hours=1)) == Spent()
    assert ledger.spent("other", since=day_of(NOON)) == Spent(1, 1_010, 0.25)
    assert ledger.spent("nobody", since=day_of(NOON)) == Spent(0, 0, 0.0)


def test_a_day_begins_at_midnight() -> None:
    assert day_of(NOON) == datetime(2026, 5, 1, tzinfo=UTC)
