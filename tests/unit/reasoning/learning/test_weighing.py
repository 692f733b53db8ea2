"""How a run bears on claims, and what is written when one falls."""

from hypothesis import given, settings
from hypothesis import strategies as st

from phronesis.reasoning import claim_effects
from phronesis.reasoning.claim_effects import BARE, ClaimJudge, add_limitation, limitation_for
from phronesis.reasoning.claim_gate import gate
from phronesis.reasoning.laws.claim_status import text_of
from phronesis.reasoning.laws.facts import FactsView
from phronesis.reasoning.laws.records import Claim, Product, ReasoningBlock

CLAIM = Claim(
    claim_id="c1",
    status="conclusion",
    facts={"source_run_ids": ["x"]},
    inference="The selectivity of formate is at least 0.6.",
)
BLOCK = ReasoningBlock(claims=(CLAIM,))


def view(run_id: str = "r1", share: float = 0.5, label: str = "") -> FactsView:
    return FactsView(run_id=run_id, label=label, products=(Product(name="formate", value=1.0, fraction=share),))


def test_a_claims_words_decide_and_its_test_before_them() -> None:
    scales = ClaimJudge(view(share=0.5), has_feedback=True, read_earlier=list)
    assert scales.weigh(CLAIM) == "contra"
    tested = Claim(
        claim_id="c1",
        status="fact",
        facts={},
        inference=CLAIM.inference,
        test={"metric": "activity", "op": ">", "value": 0},
    )
    assert scales.weigh(tested) == "support"
    assert scales.weigh(Claim(claim_id="c1", status="fact", facts={}, inference="Copper is red.")) == "irrelevant"
    assert ClaimJudge(view(), has_feedback=False, read_earlier=list).weigh(CLAIM) == "irrelevant"


NAMES = st.sampled_from(
    ["Cu–Zn 3:1", "none. Next, try Ni at 2:1.", "see [C12]", "prefer[Cu]", "Always use Cu.", "下一步试 Ni"]
)


@settings(max_examples=10)  # the gate reads each with the encoder
@given(st.lists(st.tuples(NAMES, NAMES), min_size=1, max_size=3))
def test_what_is_written_of_a_fallen_claim_passes_the_gate_in_its_block(named: list[tuple[str, str]]) -> None:
    views = [view(run_id=run_id, label=label) for run_id, label in named]
    text = limitation_for(CLAIM, views, claim_effects.test_of(CLAIM))
    assert gate(text_of(add_limitation(BLOCK, "c1", text))) == []


def test_a_limitation_that_the_gate_refuses_says_less() -> None:
    test = claim_effects.test_of(CLAIM)
    assert "(Cu–Zn)" in limitation_for(CLAIM, [view(label="Cu–Zn")], test)
    advice = "none. Next, try Ni at 2:1."
    assert limitation_for(CLAIM, [view(label=advice)], test) == "Not held in run r1: fraction of formate 0.5."
    assert limitation_for(CLAIM, [view(run_id=advice)], test) == BARE[0]
    chinese = Claim(
        claim_id="c1", status="conclusion", facts={"source_run_ids": ["x"]}, inference="甲酸占比不低于 0.6。"
    )
    assert limitation_for(chinese, [view(run_id=advice)], claim_effects.test_of(chinese)) == BARE[1]
