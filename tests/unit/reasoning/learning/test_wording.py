"""Blocks made of a model's fields."""

from dataclasses import replace
from typing import Any

import pydantic
import pytest

from phronesis.reasoning.laws.records import Claim, ReasoningBlock, Tally
from phronesis.reasoning.learn_prompt import ProposedItem, Rewritten, shown
from phronesis.reasoning.proposal_filter import block_of_proposal, rewritten_block
from scripted_lessons import adds, updates, worded
from scripted_lessons import shown as read

TEST = {"metric": "fraction", "product": "CO", "op": ">=", "value": 0.5}


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


@pytest.mark.parametrize(
    ("words", "test"),
    [
        ("The fraction of CO is at least 0.6.", None),
        ("Much CO comes.", TEST),
        ("The fraction of CO is at least 0.5.", TEST),
    ],
)
def test_a_test_stays_unless_the_new_words_state_one(words: str, test: Any) -> None:
    held = ReasoningBlock(claims=(claim("c1", "The fraction of CO is at least 0.5.", test=TEST),))
    [made] = block_of_proposal(proposal(updates(0, worded(words, claim_id="c1"))), held, "r1").claims
    assert made.test == test


def test_what_was_shown_in_short_is_not_cut() -> None:
    long = claim(
        "c1",
        "i" * 900,
        constraint="avoid[" + "c" * 900 + "]",
        conditions=("k" * 500, "b", "c", "d", "e"),
        limitations=("l" * 500,),
    )
    _, [item] = read(shown("e", {}, {"i": ReasoningBlock(claims=(long,))}).data)
    [seen] = item["claims"]
    again = worded(
        seen["inference"],
        claim_id="c1",
        constraint=seen["constraint"],
        conditions=seen["conditions"],
        limitations=[*seen["limitations"], "new"],
    )
    [made] = block_of_proposal(proposal(updates(0, again)), ReasoningBlock(claims=(long,)), "r1").claims
    assert made == replace(long, limitations=("l" * 500, "new"))


def test_leave_for_a_positive_constraint_is_not_inherited() -> None:
    allowed = claim("c1", "a", constraint="must use Cu", allow_positive=True, exception_reason="no other was there")
    held = ReasoningBlock(claims=(allowed,))
    [kept] = block_of_proposal(
        proposal(updates(0, worded("b", claim_id="c1", constraint="must use Cu"))), held, "r1"
    ).claims
    [lost] = block_of_proposal(
        proposal(updates(0, worded("b", claim_id="c1", constraint="must use Pb"))), held, "r1"
    ).claims
    assert (kept.allow_positive, kept.exception_reason) == (True, "no other was there")
    assert (lost.allow_positive, lost.exception_reason) == (False, "")


def test_what_code_writes_is_passed_over() -> None:
    copied = {
        **worded("Zn leaves.", status="conclusion"),
        "facts": {"source_run_ids": ["made up"]},
        "test": TEST,
        "support": {"count": 9},
        "contra": None,
        "allow_positive": True,
        "exception_reason": "so",
    }
    [made] = block_of_proposal(proposal(adds(copied)), None, "r1").claims
    assert (made.facts, made.test, made.support, made.allow_positive) == (
        {"source_run_ids": ["r1"]},
        None,
        Tally(),
        False,
    )
    with pytest.raises(pydantic.ValidationError, match="extra_forbidden"):
        proposal(adds({**copied, "mood": "good"}))


def rewritten(*claims: dict[str, Any], topic: str = "") -> Rewritten:
    plain = {"inference": "", "constraint": "", "conditions": [], "limitations": []}
    return Rewritten.model_validate({"topic": topic, "claims": [{**plain, **one} for one in claims]})


def test_a_rewrite_changes_the_form_of_what_was_wrong_alone() -> None:
    block = ReasoningBlock(topic="t [C1]", claims=(claim("c1", "Zn leaves [C3]."), claim("c2", "Cu stays.")))
    answer = rewritten({"n": 0, "inference": "Zn leaves."}, {"n": 1, "inference": "Cu goes."}, {"n": 5}, topic="t")
    made = rewritten_block(block, answer, ["c1", None])
    assert made is not None
    assert made.topic == "t"
    assert [one.inference for one in made.claims] == ["Zn leaves.", "Cu stays."]
    kept = rewritten_block(block, answer, ["c1"])
    assert kept is not None
    assert kept.topic == "t [C1]"


@pytest.mark.parametrize(
    "answer",
    [
        rewritten({"n": 0, "inference": "Zn leaves 40."}),
        rewritten({"n": 0, "inference": "Zn leaves and much more happens than was said."}),
        rewritten({"n": 0, "inference": "Zn leaves."}, topic="t 9"),
    ],
)
def test_a_rewrite_that_brings_something_is_none(answer: Rewritten) -> None:
    block = ReasoningBlock(topic="t", claims=(claim("c1", "Zn leaves [C3]."),))
    assert rewritten_block(block, answer, ["c1", None]) is None
