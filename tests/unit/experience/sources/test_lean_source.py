"""Lean's output as attempts: whole files in each form, with what is to come of them, and the laws of a source."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from growth import assert_linear, repeated
from phronesis.experience.laws.event_draft import ARTIFACT_TYPES, LABELS, Draft
from phronesis.experience.sources.lean import LeanSource
from phronesis.experience.sources.lean.syntax import lemmas_of, read_goals, rewritings, tactics_in, without_comments
from unit.experience.sources.source_tables import mistakes, read, text_of, texts

SOURCE = LeanSource()
NAMES = texts("lean")
PIECES = [
    *(line + "\n" for name in NAMES for line in text_of(name).split("\n")[:12]),
    "{",
    "}",
    "[",
    '{"env": 0}\n',
    '{"cmd": "theorem a : b := by simp"}\n',
    "⊢ ",
    "case a\n",
    "```lean\n",
    "```\n",
    "✖ [1/2] ",
    "error: ",
    "A.lean:1:2: error: ",
    '{"messages": [{"severity": "error", "data": "\\ud800\\u0000"}]}\n',
    "\x1b[31m",
    "\r\n",
    '{"proofState": 1, "goals": ["⊢ a"]}\n',
    '{"tactic": "simp", "proofState": 1}\n',
    "theorem x : y := by\n",
    "/-",
    "simp [← a]",
]


def test_a_text_gives_what_its_table_says() -> None:
    assert {name: mistakes(SOURCE, name) for name in NAMES} == {name: [] for name in NAMES}


def test_goals_are_read_with_their_hypotheses() -> None:
    first, second = read_goals("case a\nx y : ℕ\nh : x = y ∧\n  y = x\n⊢ x + y =\n    y + x\n\n⊢ False\nfailed")
    assert (first.case, first.names, first.target) == ("a", 3, "x + y = y + x")
    assert first.text == "x y : ℕ\nh : x = y ∧ y = x\n⊢ x + y = y + x"
    assert (second.names, second.target) == (0, "False")
    assert len(read_goals("⊢ a\n\n" * 500)) == 200


def test_a_proof_gives_its_tactics_and_lemmas() -> None:
    cases = "| zero => simp [foo, ← Nat.bar h]\n  | succ n ih => rw [ih]; exact baz_qux n <;> omega"
    proof = f"by\n  induction n with -- simp\n  {cases}"
    plain = without_comments(proof + "\n/- linarith -/")
    assert tactics_in(plain) == ["induction", "simp", "rw", "exact", "omega"]
    assert lemmas_of(plain) == ["Nat.bar", "baz_qux", "foo"]
    assert [(one.name, one.backwards) for one in rewritings("simp [foo, ← Nat.bar (x), <- c.d] at h")] == [
        ("foo", False),
        ("Nat.bar", True),
        ("c.d", True),
    ]
    assert without_comments("a /- b") == "a "


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300) | st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=30).map("".join))
def test_no_text_is_too_strange(text: str) -> None:
    drafts = read(SOURCE, text)
    assert drafts == read(SOURCE, text)
    for draft in drafts:
        check(draft, text)


WORDS_OF_JSON = """env messages sorries goals goal proofState severity pos line column data tactics cmd tactic
message time proofStatus usedConstants fileName endPos response results path"""
JSONS = st.recursive(
    st.none() | st.integers() | st.text(max_size=5) | st.booleans() | st.floats(allow_nan=False),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS_OF_JSON.split()), inner, max_size=6)
    ),
    max_leaves=30,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(JSONS, max_size=4))
def test_no_json_is_too_strange(values: list[Any]) -> None:
    text = "\n".join(json.dumps(value) for value in values)
    for draft in read(SOURCE, text):
        check(draft, text)


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    [
        '{"a":[',
        "A.lean:1:2: error: x\n",
        "simp [",
        "/-",
        "theorem x : y := by\n  simp\n",
        "✖ [1/2] Building Foo\nerror: x\n",
    ],
)
def test_time_goes_with_the_length(piece: str) -> None:
    before = "theorem x : y := by\n  "
    assert_linear(lambda text: read(SOURCE, f"{before}{text}\nA.lean:9:2: error: y\n"), repeated(piece), 60_000)


def check(draft: Draft, text: str) -> None:
    """Hold a draft against what every draft promises."""
    assert draft.label in LABELS
    assert 0 <= draft.confidence <= 1
    assert draft.attempt
    assert draft.signals
    assert set(draft.field_origin) == set(draft.texts)
    assert set(draft.field_origin.values()) == {"rule"}
    assert {one.type for one in draft.artifacts} <= set(ARTIFACT_TYPES)
    assert all(one.name for one in draft.artifacts)
    assert draft.span is not None
    assert draft.lines is not None
    assert 0 <= draft.span[0] <= draft.span[1] <= len(text)
    assert draft.lines == (text.count("\n", 0, draft.span[0]) + 1, text.count("\n", 0, draft.span[1]) + 1)
    json.dumps(draft.to_body())
