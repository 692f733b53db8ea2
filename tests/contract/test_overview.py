"""A scope at a glance: counts, what was learned, what contradicts what, what waits for a person; and the users."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from phronesis import Memory
from phronesis.store.lanes import lane_names

MONDAY = datetime(2026, 5, 4, 9, tzinfo=UTC)


@pytest.fixture
def clock() -> list[datetime]:
    return [MONDAY]


@pytest.fixture
def memory(database_url: str, clock: list[datetime]) -> Iterator[Memory]:
    policy = {"conflict": {"default": "keep_both"}}
    with Memory.open(database_url, clock=lambda: clock[0], policy=policy) as opened:
        yield opened


@pytest.mark.both_databases
def test_what_was_learned_is_told_by_when_it_was_recorded(memory: Memory, clock: list[datetime]) -> None:
    memory.add("我住在杭州。", user_id="王芳")
    clock[0] += timedelta(days=2)
    memory.add("My favourite tea is oolong.", user_id="王芳")
    seen = memory.admin.overview(user_id="王芳")
    assert seen.since == clock[0] - timedelta(days=1)
    assert [item.content for item in seen.learned] == [
        item.content
        for item in memory.get_all(user_id="王芳", filters={"recorded_at": {"gte": clock[0]}})
        if item.kind != "message"
    ]
    assert seen.learned
    everything = memory.admin.overview(user_id="王芳", since=MONDAY)
    assert len(everything.learned) > len(seen.learned)
    assert sum(everything.counts.values()) == len(memory.get_all(user_id="王芳", limit=1_000))
    assert len(memory.admin.overview(user_id="王芳", since=MONDAY, limit=1).learned) == 1


def test_a_whole_tenant_shows_the_newest_of_all_users(memory: Memory, clock: list[datetime]) -> None:
    for n in (3, 1, 4, 1, 5, 2, 6, 5, 3, 0):
        clock[0] += timedelta(minutes=1)
        memory.add(f"Valve {n} leaks at {clock[0]:%M}.", kind="fact", user_id=f"u{n}")
        memory.add(f"Said at {clock[0]:%M}.", user_id=f"u{9 - n}", infer=False)
    memory.add("A bare word.", kind="fact", user_id="u3")
    every = [item for item in memory.get_all(across="tenant", limit=100) if item.kind == "fact"]
    for limit in (1, 3, 50):
        seen = memory.admin.overview(across="tenant", limit=limit)
        assert [item.id for item in seen.learned] == [item.id for item in every[:limit]]
    assert seen.counts == {"fact": 11, "message": 10}
    later = memory.admin.overview(across="tenant", since=clock[0] - timedelta(minutes=2, seconds=1))
    assert [item.id for item in later.learned] == [item.id for item in every[:4]]


@pytest.mark.both_databases
def test_the_users_of_a_tenant(memory: Memory) -> None:
    memory.add("I live in Oslo.", user_id="ann")
    memory.add("我喜欢绿茶。", user_id="王芳")
    memory.add("The press runs at four bar.")
    other = memory.for_tenant("other")
    other.add("I live in Rome.", user_id="eve")
    users = memory.admin.users()
    assert [one.user_id for one in users] == ["王芳", "ann"]
    shared = len(memory.get_all(limit=100))
    for one in users:
        assert sum(one.counts.values()) == len(memory.get_all(user_id=one.user_id, limit=100)) - shared
    assert [one.user_id for one in other.admin.users()] == ["eve"]
    whole = memory.admin.overview(across="tenant")
    assert sum(whole.counts.values()) == len(memory.get_all(across="tenant", limit=1_000))


@pytest.mark.both_databases
def test_names_of_lanes_are_found_by_a_part_of_them(memory: Memory, clock: list[datetime]) -> None:
    for name in ("ann", "Anna_1", "bo%b", "王芳"):
        clock[0] += timedelta(minutes=1)
        memory.add("I like rain.", user_id=name, infer=False)
    memory.add("The press runs.", kind="fact", namespace="annex")
    memory.for_tenant("other").add("I like rain.", user_id="annabel", infer=False)
    with memory.admin.components.database.transaction(memory.admin.tenant, "read") as unit:
        assert lane_names(unit, "user", containing="AN", limit=9) == ["Anna_1", "ann"]
        assert lane_names(unit, "user", containing="%", limit=9) == ["bo%b"]
        assert lane_names(unit, "user", containing="_", limit=9) == ["Anna_1"]
        assert lane_names(unit, "user", containing="", limit=2) == ["王芳", "bo%b"]
        assert lane_names(unit, "shared", containing="ann", limit=9) == ["annex"]
