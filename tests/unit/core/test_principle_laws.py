"""The laws of principles: what supports and contradicts one, how sure it is, and when it is said anew (EMB-10)."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.experience.laws import clustering, topics
from phronesis.experience.laws.evidence_fold import STANDINGS
from phronesis.experience.laws.principle_text import say, word
from phronesis.experience.laws.records import L1Event
from phronesis.experience.laws.topics import (
    FAILURE,
    REFINED,
    SUCCESS,
    PatternInput,
    PrincipleDraft,
    PrincipleThresholds,
    Slot,
    confidence_of,
    cost_of,
    denies,
    draw,
    evidence_counts,
    group_topics,
    risk_of,
)

DENIAL_ANOTHER_ACTION: list[tuple[str, bool]] = [
    ("did not pin it", True),
    ("didn't pin it", True),
    ("没有先锁定", True),
    ("pinned it", False),
    ("先锁定", False),
]


TEXT_COUNTS_INDEPENDENT: list[tuple[list[str], bool, str]] = [
    ([f"https://blog.example/{n}" for n in range(12)], False, "12 of 12 attempts worked (1 source: "),
    (["https://a.example/1", "https://B.example/1", "https://b.example/2"], False, "(2 independent sources: "),
    ([f"https://blog.example/{n}" for n in range(3)], True, "3/3 次尝试成功（1 个来源："),
    (["https://a.example/1", "https://b.example/1"], True, "（2 个独立来源："),
]


AT = datetime(2026, 1, 1, tzinfo=UTC)


def event(name: str, label: str = SUCCESS, **more: Any) -> L1Event:
    given = {"attempt": f"tried {name}", "source_ref": f"log:{name}", **more}
    return L1Event(id=name, kind="l1", content=name, entry_id="e", recorded_at=AT, updated_at=AT, label=label, **given)


def pattern(name: str, outcome: str = SUCCESS, size: int = 3, **more: Any) -> PatternInput:
    own = more.pop("own", {})
    events = more.pop("events", [event(f"{name}{n}", outcome, **own) for n in range(size)])
    return PatternInput(id=name, outcome=outcome, events=events, summary=f"tried {name}", **more)


def terms(text: str) -> list[str]:
    return text.lower().split()


def again(one: PatternInput, other: PatternInput, alike: float = 1.0) -> dict[tuple[str, str], float]:
    """All events of one did what those of the other did."""
    return {(held.id, other.id): alike for held in one.events}


def row(polarity: Any, weight: float) -> EvidenceRow:
    return EvidenceRow(
        item_id="p", polarity=polarity, source_key=f"{polarity}{weight}", entry_id="e", recorded_at=AT, weight=weight
    )


# --- who supports and who contradicts --------------------------------------------------------------------------------


def test_what_worked_leads_and_what_failed_is_to_be_avoided() -> None:
    good, bad, lesser = pattern("good", size=2), pattern("bad", FAILURE, size=4), pattern("lesser", size=1)
    [one] = draw([bad, lesser, pattern("odd", "unknown"), good], {}, terms)
    assert [each.id for each in one.support] == ["good", "lesser", "bad"]
    assert (one.lead, one.avoided, one.against) == (good, [bad], [])
    assert one.confidence == round(7 / 8, 4)


def test_the_side_with_fewer_sources_contradicts() -> None:
    good, bad = pattern("good", size=4), pattern("bad", FAILURE, size=2)
    [one] = draw([good, bad], again(bad, good), terms)
    assert (one.support, one.against) == ([good], [bad])
    assert one.confidence == round(4 / 7, 4)
    more = pattern("bad", FAILURE, size=6)
    [turned] = draw([good, more], again(good, more), terms)
    assert (turned.support, turned.against, turned.lead) == ([more], [good], more)
    even = pattern("bad", FAILURE, size=4)
    [tied] = draw([good, even], again(even, good), terms)
    assert tied.lead == good
    assert tied.confidence < 0.5


def test_a_slot_makes_a_narrower_principle() -> None:
    good = pattern("good", size=6, own={"situation": "a build"})
    bad = pattern("bad", FAILURE, size=2, own={"situation": "a build on arm64"})
    broad, narrow = draw([good, bad], again(bad, good), terms)
    assert (narrow.slot, narrow.refines, narrow.support) == (Slot("situation", "arm64"), 0, [bad])
    assert broad.slots == {"bad": Slot("situation", "arm64")}
    assert broad.weights["bad"] == 2 * REFINED
    assert broad.confidence == confidence_of(6, 0.5)


# --- confidence ------------------------------------------------------------------------------------------------------

masses = st.floats(0, 1e6)


@given(masses, masses, masses)
def test_confidence_rises_with_support_and_falls_with_contradiction(support: float, contra: float, more: float) -> None:
    found = confidence_of(support, contra)
    assert 0 <= found <= 1
    assert confidence_of(support + more, contra) >= found
    assert confidence_of(support, contra + more) <= found
    assert confidence_of(0, contra) == 0


@given(st.lists(st.tuples(st.sampled_from(["support", "contra", "useful", "source"]), st.floats(-1, 50)), max_size=8))
def test_the_fold_counts_what_supports_and_contradicts_in_any_order(told: Sequence[tuple[str, float]]) -> None:
    rows = [row(polarity, weight) for polarity, weight in told]
    item = Item(id="p", kind="principle", content="", entry_id="e", recorded_at=AT, updated_at=AT)
    support = sum(max(0.0, weight) for polarity, weight in told if polarity == "support")
    contra = sum(max(0.0, weight) for polarity, weight in told if polarity == "contra")
    fold = STANDINGS["principle"]
    assert fold(item, rows).confidence == pytest.approx(confidence_of(support, contra), abs=1e-4)
    assert fold(item, rows[::-1]).confidence == pytest.approx(fold(item, rows).confidence, abs=1e-4)


# --- when there is one, and when it is said anew ---------------------------------------------------------------------


def test_it_takes_several_patterns_or_a_strong_one() -> None:
    worth = PrincipleThresholds(min_members=3, min_patterns=2)
    small = pattern("small", size=2)
    assert not worth.lets_begin(PrincipleDraft(support=[small]))
    assert worth.lets_begin(PrincipleDraft(support=[small]), refines=True)
    assert worth.lets_begin(PrincipleDraft(support=[small, pattern("other", size=2)]))
    assert worth.lets_begin(PrincipleDraft(support=[pattern("strong")]))
    assert not worth.lets_begin(PrincipleDraft(support=[pattern("strong")], against=[pattern("bad", FAILURE)]))


# --- cost and risk ---------------------------------------------------------------------------------------------------


def test_risk_is_that_of_the_action() -> None:
    support = [pattern("good", size=4), pattern("other", FAILURE)]
    drawn = PrincipleDraft(support=support, against=[pattern("bad", FAILURE, size=2)], counter=[event("x", FAILURE)])
    assert {name: risk_of(drawn)[name] for name in ("successes", "trials")} == {"successes": 3, "trials": 7}
    avoided = PrincipleDraft(
        support=[pattern("bad", FAILURE, events=[event("a", FAILURE), event("b", "unknown")])],
        counter=[event("x"), event("y")],
    )
    assert {name: risk_of(avoided)[name] for name in ("successes", "trials")} == {"successes": 1, "trials": 3}


def test_cost_is_the_median_of_what_is_known() -> None:
    events = [
        event("a", observations={"seconds": 1}, episode_id="e1", seq=4),
        event("b", observations={"seconds": 5}),
        event("c", episode_id="e2"),
        event("d", episode_id="e2"),
        event("e", observations={"seconds": 9}),
    ]
    found = cost_of(PrincipleDraft(support=[pattern("good", events=events)], against=[pattern("bad", FAILURE)]))
    assert (found.seconds, found.timed, found.attempts, found.episodes) == (5.0, 3, 3.0, 2)
    nothing = cost_of(PrincipleDraft(support=[pattern("good")]))
    assert (nothing.seconds, nothing.attempts) == (None, None)


# --- topics ----------------------------------------------------------------------------------------------------------


def test_topics_are_by_average_link() -> None:
    alike = np.zeros((4, 4), np.float32)
    alike[0, 1] = alike[1, 0] = alike[1, 2] = alike[2, 1] = 1.2
    alike[0, 2] = alike[2, 0] = 0.1
    assert group_topics(alike) == [[0, 1], [2], [3]]
    assert group_topics(np.zeros((0, 0), np.float32)) == []


# --- words -----------------------------------------------------------------------------------------------------------


def test_standing_counts_each_event_once() -> None:
    good = pattern("good")
    both = pattern("both", events=[*good.events[:1], event("bad", FAILURE, source_ref=None)])
    drawn = PrincipleDraft(
        support=[good, both], against=[pattern("no", FAILURE, size=2)], counter=[event("x", FAILURE)]
    )
    assert evidence_counts(drawn) == {
        "patterns": 2,
        "events": 4,
        "successes": 3,
        "failures": 1,
        "sources": 1,
        "contra": 3,
    }


def test_a_topic_too_large_to_compare_is_narrowed_or_taken_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (clustering, topics):
        monkeypatch.setattr(module, "MAX_COMPARED", 3)
    near = np.full((6, 6), 0.65, np.float32)
    near[:3, :3] = near[3:, 3:] = 1.5
    assert group_topics(near) == [[0, 1, 2], [3, 4, 5]]
    assert group_topics(np.full((5, 5), 9.0, np.float32)) == [[0, 1, 2, 3, 4]]


def test_loose_events_contradict_when_they_did_the_same() -> None:
    bad, other, odd = event("bad", FAILURE), event("other", FAILURE), event("odd", "unknown")
    held = pattern("held", FAILURE, size=1)
    counter = [bad, other, odd, event("fine"), *held.events]
    good = pattern("good", counter=counter)
    did = {(one.id, "good"): 1.0 for one in (bad, odd, event("fine"), *held.events)}
    drawn = draw([good, held, pattern("far", FAILURE)], {**did, ("other", "good"): 0.6}, terms)
    assert drawn[0].counter == [bad]
    assert drawn[0].weights["bad"] == 1.0


def test_a_denial_is_another_action() -> None:
    for attempt, denied in DENIAL_ANOTHER_ACTION:
        assert denies(attempt) == denied, attempt


def test_the_text_counts_independent_sources_and_no_references() -> None:
    for refs, chinese, told in TEXT_COUNTS_INDEPENDENT:
        attempt = "固定编译器版本" if chinese else "pinned the compiler"
        events = [event(f"e{n}", attempt=attempt, source_ref=ref) for n, ref in enumerate(refs)]
        drawn = PrincipleDraft(support=[replace(pattern("good", events=events), summary=attempt)])
        assert told in say(drawn, word(drawn)).because, refs
        assert evidence_counts(drawn)["sources"] == len({ref.split("/")[2].lower() for ref in refs}), refs
