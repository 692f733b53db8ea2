"""A trait's strength: the creating cycle does not count, decay is by elapsed time, stages are capped (laws 3 and 4)."""

from collections.abc import Sequence
from datetime import timedelta
from math import exp
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.confidence import GRADE_SHARES, stage, stage_rank
from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.core.timestamps import isoformat, parse_moment
from phronesis.traits.laws.strength import (
    FIRST_CONFIDENCE,
    PROMOTED_CONFIDENCE,
    TRAITS_FOLD,
    NewMemories,
    ReflectionTrigger,
    Thresholds,
    confidence_at,
    due,
    stage_at,
    strength_of,
)
from unit.core.kept_lane import item_of, moment, piece


def trait(*rows: EvidenceRow, **data: Any) -> Item:
    """A trait found on day 0, with its evidence; the days are the cycles."""
    born = item_of("t", kind="trait", data={"subtype": "behavior", **data})
    return TRAITS_FOLD(born, rows)


def trend(*rows: EvidenceRow, days: int = 30) -> Item:
    """A trend found on day 0, with a window of so many days."""
    return trait(*rows, window={"start": isoformat(moment(0)), "end": isoformat(moment(days)), "days": days})


def day(n: int, source: str = "m", **fields: Any) -> EvidenceRow:
    return piece("t", source, at=n, **fields)


def against(n: int, source: str = "m", **fields: Any) -> EvidenceRow:
    return day(n, source, polarity="contra", **fields)


def at(found: Item, n: int) -> float:
    """The confidence on a day."""
    value = confidence_at(found, moment(n))
    assert value is not None
    return value


def kept(found: Item, name: str) -> Any:
    return found.data["strength"][name]


# --- what counts --------------------------------------------------------------------------------------------------


def test_the_creating_cycle_gives_the_first_confidence_and_no_more() -> None:
    found = trait(day(0, "a"), day(0, "b"), day(0, "c"), day(0, "d"))
    assert (found.confidence, found.stage) == (FIRST_CONFIDENCE, "candidate")
    assert found.data["strength"] == {
        "at": isoformat(moment(0)),
        "reinforcements": 0,
        "contradictions": 0,
        "last_reinforced": None,
        "cap": "candidate",
        "trend": False,
    }


@pytest.mark.parametrize(("grade", "share"), [("A", 0.25), ("B", 0.2), ("C", 0.15), ("D", 0.05), (None, 0.15)])
def test_a_later_cycle_reinforces_what_time_left(grade: str | None, share: float) -> None:
    found = trait(day(30, grade=grade))
    faded = 0.4 * exp(-0.005 * 30)
    assert found.confidence == pytest.approx(faded + (1 - faded) * share, abs=1e-9)
    assert kept(found, "last_reinforced") == isoformat(moment(30))


def test_what_one_cycle_finds_counts_once_by_the_best_of_its_grades() -> None:
    many = trait(day(5, "a", grade="D"), day(5, "b", grade="B"), day(5, "c", grade=None))
    assert kept(many, "reinforcements") == 1
    assert many.confidence == trait(day(5, grade="B")).confidence


def test_a_contradiction_weakens_and_other_evidence_does_neither() -> None:
    assert trait(day(0), against(10)).confidence == pytest.approx(0.8 * 0.4 * exp(-0.05), abs=1e-9)
    assert trait(day(10, polarity="useful")) == trait()


@pytest.mark.parametrize(("subtype", "rate"), [("behavior", 0.005), ("preference", 0.002), ("core", 0.001)])
def test_decay_is_by_subtype_and_slower_with_each_reinforcement(subtype: str, rate: float) -> None:
    begun = {"confidence": 0.7, "cap": "emerging"}
    fresh = trait(subtype=subtype, begun=begun)
    assert at(fresh, 100) == pytest.approx(0.7 * exp(-100 * rate), abs=1e-9)
    found = trait(day(5), subtype=subtype, begun=begun)
    assert at(found, 105) == pytest.approx(found.confidence * exp(-100 * rate / 1.1), abs=1e-9)


# --- stages -------------------------------------------------------------------------------------------------------


def test_the_stage_is_that_of_the_time_when_a_border_was_crossed() -> None:
    fresh = trait(day(1))
    assert fresh.stage == "emerging"
    assert stage_at(fresh, moment(1) + timedelta(days=150)) == "candidate"
    crossed = trait(day(1), decayed_to=isoformat(moment(151)))
    assert (crossed.stage, crossed.confidence) == ("candidate", fresh.confidence)
    assert trait(day(1), decayed_to=isoformat(moment(500))).stage == "dissolved"
    assert trait(day(1), day(160), decayed_to=isoformat(moment(151))).stage == "emerging"


# --- trends -------------------------------------------------------------------------------------------------------


def test_a_trend_has_no_confidence() -> None:
    found = trend(day(0, "a"), against(3, "b"))
    assert (found.confidence, found.stage, strength_of(found)) == (0.0, "trend", None)
    assert (confidence_at(found, moment(5)), stage_at(found, moment(5))) == (None, "trend")
    assert (kept(found, "contradictions"), kept(found, "trend")) == (1, True)


def test_two_later_cycles_within_the_window_make_a_candidate() -> None:
    once = trend(day(0, "a"), day(7, "b"))
    assert (once.stage, kept(once, "reinforcements")) == ("trend", 1)
    promoted = trend(day(0, "a"), day(7, "b"), day(14, "c"))
    assert (promoted.confidence, promoted.stage) == (PROMOTED_CONFIDENCE, "candidate")
    assert kept(promoted, "at") == isoformat(moment(14))
    reinforced = trend(day(7, "b"), day(14, "c"), day(21, "d"))
    assert (reinforced.stage, kept(reinforced, "reinforcements")) == ("emerging", 1)


