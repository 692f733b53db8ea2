"""Forgetting: retention falls with time alone, thresholds decide, and what is protected stays."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.items import Item
from phronesis.forgetting.laws import (
    Law,
    RetentionFields,
    RetentionFigures,
    Rule,
    age_reference_time,
    explain_retention,
    fields_of,
    is_expired,
    is_forgotten,
    next_action,
    protection,
    retention,
    was_restored,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DAY = timedelta(days=1)


def item(**fields: Any) -> RetentionFields:
    return RetentionFields(**{"id": "i", "kind": "fact", "recorded_at": NOW, **fields})


def test_a_law_survives_the_log() -> None:
    law = Law(rules={"fact": Rule(keep=frozenset({"b", "a"}), usual=7)}, most=3)
    assert law.to_payload()["rules"]["fact"]["keep"] == ["a", "b"]
    assert Law.of(law.to_payload()) == law


@pytest.mark.parametrize(
    ("figures", "expected"),
    [
        (RetentionFigures(age_days=100), 0.5),
        (RetentionFigures(age_days=-5), 1.0),
        (RetentionFigures(age_days=200, uses=1), 0.5),
        (RetentionFigures(age_days=300, uses=3), 0.5),
        (RetentionFigures(age_days=50, usefulness=0.0), 0.5),
        (RetentionFigures(age_days=200, importance=7), 0.5),
        (RetentionFigures(age_days=50, importance=5, usual=7), 0.5),
        (RetentionFigures(age_days=50, human=False), 0.5),
        (RetentionFigures(age_days=100, counter=0.5), 0.25),
        (RetentionFigures(age_days=0, counter=1.0), 0.0),
    ],
)
def test_retention_halves_after_a_half_life_that_use_importance_and_trust_lengthen(
    figures: RetentionFigures, expected: float
) -> None:
    assert retention(figures, 100) == pytest.approx(expected)


@given(st.floats(0, 1000), st.floats(0, 1000))
def test_retention_depends_on_elapsed_time_only(first: float, second: float) -> None:
    both = retention(RetentionFigures(age_days=first), 90) * retention(RetentionFigures(age_days=second), 90)
    assert retention(RetentionFigures(age_days=first + second), 90) == pytest.approx(both)


def test_an_item_younger_than_the_youngest_days_cannot_fall_below_a_threshold() -> None:
    rule = Rule(half_life_days=80, downweight_below=0.5, archive_below=0.25)
    assert rule.youngest_days == pytest.approx(80 * 0.5 * 0.5 * 2**-2)
    weakest = RetentionFigures(age_days=rule.youngest_days, usefulness=0.0, human=False, importance=1)
    assert retention(weakest, 80) == pytest.approx(0.5)
    assert Rule(downweight_below=0, archive_below=0).youngest_days == float("inf")


def test_an_item_ages_from_its_latest_moment() -> None:
    later = NOW + DAY
    assert age_reference_time(item(), None) == NOW
    assert age_reference_time(item(occurred_at=NOW - DAY), None) == NOW
    assert age_reference_time(item(valid_from=later), None) == later
    assert age_reference_time(item(), later) == later
    assert age_reference_time(item(valid_to=later), None) == NOW
    assert age_reference_time(item(kind="task", valid_to=later), None) == later
    assert age_reference_time(item(kind="task", data={"due": "2026-01-03T00:00:00Z"}), None) == NOW + 2 * DAY


def test_an_intention_expires_on_the_day_and_not_before() -> None:
    rule = Rule(expired_after_days=2)
    task = item(kind="task", valid_to=NOW)
    assert is_expired(task, rule, None, NOW + 2 * DAY)
    assert not is_expired(task, rule, None, NOW + 2 * DAY - timedelta(seconds=1))
    assert not is_expired(task, rule, NOW + DAY, NOW + 2 * DAY)
    assert is_expired(task, rule, NOW - DAY, NOW + 2 * DAY)
    for other, law in ((item(valid_to=NOW), rule), (item(kind="task"), rule), (task, Rule())):
        assert is_expired(other, law, None, NOW + 900 * DAY) is False


@pytest.mark.parametrize(
    ("kept", "before", "action"),
    [
        (0.5, None, None),
        (0.49, None, ("downweight", None)),
        (0.49, "downweight", None),
        (0.25, None, ("downweight", None)),
        (0.24, None, ("archive", None)),
        (0.24, "downweight", ("archive", None)),
        (0.5, "downweight", ("restore", "of use again")),
        (0.1, "archive", ("restore", "brought back")),
    ],
)
def test_thresholds_decide_what_happens_to_an_active_item(kept: float, before: str | None, action: object) -> None:
    one = item(data={"forgetting": {"action": before}} if before else {})
    assert next_action(one, kept, Rule(), NOW) == action
    assert was_restored(one) is (before == "archive")


@pytest.mark.parametrize(
    ("figures", "action", "why"),
    [
        (RetentionFigures(age_days=900), "archive", "low use"),
        (RetentionFigures(age_days=900, uses=1), "archive", "decay"),
        (RetentionFigures(age_days=0, counter=1.0), "archive", "contradicted"),
        (RetentionFigures(age_days=100, counter=0.6), "downweight", "contradicted"),
        (RetentionFigures(age_days=101, counter=0.1), "downweight", "low use"),
        (RetentionFigures(age_days=101, counter=0.6), "archive", "contradicted"),
        (RetentionFigures(age_days=100), "downweight", "low use"),
    ],
)
def test_counter_evidence_is_the_reason_only_where_time_alone_would_not_have_done_it(
    figures: RetentionFigures, action: Any, why: str
) -> None:
    assert explain_retention(figures, Rule(half_life_days=100), action) == why


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"pinned": True, "importance": 9}, "pinned"),
        ({"importance": 8}, "importance 8"),
        ({"importance": 7, "key": "allergy.nuts"}, None),
        ({"key": "allergy"}, "the policy keeps allergy"),
        ({"kind": "decision"}, "the policy keeps decision"),
        ({"key": "favorite.food"}, "the policy keeps favorite.*"),
        ({"source_type": "import"}, "the policy keeps what is from import"),
    ],
)
def test_the_policy_protects_by_kind_key_importance_and_source(fields: dict[str, Any], reason: str | None) -> None:
    keep = frozenset({"allergy", "decision", "favorite.*"})
    assert protection(item(**fields), Rule(keep_importance=8, keep=keep, keep_sources=frozenset({"import"}))) == reason


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


def severity(figures: RetentionFigures, rule: Rule) -> int:
    action = next_action(item(), retention(figures, rule.half_life_days), rule, NOW)
    return SEVERITY[None if action is None else action[0]]


@given(FIGURES, RULES, st.floats(0, 1e4), st.integers(0, 100))
def test_what_is_done_is_no_milder_with_age_and_no_harder_with_use(
    figures: RetentionFigures, rule: Rule, older: float, uses: int
) -> None:
    assert severity(replace(figures, age_days=figures.age_days + older), rule) >= severity(figures, rule)
    assert severity(replace(figures, uses=figures.uses + uses), rule) <= severity(figures, rule)


@given(FIGURES, RULES)
def test_nothing_unopposed_is_moved_before_it_is_old_enough(figures: RetentionFigures, rule: Rule) -> None:
    young = replace(figures, age_days=min(figures.age_days, rule.youngest_days * 0.999), usual=rule.usual, counter=0.0)
    assert severity(young, rule) == 0


def test_what_was_archived_is_deleted_after_a_year_and_is_then_forgotten() -> None:
    live = Item(id="i", kind="l1", content="x", entry_id="e", recorded_at=NOW, updated_at=NOW)
    archived = live.with_fields(fields_of("archive", RetentionFigures(age_days=500).to_data(0.1), NOW))
    assert (archived.status, archived.data["weight"]) == ("archived", 0.5)
    assert archived.data["forgetting"]["action"] == "archive"
    assert "weight" not in live.with_fields(fields_of("archive", {}, NOW, weighed=False)).data
    assert next_action(archived, 0.0, Rule(), NOW + 364 * DAY) is None
    assert next_action(archived, 0.0, Rule(), NOW + 365 * DAY) == ("delete", "archived")
    deleted = archived.with_fields({**fields_of("delete", {}, NOW), "ended": "retired"})
    assert deleted.data["forgetting"]["action"] == "delete"
    assert [is_forgotten(one) for one in (None, live, archived, deleted)] == [False, False, True, True]
    plain = Rule(downweight_below=0.0)
    assert [next_action(live, kept, plain, NOW) for kept in (0.4, 0.25)] == [None, None]
    assert next_action(live, 0.1, plain, NOW) == ("archive", None)
