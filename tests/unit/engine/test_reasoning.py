"""Payloads of reasoning items and verdicts: what is wrong is named before anything is recorded."""

from typing import Any

import pytest

from phronesis.core.ids import derived_id
from phronesis.errors import ClaimsRefused, InputError
from phronesis.reasoning.handlers import check_block, reasoning_payload, verdict_payload
from unit.core.blocks import block, member

ITEM = derived_id("an item")


def judgement(**fields: Any) -> dict[str, Any]:
    return {"item_id": ITEM, "claim_id": "c1", "judgement": "support", **fields}


def test_what_breaks_a_rule_is_refused_with_every_violation() -> None:
    wrong = block(member(inference="As [C12] says. Next, try Ni.", status="verified"))
    with pytest.raises(ClaimsRefused) as refused:
        reasoning_payload(wrong)
    assert [found.rule for found in refused.value.violations] == ["claim_status", "kb_alias", "next_step"]
    assert check_block(wrong) == list(refused.value.violations)


def test_a_wrong_verdict_is_refused() -> None:
    cases: list[tuple[Any, Any, str]] = [
        ("", [judgement()], "run_id"),
        ("r", "support", "judgements"),
        ("r", ["support"], "judgements[0]"),
        ("r", [judgement(), judgement(judgement="maybe")], "judgements[1].judgement"),
        ("r", [judgement(item_id="x")], "judgements[0].item_id"),
        ("r", [judgement(claim_id=None)], "judgements[0].claim_id"),
        ("r", [judgement(), judgement(item_id=f"mem:{ITEM}", judgement="contra")], "judgements"),
    ]
    for run_id, judgements, field in cases:
        with pytest.raises(InputError) as refused:
            verdict_payload(run_id, judgements)
        assert refused.value.field == field
