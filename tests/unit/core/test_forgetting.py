"""The law of forgetting: what retention follows from, and what is done about it."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.items import Item
from phronesis.forgetting.laws import (
    FORGETTABLE,
    Law,
    RetentionFields,
    RetentionFigures,
    Rule,
    fields_of,
    is_expired,
    is_forgotten,
    last_moment,
    next_action,
    protection,
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


@given(FIGURES, st.floats(0.1, 1e4))
def test_retention_is_in_range_and_moves_one_way_with_each_figure(figures: RetentionFigures, half_life: float) -> None:
    kept = retention(figures, half_life)
    assert 0.0 <= kept <= 1.0
    assert retention(replace(figures, age_days=figures.age_days + 1), half_life) <= kept
    assert retention(replace(figures, uses=figures.uses + 1), half_life) >= kept
    assert retention(replace(figures, usefulness=1.0), half_life) >= kept
    assert retention(replace(figures, counter=1.0), half_life) == 0.0
    assert retention(replace(figures, human=True), half_life) >= kept
    assert retention(replace(figures, importance=figures.importance + 1), half_life) >= kept


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


def test_half_is_left_after_a_half_life_and_importance_use_and_who_said_it_change_that() -> None:
    assert retention(RetentionFigures(age_days=180), 180) == 0.5
    assert retention(RetentionFigures(age_days=90, human=False), 180) == 0.5
    assert retention(RetentionFigures(age_days=360, uses=1), 180) == 0.5
    assert retention(RetentionFigures(age_days=360, importance=7), 180) == 0.5
    assert retention(RetentionFigures(age_days=90, importance=1, usual=3), 180) == 0.5
    assert retention(RetentionFigures(age_days=-3), 180) == 1.0


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


@given(kept=st.floats(0, 1))
def test_after_an_action_nothing_is_left_to_do_at_once(kept: float) -> None:
    done = act(item(), kept)
    if done is not None:
        after = item().with_fields(fields_of(done, {}, NOW))  # type: ignore[arg-type]
        assert act(after, kept) is None
    downweighted = item().with_fields(fields_of("downweight", {}, NOW))
    wanted = "archive" if kept < RULE.archive_below else None if kept < RULE.downweight_below else "restore"
    assert act(downweighted, kept) == wanted


def test_what_was_to_be_done_is_archived_when_its_time_is_over() -> None:
    over = item(kind="task", valid_to=NOW)
    days = timedelta(days=1)
    assert [is_expired(over, PLAIN, None, NOW + n * days) for n in (-1, 0, 29, 30)] == [False, False, False, True]
    assert not is_expired(over, PLAIN, NOW + 5 * days, NOW + 34 * days)
    assert is_expired(over, PLAIN, NOW + 5 * days, NOW + 35 * days)
    late = NOW + 999 * days
    assert not is_expired(over, RULE, None, late)
    assert not is_expired(item(kind="task"), PLAIN, None, late)
    assert not is_expired(item(kind="fact", valid_to=NOW), PLAIN, None, late)
    assert next_action(over, 1.0, PLAIN, late, expired=True) == ("archive", "expired")


def test_what_lies_ahead_does_not_age() -> None:
    later = NOW + timedelta(days=90)
    said = later.isoformat()
    assert last_moment(item(kind="event", occurred_at=later), None) == later
    assert last_moment(item(kind="fact", valid_from=later), None) == later
    assert last_moment(item(kind="task", data={"due": said}), None) == later
    assert last_moment(item(kind="intention", valid_to=later), None) == later
    assert last_moment(item(kind="fact", data={"due": said}, valid_to=later), None) == NOW
    assert last_moment(item(), later) == later
    assert last_moment(item(occurred_at=NOW - timedelta(days=900)), None) == NOW


@given(st.dictionaries(st.sampled_from(FORGETTABLE), RULES), st.integers(1, 9))
def test_the_law_goes_through_a_payload(rules: dict[str, Rule], most: int) -> None:
    law = Law(rules=rules, most=most)
    assert Law.of(law.to_payload()) == law


def test_what_keeps_an_item_is_said() -> None:
    rule = Rule(
        keep_importance=9, keep=frozenset({"profile", "allergy", "favorite.*"}), keep_sources=frozenset({"manual"})
    )
    told = [
        (item(pinned=True), "pinned"),
        (item(importance=9), "importance 9"),
        (item(kind="profile"), "the policy keeps profile"),
        (item(kind="fact", key="allergy"), "the policy keeps allergy"),
        (item(kind="fact", key="favorite.tea"), "the policy keeps favorite.*"),
        (item(source_type="manual"), "the policy keeps what is from manual"),
        (item(kind="fact", key="favorites", importance=8), None),
    ]
    assert [protection(one, rule) for one, _ in told] == [words for _, words in told]
    assert protection(item(importance=10), Rule()) is None
