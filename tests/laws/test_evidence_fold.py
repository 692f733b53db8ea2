"""Judgements and evidence: the latest of each actor counts, people outweigh machines, and every sum is a share."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.experience.laws.evidence_fold import (
    STANDINGS,
    FeedbackWeights,
    confidence_after_feedback,
    members_of,
    origin_of,
    sides,
    success_rate,
    sum_judgements,
    support_ratio,
    usefulness,
)
from phronesis.experience.laws.neighbour_graph import ImpliedPairs, link_events, separate_parts

START = datetime(2026, 1, 1, tzinfo=UTC)


def row(polarity: Any, source: str = "a", *, at: int = 0, **given: Any) -> EvidenceRow:
    made = {"item_id": "t", "entry_id": "e", "origin": "model", **given}
    return EvidenceRow(polarity=polarity, source_key=source, recorded_at=START + timedelta(days=at), **made)


def folded(kind: str, *rows: EvidenceRow, **given: Any) -> Item:
    made = {"content": "x", "entry_id": "e", "recorded_at": START, "updated_at": START, **given}
    return STANDINGS[kind](Item(id="t", kind=kind, **made), rows)


def test_without_a_trial_there_is_no_rate() -> None:
    wilson = success_rate(8, 10)
    assert (wilson["rate"], round(wilson["low"], 4), round(wilson["high"], 4)) == (0.8, 0.4902, 0.9433)
    assert success_rate(0, 0) == {"rate": None, "low": 0.0, "high": 1.0, "successes": 0, "trials": 0}


@given(st.integers(0, 50), st.integers(1, 50))
def test_the_interval_holds_the_rate(successes: int, failures: int) -> None:
    found = success_rate(successes, successes + failures)
    assert 0.0 <= found["low"] <= found["rate"] <= found["high"] <= 1.0


def test_evidence_and_judgements_give_exact_confidences() -> None:
    assert support_ratio(0, 0) == 0.0
    assert support_ratio(3, 0) == 0.75
    assert support_ratio(1, 2) == 0.25
    assert confidence_after_feedback(0.5, FeedbackWeights(correct=2.0)) == 0.75
    assert confidence_after_feedback(0.5, FeedbackWeights(incorrect=3.0)) == 0.2
    assert usefulness(FeedbackWeights()) == 0.5
    assert usefulness(FeedbackWeights(useful=3.0)) == 0.8
    assert usefulness(FeedbackWeights(not_useful=2.0)) == 0.25


def test_of_an_actor_on_one_matter_the_latest_counts_and_a_person_counts_three_times() -> None:
    rows = [
        row("incorrect", at=2, origin="human"),
        row("correct", at=1, origin="human"),
        row("useful", at=1),
        row("not_useful", "b", at=1),
        row("support", "c"),
    ]
    assert sum_judgements(rows) == FeedbackWeights(useful=1.0, not_useful=1.0, incorrect=3.0)
    assert sum_judgements([]) == FeedbackWeights()
    assert sum_judgements(rows).doubted
    assert not FeedbackWeights(correct=1.0, incorrect=1.0).doubted
    assert FeedbackWeights(incorrect=2.0).credence == 0.5
    assert FeedbackWeights().to_data() is None
    assert sum_judgements(rows).to_data() == {"useful": 1.0, "not_useful": 1.0, "incorrect": 3.0}
    told = sum_judgements(
        [row("label", at=1, grade="failure"), row("label", "anna", at=2, grade="success", origin="human")]
    )
    assert (told.label, told.by, told.human) == ("success", "anna", True)
    assert not sum_judgements([row("label", grade="failure")]).human


def test_merging_and_parting_keep_the_pairs_consistent() -> None:
    linked = link_events(["c", "a", "b"], ImpliedPairs(apart=frozenset({("a", "c"), ("a", "z")})))
    assert linked == ImpliedPairs(frozenset({("a", "b"), ("b", "c")}), frozenset({("a", "z")}))
    assert linked.ids == {"a", "b", "c", "z"}
    assert separate_parts([["a"], ["c", "d"]], ImpliedPairs(frozenset({("a", "b"), ("b", "c")}))) == ImpliedPairs(
        frozenset({("b", "c"), ("c", "d")}), frozenset({("a", "c")})
    )
    even = separate_parts([["a"], ["c"]], ImpliedPairs(frozenset({("a", "b"), ("b", "c")})))
    assert even == ImpliedPairs(frozenset({("a", "b")}), frozenset({("a", "c")}))
    whole = separate_parts([["b"], ["a"]], ImpliedPairs(frozenset({("a", "b"), ("x", "y")})))
    assert whole == ImpliedPairs(frozenset({("x", "y")}), frozenset({("a", "b")}))
    joined = separate_parts([["a", "b"], ["c"]], ImpliedPairs(frozenset({("x", "y"), ("y", "a")})))
    assert joined.together == {("x", "y"), ("y", "a"), ("a", "b")}


def test_the_label_of_an_event_is_as_decided_until_somebody_says_otherwise() -> None:
    decided = {"decided": {"label": "failure", "signals": ["exit code 1"], "confidence": 0.95}}
    kept = folded("l1", data=decided, label="success", confidence=0.1)
    assert (kept.label, kept.confidence, kept.data["signals"]) == ("failure", 0.95, ["exit code 1"])
    first = folded("l1", data={}, label="success", confidence=0.8)
    assert (first.label, first.confidence, first.data.get("signals")) == ("success", 0.8, None)
    person = folded("l1", row("label", "anna", grade="success", origin="human"), data=decided)
    assert (person.label, person.confidence, person.data["signals"]) == ("success", 1.0, ["said by anna"])
    machine = folded("l1", row("label", "bot", grade="success"), row("useful", part="x"), data=decided)
    assert (machine.confidence, machine.data.get("usefulness")) == (0.9, None)
    useful = folded("l1", row("useful", "anna", origin="human"), data=decided)
    assert useful.data["usefulness"] == 0.8
    assert useful.data["feedback"] == {"useful": 3.0}
    useless = folded("l1", row("not_useful", "bot"), data=decided)
    assert useless.data["usefulness"] == pytest.approx(1 / 3, abs=1e-6)


def test_members_and_counterexamples_change_sides_with_their_label() -> None:
    rows = [
        row("support", "a", grade="success", weight=0.5),
        row("support", "b", grade="success", weight=1.5),
        row("contra", "c", grade="failure", weight=0.25, source_ref="log:3"),
        row("contra", "d", grade="failure"),
        row("support", "e", grade="success"),
        row("support", "f", grade=None, weight=0.1),
        row("support", "part of it", part="claim"),
        row("label", "anna", part="d", grade="success", origin="human"),
        row("label", "anna", part="e", grade="unknown", origin="human"),
    ]
    found = folded("pattern", *rows, label="success")
    assert members_of(found, rows) == [("b", 1.0), ("a", 0.5), ("f", 0.1)]
    assert found.data["counterexamples"] == [{"id": "c", "source_ref": "log:3", "weight": 0.25}]
    assert found.confidence == pytest.approx(1.6 / 2.85, abs=1e-6)
    assert (found.data["success_rate"]["successes"], found.data["success_rate"]["trials"]) == (2, 3)
    doubted = [*rows, row("incorrect", "anna", part="b", origin="human")]
    assert folded("pattern", *doubted, label="success").data["success_rate"]["trials"] == 2
    assert members_of(found, doubted)[0] == ("a", 0.5)
    failing = [row("support", "a", grade="success"), row("support", "b", grade="unknown")]
    assert [one.id for one in sides("failure", failing).members] == ["b"]
    assert [one.id for one in sides("failure", failing).counter] == ["a"]


def principle(*rows: EvidenceRow, **data: Any) -> Item:
    return folded("principle", row("support", "p"), *rows, data=data)


def about(polarity: Any, actor: str = "anna", **given: Any) -> EvidenceRow:
    return row(polarity, actor, at=1, **{"part": "p", "source_item_id": "p", "origin": "human", **given})


def test_a_principle_loses_what_its_patterns_lose() -> None:
    assert principle().confidence == 0.5
    assert folded("principle", row("support", "p", weight=-1.0)).confidence == 0.0
    # A credence of 2 / (2 + 3) is left of the pattern.
    assert principle(about("incorrect")).confidence == pytest.approx(0.4 / 1.4, abs=1e-6)
    assert principle(about("label", grade="contra")).confidence == 0.0
    # An event that is half of the pattern is doubted by three fifths.
    half = about("incorrect", source_item_id="event", weight=0.5)
    assert principle(half).confidence == pytest.approx(0.7 / 1.7, abs=1e-6)
    earlier = row("incorrect", "anna", at=0, part="p", source_item_id="p", origin="human")
    assert principle(earlier).confidence == 0.5
    gone = about("label", source_item_id="event", weight=5.0, grade="contra")
    assert principle(gone).confidence == 0.0
    against = row("contra", "q", weight=2.0)
    assert principle(against).confidence == 0.25


def test_a_person_confirms_a_principle_of_a_single_machine() -> None:
    person = row("correct", "anna", at=1, origin="human")
    assert principle(person, unconfirmed=True).data["confirmed"] is True
    assert principle(person).data.get("confirmed") is None
    assert principle(row("correct", at=1), unconfirmed=True).data.get("confirmed") is None
    withdrawn = row("incorrect", "anna", at=2, origin="human")
    assert principle(person, withdrawn, unconfirmed=True).data.get("confirmed") is None
    assert principle(row("useful", "anna", at=1, origin="human"), unconfirmed=True).data.get("confirmed") is None


@given(
    base=st.floats(0, 1),
    said=st.tuples(st.floats(0, 1e6, allow_nan=False), st.floats(0, 1e6, allow_nan=False)),
    more=st.floats(0.1, 1e3),
)
def test_a_judged_confidence_stays_in_range_and_moves_the_way_it_is_pushed(
    base: float, said: tuple[float, float], more: float
) -> None:
    correct, incorrect = said
    now = confidence_after_feedback(base, FeedbackWeights(correct=correct, incorrect=incorrect))
    assert 0.0 <= now <= 1.0 + 1e-12
    assert confidence_after_feedback(base, FeedbackWeights(correct=correct + more, incorrect=incorrect)) >= now - 1e-12
    assert confidence_after_feedback(base, FeedbackWeights(correct=correct, incorrect=incorrect + more)) <= now + 1e-12
    assert confidence_after_feedback(base, FeedbackWeights()) == base


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
