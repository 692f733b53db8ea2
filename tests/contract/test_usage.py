"""Reads are counted beside the items: in memory first, written by whoever waits for nobody, and taken up by forget."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from phronesis import Memory
from phronesis.core.ids import LaneName
from phronesis.errors import InputError
from phronesis.store.impressions import shown_since
from phronesis.store.retention import WRITTEN_AFTER
from phronesis.store.schema import usage
from set_clock import Clock

START = datetime(2026, 4, 1, tzinfo=UTC)


@pytest.fixture
def memory(database_url: str, clock: Clock) -> Iterator[Memory]:
    with Memory.open(database_url, policy={"embedder": "none"}, clock=clock) as opened:
        opened.add("The attic key is brass.", user_id="lin", kind="fact", subject="key")
        yield opened


def rows(memory: Memory) -> list[int]:
    with memory.admin.components.database.transaction(memory.admin.tenant, "read") as unit:
        query = sa.select(usage.c["count"]).where(usage.c.tenant_id == memory.admin.tenant).order_by(usage.c.item_id)
        return list(unit.run(query).scalars())


def written(memory: Memory) -> list[int]:
    """Give what the thread beside the readers has written, once it has."""
    for _ in range(400):
        if found := rows(memory):
            return found
        time.sleep(0.01)
    return []


def shown_to_lin(memory: Memory) -> int:
    with memory.admin.components.database.transaction(memory.admin.tenant, "read") as unit:
        return shown_since(unit, LaneName("user", "lin"), seq=0).total()


def used(memory: Memory) -> dict[str, list[int]]:
    found: dict[str, list[int]] = memory.admin.components.forgetter.payload(
        memory.admin.tenant, LaneName("user", "lin")
    )["used"]
    return found


def test_who_looks_on_uses_nothing_and_is_shown_nothing(memory: Memory) -> None:
    asked = ("s", "Where is the attic key?")
    looked = memory.compose_context(*asked, user_id="lin", dry_run=True)
    assert [one.item.content for one in looked.evidence] == ["The attic key is brass."]
    memory.admin.components.shown.settle(memory.admin.tenant)
    assert (used(memory), shown_to_lin(memory)) == ({}, 0)
    composed = memory.compose_context(*asked, user_id="lin")
    memory.admin.components.shown.settle(memory.admin.tenant)
    assert (len(used(memory)), shown_to_lin(memory)) == (1, 1)
    assert looked.context_id != composed.context_id
    with pytest.raises(InputError, match="dry_run"):
        memory.compose_context(*asked, user_id="lin", dry_run="yes")  # type: ignore[arg-type]


@pytest.mark.both_databases
def test_reads_are_counted_in_memory_and_written_after_a_minute(memory: Memory, clock: Clock) -> None:
    for _ in range(5):
        memory.search("attic key", user_id="lin")
        memory.compose_context("s", "Where is the attic key?", user_id="lin")
    assert rows(memory) == []
    clock.now += timedelta(microseconds=WRITTEN_AFTER)
    memory.search("attic key", user_id="lin")
    assert written(memory) == [11]
    memory.search("attic key", user_id="lin")
    assert rows(memory) == [11]
    ((count, _),) = used(memory).values()
    assert count == 12


def test_erasing_a_user_leaves_no_count(memory: Memory) -> None:
    memory.search("attic key", user_id="lin")
    memory.admin.components.usage.settle(memory.admin.tenant)
    assert rows(memory) == [1]
    memory.erase(user_id="lin")
    assert rows(memory) == []
