"""A table of runs, written before the code: every verdict, count and status, by arithmetic on FACTS alone."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from phronesis.core.confidence import ClaimState, Judgement, Verdict, claim_state
from phronesis.reasoning.catalysis.run_facts import CatalysisFacts
from phronesis.reasoning.comparisons import read_comparison
from phronesis.reasoning.laws.block_format import parse
from phronesis.reasoning.laws.claim_status import verdict, written_state
from phronesis.reasoning.laws.facts import FactsBuilder, FactsView
from phronesis.reasoning.laws.records import Claim, Feedback, Run, checked_feedback, checked_run

TABLE: Mapping[str, Any] = json.loads((Path(__file__).parent / "data" / "runs.json").read_text("utf-8"))
Key = tuple[str, str]


@dataclass
class Bank:
    """The items and runs of the table, and what was learned of them so far."""

    builder: FactsBuilder
    claims: dict[Key, Claim] = field(default_factory=dict)
    tests: dict[Key, Mapping[str, Any] | None] = field(default_factory=dict)
    runs: dict[str, Run] = field(default_factory=dict)
    feedback: dict[str, Feedback] = field(default_factory=dict)
    learned: dict[Key, list[Verdict]] = field(default_factory=dict)

    def view(self, run_id: str) -> FactsView:
        return self.builder.view(self.runs[run_id], self.feedback.get(run_id, Feedback()))

    def judge(self, run_id: str) -> dict[Key, Judgement]:
        """Give the verdict of a run on every claim; ``earlier`` are the runs recorded before that have feedback."""
        before = list(self.runs)[: list(self.runs).index(run_id)]
        earlier = [self.view(one) for one in before if one in self.feedback]
        view = self.view(run_id)
        return {key: "irrelevant" if test is None else verdict(test, view, earlier) for key, test in self.tests.items()}

    def learn(self, run_id: str) -> dict[Key, Judgement]:
        judged = self.judge(run_id)
        for key, judgement in judged.items():
            self.learned.setdefault(key, []).append(Verdict(run_id, judgement))
        return judged

    def states(self) -> dict[Key, ClaimState]:
        return {
            key: claim_state(self.learned.get(key, ()), start=written_state(claim))
            for key, claim in self.claims.items()
        }


def load(builder: FactsBuilder) -> Bank:
    bank = Bank(builder)
    for item in TABLE["items"]:
        if item.get("archived"):
            continue
        for claim in parse(item["content"]).claims:
            key = (item["key"], claim.claim_id)
            bank.claims[key] = claim
            bank.tests[key] = claim.test or read_comparison(claim.inference, claim.conditions)
    for row in TABLE["runs"]:
        run = checked_run({name: value for name, value in row.items() if name not in ("feedback", "feedback_late")})
        bank.runs[run.run_id] = run
        if not row.get("feedback_late"):
            bank.feedback[run.run_id] = checked_feedback(row["feedback"])
    return bank


def steps(bank: Bank) -> Iterator[tuple[Mapping[str, Any], dict[Key, Judgement], dict[Key, ClaimState]]]:
    for step in TABLE["steps"]:
        if "feedback" in step:
            [row] = [one for one in TABLE["runs"] if one["run_id"] == step["feedback"]]
            bank.feedback[row["run_id"]] = checked_feedback(row["feedback"])
            continue
        before = bank.states()
        yield step, bank.learn(step["learn"]), before


def readings() -> dict[Key, Mapping[str, Any]]:
    return {(key.partition("/")[0], key.partition("/")[2]): test for key, test in TABLE["readings"].items()}


def test_claims_without_a_test_are_read_as_a_person_reads_them() -> None:
    wanted = readings()
    read = {}
    for item in TABLE["items"]:
        for claim in parse(item["content"]).claims:
            if claim.test is None and (found := read_comparison(claim.inference, claim.conditions)) is not None:
                read[item["key"], claim.claim_id] = found
    assert read == wanted
    assert len(wanted) == 11


def test_every_verdict_count_and_status() -> None:
    bank = load(CatalysisFacts())
    promoted: Counter[Key] = Counter()
    demoted: Counter[Key] = Counter()
    compared = 0
    for step, judged, before in steps(bank):
        after = bank.states()
        moves = [
            {"item": key[0], "claim_id": key[1], "from": before[key].status, "to": state.status}
            for key, state in after.items()
            if state.status != before[key].status
        ]
        assert moves == step["transitions"], step["learn"]
        promoted.update((move["item"], move["claim_id"]) for move in moves if move["to"] == "conclusion")
        demoted.update((move["item"], move["claim_id"]) for move in moves if move["to"] == "hypothesis")
        found = [
            {
                "item": key[0],
                "claim_id": key[1],
                "verdict": judged[key],
                "status": state.status,
                "support": state.support_count,
                "contra": state.contra_count,
            }
            for key, state in after.items()
        ]
        assert found == step["expect"], step["learn"]
        compared += len(found)
    assert compared == 28 * 26
    states = bank.states()
    for row in TABLE["final"]:
        if row.get("archived"):
            continue
        key = (row["item"], row["claim_id"])
        state = states[key]
        assert (state.status, state.support_count, state.contra_count) == (row["status"], row["support"], row["contra"])
        assert (list(state.support), list(state.contra)) == (row["support_runs"], row["contra_runs"])
        assert (promoted[key], demoted[key]) == (row["promoted"], row["demoted"])
        assert (demoted[key] > 0) == row["gains_limitation_or_condition"]
