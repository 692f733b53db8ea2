"""Payloads of reasoning items: what is wrong is named before anything is recorded."""

import pytest

from phronesis.errors import ClaimsRefused
from phronesis.reasoning.handlers import check_block, reasoning_payload
from unit.core.blocks import block, member


def test_what_breaks_a_rule_is_refused_with_every_violation() -> None:
    wrong = block(member(inference="As [C12] says. Next, try Ni.", status="verified"))
    with pytest.raises(ClaimsRefused) as refused:
        reasoning_payload(wrong)
    assert [found.rule for found in refused.value.violations] == ["claim_status", "kb_alias", "next_step"]
    assert check_block(wrong) == list(refused.value.violations)
