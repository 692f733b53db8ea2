"""The label of an attempt follows from what was observed, and says what decided it."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from phronesis.experience.laws.event_draft import LABELS
from phronesis.experience.laws.outcome_labels import GIVEN, MEASURED, SAID, UNDECIDED, label_of

OBSERVED: list[tuple[Any, str, tuple[str, ...]]] = [
    ({"exit_code": 0}, "success", ("exit code 0",)),
    ({"Exit-Code": "137"}, "failure", ("exit code 137",)),
    ({"exit_code": None}, "unknown", ()),
    ({"exit_code": True}, "unknown", ()),
    ({"exit_code": 10**400}, "unknown", ()),
    ({"exit_code": 1.0}, "failure", ("exit code 1",)),
    ({"passed": 12, "failed": 0}, "success", ("12 passed",)),
    ({"passed": 0}, "unknown", ()),
    ({"tests": {"passed": 4, "failures": 2}}, "failure", ("2 failed",)),
    ({"is_success": False}, "failure", ("is_success is false",)),
    ({"failed": True}, "failure", ("failed is true",)),
    ({"timeout": True}, "failure", ("timeout is true",)),
    ({"timeout": 30}, "unknown", ()),
    ({"error": "no such file\nat line 3"}, "failure", ("error: no such file",)),
    ({"error": "None"}, "unknown", ()),
    ({"error": None}, "unknown", ()),
    ({"errors": ["a", "b"]}, "failure", ("2 errors",)),
    ({"exceptions": ["a"]}, "failure", ("1 exceptions",)),
    ({"errors": []}, "unknown", ()),
    ({"status": "Passed."}, "success", ("status: passed",)),
    ({"conclusion": "timed out"}, "failure", ("conclusion: timed out",)),
    ({"outcome": "失败"}, "failure", ("outcome: 失败",)),
    ({"status": "passed" + " and more" * 40}, "unknown", ()),
    ({"reward": 1.0}, "success", ("reward 1",)),
    ([{"exit_code": 0}, "3 passed"], "success", ("exit code 0", "3 passed")),
    (["success = true"], "success", ("success is true",)),
    (["status: nothing said; exit code 4"], "failure", ("exit code 4",)),
    ("成功", "success", ("成功",)),
    ("ValueError: bad port", "failure", ("ValueError: bad port",)),
    ({"a": {"b": {"c": {"d": {"exit_code": 1}}}}}, "unknown", ()),
]


def test_what_was_observed_decides() -> None:
    for observations, label, signals in OBSERVED:
        found = label_of(observations)
        assert (found.label, found.signals) == (label, signals), observations


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
