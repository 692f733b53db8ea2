"""Mathematical proofs as attempts: whole texts in English, Chinese and LaTeX, with what is to come of them."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from growth import assert_linear, repeated
from phronesis.experience.laws.event_draft import Draft
from phronesis.experience.sources.math_proof import ProofSource, strategies_in
from unit.experience.sources.source_tables import mistakes, read, text_of, texts

SOURCE = ProofSource()
NAMES = texts("proof")
PIECES = [
    *(line + "\n" for name in NAMES for line in text_of(name).split("\n")[:12]),
    "Theorem 1. ",
    "Proof. ",
    "QED ",
    "∎",
    "I am stuck. ",
    "Instead, ",
    "\\begin{proof}",
    "\\end{proof}\n",
    "\\begin{lemma}\n",
    "证明：",
    "证毕。",
    "卡住了。",
    "定理1 ",
    "尝试一：",
    "\n\n",
    "Show that ",
    "##",
    "**",
]


def test_a_text_gives_what_its_table_says() -> None:
    assert {name: mistakes(SOURCE, name) for name in NAMES} == {name: [] for name in NAMES}


def test_strategies_are_named_in_order() -> None:
    cases: list[tuple[str, list[str]]] = [
        ("We use strong induction, then split into two cases.", ["strong_induction", "case_split"]),
        ("Let $\\varepsilon > 0$; by compactness there is a finite subcover.", ["epsilon_delta", "compactness"]),
        ("用反证法，再用抽屉原理；不用归纳法。", ["contradiction", "pigeonhole"]),
        ("不妨设 a<b，作变量代换，由均值不等式。", ["wlog", "substitution", "inequality"]),
        ("Nothing here.", []),
    ]
    for text, tokens in cases:
        assert strategies_in(text) == tokens, text


def test_only_what_the_text_says_makes_a_label() -> None:
    cases: list[tuple[str, str]] = [
        ("Clear. QED", "success"),
        ("显然。证毕", "success"),
        ("Clear.", "unknown"),
        ("Here I am stuck.", "failure"),
        ("这里没有漏洞。证毕", "success"),
    ]
    for proof, label in cases:
        (draft,) = read(SOURCE, f"Theorem 1. All is well.\n\nProof. {proof}\n")
        assert draft.label == label, proof
        assert bool(draft.signals) == (label != "unknown"), proof


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=300) | st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=30).map("".join))
def test_no_text_is_too_strange(text: str) -> None:
    drafts = read(SOURCE, text)
    assert drafts == read(SOURCE, text)
    for draft in drafts:
        assert set(draft.field_origin) == set(draft.texts)
        assert draft.span is not None
        assert 0 <= draft.span[0] <= draft.span[1] <= len(text)
        assert draft.lines is not None
        assert draft.lines[0] == text.count("\n", 0, draft.span[0]) + 1
        assert draft.lines[0] <= draft.lines[1] <= text.count("\n") + 1
        assert Draft.from_body(json.loads(json.dumps(draft.to_body()))).to_body() == draft.to_body()


@pytest.mark.slow
@pytest.mark.parametrize(
    "piece",
    ["Claim: x.\nProof. I am stuck. Let me try again. ", "\\begin{theorem}\n", "let a ", "定理", "induction ", "\n"],
)
def test_time_goes_with_the_length(piece: str) -> None:
    assert_linear(lambda text: read(SOURCE, f"Claim: x.\n\nProof. {text} QED"), repeated(piece), 60_000)
