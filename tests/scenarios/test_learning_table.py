"""The frozen table of runs through the public verbs: every verdict, count and status, replayed and taken back.

By rules alone, and with a model by a script: one that says what the table says, and one that says the opposite of what
every test decides.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

import model_server as servers
import scripted_lessons as lessons
from model_server import ModelServer
from phronesis import LearnResult, Memory
from phronesis.reasoning.laws.claim_status import parse
from phronesis.reasoning.laws.records import Claim

TABLE: Mapping[str, Any] = json.loads((Path(__file__).parent / "data" / "runs.json").read_text("utf-8"))
USER = "lin"


class Bank:
    """The table's items and runs in a store."""

    def __init__(self, memory: Memory) -> None:
        self.memory = memory
        self.ids: dict[str, str] = {}
        for item in TABLE["items"]:
            made = memory.reasoning.add(item["content"], user_id=USER)
            self.ids[item["key"]] = made.id
            if item.get("archived"):
                memory.items.archive(made.id)
        for row in TABLE["runs"]:
            run = {name: row[name] for name in ("run_id", "output", "raw")}
            memory.runs.record({**run, "memory_ids": [self.ids[key] for key in row["memory_keys"]]}, user_id=USER)
            if not row.get("feedback_late"):
                memory.runs.feedback(row["run_id"], row["feedback"], user_id=USER)
        self.keys = {item_id: key for key, item_id in self.ids.items()}

    def step(self, step: Mapping[str, Any]) -> LearnResult | None:
        if "feedback" in step:
            [row] = [one for one in TABLE["runs"] if one["run_id"] == step["feedback"]]
            self.memory.runs.feedback(row["run_id"], row["feedback"], user_id=USER)
            return None
        return self.memory.learn(step["learn"], user_id=USER)

    def claims(self) -> dict[tuple[str, str], Claim]:
        return {
            (key, claim.claim_id): claim
            for key, item_id in self.ids.items()
            for claim in self.memory.reasoning.get(item_id).claims
        }

    def standing(self) -> dict[tuple[str, str], tuple[Any, ...]]:
        return {key: (claim.status, claim.support, claim.contra) for key, claim in self.claims().items()}


OPPOSITE = {"support": "contra", "contra": "support", "irrelevant": "contra"}
TESTED = {
    (item["key"], claim.claim_id)
    for item in TABLE["items"]
    for claim in parse(item["content"]).claims
    if claim.test is not None
} | {tuple(place.split("/")) for place in TABLE["readings"]}
TOPICS = {parse(item["content"]).topic: item["key"] for item in TABLE["items"]}
EXPECTED = {
    (step["learn"], row["item"], row["claim_id"]): row["verdict"]
    for step in TABLE["steps"]
    for row in step.get("expect", ())
}


def script(*, honest: bool) -> servers.Behaviour:
    """Answer with every class, an item of its own for each run, and an update of an item that was not shown."""

    def classing(facts: Mapping[str, Any], claim: Mapping[str, Any]) -> Mapping[str, Any] | None:
        key = TOPICS.get(claim["topic"])
        if key is None:
            return lessons.classed(claim["item"], claim["claim_id"], "support")  # the model's own: made of other runs
        verdict = EXPECTED[facts["run_id"], key, claim["claim_id"]]
        said = verdict if honest or (key, claim["claim_id"]) not in TESTED else OPPOSITE[verdict]
        return lessons.classed(claim["item"], claim["claim_id"], said, delete=said == "contra" and not honest)

    def behave(reply: servers.Reply) -> None:
        facts, _ = lessons.shown(reply.asked.body["messages"][1]["content"])
        mine = lessons.adds(lessons.worded(f"Something was seen in {facts['run_id']}."), topic="what the model saw")
        foreign = lessons.updates(99, lessons.worded("Everything is otherwise."))
        lessons.lesson(classing, mine, foreign)(reply)

    return behave


@pytest.fixture(params=["rules", "honest", "contrary"])
def bank(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Bank]:
    url = f"sqlite:///{tmp_path / 'm.db'}"
    if request.param == "rules":
        with Memory.open(url, policy={"embedder": "none"}) as memory:
            yield Bank(memory)
        return
    with (
        ModelServer(script(honest=request.param == "honest")) as server,
        Memory.open(url, policy=lessons.policy(server.base_url)) as memory,
    ):
        yield Bank(memory)


@pytest.mark.slow
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
            {
                "item": bank.keys[one.item_id],
                "claim_id": one.claim_id,
                "verdict": one.verdict,
                "status": one.after,
                "support": one.support,
                "contra": one.contra,
            }
            for one in rows
        ]
        assert found == step["expect"], step["learn"]
        moves = [
            {"item": bank.keys[one.item_id], "claim_id": one.claim_id, "from": one.before, "to": one.after}
            for one in rows
            if one.before != one.after
        ]
        assert moves == step["transitions"], step["learn"]
        ruled = {(bank.keys[one.item_id], one.claim_id) for one in rows if one.by == "rule"}
        assert ruled == {
            place for place in bank.claims() if place[0] != "i12" and (result.model is None or place in TESTED)
        }
        assert result.degraded == ()
        if result.model is not None:
            assert "outside_candidates" in [row["rule"] for one in result.dropped for row in one.violations]
            assert {one.rule for one in result.refused} <= {"decided_by_rule", "not_plainly_wrong", "own_run"}
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
    assert bank.memory.admin.rebuild(verify=True).equal


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
    assert bank.memory.admin.rebuild(verify=True).equal
