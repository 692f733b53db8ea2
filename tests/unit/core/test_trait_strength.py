"""A trait's strength: the creating cycle does not count, decay is by elapsed time, stages are capped."""

from datetime import timedelta
from math import exp
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.instants import isoformat
from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.core.traits.strength import FIRST_CONFIDENCE, TRAITS_FOLD, stage_at, strength_of
from unit.core.kept_lane import item_of, moment, piece


def trait(*rows: EvidenceRow, **data: Any) -> Item:
    """A trait found on day 0, with its evidence; the days are the cycles."""
    born = item_of("t", kind="trait", data={"subtype": "behavior", **data})
    return TRAITS_FOLD(born, rows)


def day(n: int, source: str = "m", **fields: Any) -> EvidenceRow:
    return piece("t", source, at=n, **fields)


def test_the_creating_cycle_gives_the_first_confidence_and_no_more() -> None:
    found = trait(day(0, "a"), day(0, "b"), day(0, "c"), day(0, "d"))
    assert (found.confidence, found.stage) == (FIRST_CONFIDENCE, "candidate")
    assert found.data["strength"] == {"at": isoformat(moment(0)), "reinforcements": 0, "last_reinforced": None}


@pytest.mark.parametrize(("grade", "share"), [("A", 0.25), ("B", 0.2), ("C", 0.15), ("D", 0.05), (None, 0.15)])
def test_a_later_cycle_reinforces_what_time_left(grade: str | None, share: float) -> None:
    found = trait(day(30, grade=grade))
    faded = 0.4 * exp(-0.005 * 30)
    assert found.confidence == pytest.approx(faded + (1 - faded) * share, abs=1e-9)
    assert found.data["strength"]["last_reinforced"] == isoformat(moment(30))


def test_a_contradiction_weakens_and_other_evidence_does_neither() -> None:
    assert trait(day(0), day(10, polarity="contra")).confidence == pytest.approx(0.8 * 0.4 * exp(-0.05), abs=1e-9)
    assert trait(day(10, polarity="useful")) == trait()


def test_the_stage_is_that_of_the_time_when_a_border_was_crossed() -> None:
    fresh = trait(day(1))
    assert fresh.stage == "emerging"
    assert stage_at(fresh, moment(1) + timedelta(days=150)) == "candidate"
    crossed = trait(day(1), decayed_to=isoformat(moment(151)))
    assert (crossed.stage, crossed.confidence) == ("candidate", fresh.confidence)
    assert trait(day(1), decayed_to=isoformat(moment(500))).stage == "dissolved"
    assert trait(day(1), day(160), decayed_to=isoformat(moment(151))).stage == "emerging"


CYCLES = st.lists(st.integers(0, 400), max_size=12).map(
    lambda days: [day(n, f"m{place}") for place, n in enumerate(sorted(days))]
)


@given(CYCLES, st.integers(0, 4000))
def test_confidence_stays_in_range_and_time_only_lowers_it(rows: list[EvidenceRow], days: int) -> None:
    found = trait(*rows)
    later = strength_of(found).value_at(moment(400 + days))
    assert 0 <= later <= found.confidence <= 1
    assert found.data["strength"]["reinforcements"] == len([row for row in rows if row.entry_id != "e0"])


@given(CYCLES)
def test_more_support_never_lowers_it(rows: list[EvidenceRow]) -> None:
    assert trait(*rows, day(401)).confidence >= strength_of(trait(*rows)).value_at(moment(401)) - 1e-9
