"""Four processes on one SQLite file: nothing is lost, and each lane's order holds (law 10)."""

from pathlib import Path
from typing import Any

import pytest

from phronesis.log.payloads import check_chain
from phronesis.memory import Memory
from phronesis.store.lanes import list_lanes
from phronesis.store.log import read_entries
from scenarios.writers import POLICY, commit_some, forks, start, sum_judgements, turn_of

pytestmark = pytest.mark.slow  # each starts processes

WRITERS = 4


def together(url: str, folder: Path, count: int) -> dict[str, list[dict[str, Any]]]:
    """Let four processes open and write at once; give what each was told, which must be no error."""
    barrier = forks().Barrier(WRITERS)
    paths = {f"p{n}": folder / f"p{n}" for n in range(WRITERS)}
    children = [start(commit_some, url, str(path), name, count, barrier) for name, path in paths.items()]
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0] * WRITERS
    told = {name: sum_judgements(path) for name, path in paths.items()}
    assert [fact for facts in told.values() for fact in facts if "error" in fact] == []
    return told


def test_four_processes_lose_nothing_and_keep_each_lanes_order(tmp_path: Path) -> None:
    count = 24
    url = f"sqlite:///{tmp_path / 'memory.db'}"
    Memory.open(url, policy=POLICY).close()
    told = together(url, tmp_path, count)
    with Memory.open(url, policy=POLICY) as memory:
        memory.flush()
        order: dict[str, list[str]] = {}
        with memory._runtime._components.database.transaction(memory.admin.tenant, "read") as unit:
            for lane in list_lanes(unit):
                rows = read_entries(unit, lane.lane_id, after=0, until=1 << 62, limit=1 << 30)
                assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
                assert [row.recorded_at for row in rows] == sorted({row.recorded_at for row in rows})
                assert check_chain(unit, lane) == []
                order[str(lane.name)] = [row.entry_id for row in rows]
        expected = WRITERS * (count // 2)
        assert {name: len(rows) for name, rows in order.items()} == {
            "shared": expected,
            "raced": count,
            **dict.fromkeys(told, count - count // 2),
        }
        for name, facts in told.items():
            turns = [fact for fact in facts if "entry" in fact]
            assert len(turns) == count
            for user in ("shared", name):
                own = [fact["entry"] for fact in turns if fact["user"] == user]
                assert [entry for entry in order[user] if entry in set(own)] == own
                shown = {turn.entry_id: turn for turn in memory.sessions.turns(f"s-{name}", user_id=user)}
                assert list(shown) == own
                for fact in turns:
                    if fact["user"] == user:
                        assert list(shown[fact["entry"]].messages) == turn_of(name, fact["n"])["messages"]
        assert memory.admin.rebuild(verify=True).equal


def test_a_key_raced_by_four_processes_gives_one_entry_and_one_answer(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'memory.db'}"
    Memory.open(url, policy=POLICY).close()
    told = together(url, tmp_path, 8)
    for n in range(8):
        answers = [
            (fact["raced"], fact["items"])
            for facts in told.values()
            for fact in facts
            if "raced" in fact and fact["n"] == n
        ]
        assert len(answers) == WRITERS
        assert all(answer == answers[0] for answer in answers)
        assert [item["content"] for item in answers[0][1]] == [f"once and for all {n}"]
