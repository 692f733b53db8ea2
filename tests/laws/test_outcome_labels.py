"""The label of an attempt follows from explicit signals, and from nothing else."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.experience.laws.event_draft import LABELS
from phronesis.experience.laws.outcome_labels import OutcomeLabel, label_of, outcome_in_text

SAID, MEASURED = 0.8, 0.95


@pytest.mark.parametrize(
    ("observed", "label", "signal", "confidence"),
    [
        ({"exit_code": 0}, "success", "exit code 0", MEASURED),
        ({"Exit-Code": -1}, "failure", "exit code -1", MEASURED),
        ({"errors": 1}, "failure", "1 error", MEASURED),
        ({"passed": 3, "failed": 0}, "success", "3 passed", MEASURED),
        ({"passed": 1}, "success", "1 passed", MEASURED),
        ({"passed": 3, "failed": 1}, "failure", "1 failed", MEASURED),
        ({"compile_ok": True}, "success", "compile_ok is true", MEASURED),
        ({"compile_ok": False}, "failure", "compile_ok is false", MEASURED),
        ({"timeout": False}, "success", "timeout is false", MEASURED),
        ({"reward": 1}, "success", "reward 1", MEASURED),
        ({"reward": 0.0}, "failure", "reward 0", MEASURED),
        ({"status": "timed out"}, "failure", "status: timed out", MEASURED),
        ({"error": "disk full\nat once"}, "failure", "error: disk full", SAID),
        ({"exceptions": ["a"]}, "failure", "1 exceptions", SAID),
        ("solved", "success", "solved", SAID),
        ("exit code: 1", "failure", "exit code 1", MEASURED),
        ("process exited with 0 at last", "success", "exit code 0", MEASURED),
        ("12 passed, 1 failed", "failure", "1 failed", MEASURED),
        ("0 failed, 2 passed", "success", "2 passed", MEASURED),
        ("compiles: yes", "success", "compiles is true", MEASURED),
        ("Fatal error: out of memory", "failure", "Fatal error: out of memory", SAID),
        ("ValueError: no such thing", "failure", "ValueError: no such thing", SAID),
    ],
)
def test_a_signal_decides(observed: Any, label: str, signal: str, confidence: float) -> None:
    assert label_of(observed) == OutcomeLabel(label, (signal,), confidence)  # type: ignore[arg-type]


def test_without_a_signal_the_label_is_unknown() -> None:
    exits: list[Any] = [{"exit_code": code} for code in (None, True, 0.5, 10**10, -(10**10))]
    empty = [{"error": ""}, {"error": "None"}, {"errors": []}, {"exceptions": ()}, {"other": True}, {"rate": 0}]
    others = [{"passed": 0}, {"passed": 0.5}, {"status": "completed"}, {"reward": 0.5}, {"reward": True}]
    deep = {"a": {"a": {"a": {"a": {"a": {"rc": 1}}}}}}
    for observed in (*exits, *empty, *others, deep, None, 7, "", "it went on", "0 passed"):
        assert label_of(observed) == OutcomeLabel("unknown", (), 0.5), observed


@given(st.text())
def test_any_words_give_a_label(text: str) -> None:
    found = outcome_in_text(text)
    assert found.label in LABELS
    assert found.label == "unknown" or found.signals


def test_contradicting_signals_give_unknown_with_one_of_each_side_first() -> None:
    found = label_of({"rc": 0, "ok": True, "failed": 1}, "failed")
    assert found == OutcomeLabel("unknown", ("1 failed", "exit code 0", "ok is true", "failed"), 0.5)


def test_what_the_caller_gives_overrides() -> None:
    assert label_of({"rc": 0}, given="failure") == OutcomeLabel("failure", ("given",), 1.0)
    assert label_of({"rc": 0}, given="nonsense").label == "success"


def test_the_strongest_of_several_signals_counts_and_each_is_listed_once() -> None:
    assert label_of(["passed", "passed", {"rc": 0}]) == OutcomeLabel("success", ("passed", "exit code 0"), MEASURED)
    many = label_of([{"rc": code} for code in range(1, 40)])
    assert len(many.signals) == 20


def test_a_long_error_text_counts_unless_the_entry_is_older() -> None:
    for length, counts in ((119, True), (120, True)):
        text = "none" + " " * (length - 8) + "none"
        assert (label_of({"error": text}).label == "failure") is counts
    long = "x" * 120
    assert label_of({"error": long}).label == "failure"
    assert label_of({"error": long}, long_errors=False).label == "unknown"
    assert label_of({"error": "x" * 119}, long_errors=False).label == "failure"
    assert label_of({"error": long}).signals == (f"error: {long}",)
    assert label_of({"error": long + "y"}).signals == (f"error: {long}",)


def test_what_is_read_is_bounded() -> None:
    assert label_of({"exit_code": 10**10 - 1}).label == label_of({"exit_code": 1 - 10**10}).label == "failure"
    assert label_of([*["-"] * 999, {"rc": 1}]).label == "failure"
    assert label_of([*["-"] * 1000, {"rc": 1}]).label == "unknown"
    assert label_of({**{str(n): "-" for n in range(999)}, "rc": 1}).label == "failure"
    assert label_of({**{str(n): "-" for n in range(1000)}, "rc": 1}).label == "unknown"
    assert label_of("x " * 994 + "exit code 1").label == "failure"
    assert label_of("x " * 1000 + "exit code 1").label == "unknown"
    assert label_of({"a": {"a": {"a": {"rc": 1}}}}).label == "failure"
    assert label_of([[[{"rc": 1}]]]).label == "failure"
    assert label_of([[[[[{"rc": 1}]]]]]).label == "unknown"
