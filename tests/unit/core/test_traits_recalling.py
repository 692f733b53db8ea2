"""Which traits may be recalled."""

from datetime import UTC, datetime
from typing import Any

import pytest

from phronesis.core.items import Item
from phronesis.traits.laws.strength import recalled

AT = datetime(2026, 5, 1, tzinfo=UTC)


def item(**more: Any) -> Item:
    fields = {"id": "i", "kind": "trait", "content": "Plans ahead", "entry_id": "e", "recorded_at": AT, **more}
    return Item(updated_at=AT, **fields)


SETTLED_TRAIT_UNTIL: list[str | None] = ["emerging", "established", "core", "unheard of", None]


def test_a_settled_trait_is_until_it_ends_and_one_side_never() -> None:
    for stage in SETTLED_TRAIT_UNTIL:
        assert recalled(item(stage=stage)), stage
        assert recalled(item(stage=stage, data={"sides": [{"content": "at work"}]})), stage
        assert not recalled(item(stage=stage, data={"side_of": "whole"})), stage
        assert not recalled(item(stage=stage, ended="superseded")), stage


@pytest.mark.parametrize("stage", ["trend", "candidate", "dissolved"])
def test_a_guess_is_not_and_whatever_is_no_trait_is(stage: str) -> None:
    assert not recalled(item(stage=stage))
    assert recalled(item(kind="fact", stage=stage, ended="superseded", data={"side_of": "whole"}))
