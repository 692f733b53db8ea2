"""Asking experience: exact weights, bounded walks, answers within their budget, and advice said once."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.serialization import as_json
from phronesis.errors import InputError
from phronesis.experience.laws.answers import (
    CONTRARY,
    Advice,
    Answer,
    Conflict,
    Excluded,
    RankedRecord,
    Reference,
    advise,
    fit_answer,
    opposed_events,
    outcome_conflicts,
    sides,
)
from phronesis.experience.laws.constraints import Ban, as_texts, bans_of, clauses_of, make_preference_scorer
from phronesis.experience.laws.ranking import (
    LEAST,
    Link,
    Node,
    Signals,
    lane_cosine_statistics,
    length_of,
    score_of,
    shares_of,
    standardise_cosines,
    walk,
)
from phronesis.experience.laws.records import L1Event, Pattern, Principle
from phronesis.index.tokens import tokenize
from phronesis.recall.scoring.lane_arrays import Spread

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def words(text: str) -> list[str]:
    return text.casefold().replace(".", "").split()


# Weights.


@pytest.mark.parametrize(
    ("signals", "share", "value"),
    [
        ({"words": 0.5, "meaning": 0.0}, "words", 1.0),
        ({"words": 0.5, "meaning": 0.0, "length": length_of(48)}, "words", 2.0),
        ({"words": 0.5, "meaning": 0.0, "length": length_of(24)}, "words", 1.25),
        ({"words": 0.5}, "words", 1.5),
        ({"meaning": 0.5}, "meaning", 0.5),
        ({"views": 0.5, "length": length_of(16)}, "views", 0.25),
        ({"views": 0.5, "length": length_of(90)}, "views", 0.0),
        ({"exact": True}, "exact", 2.0),
        ({"latest": 0.5}, "latest", 0.5),
        ({"artifacts": 1.0}, "artifacts", 0.5),
        ({"graph": 1.0}, "graph", 0.3),
        ({"episode": 1.0}, "episode", 0.3),
        ({"members": 1.0}, "members", 0.8),
        ({"members": 1.0, "exact": True}, "members", 0.0),
        ({"members": 1.0, "artifacts": 1.0}, "members", 0.3),
        ({"exact": True, "usefulness": 1.0}, "usefulness", 0.6),
        ({"exact": True, "usefulness": 0.0}, "usefulness", -0.6),
        ({"exact": True, "confidence": 1.0}, "confidence", 0.2),
        ({"exact": True, "age": -9.0}, "freshness", 0.2),
        ({"exact": True, "age": 180.0}, "freshness", 0.1),
        ({"exact": True, "trust": 1.0}, "trust", 0.2),
        ({"exact": True, "preference": -1.0}, "preference", -0.8),
        ({"exact": True, "counter": 1.0}, "counter", -0.6),
        ({"exact": True, "weight": 0.5}, "downweighted", -1.0),
    ],
)
def test_each_signal_adds_its_weight_or_its_share_of_relevance(
    signals: dict[str, Any], share: str, value: float
) -> None:
    shares = shares_of(Signals(**signals))
    assert shares.get(share, 0.0) == pytest.approx(value)
    assert score_of(shares) == pytest.approx(sum(shares.values()))


def test_few_cosines_have_the_usual_deviation_and_four_deviations_count_fully() -> None:
    few = [np.array([0.0, 1.0] * 3, np.float32), np.array([0.5], np.float32)]
    assert lane_cosine_statistics(few).mean == pytest.approx(0.5)
    assert lane_cosine_statistics(few).deviation == 0.15
    enough = [np.array([0.0, 1.0] * 4, np.float32)]
    assert lane_cosine_statistics(enough).deviation == pytest.approx(0.5)
    found = standardise_cosines(np.array([-1.0, 0.0, 2.0, 4.0, 9.0], np.float32), Spread(0.0, 1.0))
    assert found.tolist() == [0.0, 0.0, 0.5, 1.0, 1.0]


# Walks.


@dataclass
class Map:
    edges: Sequence[tuple[str, str, float]]
    layers: Mapping[str, int]
    useful: Mapping[str, float]

    def links(self, ids: Sequence[str]) -> list[Link]:
        pairs = [*self.edges, *((far, near, weight) for near, far, weight in self.edges)]
        return [Link(near, far, "t", weight) for near, far, weight in pairs if near in ids]

    def nodes(self, ids: Sequence[str]) -> dict[str, Node]:
        return {
            one: Node(one, self.layers.get(one, 1), usefulness=self.useful.get(one, 0.5))
            for one in ids
            if one != "hidden"
        }


def reached(*edges: tuple[str, str, float], **given: Any) -> dict[str, tuple[float, int]]:
    graph = Map(edges, given.pop("layers", {}), given.pop("useful", {}))
    found = walk(graph.links, graph.nodes, {"a": 1.0}, **given)
    return {name: (round(one.strength, 6), one.hops) for name, one in found.items()}


def test_a_step_keeps_less_within_a_layer_and_least_through_an_artifact() -> None:
    layers = {"same": 1, "up": 2, "file": 0}
    found = reached(("a", "same", 1), ("a", "up", 1), ("a", "file", 1), layers=layers)
    assert found == {"a": (1.0, 0), "same": (0.6, 1), "up": (0.8, 1), "file": (0.5, 1)}


def test_a_walk_takes_three_steps_and_follows_nothing_below_a_twentieth() -> None:
    chain = [("a", "b", 1.0), ("b", "c", 1.0), ("c", "d", 1.0), ("d", "e", 1.0)]
    assert reached(*chain) == {"a": (1.0, 0), "b": (0.6, 1), "c": (0.36, 2), "d": (0.216, 3)}
    assert set(reached(*chain, depth=1)) == {"a", "b"}
    up = {"b": 2}
    assert set(reached(("a", "b", 0.0625), layers=up)) == {"a", "b"}
    assert set(reached(("a", "b", 0.0624), layers=up)) == {"a"}
    assert set(reached(("a", "hidden", 1.0), ("hidden", "b", 1.0))) == {"a"}


def test_the_stronger_of_two_paths_counts_and_later_steps_are_narrower() -> None:
    two = [("a", "b", 1.0), ("a", "c", 0.5), ("b", "d", 0.5), ("c", "d", 1.0)]
    graph = Map(two, {}, {})
    found = walk(graph.links, graph.nodes, {"a": 1.0})
    assert (found["d"].via, found["d"].by, found["d"].hops) == ("b", "t", 2)
    star = [("a", name, 1.0) for name in "bcde"] + [(name, name * 2, 1.0) for name in "bcde"]
    assert set(reached(*star, width=2, useful={"d": 0.9, "e": 0.8})) == {"a", "d", "e", "dd"}
    assert set(reached(*star, width=1)) == {"a", "d", "dd"}


# Answers.


def excluded(number: int) -> list[Excluded]:
    return [Excluded(attempt="x" * 40, constraint="c", reason=str(n)) for n in range(number)]


def test_an_answer_within_its_budget_is_whole_and_a_longer_one_loses_from_the_longest_list() -> None:
    answer = Answer(excluded=excluded(3), avoid=[Advice(attempt="short", why="w", score=1.0)])
    size = len(json.dumps(as_json(answer), ensure_ascii=False))
    assert fit_answer(answer, size, len) is answer
    less = fit_answer(answer, size - 1, len)
    assert (len(less.excluded), len(less.avoid), less.left_out) == (2, 1, {"excluded": 1})
    assert [one.reason for one in less.excluded] == ["0", "1"]
    assert Answer().threshold == 0.1


@pytest.mark.parametrize("budget", [420, 500, 600, 700, 800])
def test_a_cut_answer_is_never_over_its_budget_and_no_shorter_than_needed(budget: int) -> None:
    answer = Answer(excluded=excluded(9))
    fitted = fit_answer(answer, budget, len)
    assert len(json.dumps(as_json(fitted), ensure_ascii=False)) <= budget
    longer = replace(fitted, excluded=answer.excluded[: len(fitted.excluded) + 1])
    assert len(fitted.excluded) == 9 or len(json.dumps(as_json(longer), ensure_ascii=False)) > budget - 2
    assert fitted.left_out.get("excluded", 0) == 9 - len(fitted.excluded)
    bare = len(json.dumps(as_json(replace(Answer(), left_out={"excluded": 9})), ensure_ascii=False))
    with pytest.raises(InputError, match="token_budget"):
        fit_answer(answer, bare - 1, len)


# Conflicts and advice.


def event(name: str, label: str = "success", **given: Any) -> L1Event:
    made = {"content": "x", "entry_id": "e", "recorded_at": NOW, "updated_at": NOW, "attempt": f"try {name}", **given}
    return L1Event(id=name, kind="l1", label=label, **made)


def other(cls: Any, name: str, **given: Any) -> Any:
    return cls(id=name, kind=name, content="x", entry_id="e", recorded_at=NOW, updated_at=NOW, **given)


def advised(*found: RankedRecord, limit: int = 9, bans: Sequence[Ban] = ()) -> tuple[list[str], list[str], list[str]]:
    out = advise(found, bans, words, limit=limit)
    recommended, avoid, left = out.recommended, out.avoid, out.excluded
    return [one.attempt for one in recommended], [one.attempt for one in avoid], [one.attempt for one in left]


def found(record: Any, score: float = 1.0, relevance: float | None = None, **given: Any) -> RankedRecord:
    return RankedRecord(record=record, score=score, relevance=score if relevance is None else relevance, **given)


def test_a_success_and_a_failure_oppose_where_attempt_and_place_are_the_same() -> None:
    good = event("g", attempt="a b c d", situation="p q", goal="r")
    for attempt, place, opposes in [
        ("a b c", "p q r", True),
        ("a b c e", "p q r", True),
        ("a b e f", "p q r", False),
        ("a b c d", "p x y", False),
        ("a b c d", "p q x y z", True),
        ("a b c d", "p x y z", False),
    ]:
        bad = event("b", "failure", attempt=attempt, situation=place)
        assert bool(opposed_events([bad, good], words)) is opposes, (attempt, place)
    assert opposed_events([good, event("x", "unknown", attempt="a b c d", situation="p q r")], words) == []
    nothing = [event("g", attempt=""), event("b", "failure", attempt="")]
    assert opposed_events(nothing, words) == []
    bare = [event("g", attempt="a"), event("b", "failure", attempt="a")]
    assert opposed_events(bare, words) == [(bare[0], bare[1])]
    many = [*(event(str(n), attempt="z") for n in range(59)), event("b", "failure", attempt="z")]
    assert len(opposed_events(many, words)) == 59
    assert opposed_events([event("first", attempt="z"), *many], words) == []


def test_conflicts_name_both_sides() -> None:
    good, bad, worse = event("g", source_ref="r"), event("b", "failure"), event("w", "failure")
    [conflict] = outcome_conflicts([(good, bad), (good, worse)])
    assert (conflict.side, conflict.against) == ((Reference("g", "r"),), (Reference("b"), Reference("w")))
    more = Conflict(about="about", reason=CONTRARY, side=(Reference("g"),), against=(Reference("b"),))
    assert sides([conflict, more]) == {"g": ["b", "w"], "b": ["g"], "w": ["g"]}


def test_only_what_is_relevant_gives_advice_the_best_first() -> None:
    one, two, three = event("one"), event("two"), event("three")
    ranked = [found(one, 0.5, 1.0), found(two, 0.9, 0.4), found(three, 0.9, 0.39)]
    assert advised(*ranked)[0] == ["try two", "try one"]
    assert advised(*ranked, limit=1)[0] == ["try two"]
    assert advised(found(one, 0.5, 0.0)) == ([], [], [])
    assert advised() == ([], [], [])


def test_a_failure_is_avoided_and_its_lesson_recommended() -> None:
    bad = event("bad", "failure", reflection="do it twice")
    assert advised(found(bad)) == (["do it twice"], ["try bad"], [])
    [lesson] = advise([found(bad)], [], words, limit=1).recommended
    assert (lesson.why, lesson.evidence) == ("learned from a failure: try bad", (Reference("bad"),))
    assert advised(found(event("odd", "unknown", reflection="x"))) == ([], [], [])
    known = event("bad", "failure", attempt="Do it", reflection="do  it")
    assert advised(found(known)) == (["Do it"], [], [])
    assert advise([found(event("good", reflection="TRY good"))], [], words, limit=1).recommended[0].lesson == ""
    assert advise([found(event("good", reflection="well"))], [], words, limit=1).recommended[0].lesson == "well"


def test_one_attempt_is_advised_once_with_all_its_events() -> None:
    same = [event(str(n), attempt="Same  thing", label="success" if n else "failure") for n in range(20)]
    [advice] = advise([found(one) for one in same[1:]], [], words, limit=9).recommended
    assert [reference.id for reference in advice.evidence] == [str(n) for n in range(1, 17)]
    assert (advice.success_rate["successes"], advice.success_rate["trials"]) == (19, 19)
    both = advise([found(one) for one in same[:2]], [], words, limit=9)
    assert both.recommended[0].success_rate["rate"] == 0.5
    assert both.recommended[0].evidence == (Reference("1"), Reference("0"))


def test_a_pattern_speaks_for_its_members_unless_a_constraint_forbids_it() -> None:
    doing = {"recommendation": "Do: use sudo\nLesson: ask\nOutcome: fine", "members": [("m", 1.0)]}
    pattern, member = other(Pattern, "pattern", outcome="success", **doing), event("m")
    out = advise([found(member), found(pattern)], [], words, limit=9)
    assert [(one.attempt, one.lesson, one.patterns) for one in out.recommended] == [("use sudo", "ask", ("pattern",))]
    bans, _ = bans_of(["no sudo", "no root"], words)
    assert advised(found(member), found(pattern), bans=bans) == (["try m"], [], ["use sudo"])
    assert advised(found(event("m", attempt="use sudo")), found(pattern), bans=bans) == ([], [], ["use sudo"])
    failing = other(Pattern, "p", outcome="failure", summary="sum", recommendation="", members=[("m", 1.0)])
    assert advised(found(member), found(failing)) == ([], ["sum"], [])
    lesson = other(Pattern, "p", outcome="failure", recommendation="Avoid: x\nLesson: y", members=[])
    assert advised(found(lesson)) == (["y"], ["x"], [])
    assert advised(found(other(Pattern, "p", outcome="unknown", summary="s")), found(member))[0] == ["try m"]


def test_a_principle_recommends_or_warns() -> None:
    given = {"action": "act", "condition": "if", "because": "so", "watch_out": "", "risk": "risky", "patterns": ["p"]}
    [advice] = advise([found(other(Principle, "principle", **given))], [], words, limit=1).recommended
    assert (advice.why, advice.lesson, advice.principles, advice.patterns) == ("if so", "risky", ("principle",), ("p",))
    assert advised(found(other(Principle, "principle", label="failure", **given))) == ([], ["act"], [])
    assert advised(found(other(Principle, "principle", action=""))) == ([], [], [])


# Constraints.


def test_what_cannot_be_read_or_is_no_rule_is_said() -> None:
    assert bans_of(["be careful", {"must_not": [" x "]}], words)[1] == ["be careful"]
    assert as_texts([" no x ", {"must_not": ["a", "b."]}], field="f") == ["no x", "must not: a, b"]
    assert as_texts("no x", field="f") == as_texts(["no x"], field="f")
    assert len(as_texts(["no x"] * 50, field="f")) == 50
    assert as_texts(["x" * 500], field="f") == ["x" * 500]
    bad: list[Any] = [["x"] * 51, ["x" * 501], [" ."], 7, [7], [{"must_not": []}], [{"other": "x"}], [{"must_not": 7}]]
    bad.append([{"must_not": ["x", 7]}])
    for wrong in bad:
        with pytest.raises(InputError) as raised:
            as_texts(wrong, field="f")
        assert raised.value.field == "f"
    reason = bans_of(["no gpu"], words)[0][0].reason
    assert reason == "it comes to 'gpu', which 'no gpu' rules out"
    assert "gpu" in bans_of(["不用gpu"], words)[0][0].reason
    assert clauses_of("x " * 2000 + "late", words) == [frozenset({"x"})]
    assert clauses_of("x " * 1999 + "l late", words)[0] == {"x", "l"}


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12), st.floats(0, 1)), max_size=40), st.integers(1, 5))
def test_a_walk_never_strengthens(pairs: list[tuple[int, int, float]], width: int) -> None:
    edges = [(f"e{a}", f"e{b}", weight) for a, b, weight in pairs]
    graph = Map(edges, {}, {})
    found = walk(graph.links, graph.nodes, {"e0": 1.0}, width=width)
    for step in found.values():
        assert step.hops == 0 or LEAST <= step.strength <= found[step.via or ""].strength
    assert len(found) <= 1 + 3 * width


def ruled_out(constraint: Any) -> list[str]:
    return [ban.phrase for ban in bans_of([constraint], tokenize)[0]]


def broken(constraint: Any, text: str) -> bool:
    clauses = clauses_of(text, tokenize)
    return any(ban.is_violated_by(clauses) for ban in bans_of([constraint], tokenize)[0])


def test_what_a_constraint_rules_out() -> None:
    cases: list[tuple[Any, list[str]]] = [
        ("no internet", ["internet"]),
        ("without simp", ["simp"]),
        ("don't use curl or wget", ["curl", "wget"]),
        ("不要重启服务", ["重启服务"]),
        ("no curl, wget", ["curl", "wget"]),
        ("offline only", ["internet"]),
        ({"must_not": "simp"}, ["simp"]),
        ("no no", []),
        ("never the", []),
        ("只读", ["删除"]),
    ]
    for constraint, phrases in cases:
        assert ruled_out(constraint) == phrases, constraint
        assert bool(bans_of([constraint], tokenize)[1]) == (not phrases), constraint


def test_what_goes_against_it() -> None:
    cases: list[tuple[str, str, bool]] = [
        ("no internet", "download the wheel", True),
        ("不能用 sudo", "sudo apt install x", True),
        ("不能用 sudo", "没有用 sudo，装到用户目录", False),
        ("without simp", "used ring instead of simp", False),
        ("no sudo", "not only sudo but su", True),
        ("no reboot", "重启了服务", True),
        ("no schema change", "changed a schema", True),
        ("no sudo", "", False),
    ]
    for constraint, text, against in cases:
        assert broken(constraint, text) == against, constraint


def test_preferences() -> None:
    assert make_preference_scorer(["pip", "prefer uv"], words)(clauses_of("pip", words)) == 0.5
    assert make_preference_scorer(["pip", "avoid uv", "pip uv"], words)(clauses_of("uv", words)) == pytest.approx(
        -0.5 / 3
    )
    assert make_preference_scorer([], words)(clauses_of("uv", words)) == 0.0
    cases: list[tuple[list[Any], str, int]] = [
        (["prefer ring over simp"], "ring closes it", 1),
        (["最好不用 sudo"], "sudo rm", -1),
        ([{"must_not": ["sudo"]}], "sudo rm", -1),
        (["tools"], "tools", 1),
        (["的"], "lock", 0),
    ]
    for proposed, text, sign in cases:
        liked = make_preference_scorer(proposed, tokenize)(clauses_of(text, tokenize))
        assert (liked > 0) - (liked < 0) == sign, proposed
        assert -1.0 <= liked <= 1.0, proposed


@given(st.text(max_size=300), st.text(min_size=1, max_size=200))
def test_no_text_raises_and_an_empty_attempt_breaks_nothing(attempt: str, constraint: str) -> None:
    if not constraint.strip(" \t\n.,;:!?\"'`()[]{}。，；：！？“”‘’（）"):
        return
    bans, unread = bans_of([constraint], tokenize)
    assert bool(bans) != bool(unread)
    assert not any(ban.is_violated_by(clauses_of("", tokenize)) for ban in bans)
    assert all(isinstance(ban.is_violated_by(clauses_of(attempt, tokenize)), bool) for ban in bans)