# --- laws ---------------------------------------------------------------------------------------------------------

GRADES = st.sampled_from(["A", "B", "C", "D", None])
FOUND = st.tuples(st.integers(0, 400), st.sampled_from(["support", "support", "contra"]), GRADES)


def _rows(found: Sequence[tuple[int, str, str | None]]) -> list[EvidenceRow]:
    ordered = sorted(found, key=lambda one: one[0])
    return [day(n, f"m{place}", polarity=said, grade=grade) for place, (n, said, grade) in enumerate(ordered)]


ROWS = st.lists(FOUND, max_size=12).map(_rows)
SUPPORT = ROWS.map(lambda rows: [row for row in rows if row.polarity == "support"])


@given(ROWS, st.booleans())
def test_confidence_stays_in_range_and_the_stage_is_the_lower_of_confidence_and_cap(
    rows: list[EvidenceRow], of_late: bool
) -> None:
    make = trend if of_late else trait
    for n in range(len(rows) + 1):  # after every change
        found = make(*rows[:n])
        assert 0 <= found.confidence <= 1
        stored = strength_of(found)
        if stored is None:
            assert (found.stage, found.confidence) == ("trend", 0.0)
        else:
            assert found.stage == stage(stored.confidence, kept(found, "cap"))
    cycles = {row.entry_id for row in rows if row.polarity == "support" and row.entry_id != "e0"}
    within = {row.entry_id for row in rows if row.entry_id in cycles and row.recorded_at <= moment(30)}
    found = make(*rows)
    if not of_late:
        assert kept(found, "reinforcements") == len(cycles)
    elif len(within) >= 2:
        assert kept(found, "reinforcements") == len(cycles) - 2
    else:
        assert kept(found, "reinforcements") == len(within)


@given(ROWS, st.integers(0, 4000), st.integers(0, 4000))
def test_time_only_lowers_it(rows: list[EvidenceRow], days: int, more: int) -> None:
    found = trait(*rows)
    earlier, later = at(found, 400 + days), at(found, 400 + days + more)
    assert 0 <= later <= earlier <= found.confidence
    sooner, then = (stage_at(found, moment(400 + n)) for n in (days, days + more))
    assert stage_rank(then) <= stage_rank(sooner)  # type: ignore[arg-type]  # no trend, so one of the stages


@given(ROWS, GRADES)
def test_support_never_lowers_it_and_contradiction_never_raises_it(rows: list[EvidenceRow], grade: str | None) -> None:
    before = at(trait(*rows), 401)
    assert at(trait(*rows, day(401, "new", grade=grade)), 401) >= before - 1e-9
    one = at(trait(*rows, against(401, "new")), 401)
    assert at(trait(*rows, against(401, "new"), against(401, "more")), 401) <= one <= before


@given(SUPPORT, st.sampled_from(sorted(GRADE_SHARES)), st.sampled_from(sorted(GRADE_SHARES)))
def test_a_better_grade_is_never_worth_less(rows: list[EvidenceRow], one: str, other: str) -> None:
    by_share = sorted((one, other), key=lambda name: GRADE_SHARES[name])  # type: ignore[index]
    low, high = (trait(*rows, day(401, "new", grade=grade)).confidence for grade in by_share)
    assert low <= high


@given(ROWS, st.lists(st.integers(1, 29), max_size=30), st.randoms())
def test_looking_in_between_changes_nothing(rows: list[EvidenceRow], looks: list[int], random: Any) -> None:
    """Thirty daily cycles are one after thirty days: what is computed on the way is never stored."""
    found = trait(*rows)
    random.shuffle(looks)
    for n in looks:
        at(found, 400 + n)
        crossed = found.with_fields({"data.decayed_to": isoformat(moment(400 + n))})
        found = TRAITS_FOLD(crossed, rows)
    assert at(found, 430) == at(trait(*rows), 430)
    again = TRAITS_FOLD(found, [*rows, day(430, "new")])
    assert again.confidence == trait(*rows, day(430, "new")).confidence


@given(ROWS)
def test_folding_twice_is_folding_once(rows: list[EvidenceRow]) -> None:
    found = trait(*rows)
    assert TRAITS_FOLD(found, rows) == found
    assert parse_moment(kept(found, "at"), field="at") >= found.recorded_at


# When a reflection is due: the first reason that holds, in a fixed order (NM-01).


NOW = moment(10)
ORDER = ("force", "session_end", "first", "importance", "elapsed")


def asked(*, memories: int = 1, importance: int = 5, hours: float | None = 1.0, **said: bool) -> ReflectionTrigger:
    since = None if hours is None else NOW - timedelta(hours=hours)
    learned = NewMemories(memories=memories, importance=importance, since=since)
    return due(learned, NOW, Thresholds(), **said)


def test_why_it_is_due_or_not() -> None:
    cases: list[tuple[dict[str, Any], str, float | None]] = [
        ({}, "not_yet", None),
        ({"hours": None}, "first", None),
        ({"importance": 29}, "not_yet", None),
        ({"importance": 30}, "importance", 30.0),
        ({"hours": 24.0}, "elapsed", 24.0),
        ({"memories": 0, "importance": 0, "hours": 50.0}, "nothing_new", None),
        ({"memories": 0, "importance": 0, "hours": 50.0, "daily": True}, "elapsed", 50.0),
        ({"memories": 0, "importance": 0, "hours": None, "daily": True}, "nothing_new", None),
        ({"memories": 0, "importance": 0, "hours": None, "force": True}, "force", None),
    ]
    for given_, reason, value in cases:
        found = asked(**given_)
        assert (found.reason, found.value, bool(found)) == (reason, value, found.due), given_
        assert found.due == (reason in ORDER), given_
