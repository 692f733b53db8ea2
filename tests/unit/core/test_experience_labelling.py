"""The label of an attempt follows from what was observed, and says what decided it."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from phronesis.experience.laws.event_draft import LABELS
from phronesis.experience.laws.outcome_labels import GIVEN, UNDECIDED, label_of


def test_what_was_observed_decides() -> None:
    cases: list[tuple[Any, str, tuple[str, ...]]] = [
        ({"exit_code": 0}, "success", ("exit code 0",)),
        ({"exit_code": None}, "unknown", ()),
        ({"exit_code": True}, "unknown", ()),
        ({"exit_code": 1.0}, "failure", ("exit code 1",)),
        ({"passed": 0}, "unknown", ()),
        ({"is_success": False}, "failure", ("is_success is false",)),
        ({"failed": True}, "failure", ("failed is true",)),
        ({"timeout": 30}, "unknown", ()),
        ({"error": "None"}, "unknown", ()),
        ({"error": None}, "unknown", ()),
        ({"exceptions": ["a"]}, "failure", ("1 exceptions",)),
        ({"status": "Passed."}, "success", ("status: passed",)),
        ({"conclusion": "timed out"}, "failure", ("conclusion: timed out",)),
        ({"status": "passed" + " and more" * 40}, "unknown", ()),
        ([{"exit_code": 0}, "3 passed"], "success", ("exit code 0", "3 passed")),
        (["status: nothing said; exit code 4"], "failure", ("exit code 4",)),
        ("成功", "success", ("成功",)),
        ({"a": {"b": {"c": {"d": {"exit_code": 1}}}}}, "unknown", ()),
    ]
    for observations, label, signals in cases:
        found = label_of(observations)
        assert (found.label, found.signals) == (label, signals), observations


def test_signals_that_contradict_each_other_decide_nothing_and_are_listed() -> None:
    found = label_of({"exit_code": 0, "error": "disk busy", "ok": True})
    assert (found.label, found.confidence) == ("unknown", UNDECIDED)
    assert found.signals == ("error: disk busy", "exit code 0", "ok is true")


def test_a_given_label_wins() -> None:
    found = label_of({"exit_code": 1}, given="success")
    assert (found.label, found.signals, found.confidence) == ("success", ("given",), GIVEN)
    assert label_of({"exit_code": 1}, given="perhaps").label == "failure"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["exit_code", "passed", "failed", "errors", "ok", "status", "reward", "x"]),
            inner,
            max_size=4,
        )
    ),
)


@given(JSON, JSON)
def test_any_observations_give_a_label_whose_signals_say_why(observations: Any, hints: Any) -> None:
    found = label_of(observations, hints)
    assert found.label in LABELS
    assert 0 <= found.confidence <= 1
    assert found == label_of(observations, hints)
    if found.label != "unknown":
        assert found.signals
        assert found.confidence > UNDECIDED
