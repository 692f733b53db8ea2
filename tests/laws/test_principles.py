"""Patterns and principles: what supports them, what they cost, and the words that rules give them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from phronesis.experience.laws.constraints import is_chinese
from phronesis.experience.laws.principle_text import (
    Wording,
    describe,
    first_sentences,
    narrow_wording,
    render_principle,
    word_by_rules,
)
from phronesis.experience.laws.records import L1Event
from phronesis.experience.laws.topics import (
    PatternInput,
    PrincipleDraft,
    PrincipleThresholds,
    Slot,
    cost_of,
    distinguishing_slot,
    draw,
    evidence_counts,
    group_topics,
    independent_sources,
    is_confirmed,
    is_denial,
    is_material_change,
    references,
    risk_of,
    seconds_of,
)

AT = datetime(2026, 1, 1, tzinfo=UTC)


def event(name: str, label: str = "success", **given: Any) -> L1Event:
    made = {"attempt": f"try {name}", "source_ref": f"log:{name}", "content": name, "recorded_at": AT, **given}
    return L1Event(id=name, kind="l1", entry_id="e", updated_at=AT, label=label, **made)


def pattern(name: str, outcome: str = "success", size: int = 3, **given: Any) -> PatternInput:
    own = given.pop("own", {})
    events = given.pop("events", [event(f"{name}{n}", outcome, **own) for n in range(size)])
    return PatternInput(**{"id": name, "outcome": outcome, "events": events, "summary": f"sum {name}", **given})


def terms(text: str) -> list[str]:
    return text.casefold().split()


# When there is a principle, and how it changes.


@pytest.mark.parametrize(
    ("drawn", "begins"),
    [
        (PrincipleDraft(support=[pattern("a", size=3)]), True),
        (PrincipleDraft(support=[pattern("a", size=2)]), False),
        (PrincipleDraft(support=[pattern("a", size=2), pattern("b", size=1)]), True),
        (PrincipleDraft(support=[pattern("a", size=3)], counter=[event("x", "failure"), event("y", "failure")]), True),
        (PrincipleDraft(support=[pattern("a", size=3)], counter=[event(name, "failure") for name in "xyz"]), False),
    ],
)
def test_a_principle_begins_with_enough_support(drawn: PrincipleDraft, *, begins: bool) -> None:
    assert PrincipleThresholds().is_sufficient(drawn) is begins
    assert PrincipleThresholds().is_sufficient(PrincipleDraft(support=[pattern("a", size=1)]), refines=True) is True


def test_a_principle_is_reworded_when_a_quarter_of_its_events_changed() -> None:
    def changed(before: int, now: int, **rows: Any) -> bool:
        held: Any = {"rows": {"a": "support"}, "wished": {"a": "support"}, "change": 0.25, **rows}
        return is_material_change({"events": before, "contra": 1}, {"events": now, "contra": 1}, **held)

    assert [changed(8, now) for now in (6, 7, 8, 9, 10)] == [True, False, False, False, True]
    assert [changed(2, now) for now in (1, 2, 3)] == [True, False, True]
    assert changed(8, 8, wished={"a": "contra"})
    assert is_material_change({}, {"events": 1, "contra": 0}, rows={}, wished={}, change=0.25)
    assert not is_material_change({}, {"events": 0, "contra": 0}, rows={}, wished={}, change=0.25)
    assert is_material_change({"events": 8}, {"events": 8, "contra": 1}, rows={}, wished={}, change=0.25)


def test_standing_risk_and_cost_are_those_of_the_action() -> None:
    good = pattern("g", own={"observations": {"seconds": 4}, "episode_id": "e", "seq": 5})
    bad, against = pattern("b", "failure", size=2), pattern("x", "failure", size=1)
    drawn = PrincipleDraft(
        support=[good, bad], against=[against], counter=[event("y", "failure"), event("z", "unknown")]
    )
    counts = {"patterns": 2, "events": 5, "successes": 3, "failures": 2, "sources": 1, "contra": 3}
    assert evidence_counts(drawn) == counts
    risk = risk_of(drawn)
    assert (risk["successes"], risk["trials"]) == (2, 5)
    cost = cost_of(drawn)
    assert (cost.seconds, cost.timed, cost.attempts, cost.episodes) == (4.0, 3, 5, 1)
    bare = cost_of(PrincipleDraft(support=[pattern("g", own={"episode_id": "e"})]))
    assert (bare.seconds, bare.timed, bare.attempts) == (None, 0, 3)
    none = cost_of(PrincipleDraft(support=[pattern("g")]))
    assert (none.attempts, none.episodes) == (None, 0)
    many = [event(str(n), source_ref=f"r{n // 2}") for n in range(20)]
    assert references(many) == ["r0", "r1", "r2", "r3", "r4"]


@pytest.mark.parametrize(
    ("observations", "seconds"),
    [
        *(({f"{name}seconds": 2}, 2.0) for name in ("", "run_", "duration_", "elapsed_")),
        *(({name: 2}, 2.0) for name in ("duration_s", "elapsed", "duration")),
        *(({name: 2}, 0.002) for name in ("milliseconds", "duration_ms", "elapsed_ms")),
        ({"minutes": 2}, 120.0),
        ({"hours": 2}, 7200.0),
        ({"seconds": True, "minutes": 1}, 60.0),
        ({"seconds": -1}, None),
        ({"seconds": 0}, 0.0),
        ({"seconds": float("inf")}, None),
        ({"seconds": "2"}, None),
        ([], None),
    ],
)
def test_durations_are_read_in_seconds(observations: Any, seconds: float | None) -> None:
    assert seconds_of(observations) == seconds


# Topics.


def test_a_source_is_a_type_and_a_host() -> None:
    pages = [event(str(n), source_ref=f"https://A.com/{n}", source_type="web") for n in range(3)]
    other = event("x", source_ref="https://b.com/1", source_type="web")
    assert [independent_sources(some) for some in (pages, [*pages, other], [])] == [1, 2, 0]
    machine = [event(str(n), trust=1) for n in range(2)]
    assert not is_confirmed(machine)
    assert is_confirmed([*machine, event("p", trust=3)])
    assert is_confirmed([event("a", trust=1, source_type="x"), event("b", trust=1, source_type="y")])
    burst = [event(str(n), trust=1, content="same") for n in range(4)]
    assert pattern("p", events=burst).mass == 1
    assert pattern("p", events=[event(str(n), trust=3, content="same") for n in range(4)]).mass == 4
    assert pattern("p", events=[event(str(n), trust=1, source_ref="one") for n in range(4)]).mass == 1


def test_a_slot_explains_what_three_quarters_have_and_a_quarter_at_most_of_the_others() -> None:
    def counter(*families: str | None) -> list[L1Event]:
        return [event(f"c{n}", family=family) for n, family in enumerate(families)]

    plain = [event(f"s{n}") for n in range(4)]
    assert distinguishing_slot(counter("x", "x", "x", None), plain, terms) == Slot("family", "x")
    assert distinguishing_slot(counter("x", "x", None, None), plain, terms) is None
    assert distinguishing_slot(counter("x"), plain, terms) is None
    assert distinguishing_slot(counter("x", "x"), [*plain[:3], event("s", family="x")], terms) == Slot("family", "x")
    assert distinguishing_slot(counter("x", "x"), [*plain[:1], event("s", family="x")], terms) is None
    where = [event(f"w{n}", situation="on linux", source_type="t") for n in range(2)]
    assert distinguishing_slot(where, plain, terms) == Slot("situation", "linux")
    files = [event(f"f{n}", artifacts=["file:a.py"]) for n in range(2)]
    assert distinguishing_slot(files, plain, terms) == Slot("artifact", "a.py")
    typed = [event(f"t{n}", source_type="t") for n in range(2)]
    assert distinguishing_slot(typed, plain, terms) == Slot("source_type", "t")
    assert distinguishing_slot(where, [], terms) == Slot("situation", "linux")


def test_patterns_with_one_action_and_two_outcomes_oppose_each_other() -> None:
    good, bad = pattern("g", size=4), pattern("b", "failure", size=2)

    def drawn(alike: float, events: int) -> list[PrincipleDraft]:
        return draw([good, bad], {(f"b{n}", "g"): alike for n in range(events)}, terms)

    assert drawn(0.7, 1)[0].against == [bad]
    assert drawn(0.69, 1)[0].against == []
    assert [one.support for one in drawn(0.5, 1)] == [[good], [bad]]
    assert [one.support for one in drawn(0.49, 2)] == [[good, bad]]
    assert drawn(0.7, 2)[0].weights == {"g": 4.0, "b": 2.0}
    assert drawn(0.7, 2)[0].confidence == round(4 / 7, 4)
    narrow = pattern("b", "failure", size=2, own={"family": "x"})
    broad, refined = draw([good, narrow], {("b0", "g"): 1.0}, terms)
    assert (broad.slots, refined.slot, refined.refines) == ({"b": Slot("family", "x")}, Slot("family", "x"), 0)
    assert (broad.weights["b"], broad.confidence, refined.support) == (0.5, round(4 / 5.5, 4), [narrow])


def test_topics_are_joined_at_the_threshold() -> None:
    square = np.array([[1, 1.0, 0.2], [1.0, 1, 0.6], [0.2, 0.6, 1]], np.float32)
    assert group_topics(square) == [[0, 1], [2]]
    assert group_topics(square[:0, :0]) == []
    assert is_denial("did not restart")
    assert not is_denial("restart")
    assert is_denial("x" * 490 + " without")
    assert not is_denial("x" * 500 + " without")


# Words.


def test_a_text_is_chinese_with_as_many_han_characters_as_words() -> None:
    assert all(map(is_chinese, ("重启", "重 git")))
    assert not any(map(is_chinese, ("重 git push", "", "x1")))


def test_first_sentences_fit_into_240_characters() -> None:
    assert first_sentences(" One.  Two. ") == "One. Two."
    assert first_sentences("一。二。three") == "一。二。 three"
    assert first_sentences("x" * 240) == "x" * 240
    assert first_sentences("x" * 241) == "x" * 239 + "…"
    assert first_sentences(f"{'x' * 100}. {'y' * 137}.") == f"{'x' * 100}. {'y' * 137}."
    assert first_sentences(f"{'x' * 100}. {'y' * 140}. Last.") == f"{'x' * 100}."
    assert first_sentences("") == ""


def test_a_pattern_is_described_by_its_centre_and_what_half_share() -> None:
    events = [
        event("a", situation="on linux", goal="ship", result="fine", artifacts=["file:x"], family="f", source_type="t"),
        event("b", situation="linux box", artifacts=["file:x", "file:y"], family="f"),
        event("c", reflection="ask first", artifacts=["file:z"]),
        event("d"),
    ]
    found = describe(events, "failure", terms_of=terms, rarity=lambda term: 0.0 if term == "try" else 1.0)
    assert found.summary == "try a → fine"
    assert found.recommendation == "Avoid: try a\nLesson: ask first"
    lists = {"terms": ["linux"], "artifacts": ["file:x"], "families": ["f"], "source_types": ["t"]}
    assert found.signature == {**lists, "situation": "on linux", "goal": "ship"}
    assert found.content == "try a → fine\non linux\nship\nlinux, x\nAvoid: try a\nLesson: ask first"
    assert describe(events[:2], "success", terms_of=terms, rarity=len).recommendation == "Do: try a\nOutcome: fine"
    assert describe(events[3:], "unknown", terms_of=terms, rarity=len).recommendation == "Open: try d"
    assert describe(events[3:], "unknown", terms_of=terms, rarity=len).signature == {}
    lesson = [event("a", attempt="重启 服务", reflection="重启")]
    assert describe(lesson, "success", terms_of=terms, rarity=len).recommendation == "建议：重启 服务"
    wide = [event(str(n), situation=" ".join(f"w{k}" for k in range(12))) for n in range(2)]
    assert len(describe(wide, "success", terms_of=terms, rarity=len).signature["terms"]) == 8
    parts = [event(str(n), attempt="重启服务 重启") for n in range(2)]
    assert describe(parts, "success", terms_of=terms, rarity=len).signature["terms"] == ["重启服务"]


def test_a_principle_is_said_with_its_evidence() -> None:
    good = pattern("g", goal="ship.", artifacts=["file:x"], own={"reflection": "ask", "observations": {"seconds": 120}})
    bad = pattern("b", "failure", size=2)
    against = pattern("x", "failure", events=[event(f"x{n}", "failure", result=f"r{n}") for n in range(6)])
    drawn = PrincipleDraft(support=[good, bad], against=[against], slots={"x": Slot("family", "oom")})
    wording = word_by_rules(drawn)
    assert (wording.condition, wording.action, wording.reason) == ("the goal is: ship; it is about x", "try g0", "ask")
    told = render_principle(drawn, wording)
    assert told.because == "ask; 3 of 3 attempts worked (1 source: log:g0, log:g1, log:g2)"
    assert told.avoid == ["try b0"]
    assert told.risk == "failed in 6 of 9 such attempts (67 %, 95 % interval 35–88 %)"
    assert told.cost == "120 s (median of 3)"
    assert [one["id"] for one in told.counterexamples] == ["x5", "x4", "x3", "x2", "x1", "x0"]
    assert told.watch_out == (
        "avoid: sum b; it failed in 2 attempts (log:b0, log:b1); "
        "not where oom plays a part: log:x0, log:x1, log:x2, log:x3, log:x4; "
        "the same failed: r5 (log:x5); the same failed: r4 (log:x4); the same failed: r3 (log:x3); "
        "the same failed: r2 (log:x2); and 2 more"
    )
    whole = told.content(chinese=False).splitlines()
    assert whole[0] == f"If {told.condition}, then try g0, because {told.because}."
    assert whole[1] == f"Watch out: {told.watch_out}."
    few = render_principle(PrincipleDraft(support=[good], counter=[event("y", "failure")]), wording)
    assert "more" not in few.watch_out
    warning = PrincipleDraft(
        support=[pattern("b", "failure")], counter=[event("y", result="it ran", occurred_at=AT + timedelta(1))]
    )
    assert word_by_rules(warning).condition == "you are about to: try b0"
    assert word_by_rules(warning).action == "do not: try b0"
    said_so = render_principle(warning, word_by_rules(warning))
    assert (said_so.watch_out, said_so.avoid) == ("the same worked: it ran (log:y)", ["try b0"])
    assert said_so.because == "3 of 3 attempts failed (1 source: log:b0, log:b1, log:b2)"
    assert (said_so.cost, said_so.slot) == ("", None)


def test_a_condition_names_what_half_of_the_patterns_share_and_its_slot() -> None:
    one, two = pattern("a", terms=["t", "u"], families=["f"]), pattern("b", terms=["t"])
    assert word_by_rules(PrincipleDraft(support=[one, two])).condition == "it is about f, t, u"
    assert word_by_rules(PrincipleDraft(support=[one, two, pattern("c")])).condition == "it is about t"
    placed = pattern("a", situation="on linux", terms=["t"])
    assert word_by_rules(PrincipleDraft(support=[placed])).condition == "on linux"
    many = pattern("a", terms=list("tuvwx"))
    assert word_by_rules(PrincipleDraft(support=[many])).condition == "it is about t, u, v, w"
    slot = PrincipleDraft(support=[placed], slot=Slot("source_type", "ci"))
    assert word_by_rules(slot).condition == "on linux; it is reported by ci"
    wording = Wording(condition="on linux.", action="x")
    assert narrow_wording(slot, wording).condition == "on linux; it is reported by ci"
    assert narrow_wording(replace(slot, slot=Slot("family", "LINUX")), wording) is wording
    narrowed = narrow_wording(replace(slot, slot=Slot("family", "oom")), wording)
    assert narrowed.condition == "on linux; oom plays a part"
    assert narrow_wording(PrincipleDraft(support=[placed]), wording) is wording
    chinese = pattern("a", summary="重启", terms=["服务"])
    assert word_by_rules(PrincipleDraft(support=[chinese])).condition == "涉及服务"


def again(one: PatternInput, other: PatternInput, alike: float = 1.0) -> dict[tuple[str, str], float]:
    """All events of one did what those of the other did."""
    return {(held.id, other.id): alike for held in one.events}


def test_the_side_with_fewer_sources_contradicts() -> None:
    good = pattern("good", size=4)
    more = pattern("bad", "failure", size=6)
    [turned] = draw([good, more], again(good, more), terms)
    assert (turned.support, turned.against, turned.lead) == ([more], [good], more)
    even = pattern("bad", "failure", size=4)
    [tied] = draw([good, even], again(even, good), terms)
    assert tied.lead == good
    assert tied.confidence < 0.5


def test_cost_is_the_median_of_what_is_known() -> None:
    events = [event(name, observations={"seconds": n}) for name, n in (("b", 5), ("e", 9))]
    events += [event("a", observations={"seconds": 1}, episode_id="e1", seq=4)]
    events += [event(name, episode_id="e2") for name in "cd"]
    found = cost_of(PrincipleDraft(support=[pattern("good", events=events)], against=[pattern("bad", "failure")]))
    assert (found.seconds, found.timed, found.attempts, found.episodes) == (5.0, 3, 3.0, 2)


def test_loose_events_contradict_when_they_did_the_same() -> None:
    bad, other, odd = event("bad", "failure"), event("other", "failure"), event("odd", "unknown")
    held = pattern("held", "failure", size=1)
    counter = [bad, other, odd, event("fine"), *held.events]
    good = pattern("good", counter=counter)
    did = {(one.id, "good"): 1.0 for one in (bad, odd, event("fine"), *held.events)}
    drawn = draw([good, held, pattern("far", "failure")], {**did, ("other", "good"): 0.6}, terms)
    assert drawn[0].counter == [bad]
    assert drawn[0].weights["bad"] == 1.0
