"""A batch that is killed, and run again, leaves what one leaves that was never killed; so do two at once."""

import io
import json
import random
import time
from pathlib import Path
from typing import Any

import pytest

from phronesis.batch import Batch
from phronesis.memory import Memory
from scenarios.writers import POLICY, Said, start, sum_judgements

ROWS = 18
PATIENCE = 60.0
CLAIM = {
    "claim_id": "c1",
    "status": "hypothesis",
    "facts": {"source_run_ids": ["x"]},
    "inference": "With Cu–Zn the selectivity of formate is at least 0.60.",
}


def rows() -> bytes:
    chance = random.Random(7)
    lines: list[dict[str, Any]] = []
    for n in range(ROWS):
        share = round(chance.uniform(0.3, 0.9), 2)
        said = {"pros": f"The total activity is at least {n % 3 + 1}."} if n % 4 == 0 else {}
        feedback = {"products": [{"name": "formate", "value": 10 * share, "fraction": share}], **said}
        lines.append({"output": {"M1": "Cu", "M2": "Zn"}, "raw": f"run {n}", "feedback": feedback})
        if n % 5:
            lines[-1]["run_id"] = f"r{n}"
    return "\n".join(map(json.dumps, lines)).encode()


def take_in(url: str, path: str) -> None:
    say = Said(path)
    with Memory.open(url, policy=POLICY) as memory:
        for told in Batch(memory, user_id="lin").run(io.BytesIO(rows())):
            say(**told.to_dict())


def prepared(url: str) -> None:
    with Memory.open(url, policy=POLICY) as memory:
        memory.reasoning.add(f"RBMEM_CLAIMS_V1\nTOPIC=t\nCLAIMS_JSON={json.dumps([CLAIM])}", user_id="lin")


def state(url: str) -> tuple[Any, ...]:
    """Give what a store holds, apart from its ids and times."""
    with Memory.open(url, policy=POLICY) as memory:
        memory.flush()
        done = memory.admin.rebuild(verify=True)
        assert done.equal, done.differences
        runs = [
            (run.run_id, run.facts, run.feedback, len(run.learned)) for run in memory.runs.list(user_id="lin", limit=99)
        ]
        items = [item.content for item in memory.get_all(user_id="lin", kinds=["reasoning"])]
        return done.entries, sorted(runs, key=lambda run: run[0]), sorted(items)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, ...]:
    """Return what a batch leaves that nobody disturbs."""
    folder = tmp_path_factory.mktemp("whole")
    url = f"sqlite:///{folder / 'memory.db'}"
    prepared(url)
    take_in(url, str(folder / "told"))
    assert len(sum_judgements(folder / "told")) == ROWS
    return state(url)


def killed_and_resumed(folder: Path, after: int) -> tuple[Any, ...]:
    """Kill a batch when it has told of some rows, or (0) while it records the first; then let it finish."""
    url, path = f"sqlite:///{folder / 'memory.db'}", folder / "told"
    prepared(url)
    child = start(take_in, url, str(path))
    deadline = time.monotonic() + PATIENCE
    while (child.is_alive() and len(sum_judgements(path)) < after) or not path.exists():
        assert time.monotonic() < deadline
        time.sleep(0.001)
    if after == 0:
        time.sleep(random.Random(ROWS).uniform(0.01, 0.1))
    child.kill()
    child.join()
    before = len(sum_judgements(path))
    take_in(url, str(path))
    told = sum_judgements(path)[before:]
    assert [one["error"] for one in told] == [None] * ROWS
    assert all(one["learn"] == "known" for one in told[:before])
    return state(url)


@pytest.mark.slow
@pytest.mark.no_cover
@pytest.mark.parametrize("after", [0, 7])
def test_a_batch_that_is_killed_at_any_point_goes_on(tmp_path: Path, whole: tuple[Any, ...], after: int) -> None:
    assert killed_and_resumed(tmp_path, after) == whole


@pytest.mark.slow
def test_two_processes_take_in_one_file(tmp_path: Path, whole: tuple[Any, ...]) -> None:
    url = f"sqlite:///{tmp_path / 'memory.db'}"
    prepared(url)
    paths = [tmp_path / "one", tmp_path / "two"]
    children = [start(take_in, url, str(path)) for path in paths]
    for child in children:
        child.join()
    assert [child.exitcode for child in children] == [0, 0]
    told = [sum_judgements(path) for path in paths]
    assert [one["error"] for one in told[0] + told[1]] == [None] * (2 * ROWS)
    recorded = sorted(one["line"] for one in told[0] + told[1] if one["run"] == "recorded")
    assert recorded == list(range(1, ROWS + 1))
    assert state(url) == whole
