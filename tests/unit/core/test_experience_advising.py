"""What is advised, excluded and said otherwise, of events, patterns and principles that were found."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from phronesis.experience.laws.answers import Reference
from phronesis.experience.laws.constraints import bans_of
from phronesis.experience.laws.recommendations import (
    RankedRecord,
    Recommendations,
    advise,
    opposed_events,
    outcome_conflicts,
    sides,
)
from phronesis.experience.laws.records import L1Event, Pattern, Principle
from phronesis.index.tokens import tokenize

AT = datetime(2025, 1, 1, tzinfo=UTC)


ITEM: dict[str, Any] = {"content": "", "entry_id": "e", "recorded_at": AT, "updated_at": AT}


def event(id_: str, attempt: str, label: str = "success", **more: Any) -> L1Event:
    return L1Event(id=id_, kind="l1", attempt=attempt, label=label, source_ref=f"ref/{id_}", **ITEM, **more)


def found(record: L1Event | Pattern | Principle, score: float = 1.0, **more: Any) -> RankedRecord:
    return RankedRecord(record=record, score=score, relevance=score, **more)


def told(*things: RankedRecord, constraints: Any = (), limit: int = 10) -> Recommendations:
    return advise(things, bans_of(constraints, tokenize)[0], tokenize, limit=limit)


def pattern(outcome: str, recommendation: str, members: tuple[str, ...] = ("a",)) -> Pattern:
    return Pattern(
        id=f"p-{outcome}",
        kind="pattern",
        outcome=outcome,
        label=outcome,
        summary="said of it",
        recommendation=recommendation,
        members=[(one, 1.0) for one in members],
        success_rate={"rate": 1.0},
        **ITEM,
    )


def test_events_by_their_outcome() -> None:
    worked = event("a", "Pinned it", result="green", reflection="pin early")
    again = event("b", "pinned  it", "failure", reflection="the lock was stale")
    advised = told(found(worked), found(again, 0.9), found(event("c", "who knows", "unknown"), 0.9))
    assert [(one.attempt, one.why, one.lesson) for one in advised.recommended] == [
        ("Pinned it", "green", "pin early"),
        ("the lock was stale", "learned from a failure: pinned it", ""),
    ]
    assert advised.recommended[0].success_rate["rate"] == 0.5
    assert [ref.id for ref in advised.recommended[0].evidence] == ["a", "b"]
    assert [one.attempt for one in advised.avoid] == ["pinned it"]


def test_a_pattern_speaks_for_its_events() -> None:
    refs = (Reference("a", "ref/a"),)
    good = found(pattern("success", "Do: pin it\nLesson: early"), 1.0, events=refs)
    advised = told(good, found(event("a", "pinned it"), 0.9))
    [one] = advised.recommended
    assert (one.attempt, one.lesson, one.patterns, one.evidence) == ("pin it", "early", ("p-success",), refs)
    bad = told(found(pattern("failure", "避免：重启\n教训：先看日志"), events=refs))
    assert [one.attempt for one in bad.avoid] == ["重启"]
    assert [(one.attempt, one.patterns) for one in bad.recommended] == [("先看日志", ("p-failure",))]
    assert told(found(pattern("unknown", "Open: try"))) == Recommendations()
    assert told(found(pattern("failure", "Avoid: rush"))).recommended == []
    assert told(found(pattern("success", ""))).recommended[0].attempt == "said of it"


def test_the_same_attempt_with_two_outcomes() -> None:
    good = event("a", "cleared the compiler cache", situation="the build fails")
    bad = event("b", "cleared the compiler cache", "failure", situation="the build fails")
    elsewhere = replace(bad, id="c", situation="a guitar is out of tune")
    other = event("d", "tuned the guitar strings", "failure", situation="the build fails")
    empty = event("e", "", "failure")
    pairs = opposed_events([good, bad, elsewhere, other, empty, event("f", "")], tokenize)
    assert [(one.id, two.id) for one, two in pairs] == [("a", "b")]
    conflicts = outcome_conflicts([*pairs, (good, elsewhere)])
    assert [[ref.id for ref in one.against] for one in conflicts] == [["b", "c"]]
    assert sides(conflicts) == {"a": ["b", "c"], "b": ["a"], "c": ["a"]}
    bare = opposed_events([event("a", "cleared the cache"), event("b", "cleared the cache", "failure")], tokenize)
    assert len(bare) == 1


def test_what_is_weak_or_said_already_is_left_out() -> None:
    advised = told(found(event("a", "one")), found(event("b", "One"), 0.8), found(event("c", "two"), 0.1))
    assert [one.attempt for one in advised.recommended] == ["one"]
    assert told() == Recommendations()
    assert told(found(event("a", "x"), 0.0)) == Recommendations()
    assert len(told(found(event("a", "x")), found(event("b", "y")), limit=1).recommended) == 1


def test_principles_advise_or_warn() -> None:
    wise = Principle(
        id="k",
        kind="principle",
        condition="it fails",
        action="pin",
        because="it worked",
        watch_out="stale locks",
        patterns=("p",),
        **ITEM,
    )
    [one] = told(found(wise, needs_validation=True)).recommended
    assert (one.attempt, one.why, one.lesson) == ("pin", "it fails it worked", "stale locks")
    assert (one.principles, one.needs_validation) == (("k",), True)
    warned = told(found(replace(wise, label="failure")))
    assert ([one.attempt for one in warned.avoid], warned.recommended) == (["pin"], [])
