"""Constraints and preferences in words: what they rule out, and what goes against them, in both languages."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from phronesis.experience.laws.constraints import bans_of, clauses_of, preference_score
from phronesis.index.tokens import tokenize


def ruled_out(constraint: Any) -> list[str]:
    return [ban.phrase for ban in bans_of([constraint], tokenize)[0]]


def broken(constraint: Any, text: str) -> bool:
    clauses = clauses_of(text, tokenize)
    return any(ban.met_by(clauses) for ban in bans_of([constraint], tokenize)[0])


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
    cases: list[tuple[list[Any], str, int]] = [
        (["prefer ring over simp"], "ring closes it", 1),
        (["最好不用 sudo"], "sudo rm", -1),
        ([{"must_not": ["sudo"]}], "sudo rm", -1),
        (["tools"], "tools", 1),
        (["的"], "lock", 0),
    ]
    for wishes, text, sign in cases:
        liked = preference_score(wishes, tokenize)(clauses_of(text, tokenize))
        assert (liked > 0) - (liked < 0) == sign, wishes
        assert -1.0 <= liked <= 1.0, wishes


@given(st.text(max_size=300), st.text(min_size=1, max_size=200))
def test_no_text_raises_and_an_empty_attempt_breaks_nothing(attempt: str, constraint: str) -> None:
    if not constraint.strip(" \t\n.,;:!?\"'`()[]{}。，；：！？“”‘’（）"):
        return
    bans, unread = bans_of([constraint], tokenize)
    assert bool(bans) != bool(unread)
    assert not any(ban.met_by(clauses_of("", tokenize)) for ban in bans)
    assert all(isinstance(ban.met_by(clauses_of(attempt, tokenize)), bool) for ban in bans)
