"""Sources give what is expected of their inputs; for every text nothing raises, and time goes with the length."""

import json
from collections.abc import Callable
from typing import Final

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from growth import assert_linear
from phronesis.experience.sources import port
from phronesis.experience.sources.port import RawText, Source
from unit.experience.sources.labelled_sources import DATA, NOW, faults, inputs, read

SOURCES: Final[dict[str, Source]] = dict(port.SOURCES)
FILES: Final = [path.read_text("utf-8") for path in sorted(DATA.iterdir()) if not path.name.endswith(".expected.json")]
LINES: Final = sorted({line for text in FILES for line in text.split("\n")})
some_lines = st.lists(st.sampled_from(LINES) | st.text(max_size=30), max_size=25).map("\n".join)
cut_file = st.tuples(st.sampled_from(FILES), st.integers(0, 3000), st.integers(0, 3000)).map(
    lambda given: given[0][given[1] : given[1] + given[2]]
)
members = st.sampled_from(
    """role content tool_calls function name arguments messages id type tool_use text input is_error user assistant
    steps action observation error success reward trace run_id memory output timestamp env messages sorries goals goal
    proofState severity pos line column data tactics cmd tactic message time fileName endPos response results""".split()
)
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10) | members,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(members, inner, max_size=5),
    max_leaves=25,
).map(json.dumps)


@pytest.mark.parametrize("source_type", SOURCES)
@given(text=st.text() | some_lines | cut_file | documents | st.lists(documents, max_size=4).map("\n".join))
@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)
def test_no_text_raises_and_every_draft_stands_on_its_lines(source_type: str, text: str) -> None:
    read(SOURCES[source_type], text)


@pytest.mark.parametrize("source_type", SOURCES)
def test_an_input_gives_the_expected_drafts(source_type: str) -> None:
    source, names = SOURCES[source_type], inputs(source_type)
    assert len(names) > 5
    found = {name: faults(read(source, (DATA / name).read_text("utf-8"), name), name) for name in names}
    assert {name: wrong for name, wrong in found.items() if wrong} == {}


def test_a_label_is_what_the_text_says() -> None:
    for label, expected in {"Success": "success", "失败": "failure", "no": "failure", "unknown": "unknown"}.items():
        (draft,) = read(SOURCES["manual"], f"Tried: a\nResult: it works\nLabel: {label}")
        assert (draft.label, list(draft.signals)) == (expected, ["given"]), label
    proofs = {"Clear. QED": "success", "显然。证毕": "success", "Clear.": "unknown", "Here I am stuck.": "failure"}
    for proof, expected in (proofs | {"这里没有漏洞。证毕": "success"}).items():
        (draft,) = read(SOURCES["math_proof"], f"Theorem 1. All is well.\n\nProof. {proof}\n")
        assert (draft.label, bool(draft.signals)) == (expected, expected != "unknown"), proof


def test_a_library_of_many_modules_is_read_to_its_end() -> None:
    built = "".join(f"✔ [{n}/2101] Built A.B{n}\n" for n in range(1, 2101))
    drafts = read(SOURCES["lean"], f"{built}✖ [2101/2101] Building A.C\nerror: A/C.lean:1:2: unknown constant 'a.b'\n")
    assert (len(drafts), drafts[-1].label) == (2101, "failure")


def test_strategies_are_named_in_order() -> None:
    cases: list[tuple[str, list[str]]] = [
        ("We use strong induction, then split into two cases.", ["strong_induction", "case_split"]),
        ("Let $\\varepsilon > 0$; by compactness there is a finite subcover.", ["epsilon_delta", "compactness"]),
        ("用反证法，再用抽屉原理；不用归纳法。", ["contradiction", "pigeonhole"]),
        ("不妨设 a<b，作变量代换，由均值不等式。", ["wlog", "substitution", "inequality"]),
    ]
    for text, tokens in cases:
        (draft,) = read(SOURCES["math_proof"], f"Theorem 1. All is well.\n\nProof. {text} QED")
        assert draft.observations["strategy"] == tokens, text


CHAINED: Final = (
    'Traceback (most recent call last):\n  File "a.py", line 1, in f\nE: x\n\n'
    "During handling of the above exception, another exception occurred:\n\n"
)
HOSTILE: Final[dict[str, Callable[[int], str]]] = {
    "underscores": lambda n: "=== FAILURES ===\n" + "__ _ " * n + "__",
    "tracebacks": lambda n: "Traceback (most recent call last):\n" * n,
    "chains": lambda n: CHAINED * n,
    "lists": lambda n: '[0,{"a":1},\n' * n,
    "calls": lambda n: json.dumps(
        [{"role": "user", "content": "a"}]
        + [{"role": "assistant", "tool_calls": [{"id": str(k), "function": {"name": "a"}}]} for k in range(n)]
        + [{"role": "tool", "tool_call_id": str(k), "content": "ok"} for k in range(n)]
    ),
    "headings": lambda n: "# Attempt 1\n" * n,
    "steps": lambda n: json.dumps({"run_id": "a", "steps": [{"action": "b", "error": "c"}] * n}),
    "cases": lambda n: "<testsuite>" + "<testcase name='a'><failure>E   b: c</failure></testcase>" * n,
    "objects": lambda n: '{"a":[' * n,
    "errors": lambda n: "A.lean:1:2: error: x\n" * n,
    "arguments": lambda n: "theorem x : y := by\n  " + "simp [" * n + "\nA.lean:9:2: error: y\n",
    "theorems": lambda n: "theorem x : y := by\n  simp\n" * n,
    "restarts": lambda n: "Claim: x.\n\nProof. " + "I am stuck. Let me try again. " * n + " QED",
    "environments": lambda n: "\\begin{theorem}\n" * n,
    "strategies": lambda n: "Claim: x.\n\nProof. " + "induction " * n,
}
READ_BY: Final[dict[str, str]] = {
    "log": "underscores tracebacks chains cases",
    "chat": "lists calls",
    "manual": "headings",
    "run": "steps",
    "lean": "objects errors arguments theorems",
    "math_proof": "restarts environments strategies",
}
"""The texts whose length a source's rules go through."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source_type", "kind"), [(source_type, kind) for source_type, kinds in READ_BY.items() for kind in kinds.split()]
)
def test_time_goes_with_the_length(source_type: str, kind: str) -> None:
    unit = len(HOSTILE[kind](64)) / 64
    assert_linear(
        lambda text: SOURCES[source_type].read(RawText(text=text, recorded_at=NOW)),
        lambda length: HOSTILE[kind](max(1, int(length / unit))),
        100_000,
    )
