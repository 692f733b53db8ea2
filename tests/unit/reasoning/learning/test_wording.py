"""Blocks made of a model's fields."""

from typing import Any

import pytest

from phronesis.reasoning.laws.records import Claim, ReasoningBlock, Tally
from phronesis.reasoning.learn_prompt import ProposedItem, RewriteAnswer
from phronesis.reasoning.proposal_filter import block_of_proposal, rewritten_block
from scripted_lessons import adds, updates, worded


def claim(claim_id: str, inference: str, **more: Any) -> Claim:
    return Claim(claim_id=claim_id, status="conclusion", facts={"source_run_ids": ["x"]}, inference=inference, **more)


def proposal(given: Any) -> ProposedItem:
    return ProposedItem.model_validate(given)


def test_a_new_item_has_ids_of_code() -> None:
    made = block_of_proposal(
        proposal(adds(worded(" Zn\x00 leaves. ", claim_id="mine"), worded("Cu stays."), topic=" a\n b ")), None, "r1"
    )
    assert made.topic == "a b"
    assert [(one.claim_id, one.facts) for one in made.claims] == [
        ("c1", {"source_run_ids": ["r1"]}),
        ("c2", {"source_run_ids": ["r1"]}),
    ]
    assert "\x00" not in made.claims[0].inference


def test_an_update_leaves_what_it_does_not_name() -> None:
    held = ReasoningBlock(
        topic="t",
        scope="global",
        extra=(("KEY", "v"),),
        claims=(claim("c1", "Zn stays.", support=Tally(count=2)), claim("x", "Cu stays.")),
    )
    given = updates(0, worded("Zn stays below 40 °C.", claim_id="c1", limitations=["a", "a", " "]), worded("Ag helps."))
    made = block_of_proposal(proposal(given), held, "r1", ["c7"])
    assert (made.topic, made.scope, made.extra) == ("t", "global", (("KEY", "v"),))
    assert [one.claim_id for one in made.claims] == ["c1", "x", "c8"]
    first, second, third = made.claims
    assert (first.inference, first.limitations) == ("Zn stays below 40 °C.", ("a",))
    assert (first.status, first.support.count) == ("conclusion", 2)
    assert second == held.claims[1]
    assert third.status == "hypothesis"


def rewritten(*claims: dict[str, Any], topic: str = "") -> RewriteAnswer:
    plain = {"inference": "", "constraint": "", "conditions": [], "limitations": []}
    return RewriteAnswer.model_validate({"topic": topic, "claims": [{**plain, **one} for one in claims]})


@pytest.mark.parametrize(
    "answer",
    [
        rewritten({"n": 0, "inference": "Zn leaves 40."}),
        rewritten({"n": 0, "inference": "Zn leaves and much more happens than was said."}),
        rewritten({"n": 0, "inference": "Zn leaves."}, topic="t 9"),
    ],
)
def test_a_rewrite_that_brings_something_is_none(answer: RewriteAnswer) -> None:
    block = ReasoningBlock(topic="t", claims=(claim("c1", "Zn leaves [C3]."),))
    assert rewritten_block(block, answer, ["c1", None]) is None
