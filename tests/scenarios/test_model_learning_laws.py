"""Laws of learning with a model, whatever it says: a run moves a claim one way, counts once, is taken back whole."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import model_server as servers
import scripted_lessons as lessons
from model_server import ModelServer
from phronesis import LearnResult, Memory
from phronesis.reasoning.laws.records import Claim

IDS = ("c1", "c2", "c3")
CLASS = st.tuples(st.sampled_from(["support", "contra", "contra", "irrelevant"]), st.booleans())
SAID = st.fixed_dictionaries(dict.fromkeys(IDS, CLASS))
WORDS = st.sampled_from(["Zn stays.", "Zn leaves.", "Cu helps.", "Next, try Ni.", "Seen in [C3]."])
CLAIM = st.builds(lambda one, text: lessons.worded(text, claim_id=one), st.sampled_from([*IDS, "c9", None]), WORDS)
ADDED = st.lists(CLAIM, min_size=1, max_size=2).map(lambda claims: lessons.adds(*claims))
CHANGED = st.builds(
    lambda item, claims: lessons.updates(item, *claims),
    st.sampled_from([0, 0, 7]),
    st.lists(CLAIM, min_size=1, max_size=2),
)
RUNS = st.lists(st.tuples(SAID, st.lists(ADDED | CHANGED, max_size=2)), min_size=2, max_size=5)


class Story:
    """A bank of one item, and runs of which a model says what it is told to."""

    def __init__(self, memory: Memory, server: ModelServer) -> None:
        self.memory, self.server = memory, server
        statuses = ("hypothesis", "conclusion", "fact")
        claims = [
            {"claim_id": one, "status": status, "facts": {"source_run_ids": ["x"]}, "inference": f"It holds, {one}."}
            for one, status in zip(IDS, statuses, strict=True)
        ]
        made = memory.reasoning.add(f"RBMEM_CLAIMS_V1\nTOPIC=t\nCLAIMS_JSON={json.dumps(claims)}", user_id="lin")
        self.item = made.id

    def claims(self) -> dict[str, Claim]:
        return {claim.claim_id: claim for claim in self.memory.reasoning.get(self.item).claims}

    def learn(self, run_id: str, said: Mapping[str, tuple[str, bool]], proposals: Any) -> LearnResult:
        def classing(_facts: Any, claim: Mapping[str, Any]) -> Mapping[str, Any]:
            says, delete = said.get(claim["claim_id"], ("irrelevant", False))
            return lessons.classed(claim["item"], claim["claim_id"], says, delete=delete, reason="seen")

        unwilling = servers.chat('{"topic": "", "claims": []}')
        self.server.answers(lessons.lesson(classing, *proposals, rewrites=unwilling))
        output = {"output": {"M1": "Cu"}, "memory_ids": [self.item], "run_id": run_id}
        self.memory.runs.record(output, user_id="lin")
        self.memory.runs.feedback(run_id, {"cons": "seen"}, user_id="lin")
        return self.memory.learn(run_id, user_id="lin")


@pytest.mark.slow
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(runs=RUNS, data=st.data())
def test_whatever_a_model_says(
    tmp_path_factory: pytest.TempPathFactory, runs: list[tuple[Any, Any]], data: st.DataObject
) -> None:
    url = f"sqlite:///{tmp_path_factory.mktemp('laws') / 'm.db'}"
    with ModelServer(lessons.lesson()) as server:
        policy = lessons.policy(server.base_url, reasoning={"top_k": 0})
        with Memory.open(url, policy=policy) as memory:
            story = Story(memory, server)
            done = []
            for n, (said, proposals) in enumerate(runs):
                before = story.claims()
                result = story.learn(f"r{n}", said, proposals)
                _check(story.item, result, before, story.claims())
                done.append((before, result))
            asked = len(server.requests)
            assert memory.admin.rebuild(verify=True).equal
            assert len(server.requests) == asked
            telling = [one for _, one in done if one.added or one.updated or any(row.counted for row in one.judged)]
            if not telling:
                return
            chosen = data.draw(st.sampled_from(telling))
            memory.rollback(chosen.entry_id, cascade=True)
            assert all(
                chosen.run_id not in (*one.support.run_ids, *one.contra.run_ids) for one in story.claims().values()
            )
            assert memory.admin.rebuild(verify=True).equal
            before, last = done[-1]
            if chosen is last:
                assert story.claims() == before


def _check(item_id: str, result: LearnResult, before: Mapping[str, Claim], after: Mapping[str, Claim]) -> None:
    run_id = result.run_id
    rows = {one.claim_id: one for one in result.judged if one.item_id == item_id}
    for claim_id, was in before.items():
        now, row = after.get(claim_id), rows[claim_id]
        if now is None:
            assert row.deleted is not None
            assert row.contra >= 2
            assert (row.counted, row.verdict) == ("contra", "contra")
            assert was.contra.count == row.contra - 1
            continue
        assert row.deleted is None
        assert (row.before, row.after) == (was.status, now.status)
        moved = (was.status, now.status)
        assert moved in {(was.status, was.status), ("hypothesis", "conclusion"), ("conclusion", "hypothesis")}
        if moved == ("hypothesis", "conclusion"):
            assert row.verdict == "support"
        if moved == ("conclusion", "hypothesis"):
            assert row.verdict == "contra"
            assert len(now.conditions + now.limitations) > len(was.conditions + was.limitations)
        named = [*now.support.run_ids, *now.contra.run_ids]
        assert named.count(run_id) <= 1
        assert len(named) == len(set(named))
    assert all("[C3]" not in claim.inference and "try Ni" not in claim.inference for claim in after.values())
    assert all(run_id in claim.facts["source_run_ids"] for one, claim in after.items() if one not in before)
