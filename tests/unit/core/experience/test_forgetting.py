"""The law of forgetting: what retention follows from, and what is done about it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.experience.forgetting import (
    Figures,
    Law,
    fields_of,
    is_forgotten,
    is_human,
    next_action,
    retention,
    used,
)
from phronesis.core.items import Item, Trust

NOW = datetime(2026, 6, 1, tzinfo=UTC)
LAW = Law()
FIGURES = st.builds(
    Figures, age_days=st.floats(0, 1e5), uses=st.integers(0, 10_000), usefulness=st.floats(0, 1),
    counter=st.floats(0, 1), human=st.booleans(),
)  # fmt: skip


def item(**given: Any) -> Item:
    return Item(id="i", kind="l1", content="x", entry_id="e", recorded_at=NOW, updated_at=NOW, **given)


@given(FIGURES, st.floats(0.1, 1e4))
def test_retention_is_in_range_and_moves_one_way_with_each_figure(figures: Figures, half_life: float) -> None:
    kept = retention(figures, half_life)
    assert 0.0 <= kept <= 1.0
    assert retention(replace(figures, age_days=figures.age_days + 1), half_life) <= kept
    assert retention(replace(figures, uses=figures.uses + 1), half_life) >= kept
    assert retention(replace(figures, usefulness=1.0), half_life) >= kept
    assert retention(replace(figures, counter=1.0), half_life) == 0.0
    assert retention(replace(figures, human=True), half_life) >= kept


def test_half_is_left_after_a_half_life_and_a_machines_word_fades_twice_as_fast() -> None:
    assert retention(Figures(age_days=180), 180) == 0.5
    assert retention(Figures(age_days=90, human=False), 180) == 0.5
    assert retention(Figures(age_days=360, uses=1), 180) == 0.5
    assert retention(Figures(age_days=-3), 180) == 1.0


def test_what_is_retained_badly_is_downweighted_then_archived_then_deleted() -> None:
    live = item()
    assert [next_action(live, kept, LAW, NOW) for kept in (0.9, 0.5, 0.4, 0.25, 0.1)] == [
        None, None, "downweight", "downweight", "archive",
    ]  # fmt: skip
    figures = Figures(age_days=500)
    archived = live.with_fields(fields_of("archive", figures, 0.1, NOW))
    assert (archived.status, archived.data["weight"], archived.data["forgetting"]["action"]) == (
        "archived",
        0.5,
        "archive",
    )
    assert next_action(archived, 0.0, LAW, NOW + timedelta(days=364)) is None
    assert next_action(archived, 0.0, LAW, NOW + timedelta(days=365)) == "delete"
    deleted = archived.with_fields({**fields_of("delete", figures, 0.0, NOW), "ended": "retired"})
    assert deleted.data["forgetting"]["action"] == "delete"
    assert [is_forgotten(one) for one in (None, live, archived, deleted)] == [False, False, True, True]


@given(kept=st.floats(0, 1), action=st.sampled_from(["downweight", "archive"]))
def test_after_an_action_nothing_is_left_to_do_at_once(kept: float, action: Any) -> None:
    done = next_action(item(), kept, LAW, NOW)
    if done is not None:
        after = item().with_fields(fields_of(done, Figures(age_days=1), kept, NOW))
        assert next_action(after, kept, LAW, NOW) is None
    downweighted = item().with_fields(fields_of("downweight", Figures(age_days=1), 0.4, NOW))
    wanted = "archive" if kept < LAW.archive_below else None if kept < LAW.downweight_below else "restore"
    assert next_action(downweighted, kept, LAW, NOW) == wanted
    assert action in {"downweight", "archive"}


def test_what_somebody_else_archived_waits_for_nothing_and_what_was_brought_back_is_restored() -> None:
    assert next_action(item(status="archived"), 0.0, LAW, NOW) is None
    archived = item().with_fields(fields_of("archive", Figures(age_days=1), 0.1, NOW))
    back = archived.with_fields({"status": "active"})
    assert next_action(back, 0.0, LAW, NOW) == "restore"
    restored = back.with_fields(fields_of("restore", Figures(age_days=1), 0.1, NOW))
    assert not restored.data
    assert not is_forgotten(back)


def test_uses_add_up_and_the_law_goes_through_a_payload() -> None:
    once = item().with_fields(used(item(), 2, NOW))
    twice = once.with_fields(used(once, 3, NOW + timedelta(days=1)))
    assert twice.data["use"] == {"count": 5, "last": "2026-06-02T00:00:00Z"}
    law = Law(half_life_days=3, keep_sources=frozenset({"manual", "lean"}))
    assert Law.of(law.to_payload()) == law


@pytest.mark.parametrize(("trust", "human"), [(Trust.USER, True), (Trust.OPERATOR, True), (Trust.ASSISTANT, False),
                                              (Trust.TOOL, False), (Trust.EXTERNAL, False)])  # fmt: skip
def test_a_persons_word_is_told_by_its_trust(trust: Trust, human: bool) -> None:
    assert is_human(item(trust=trust)) is human
