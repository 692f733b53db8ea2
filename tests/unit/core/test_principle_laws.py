"""The laws of principles: what supports and contradicts one, how sure it is, and when it is said anew (EMB-10)."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from phronesis.experience.laws.principle_text import say, word
from phronesis.experience.laws.topics import cost_of, evidence_counts
from phronesis.experience.laws.records import L1Event
from phronesis.experience.laws.topics import (
    FAILURE,
    REFINED,
    SUCCESS,
    PatternInput,
    PrincipleDraft,
    Slot,
    confidence_of,
    draw,
)

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


# --- who supports and who contradicts --------------------------------------------------------------------------------


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


# --- cost and risk ---------------------------------------------------------------------------------------------------


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


# --- words -----------------------------------------------------------------------------------------------------------


def test_loose_events_contradict_when_they_did_the_same() -> None:
    bad, other, odd = event("bad", FAILURE), event("other", FAILURE), event("odd", "unknown")
    held = pattern("held", FAILURE, size=1)
    counter = [bad, other, odd, event("fine"), *held.events]
    good = pattern("good", counter=counter)
    did = {(one.id, "good"): 1.0 for one in (bad, odd, event("fine"), *held.events)}
    drawn = draw([good, held, pattern("far", FAILURE)], {**did, ("other", "good"): 0.6}, terms)
    assert drawn[0].counter == [bad]
    assert drawn[0].weights["bad"] == 1.0


def test_the_text_counts_independent_sources_and_no_references() -> None:
    for refs, chinese, told in TEXT_COUNTS_INDEPENDENT:
        attempt = "固定编译器版本" if chinese else "pinned the compiler"
        events = [event(f"e{n}", attempt=attempt, source_ref=ref) for n, ref in enumerate(refs)]
        drawn = PrincipleDraft(support=[replace(pattern("good", events=events), summary=attempt)])
        assert told in say(drawn, word(drawn)).because, refs
        assert evidence_counts(drawn)["sources"] == len({ref.split("/")[2].lower() for ref in refs}), refs
