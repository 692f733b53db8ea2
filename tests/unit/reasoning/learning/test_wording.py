"""Blocks made of a model's fields."""

from typing import Any

import pytest

from phronesis.reasoning.laws.records import Claim, ReasoningBlock
from phronesis.reasoning.learn_prompt import RewriteAnswer, rewritten_block


def claim(claim_id: str, inference: str, **more: Any) -> Claim:
    return Claim(claim_id=claim_id, status="conclusion", facts={"source_run_ids": ["x"]}, inference=inference, **more)


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
