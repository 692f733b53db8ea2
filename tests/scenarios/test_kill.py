"""SIGKILL at any point of a commit loop loses nothing that was acknowledged (law 10)."""

import random
import shutil
import time
from pathlib import Path
from typing import Any

import pytest

from phronesis.log.payloads import check_chain
from phronesis.memory import Memory
from phronesis.store.lanes import list_lanes
from phronesis.store.log import find_entry, read_entries
from scenarios.writers import POLICY, commit_forever, start, sum_judgements, turn_of

PATIENCE = 60.0


def killed(url: str, folder: Path, seed: int) -> dict[str, list[dict[str, Any]]]:
    """Let one or two writers go, kill them at a random moment, and give what each was told."""
    chance = random.Random(seed)
    names = [f"w{seed}-{n}" for n in range(1 + (seed % 4 == 0))]
    paths = {name: folder / name for name in names}
    children = [start(commit_forever, url, str(paths[name]), name, seed + n) for n, name in enumerate(names)]
    deadline = time.monotonic() + PATIENCE
    while not all(path.exists() and path.stat().st_size for path in paths.values()):
        assert time.monotonic() < deadline, "a writer said nothing"
        assert all(child.is_alive() for child in children), "a writer stopped by itself"
        time.sleep(0.001)
    time.sleep(chance.uniform(0.001, 0.150))
    for child in children:
        child.kill()
    for child in children:
        child.join()
    return {name: sum_judgements(path) for name, path in paths.items()}


def check(url: str, told: dict[str, list[dict[str, Any]]], *, rebuilt: bool) -> int:
    """Open what the killed writers left, and compare with what they had been told; give how many entries there are.

    ``rebuilt``: compare with a rebuild, too.
    """
    with Memory.open(url, policy=POLICY) as memory:
        memory.flush()  # what was durable but not interpreted yet
        count = 0
        with memory._runtime._components.database.transaction(memory.admin.tenant, "read") as unit:
            for lane in list_lanes(unit):
                rows = read_entries(unit, lane.lane_id, after=0, until=1 << 62, limit=1 << 30)
                assert [row.seq for row in rows] == list(range(1, len(rows) + 1))
                assert lane.head_seq == lane.applied_seq == len(rows)
                assert check_chain(unit, lane) == []
                count += len(rows)
            for fact in (fact for facts in told.values() for fact in facts):
                assert find_entry(unit, fact["entry"]) is not None
        for name, facts in told.items():
            for user in {fact["user"] for fact in facts if fact["verb"] == "turn"}:
                shown = {turn.entry_id: turn for turn in memory.sessions.turns(f"s/{name}", user_id=user)}
                for fact in facts:
                    if fact["verb"] == "turn" and fact["user"] == user:
                        said, given = shown[fact["entry"]], turn_of(name, fact["n"])
                        assert list(said.messages) == given["messages"]
                        assert list(said.tool_calls) == given["tool_calls"]
                        assert said.session_metadata == given["session_metadata"]
            for fact in facts:
                if fact["verb"] == "add":
                    first = memory.history(fact["item"])[0]
                    assert (first.entry_id, first.fields["content"][1]) == (fact["entry"], fact["content"])
        if rebuilt:
            result = memory.admin.rebuild(verify=True)
            assert result.equal, result.differences
            assert result.entries == count
        return count


def run(tmp_path: Path, *, kills: int, per_store: int, first: int) -> None:
    template = tmp_path / "template.db"
    Memory.open(f"sqlite:///{template}", policy=POLICY).close()
    store, before = Path(), 0
    for n in range(kills):
        if n % per_store == 0:
            store, before = tmp_path / f"store-{n}.db", 0
            shutil.copy(template, store)
        told = killed(f"sqlite:///{store}", tmp_path, first + n)
        last = n % per_store == per_store - 1 or n == kills - 1  # what a kill broke, later ones do not mend
        after = check(f"sqlite:///{store}", told, rebuilt=last)
        acknowledged = sum(map(len, told.values()))
        assert acknowledged > 0
        # What was in flight may be there too: one call of each writer.
        assert 0 <= after - before - acknowledged <= len(told)
        before = after


@pytest.mark.slow
@pytest.mark.parametrize("first", [0, 20])  # two tests: the processes of a test run share them
def test_forty_kills_lose_no_acknowledged_write(tmp_path: Path, first: int) -> None:
    run(tmp_path, kills=20, per_store=4, first=first)
