"""Lean's output and proofs in prose as attempts: whole texts with what is to come of them, and the laws of a source."""

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from growth import assert_linear, repeated
from phronesis.experience.laws.event_draft import ARTIFACT_TYPES, LABELS, Draft
from phronesis.experience.sources.lean import LeanSource
from phronesis.experience.sources.lean.syntax import lemmas_of, read_goals, rewritings, tactics_in, without_comments
from phronesis.experience.sources.math_proof import ProofSource, strategies_in
from phronesis.experience.sources.port import RawText, Source

DATA = Path(__file__).parent / "data"
SOURCES: Mapping[str, Source] = {"lean": LeanSource(), "proof": ProofSource()}
by_kind = pytest.mark.parametrize("kind", SOURCES)
NAMES = {kind: sorted(path.stem for path in DATA.glob(f"{kind}_*.txt")) for kind in SOURCES}
_FIELDS = {"label", "family", "goal", "attempt", "seq"}


def text_of(name: str) -> str:
    return (DATA / f"{name}.txt").read_text("utf-8")


def read(kind: str, text: str) -> Sequence[Draft]:
    return SOURCES[kind].read(RawText(text=text, recorded_at=datetime(2026, 5, 1, tzinfo=UTC)))


def seen(draft: Draft, text: str, wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Give what a draft has for each member of a row; a member that is there as the row wants it is given as wanted."""
    assert draft.span is not None
    said, observed = text[slice(*draft.span)], draft.observations
    have = {"lemmas": set(observed.get("lemmas", ()))}
    have["concepts"] = {one.name for one in draft.artifacts if one.type == "concept"}
    found: dict[str, Any] = {}
    for name, value in wanted.items():
        if name in _FIELDS:
            found[name] = getattr(draft, name)
        elif name.endswith("_has") or name == "contains":
            view = said if name == "contains" else getattr(draft, name.removesuffix("_has"))
            found[name] = value if value in view else view
        elif name in {"starts", "ends"}:
            found[name] = said[: len(value)] if name == "starts" else said[-len(value) :]
        elif name in have:
            found[name] = value if set(value) <= have[name] else sorted(have[name])
        elif name == "kinds":
            found[name] = observed.get("error_kinds", [])
        else:
            found[name] = value if name == "episode" else observed.get(name)
    return found


@by_kind
def test_a_text_gives_what_its_table_says(kind: str) -> None:
    for name in NAMES[kind]:
        text, rows = text_of(name), json.loads((DATA / f"{name}.json").read_text("utf-8"))
        drafts = read(kind, text)
        assert len(drafts) == len(rows), [name, *((draft.label, draft.lines, draft.goal) for draft in drafts)]
        pairs = [(row, seen(draft, text, row)) for row, draft in zip(rows, drafts, strict=True)]
        assert [(row, found) for row, found in pairs if row != found] == [], name


def test_goals_are_read_with_their_hypotheses() -> None:
    first, second = read_goals("case a\nx y : ℕ\nh : x = y ∧\n  y = x\n⊢ x + y =\n    y + x\n\n⊢ False\nfailed")
    assert (first.case, first.names, first.target) == ("a", 3, "x + y = y + x")
    assert first.text == "x y : ℕ\nh : x = y ∧ y = x\n⊢ x + y = y + x"
    assert (second.names, second.target) == (0, "False")
    assert len(read_goals("⊢ a\n\n" * 500)) == 200


def test_a_proof_gives_its_tactics_and_lemmas() -> None:
    cases = "| zero => simp [foo, ← Nat.bar h]\n  | succ n ih => rw [ih]; exact baz_qux n <;> omega"
    plain = without_comments(f"by\n  induction n with -- simp\n  {cases}\n/- linarith -/")
    assert tactics_in(plain) == ["induction", "simp", "rw", "exact", "omega"]
    assert lemmas_of(plain) == ["Nat.bar", "baz_qux", "foo"]
    assert rewritings("simp [foo, ← Nat.bar (x), <- c.d] at h") == [("foo", False), ("Nat.bar", True), ("c.d", True)]
    assert without_comments("a /- b") == "a "


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
    labels = {"Clear. QED": "success", "显然。证毕": "success", "Clear.": "unknown", "Here I am stuck.": "failure"}
    for proof, label in (labels | {"这里没有漏洞。证毕": "success"}).items():
        (draft,) = read("proof", f"Theorem 1. All is well.\n\nProof. {proof}\n")
        assert (draft.label, bool(draft.signals)) == (label, label != "unknown"), proof


def check(kind: str, text: str) -> None:
    """Hold a text's drafts against what every draft promises."""
    drafts = read(kind, text)
    assert drafts == read(kind, text)
    for draft in drafts:
        assert draft.attempt
        assert draft.label in LABELS
        assert 0 <= draft.confidence <= 1
        assert {one.type for one in draft.artifacts} <= set(ARTIFACT_TYPES)
        assert all(one.name for one in draft.artifacts)
        assert set(draft.field_origin) == set(draft.texts)
        assert draft.span is not None
        assert draft.lines is not None
        assert 0 <= draft.span[0] <= draft.span[1] <= len(text)
        assert draft.lines[0] == text.count("\n", 0, draft.span[0]) + 1
        assert draft.lines[0] <= draft.lines[1] <= text.count("\n") + 1
        assert Draft.from_body(json.loads(json.dumps(draft.to_body()))).to_body() == draft.to_body()
        if kind == "lean":
            assert draft.signals
            assert set(draft.field_origin.values()) == {"rule"}
            assert draft.lines[1] == text.count("\n", 0, draft.span[1]) + 1


_BITS = {
    "lean": """{¦}¦[¦{"env": 0}
¦{"cmd": "theorem a : b := by simp"}
¦⊢ ¦case a
¦```lean
¦```
¦✖ [1/2] ¦error: ¦A.lean:1:2: error: ¦{"messages": [{"severity": "error", "data": "\\ud800\\u0000"}]}
¦\x1b[31m¦\r\n¦{"proofState": 1, "goals": ["⊢ a"]}
¦{"tactic": "simp", "proofState": 1}
¦theorem x : y := by
¦/-¦simp [← a]""",
    "proof": """Theorem 1. ¦Proof. ¦QED ¦∎¦I am stuck. ¦Instead, ¦\\begin{proof}¦\\end{proof}
¦\\begin{lemma}
¦证明：¦证毕。¦卡住了。¦定理1 ¦尝试一：¦\n\n¦Show that ¦##¦**""",
}
PIECES = {
    kind: [*bits.split("¦"), *(f"{line}\n" for name in NAMES[kind] for line in text_of(name).split("\n")[:12])]
    for kind, bits in _BITS.items()
}


@by_kind
@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_text_is_too_strange(kind: str, data: st.DataObject) -> None:
    pieces = st.lists(st.sampled_from(PIECES[kind]) | st.text(max_size=8), max_size=30).map("".join)
    check(kind, data.draw(st.text(max_size=300) | pieces))


WORDS_OF_JSON = """env messages sorries goals goal proofState severity pos line column data tactics cmd tactic
message time proofStatus usedConstants fileName endPos response results path""".split()
JSONS = st.recursive(
    st.none() | st.integers() | st.text(max_size=5) | st.booleans() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(WORDS_OF_JSON), inner, max_size=6),
    max_leaves=30,
)


@settings(max_examples=60, deadline=None)
@given(st.lists(JSONS, max_size=4))
def test_no_json_is_too_strange(values: list[Any]) -> None:
    check("lean", "\n".join(json.dumps(value) for value in values))


_LONG = {
    "lean": """{"a":[¦A.lean:1:2: error: x
¦simp [¦/-¦theorem x : y := by
  simp
¦✖ [1/2] Building Foo
error: x
""",
    "proof": """Claim: x.
Proof. I am stuck. Let me try again. ¦\\begin{theorem}
¦let a ¦定理¦induction ¦\n""",
}
_AROUND = {"lean": "theorem x : y := by\n  {}\nA.lean:9:2: error: y\n", "proof": "Claim: x.\n\nProof. {} QED"}


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "piece"), [(kind, one) for kind in _LONG for one in _LONG[kind].split("¦")])
def test_time_goes_with_the_length(kind: str, piece: str) -> None:
    before, after = _AROUND[kind].split("{}")
    assert_linear(lambda text: read(kind, before + text + after), repeated(piece), 60_000)
