"""What is said of what was learned, and where events, patterns and principles stand by it: laws."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.experience.laws.evidence_fold import STANDINGS, members_of, sides
from phronesis.experience.laws.feedback_weights import (
    FeedbackWeights,
    confidence_after_feedback,
    echoes,
    heard,
    origin_of,
)
from phronesis.experience.laws.records import L1, PATTERN, PRINCIPLE

START = datetime(2026, 1, 1, tzinfo=UTC)
WEIGHTS = st.floats(0, 1e6, allow_nan=False)
SHARES = st.floats(0, 1)


def item(kind: str, label: str | None = None, **given: Any) -> Item:
    made = {"content": "x", "entry_id": "e", "recorded_at": START, "updated_at": START, **given}
    return Item(id=kind, kind=kind, label=label, **made)


def row(polarity: Any, source: str, *, at: int = 1, on: str = "t", human: bool = False, **given: Any) -> EvidenceRow:
    origin: Any = "human" if human else "model"
    return EvidenceRow(
        item_id=on,
        polarity=polarity,
        source_key=source,
        entry_id=f"e{at}",
        origin=origin,
        recorded_at=START + timedelta(days=at),
        **given,
    )


def member(source: str, label: str | None = "failure", weight: float = 1.0, polarity: str = "support") -> EvidenceRow:
    return row(polarity, source, at=0, grade=label, weight=weight, source_item_id=source, source_ref=f"ref {source}")


def folded(one: Item, *rows: EvidenceRow) -> Item:
    return STANDINGS[one.kind](one, rows)


@given(base=SHARES, said=st.tuples(WEIGHTS, WEIGHTS), more=st.floats(0.1, 1e3))
def test_a_judged_confidence_stays_in_range_and_moves_the_way_it_is_pushed(
    base: float, said: tuple[float, float], more: float
) -> None:
    correct, incorrect = said
    now = confidence_after_feedback(base, FeedbackWeights(correct=correct, incorrect=incorrect))
    assert 0.0 <= now <= 1.0 + 1e-12
    assert confidence_after_feedback(base, FeedbackWeights(correct=correct + more, incorrect=incorrect)) >= now - 1e-12
    assert confidence_after_feedback(base, FeedbackWeights(correct=correct, incorrect=incorrect + more)) <= now + 1e-12
    assert confidence_after_feedback(base, FeedbackWeights()) == base


@given(st.permutations([row("useful", "a", at=1), row("not_useful", "a", at=2), row("useful", "b", at=3, human=True)]))
def test_an_actor_has_one_voice_the_latest_whatever_the_order_of_the_rows(rows: list[EvidenceRow]) -> None:
    voices = heard(rows)
    assert (voices.useful, voices.not_useful) == (3.0, 1.0)
    assert voices.to_data() == {"useful": 3.0, "not_useful": 1.0}


def test_a_person_outweighs_two_agents_and_evidence_is_no_voice() -> None:
    rows = [
        row("correct", "agent"),
        row("correct", "agent-2"),
        row("incorrect", "alice", human=True),
        row("support", "x"),
    ]
    voices = heard(rows)
    assert (voices.correct, voices.incorrect, voices.doubted, voices.label) == (2.0, 3.0, True, None)
    assert FeedbackWeights().to_data() is None


def test_who_is_a_machine_says_so_in_the_first_word() -> None:
    cases: list[tuple[str, str]] = [
        ("agent", "model"),
        ("worker", "model"),
        ("alice", "human"),
        ("agentha", "human"),
        ("小明", "human"),
    ]
    for actor, origin in cases:
        assert origin_of(actor) == origin, actor


# --- events ----------------------------------------------------------------------------------------------------------


def event(label: str = "failure", confidence: float = 0.8, signals: tuple[str, ...] = ("exit code 1",)) -> Item:
    decided = {"label": label, "signals": list(signals), "confidence": confidence}
    return item(L1, label, confidence=confidence, data={"decided": decided, "signals": list(signals)})


def test_a_label_that_somebody_gave_stands_for_the_machines_until_it_is_taken_back() -> None:
    said = folded(event(), row("label", "alice", grade="success", human=True))
    assert (said.label, said.confidence, said.data["signals"]) == ("success", 1.0, ["said by alice"])
    assert folded(said) == event()
    both = folded(event(), row("label", "alice", grade="success"), row("label", "agent", grade="unknown", at=2))
    assert (both.label, both.confidence) == ("unknown", 0.9)


# --- patterns --------------------------------------------------------------------------------------------------------

PATTERN_ROWS = (member("a"), member("b", weight=0.5), member("c", "success", 0.7, "contra"))


def test_a_pattern_counts_its_members_and_what_is_against_it() -> None:
    one = folded(item(PATTERN, "failure"), *PATTERN_ROWS)
    assert one.confidence == pytest.approx(1.5 / (1.5 + 0.7 + 1), abs=1e-6)
    rate = one.data["success_rate"]
    assert (rate["successes"], rate["trials"]) == (1, 3)
    assert one.data["counterexamples"] == [{"id": "c", "source_ref": "ref c", "weight": 0.7}]
    assert members_of(one, PATTERN_ROWS) == [("a", 1.0), ("b", 0.5)]


def test_a_member_with_another_label_changes_sides() -> None:
    cases: list[tuple[str, str, str, list[str], list[str]]] = [
        ("failure", "failure", "success", ["b"], ["a", "c"]),
        ("failure", "failure", "unknown", ["a", "b"], ["c"]),
        ("success", "success", "failure", ["b"], ["a", "c"]),
        ("success", "success", "unknown", ["b"], ["c"]),
    ]
    for outcome, label, now, members, counter in cases:
        other = "success" if outcome == "failure" else "failure"
        rows = [
            member("a", label),
            member("b", label, 0.5),
            member("c", other, 0.4, "contra"),
            row("label", "x", part="a", grade=now),
        ]
        found = sides(outcome, rows)
        assert ([one.id for one in found.members], [one.id for one in found.counter]) == (members, counter), outcome


# --- principles ------------------------------------------------------------------------------------------------------


def principle(*rows: EvidenceRow) -> float:
    return folded(item(PRINCIPLE), *rows).confidence


def test_a_principle_follows_its_patterns_and_what_is_said_of_them() -> None:
    rows = (member("p", weight=3.0), member("q", weight=1.0, polarity="contra"))
    assert principle(*rows) == pytest.approx(3 / 5)
    of_pattern = row("incorrect", "agent", part="p", source_item_id="p")
    assert principle(*rows, of_pattern) == pytest.approx(2 / 4)
    of_event = row("incorrect", "e:agent", part="p", source_item_id="e", weight=0.5)
    assert principle(*rows, of_event) == pytest.approx((3 * 5 / 6) / (3 * 5 / 6 + 2))
    moved = row("label", "e:agent", part="p", source_item_id="e", weight=0.5, grade="contra")
    assert principle(*rows, moved) == pytest.approx(1.5 / 3.5)
    assert principle(*rows, replace(moved, grade="support")) == principle(*rows)
    counted_since = replace(rows[0], recorded_at=START + timedelta(days=9))
    assert principle(counted_since, rows[1], moved) == principle(*rows)
    assert principle(*rows, row("correct", "alice", human=True)) > principle(*rows)


def test_a_pattern_hears_of_truth_and_labels_and_not_of_use() -> None:
    assert echoes(row("useful", "a"), "p") == echoes(row("support", "a"), "p") == []
    assert echoes(row("correct", "a", part="x"), "p") == []
    [echo] = echoes(row("incorrect", "a", on="event"), "p")
    assert (echo.item_id, echo.part, echo.source_item_id, echo.source_key) == ("p", "event", "event", "a")


def test_an_event_of_which_nobody_spoke_is_as_it_was_decided() -> None:
    assert folded(event()) == event()
    assert folded(item(L1, "success")).label == "success"  # one that does not say how it was decided
