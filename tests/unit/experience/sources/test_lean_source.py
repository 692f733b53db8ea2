"""Lean's output as attempts: whole files in each form, with what is to come of them, and the laws of a source."""

import json
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from growth import assert_linear, repeated
from phronesis.experience.laws.event_draft import ARTIFACT_TYPES, LABELS, Draft
from phronesis.experience.sources.lean import LeanSource
from phronesis.experience.sources.lean.error_groups import DIRECTION, EXPLODING, MISSING_LEMMA
from phronesis.experience.sources.lean.syntax import (
    is_lemma,
    is_local,
    lemmas_of,
    read_goals,
    rewritings,
    tactics_in,
    without_comments,
)
from unit.experience.sources.source_tables import mistakes, read, text_of, texts, wanted_of

SOURCE = LeanSource()
NAMES = texts("lean")
ROWS = [(name, row) for name in NAMES for row in wanted_of(name)]
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


def test_each_family_has_cases_and_look_alikes() -> None:
    counted = Counter(row.get("family") for _, row in ROWS)
    assert min(counted[family] for family in (EXPLODING, DIRECTION, MISSING_LEMMA)) >= 8
    alike = [row for _, row in ROWS if "family" in row and row["family"] is None]
    kinds = Counter(kind for row in alike for kind in row.get("kinds", ()))
    assert kinds["unknown_identifier"] >= 4  # of the local context, not lemmas
    assert kinds["max_recursion"] + kinds["simp_no_progress"] + kinds["deterministic_timeout"] >= 8
    assert sum(row.get("open_goals", 0) in range(2, 20) for row in alike) >= 4


def test_every_form_is_read() -> None:
    forms = Counter(draft.observations["form"] for name in NAMES for draft in read(SOURCE, text_of(name)))
    assert set(forms) == {"json", "lake", "repl", "plain"}


def test_drafts_keep_the_form_of_a_draft() -> None:
    for text in map(text_of, NAMES):
        for draft in read(SOURCE, text):
            check(draft, text)
            assert Draft.from_body(json.loads(json.dumps(draft.to_body()))).to_body() == draft.to_body()


def test_lines_are_those_of_the_log_and_the_position_is_that_of_lean() -> None:
    text = "Some words before.\n\nA.lean:40:2: error: unsolved goals\n⊢ a = b\n\nSo I gave up.\n"
    (draft,) = read(SOURCE, text)
    assert draft.lines == (3, 4)
    assert draft.observations["position"] == [40, 2]
    assert text[slice(*draft.span or ())] == "A.lean:40:2: error: unsolved goals\n⊢ a = b"


def test_a_runner_s_time_is_the_draft_s() -> None:
    (draft,) = read(SOURCE, "2026-03-04T05:06:07.1234567Z ✔ [1/2] Built Foo (2.5s)\n")
    assert (draft.label, draft.observations["seconds"]) == ("success", 2.5)
    assert draft.occurred_at is not None
    assert draft.occurred_at.isoformat().startswith("2026-03-04T05:06:07.123456")
    (other,) = read(SOURCE, "2026-13-44T05:06:07Z ✔ [1/2] Built Foo\n")
    assert other.occurred_at is None


SAYS_NOTHING_CHECK: list[str] = [
    "[1/3] Building Foo\n",
    "✔ [3/4] Built libfoo:shared (1s)\n",
    "ℹ [3/4] Ran foo\n",
    "error: build failed\n",
    '{"message": "Could not parse JSON"}\n',
    '{"messages": [{"role": "user", "content": "hi"}]}\n',
    "theorem foo : 1 = 1 := by\n  rfl\n",
]


def test_what_says_nothing_of_a_check_gives_no_draft() -> None:
    for text in SAYS_NOTHING_CHECK:
        assert read(SOURCE, text) == [], text


def test_errors_of_one_range_are_one_draft() -> None:
    def said(line: int, end: int, data: str) -> str:
        place = {"pos": {"line": line, "column": 2}, "endPos": {"line": end, "column": 9}}
        return json.dumps({"severity": "error", **place, "fileName": "A.lean", "data": data})

    rows = [said(3, 9, "unsolved goals\n⊢ a"), said(5, 5, "unknown identifier 'h'"), said(12, 12, "ring failed")]
    first, second = read(SOURCE, "\n".join(rows))
    assert first.observations["error_kinds"] == ["unsolved_goals", "unknown_identifier"]
    assert second.observations["error_kinds"] == ["ring_failed"]


def test_what_no_database_keeps_is_replaced() -> None:
    rows = '{"severity": "error", "pos": {"line": 1, "column": 0}, "data": "a\\ud800b\\u0000c"}\n'
    (draft,) = read(SOURCE, rows)
    assert draft.result == "a\ufffdb\ufffdc"


def test_goals_are_read_with_their_hypotheses() -> None:
    first, second = read_goals("case a\nx y : ℕ\nh : x = y ∧\n  y = x\n⊢ x + y =\n    y + x\n\n⊢ False\nfailed")
    assert (first.case, first.names, first.target) == ("a", 3, "x + y = y + x")
    assert first.text == "x y : ℕ\nh : x = y ∧ y = x\n⊢ x + y = y + x"
    assert (second.names, second.target) == (0, "False")
    assert len(read_goals("⊢ a\n\n" * 500)) == 200


NAMES_CONTEXT_LEMMAS: list[str] = ["h", "hU", "this", "h.symm", "x✝"]


def test_names_of_the_context_are_no_lemmas() -> None:
    for name in NAMES_CONTEXT_LEMMAS:
        assert is_local(name), name
        assert not is_lemma(name), name


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


@settings(max_examples=150, deadline=None)
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


@settings(max_examples=200, deadline=None)
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


@pytest.mark.slow
def test_many_errors_of_one_file_take_linear_time() -> None:
    def file(errors: int) -> str:
        rows = "".join(f"A.lean:{line}:2: error: unsolved goals\n⊢ a\n" for line in range(1, errors))
        return "```lean\n" + "example : a := by\n  simp\n" * (errors // 2) + "```\n" + rows

    assert len(read(SOURCE, file(800))) == 400  # a place each where the declaration is known
    assert_linear(lambda text: read(SOURCE, text), file, 4_000)


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
