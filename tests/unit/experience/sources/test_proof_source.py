"""Mathematical proofs as attempts: whole texts in English, Chinese and LaTeX, with what is to come of them."""

import json
from collections import Counter, defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from growth import assert_linear, repeated
from phronesis.experience.laws.event_draft import Draft
from phronesis.experience.sources.math_proof import ProofSource
from phronesis.experience.sources.proof_blocks import load_table, strategies_in
from unit.experience.sources.source_tables import mistakes, read, text_of, texts, wanted_of

SOURCE = ProofSource()
NAMES = texts("proof")
PIECES = [
    *(line + "\n" for name in NAMES for line in text_of(name).split("\n")[:12]),
    "Theorem 1. ", "Proof. ", "QED ", "∎", "I am stuck. ", "Instead, ", "\\begin{proof}", "\\end{proof}\n",
    "\\begin{lemma}\n", "证明：", "证毕。", "卡住了。", "定理1 ", "尝试一：", "\n\n", "Show that ", "##", "**",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
def test_a_text_gives_what_its_table_says(name: str) -> None:
    assert mistakes(SOURCE, name) == []


@pytest.mark.parametrize("name", NAMES)
def test_attempts_at_one_statement_are_one_episode(name: str) -> None:
    episodes: dict[str, list[Draft]] = defaultdict(list)
    for row, draft in zip(wanted_of(name), read(SOURCE, text_of(name)), strict=True):
        if "episode" in row:
            episodes[row["episode"]].append(draft)
    for drafts in episodes.values():
        assert len(drafts) > 1
        assert len({draft.episode_id for draft in drafts}) == 1
        assert [draft.seq for draft in drafts] == list(range(1, len(drafts) + 1))


def test_there_are_enough_of_every_label() -> None:
    counted = Counter(row["label"] for name in NAMES for row in wanted_of(name))
    assert min(counted[label] for label in ("success", "failure", "unknown")) >= 5


def test_every_strategy_has_words_in_both_languages() -> None:
    for name, rows in load_table()["strategies"].items():
        written = "".join(rows)
        assert any("\u4e00" <= sign <= "\u9fff" for sign in written), name
        assert any("a" <= sign <= "z" for sign in written), name


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("We use strong induction, then split into two cases.", ["strong_induction", "case_split"]),
        ("The proof avoids induction; rather than contradiction we use a pigeonhole.", ["pigeonhole"]),
        ("Let $\\varepsilon > 0$; by compactness there is a finite subcover.", ["epsilon_delta", "compactness"]),
        ("用反证法，再用抽屉原理；不用归纳法。", ["contradiction", "pigeonhole"]),
        ("不妨设 a<b，作变量代换，由均值不等式。", ["wlog", "substitution", "inequality"]),
        ("By the induction hypothesis alone.", []),
        ("Nothing here.", []),
    ],
)
def test_strategies_are_named_in_order(text: str, tokens: list[str]) -> None:
    assert strategies_in(text) == tokens


@pytest.mark.parametrize(
    ("proof", "label"),
    [
        ("Clear. QED", "success"),
        ("Clear. ∎", "success"),
        ("显然。证毕", "success"),
        ("Clear.", "unknown"),
        ("There is no gap. QED", "success"),
        ("We fill the gap in the argument above. QED", "success"),
        ("Suppose the argument fails at n. Then n is 0. QED", "success"),
        ("Clear. QED. But there is a gap.", "failure"),
        ("Here I am stuck.", "failure"),
        ("这里没有漏洞。证毕", "success"),
        ("这一步行不通。", "failure"),
    ],
)
def test_only_what_the_text_says_makes_a_label(proof: str, label: str) -> None:
    (draft,) = read(SOURCE, f"Theorem 1. All is well.\n\nProof. {proof}\n")
    assert draft.label == label
    assert bool(draft.signals) == (label != "unknown")


def test_a_mark_without_a_statement_proves_nothing() -> None:
    (draft,) = read(SOURCE, "Proof. Clear. QED\n")
    assert (draft.label, draft.goal, draft.episode_id, draft.seq) == ("unknown", "", None, None)


def test_texts_say_who_wrote_them() -> None:
    (draft,) = read(
        SOURCE, "Lemma 2 (Gauss). If p divides ab, then p divides a or b.\n\nProof. By cases we get stuck.\n"
    )
    assert draft.situation == "If p divides ab"
    assert dict(draft.field_origin) == {"situation": "human", "goal": "human", "attempt": "rule", "result": "human"}
    assert [one.id for one in draft.artifacts] == ["lemma:Gauss", "concept:case_split"]


def test_an_environment_that_never_ends_goes_on_to_the_next() -> None:
    drafts = read(SOURCE, "\\begin{lemma}\nA.\n\n\\begin{proof}\nBy induction. QED\n")
    assert [(one.label, one.goal) for one in drafts] == [("success", "A.")]


@settings(max_examples=150, deadline=None)
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
@pytest.mark.parametrize("piece", [
    "Claim: x.\nProof. I am stuck. Let me try again. ", "I am stuck. ", "Theorem 1. x\n", "\\begin{theorem}\n",
    "let a ", "take a ", "the step is long ", "(", "证", "定理", "卡住", "\n", " ", "*", "a", "induction ", "QED ",
    "Try again. ", "without ", "{",
])  # fmt: skip
@pytest.mark.parametrize("before", ["", "Claim: x.\n\nProof. ", "\\begin{proof}", "定理1 x。证明："])
def test_time_goes_with_the_length(before: str, piece: str) -> None:
    assert_linear(lambda text: read(SOURCE, before + text + " QED"), repeated(piece), 60_000)
