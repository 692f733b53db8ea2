"""Payloads of reasoning items and verdicts: what is wrong is named before anything is recorded."""

from typing import Any

import pytest

from phronesis.core.ids import derived_id
from phronesis.derive.reasoning import reasoning_payload, verdict_payload
from phronesis.errors import InputError

ITEM = derived_id("an item")
CLAIM = {"claim_id": "c1", "inference": "It holds."}


def judgement(**fields: Any) -> dict[str, Any]:
    return {"item_id": ITEM, "claim_id": "c1", "judgement": "support", **fields}


@pytest.mark.parametrize(
    ("given", "field"),
    [({}, "claims"), ({"claims": [CLAIM], "topic": " "}, "topic"), ({"claims": [CLAIM], "scope": 1}, "scope")],
)
def test_a_wrong_reasoning_item_is_refused(given: dict[str, Any], field: str) -> None:
    with pytest.raises(InputError) as refused:
        reasoning_payload(given)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("run_id", "judgements", "field"),
    [
        ("", [judgement()], "run_id"), (None, [], "run_id"), ("r", "support", "judgements"), ("r", None, "judgements"),
        ("r", ["support"], "judgements[0]"),
        ("r", [judgement(), judgement(judgement="maybe")], "judgements[1].judgement"),
        ("r", [judgement(item_id="x")], "judgements[0].item_id"),
        ("r", [judgement(claim_id=None)], "judgements[0].claim_id"),
        ("r", [judgement(), judgement(item_id=f"mem:{ITEM}", judgement="contra")], "judgements"),
    ],
)  # fmt: skip
def test_a_wrong_verdict_is_refused(run_id: Any, judgements: Any, field: str) -> None:
    with pytest.raises(InputError) as refused:
        verdict_payload(run_id, judgements)
    assert refused.value.field == field


def test_payloads_hold_what_was_given_and_nothing_that_was_not() -> None:
    assert set(reasoning_payload({"claims": [CLAIM], "topic": None})) == {"claims"}
    assert verdict_payload("r", [judgement(item_id=f"mem:{ITEM}", note="x")]) == {
        "run_id": "r", "judgements": [judgement()],
    }  # fmt: skip
