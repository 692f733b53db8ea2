"""Batches: resumed, raced, and met by what others wrote meanwhile."""

import io
import json
from collections.abc import Iterator
from typing import Any

import pytest

from phronesis import Memory
from phronesis.batch import Batch, RowResult
from phronesis.reasoning.learning import LearnPreparer

OUTPUT = {"M1": "Cu", "M2": "Zn", "atomic_ratio": "3:1", "modifier": "imidazole"}
CLAIM = {
    "claim_id": "c1",
    "status": "hypothesis",
    "facts": {"source_run_ids": ["x"]},
    "inference": "With Cu–Zn the selectivity of formate is at least 0.60.",
}


@pytest.fixture
def memory(database_url: str) -> Iterator[Memory]:
    with Memory.open(database_url, policy={"embedder": "none"}, tenant="acme") as opened:
        opened.reasoning.add(f"RBMEM_CLAIMS_V1\nTOPIC=t\nCLAIMS_JSON={json.dumps([CLAIM])}", user_id="lin")
        yield opened


def row(n: int, share: float = 0.7, **more: Any) -> dict[str, Any]:
    product = {"name": "formate", "value": 10 * share, "fraction": share}
    return {"run_id": f"r{n}", "output": OUTPUT, "feedback": {"products": [product]}, **more}


def stream(*rows: dict[str, Any]) -> io.BytesIO:
    return io.BytesIO("\n".join(map(json.dumps, rows)).encode())


def run(memory: Memory, *rows: dict[str, Any]) -> list[RowResult]:
    return list(Batch(memory, user_id="lin").run(stream(*rows)))


def entries(memory: Memory) -> int:
    return memory.admin.rebuild(verify=True).entries


def supported_by(memory: Memory) -> list[str]:
    [item] = memory.get_all(user_id="lin", kinds=["reasoning"])
    return sorted(memory.reasoning.get(item.id).claims[0].support.run_ids)


def test_a_batch_that_was_cut_off_goes_on(memory: Memory) -> None:
    rows = [row(n) for n in range(7)]
    told = Batch(memory, user_id="lin").run(stream(*rows))
    assert [next(told).line for _ in range(4)] == [1, 2, 3, 4]
    del told
    before = entries(memory)
    done = run(memory, *rows)
    assert [(one.run, one.learn) for one in done] == [("known", "known")] * 4 + [("recorded", "recorded")] * 3
    assert [one.supports for one in done] == [1] * 7
    assert supported_by(memory) == [f"r{n}" for n in range(7)]
    assert entries(memory) == before + 9
    assert memory.admin.rebuild(verify=True).equal


def test_corrected_feedback_is_news_and_the_same_is_not(memory: Memory) -> None:
    run(memory, row(1, 0.7))
    memory.runs.feedback("r1", row(1, 0.5)["feedback"], user_id="lin")
    [first, second, third] = run(memory, row(1, 0.5), row(1, 0.2), row(1, 0.7))
    assert (first.run, first.feedback, first.learn) == ("known", "known", "recorded")
    assert (second.feedback, second.learn) == ("recorded", "recorded")
    assert (third.feedback, third.learn) == ("known", "known")
    given = memory.runs.get("r1", user_id="lin").feedback
    assert given is not None
    assert given["products"][0]["fraction"] == 0.2


def test_an_entry_that_failed_is_told_until_a_retry_stands_for_it(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise ZeroDivisionError

    with monkeypatch.context() as broken:
        broken.setattr(LearnPreparer, "_outcomes", fail)
        [told, other] = run(memory, row(1), row(2, learn=False))
    assert (told.run_id, told.error and told.error["code"], other.error) == ("r1", "entry.failed", None)
    [again] = run(memory, row(1))
    assert again.error is not None
    assert again.error == told.error
    memory.admin.retry(again.error["message"].split("'")[1])
    [again] = run(memory, row(1))
    assert (again.learn, again.error, supported_by(memory)) == ("known", None, ["r1"])
