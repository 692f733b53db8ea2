"""The label of an attempt follows from what was observed, and says what decided it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.experience.laws.event_draft import LABELS
from phronesis.experience.laws.outcome_labels import GIVEN, MEASURED, SAID, UNDECIDED, label_of


@pytest.mark.parametrize(
    ("observations", "label", "signals"),
    [
        ({"exit_code": 0}, "success", ("exit code 0",)),
        ({"returncode": 2}, "failure", ("exit code 2",)),
        ({"Exit-Code": "137"}, "failure", ("exit code 137",)),
        ({"exit_code": None}, "unknown", ()),
        ({"exit_code": True}, "unknown", ()),
        ({"exit_code": "soon"}, "unknown", ()),
        ({"exit_code": 10**400}, "unknown", ()),
        ({"exit_code": float("nan")}, "unknown", ()),
        ({"exit_code": 1.0}, "failure", ("exit code 1",)),
        ({"exit_code": 1.5}, "unknown", ()),
        ({"passed": 12, "failed": 0}, "success", ("12 passed",)),
        ({"passed": 12, "failed": 3, "errors": 1}, "failure", ("3 failed", "1 error")),
        ({"passed": 0}, "unknown", ()),
        ({"failed": 0, "errors": 0}, "unknown", ()),
        ({"tests": {"passed": 4, "failures": 2}}, "failure", ("2 failed",)),
        ({"num_errors": 2}, "failure", ("2 errors",)),
        ({"compile_ok": True}, "success", ("compile_ok is true",)),
        ({"is_success": False}, "failure", ("is_success is false",)),
        ({"failed": True}, "failure", ("failed is true",)),
        ({"timeout": True}, "failure", ("timeout is true",)),
        ({"timed_out": False}, "success", ("timed_out is false",)),
        ({"timeout": 30}, "unknown", ()),
        ({"verbose": True}, "unknown", ()),
        ({"error": "no such file\nat line 3"}, "failure", ("error: no such file",)),
        ({"error": "None"}, "unknown", ()),
        ({"error": None}, "unknown", ()),
        ({"errors": ["a", "b"]}, "failure", ("2 errors",)),
        ({"exceptions": ["a"]}, "failure", ("1 exceptions",)),
        ({"errors": []}, "unknown", ()),
        ({"status": "Passed."}, "success", ("status: passed",)),
        ({"conclusion": "timed out"}, "failure", ("conclusion: timed out",)),
        ({"outcome": "失败"}, "failure", ("outcome: 失败",)),
        ({"status": "completed"}, "unknown", ()),
        ({"status": "passed" + " and more" * 40}, "unknown", ()),
        ({"ok": "failed"}, "failure", ("ok: failed",)),
        ({"note": "failed"}, "unknown", ()),
        ({"reward": 1.0}, "success", ("reward 1",)),
        ({"reward": 0}, "failure", ("reward 0",)),
        ({"reward": 0.5}, "unknown", ()),
        ({"reward": True}, "unknown", ()),
        ({"goals": 3, "seconds": 1.5, "list": [1]}, "unknown", ()),
        ([{"exit_code": 0}, "3 passed"], "success", ("exit code 0", "3 passed")),
        (["exit_code: 1"], "failure", ("exit code 1",)),
        (["success = true"], "success", ("success is true",)),
        (["status: nothing said; exit code 4"], "failure", ("exit code 4",)),
        ("process exited with 2", "failure", ("exit code 2",)),
        ("exit 0", "success", ("exit code 0",)),
        ("退出码：1", "failure", ("exit code 1",)),
        ("3 failed, 12 passed in 1.2s", "failure", ("3 failed",)),
        ("12 passed, 0 failed", "success", ("12 passed",)),
        ("0 passed", "unknown", ()),
        ("BUILD: FAILED", "unknown", ()),
        ("成功", "success", ("成功",)),
        ("error[E0308]: mismatched types", "failure", ("error[E0308]: mismatched types",)),
        ("ValueError: bad port", "failure", ("ValueError: bad port",)),
        ("errors: 0", "unknown", ()),
        ("use no network", "unknown", ()),
        ([[[["failed"]]]], "unknown", ()),
        ({"a": {"b": {"c": {"d": {"exit_code": 1}}}}}, "unknown", ()),
        (None, "unknown", ()),
        (7, "unknown", ()),
    ],
)
def test_what_was_observed_decides(observations: Any, label: str, signals: tuple[str, ...]) -> None:
    found = label_of(observations)
    assert (found.label, found.signals) == (label, signals)


def test_signals_that_contradict_each_other_decide_nothing_and_are_listed() -> None:
    found = label_of({"exit_code": 0, "error": "disk busy", "ok": True})
    assert (found.label, found.confidence) == ("unknown", UNDECIDED)
    assert found.signals == ("error: disk busy", "exit code 0", "ok is true")


def test_a_persons_hint_counts_like_an_observation() -> None:
    assert label_of(None, {"failed": True}).label == "failure"
    assert label_of(None, ["must run offline", "success"]).label == "success"
    assert label_of({"exit_code": 0}, "failed").label == "unknown"


def test_a_given_label_wins() -> None:
    found = label_of({"exit_code": 1}, given="success")
    assert (found.label, found.signals, found.confidence) == ("success", ("given",), GIVEN)
    assert label_of({"exit_code": 1}, given="perhaps").label == "failure"


def test_a_number_is_surer_than_a_word() -> None:
    assert label_of({"exit_code": 1}).confidence == MEASURED
    assert label_of("error: disk busy").confidence == SAID
    assert label_of(None).confidence == UNDECIDED


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
        st.sampled_from(["exit_code", "passed", "failed", "errors", "ok", "status", "reward", "x"]), inner, max_size=4
    ),
)  # fmt: skip


@given(JSON, JSON)
def test_any_observations_give_a_label_whose_signals_say_why(observations: Any, hints: Any) -> None:
    found = label_of(observations, hints)
    assert found.label in LABELS
    assert 0 <= found.confidence <= 1
    assert found == label_of(observations, hints)
    if found.label != "unknown":
        assert found.signals
        assert found.confidence > UNDECIDED


def test_an_error_is_one_however_long_its_text_is() -> None:
    observed = {"error": "The request was refused: " + "x " * 200}
    assert label_of(observed).label == "failure"
    assert label_of({"error": " " * 200}).label == "unknown"
    assert label_of(observed, long_errors=False).label == "unknown"
