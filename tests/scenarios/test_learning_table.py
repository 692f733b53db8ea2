"""The frozen table of runs through the public verbs: every verdict, count and status, replayed and taken back."""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from phronesis import LearnResult, Memory
from phronesis.core.reasoning.records import Claim

TABLE: Mapping[str, Any] = json.loads((Path(__file__).parent / "data" / "runs.json").read_text("utf-8"))
USER = "lin"


class Bank:
    """The table's items and runs in a store."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.ids: dict[str, str] = {}
        for item in TABLE["items"]:
            made = memory.add_reasoning(item["content"], user_id=USER)
            self.ids[item["key"]] = made.id
            if item.get("archived"):
                memory.archive(made.id)
        for row in TABLE["runs"]:
            run = {name: row[name] for name in ("run_id", "output", "raw")}
            memory.record_run({**run, "memory_ids": [self.ids[key] for key in row["memory_keys"]]}, user_id=USER)
            if not row.get("feedback_late"):
                memory.run_feedback(row["run_id"], row["feedback"], user_id=USER)
        self.keys = {item_id: key for key, item_id in self.ids.items()}

    def step(self, step: Mapping[str, Any]) -> LearnResult | None:
        if "feedback" in step:
            [row] = [one for one in TABLE["runs"] if one["run_id"] == step["feedback"]]
            self.memory.run_feedback(row["run_id"], row["feedback"], user_id=USER)
            return None
        return self.memory.learn(step["learn"], user_id=USER)

    def claims(self) -> dict[tuple[str, str], Claim]:
        return {(key, claim.claim_id): claim for key, item_id in self.ids.items()
                for claim in self.memory.mem_get(item_id).claims}  # fmt: skip

    def standing(self) -> dict[tuple[str, str], tuple[Any, ...]]:
        return {key: (claim.status, claim.support, claim.contra) for key, claim in self.claims().items()}


@pytest.fixture
def bank(tmp_path: Path) -> Iterator[Bank]:
    with Memory.open(f"sqlite:///{tmp_path / 'm.db'}", policy={"embedder": "none"}) as memory:
        yield Bank(memory)


def test_every_row(bank: Bank) -> None:
    loaded = bank.claims()
    repeated = compared = 0
    for step in TABLE["steps"]:
        before = bank.standing()
        result = bank.step(step)
        if result is None:
            continue
        rows = [one for one in result.judged if one.item_id in bank.keys]
        found = [
            {"item": bank.keys[one.item_id], "claim_id": one.claim_id, "verdict": one.verdict, "status": one.after,
             "support": one.support, "contra": one.contra}
            for one in rows
        ]  # fmt: skip
        assert found == step["expect"], step["learn"]
        moves = [{"item": bank.keys[one.item_id], "claim_id": one.claim_id, "from": one.before, "to": one.after}
                 for one in rows if one.before != one.after]  # fmt: skip
        assert moves == step["transitions"], step["learn"]
        assert {one.by for one in rows} == {"rule"}
        compared += len(found)
        if step.get("repeat"):
            repeated += 1
            assert bank.standing() == before
    assert (compared, repeated) == (28 * 26, 2)
    claims = bank.claims()
    for row in TABLE["final"]:
        if row.get("archived"):
            continue
        key = (row["item"], row["claim_id"])
        claim, was = claims[key], loaded[key]
        assert (claim.status, claim.support.count, claim.contra.count) == (row["status"], row["support"], row["contra"])
        assert list(claim.support.run_ids) == row["support_runs"]
        assert list(claim.contra.run_ids) == row["contra_runs"]
        gained = len(claim.conditions + claim.limitations) > len(was.conditions + was.limitations)
        assert gained == row["gains_limitation_or_condition"], key
    assert all(claim == loaded[key] for key, claim in claims.items() if key[0] == "i12")  # archived: no candidate
    assert bank.memory.rebuild(verify=True).equal


def test_one_learn_is_taken_back_whole(bank: Bank) -> None:
    [*first, last] = [step for step in TABLE["steps"][:8] if "learn" in step]
    for step in first:
        bank.step(step)
    before = bank.standing()
    result = bank.step(last)
    assert result is not None
    assert bank.standing() != before
    bank.memory.rollback(result.entry_id)
    assert bank.standing() == before
    again = bank.step(last)
    assert again is not None
    assert [one.counted for one in again.judged] == [one.counted for one in result.judged]
    assert bank.memory.rebuild(verify=True).equal
