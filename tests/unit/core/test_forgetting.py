"""The law of forgetting: what retention follows from, and what is done about it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.items import Item
from phronesis.forgetting.laws import (
    RetentionFields,
    RetentionFigures,
    Rule,
    fields_of,
    is_forgotten,
    next_action,
    retention,
)

NOW = datetime(2026, 6, 1, tzinfo=UTC)
RULE = Rule()
PLAIN = Rule(downweight_below=0.0, expired_after_days=30)
FIGURES = st.builds(
    RetentionFigures,
    age_days=st.floats(0, 1e5),
    uses=st.integers(0, 10_000),
    usefulness=st.floats(0, 1),
    counter=st.floats(0, 1),
    human=st.booleans(),
    importance=st.integers(1, 10),
    usual=st.integers(1, 10),
)
RULES = st.builds(
    Rule,
    half_life_days=st.floats(0.1, 1e4),
    downweight_below=st.floats(0.5, 1),
    archive_below=st.floats(0, 0.5),
    delete_after_days=st.floats(0, 1e4),
    expired_after_days=st.none() | st.floats(0, 1e4),
    usual=st.integers(1, 10),
    keep_importance=st.none() | st.integers(1, 10),
    keep=st.frozensets(st.sampled_from(["fact", "allergy"])),
    keep_sources=st.frozensets(st.sampled_from(["manual", "lean"])),
)
SEVERITY = {None: 0, "restore": 0, "downweight": 1, "archive": 2}


def item(**given: Any) -> Item:
    return Item(
        **{"id": "i", "kind": "l1", "content": "x", "entry_id": "e", "recorded_at": NOW, "updated_at": NOW, **given}
    )


def act(one: Item | RetentionFields, kept: float, rule: Rule = RULE, at: datetime = NOW, **given: Any) -> str | None:
    done = next_action(one, kept, rule, at, **given)
    return None if done is None else done[0]


def put_away() -> Item:
    return item().with_fields(fields_of("archive", RetentionFigures(age_days=500).to_data(0.1), NOW))


@given(FIGURES, RULES, st.floats(0, 1e4), st.integers(0, 100))
def test_what_is_done_is_no_milder_with_age_and_no_harder_with_use(
    figures: RetentionFigures, rule: Rule, older: float, uses: int
) -> None:
    def severity(one: RetentionFigures) -> int:
        return SEVERITY[act(item(), retention(one, rule.half_life_days), rule)]

    assert severity(replace(figures, age_days=figures.age_days + older)) >= severity(figures)
    assert severity(replace(figures, uses=figures.uses + uses)) <= severity(figures)


@given(FIGURES, RULES)
def test_nothing_unopposed_is_moved_before_it_is_old_enough(figures: RetentionFigures, rule: Rule) -> None:
    young = replace(figures, age_days=min(figures.age_days, rule.youngest_days * 0.999), usual=rule.usual, counter=0.0)
    assert act(item(), retention(young, rule.half_life_days), rule) is None


def test_what_is_retained_badly_is_downweighted_then_archived_then_deleted() -> None:
    live = item()
    assert [act(live, kept) for kept in (0.9, 0.5, 0.4, 0.25, 0.1)] == [
        None,
        None,
        "downweight",
        "downweight",
        "archive",
    ]
    assert [act(live, kept, PLAIN) for kept in (0.9, 0.4, 0.25, 0.1)] == [None, None, None, "archive"]
    archived = put_away()
    assert (archived.status, archived.data["weight"], archived.data["forgetting"]["action"]) == (
        "archived",
        0.5,
        "archive",
    )
    assert "weight" not in item().with_fields(fields_of("archive", {}, NOW, weighed=False)).data
    assert next_action(archived, 0.0, RULE, NOW + timedelta(days=364)) is None
    assert next_action(archived, 0.0, RULE, NOW + timedelta(days=365)) == ("delete", "archived")
    deleted = archived.with_fields({**fields_of("delete", {}, NOW), "ended": "retired"})
    assert deleted.data["forgetting"]["action"] == "delete"
    assert [is_forgotten(one) for one in (None, live, archived, deleted)] == [False, False, True, True]
