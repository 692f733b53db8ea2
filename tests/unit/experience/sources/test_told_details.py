"""Single forms of chats, notes and runs."""

import json

import pytest

from phronesis.experience.laws.event_draft import Artifact, Draft
from phronesis.experience.sources.chat import ChatSource
from phronesis.experience.sources.manual import ManualSource
from phronesis.experience.sources.port import LineIndex, documents, elements, member
from phronesis.experience.sources.run import RunSource
from unit.experience.sources.labelled_sources import read


def chat(*said: object) -> list[Draft]:
    roles = ("user", "assistant")
    return read(ChatSource(), json.dumps(
        [one if isinstance(one, dict) else {"role": roles[n % 2], "content": one} for n, one in enumerate(said)]
    ))  # fmt: skip


def note(text: str) -> list[Draft]:
    return read(ManualSource(), text)


def run(record: object) -> list[Draft]:
    return read(RunSource(), json.dumps(record))


ASKED = "What is the weather in Gent?"
CALLED = {"name": "get_weather", "arguments": {"city": "Gent"}}
FORMS = {
    "sharegpt": {"conversations": [
        {"from": "human", "value": ASKED}, {"from": "function_call", "value": json.dumps(CALLED)},
        {"from": "observation", "value": '{"error": "no such city"}'}, {"from": "gpt", "value": "It cannot be told."}]},
    "openai": {"messages": [
        {"role": "user", "content": [{"type": "text", "text": ASKED}]},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Gent"}'}}]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"error": "no such city"}'},
        {"role": "assistant", "content": "It cannot be told."}]},
    "responses": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": ASKED}]},
        {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": '{"city": "Gent"}'},
        {"type": "function_call_output", "call_id": "c1", "output": '{"error": "no such city"}'},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It cannot be told."}]}],
    "anthropic": {"messages": [
        {"role": "user", "content": ASKED},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "c1", "name": "get_weather", "input": {"city": "Gent"}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c1", "content": '{"error": "no such city"}'}]},
        {"role": "assistant", "content": "It cannot be told."}]},
    "google": {"history": [
        {"role": "user", "parts": [{"text": ASKED}]},
        {"role": "model", "parts": [{"functionCall": {"name": "get_weather", "args": {"city": "Gent"}}}]},
        {"role": "function", "parts": [{"text": '{"error": "no such city"}'}]},
        {"role": "model", "parts": [{"text": "It cannot be told."}]}]},
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_a_conversation_is_read_in_every_form_of_its_messages(form: str) -> None:
    called, answered = read(ChatSource(), json.dumps(FORMS[form], indent=1))
    assert (called.goal, called.attempt, called.label) == (ASKED, "get_weather: Gent", "failure")
    assert called.result == '{"error": "no such city"}'
    assert (answered.attempt, answered.label) == ("It cannot be told.", "unknown")


def test_words_that_say_both_leave_the_attempt_unknown_and_the_episode_open() -> None:
    first, second = chat("Make it run.", "Done.", "It works on Linux but fails on Windows.", "Use Path.", "ok")
    assert (first.label, len(first.signals)) == ("unknown", 2)
    assert first.episode_id == second.episode_id


def test_a_confirmation_may_hold_the_next_request() -> None:
    first, second = chat("Make it run.", "Done.", "It works now! How do I stop it?", "Press q.")
    assert (first.label, second.goal, second.seq) == ("success", "How do I stop it?", 1)
    assert first.episode_id != second.episode_id


def test_a_request_in_two_messages_is_one() -> None:
    (draft,) = chat("Sort it.", {"role": "user", "content": "By name."}, {"role": "assistant", "content": "Sorted."})
    assert draft.goal == "Sort it.\nBy name."


def test_an_error_that_the_user_names_is_an_artifact() -> None:
    draft = chat("Load it.", "Loaded.", "Still fails with a json.JSONDecodeError")[0]
    assert Artifact("error_type", "JSONDecodeError") in draft.artifacts


def test_results_without_an_id_go_to_the_calls_in_order() -> None:
    call = {"role": "assistant", "function_call": {"name": "sh", "arguments": '{"a": 1, "b": [2]}'}}
    bad = {"role": "tool", "content": "ValueError: x"}
    first, second = chat(
        "Do it.", call, bad, call, {"role": "tool", "content": [{"type": "text", "text": "exit code: 0"}]}
    )
    assert (first.attempt, first.label, second.label) == ('sh: {"a": 1, "b": [2]}', "failure", "success")


def test_a_result_that_nobody_asked_for_is_passed_over() -> None:
    assert len(chat("Do it.", "Done.", {"role": "tool", "tool_call_id": "zz", "content": "ValueError: x"})) == 1


def test_a_tool_that_failed_is_a_failure_whatever_it_prints() -> None:
    call = {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "sh", "arguments": "ls"}}]}
    (draft,) = chat("Do it.", call, {"role": "tool", "tool_call_id": "a", "is_error": True, "content": '{"x": 1}'})
    assert draft.label == "failure"


@pytest.mark.parametrize(
    "text",
    [
        "### User\nSort it.\n### Assistant\nSorted.",
        "[2026-01-02 10:00] Human: Sort it.\n[2026-01-02T10:01:00Z] AI: Sorted.",
    ],
)
def test_speakers_may_stand_in_headings_and_behind_times(text: str) -> None:
    (draft,) = read(ChatSource(), text)
    assert (draft.goal, draft.attempt) == ("Sort it.", "Sorted.")
    assert (draft.occurred_at is None) == text.startswith("#")


def test_a_chat_of_one_side_gives_nothing() -> None:
    assert read(ChatSource(), "User: hello\nUser: anybody?") == []
    assert chat({"role": "user", "content": "hello"}, {"role": 7, "content": "x"}, {"x": 1}) == []


def test_a_title_may_be_underlined() -> None:
    (draft,) = note("Slow start\n----------\nWarming the cache did not help.")
    assert (draft.goal, draft.label) == ("Slow start", "failure")


def test_a_rule_parts_paragraphs_of_which_none_is_a_title() -> None:
    assert [draft.goal for draft in note("It works now.\n---\nIt failed again.")] == ["", ""]


def test_words_before_the_labels_are_the_situation() -> None:
    (draft,) = note("After the upgrade nothing starts.\nTried: a rollback\nResult: all is well; it works")
    assert (draft.situation, draft.label) == ("After the upgrade nothing starts.", "success")


@pytest.mark.parametrize(
    ("label", "expected"), [("Success", "success"), ("失败", "failure"), ("no", "failure"), ("unknown", "unknown")]
)
def test_a_written_label_wins(label: str, expected: str) -> None:
    (draft,) = note(f"Tried: a\nResult: it works\nLabel: {label}")
    assert (draft.label, list(draft.signals)) == (expected, ["given"])


def test_a_label_that_is_none_decides_nothing() -> None:
    assert note("Tried: a\nLabel: perhaps")[0].label == "unknown"


def test_an_attempts_own_words_decide_where_there_is_no_result() -> None:
    assert note("Tried: the old driver, it still crashes")[0].label == "failure"


def test_a_day_or_a_time_is_when_it_was() -> None:
    for said, hour in (("2026-05-11", 0), ("2026-05-11 13:20", 13), ("then", None)):
        at = note(f"Tried: a\nDate: {said}")[0].occurred_at
        assert (at.hour if at else None) == hour


def test_attempts_by_number_share_the_goal() -> None:
    first, second = note("Goal: sort\nTried 1: a\nResult: failed\nTried 2: b\nResult: success")
    assert (first.goal, second.goal, first.seq, second.seq) == ("sort", "sort", 1, 2)


def test_labels_without_an_attempt_give_nothing() -> None:
    assert note("Goal: sort\nResult: failed") == []
    assert note("## Attempt 1\nGoal: sort") == []


def test_a_second_goal_begins_a_second_entry() -> None:
    first, second = note("Goal: a\nTried: b\nGoal: c\nTried: d")
    assert (first.goal, second.goal, first.episode_id) == ("a", "c", None)


def test_runs_may_be_a_member_of_an_object() -> None:
    good, bad = run({"runs": [{"id": "a", "success": True}, {"id": "b", "reward": 0, "plan": "guess"}, {"x": 1}]})
    assert (good.attempt, good.label, bad.attempt, bad.label) == ("run a", "success", "guess", "failure")


def test_a_number_that_json_does_not_know_is_told_in_words() -> None:
    (draft,) = run({"id": "a", "success": True, "score": float("inf")})
    assert draft.observations["score"] == "inf"


def test_trials_in_several_files_keep_their_order() -> None:
    tried = [run([{"name": "env_4", "memory": ["Look first."] * n, "is_success": n == 2}])[0].seq for n in range(3)]
    assert tried == [1, 2, 3]
    assert run({"task_id": "t", "trial": 7, "success": False})[0].seq == 7


def test_what_is_no_run_gives_nothing() -> None:
    for value in ({}, [], {"x": 1}, [1, 2], {"runs": 3}, "text", {"messages": [{"role": "user", "content": "x"}]}):
        assert run(value) == []


def test_a_long_run_is_told_by_its_first_and_last_steps() -> None:
    (draft,) = run({"id": "a", "steps": [{"action": f"go {n}", "observation": "seen"} for n in range(100)]})
    assert draft.attempt.startswith("go 0 → go 1 →")
    assert draft.attempt.endswith("go 98 → go 99")
    assert draft.attempt.count("→") < 40


def test_a_step_without_a_reward_has_not_failed() -> None:
    assert len(run([{"action": "a", "reward": 0, "done": False}, {"action": "b", "reward": 0, "done": True}])) == 1
    assert run([{"action": "a", "observation": "x", "reward": 0, "done": True}])[0].label == "failure"


def test_a_step_is_explained_by_the_next_thought() -> None:
    step, _ = run({"id": "a", "steps": [
        {"tool": {"name": "sh", "args": {"cmd": "ls"}}, "error": "denied"},
        {"action": {"x": 1}, "thought": "The reason was the folder. I go on.", "observation": 7},
    ]})  # fmt: skip
    assert (step.attempt, step.reflection, step.field_origin["reflection"]) == (
        "sh: ls",
        "The reason was the folder.",
        "model",
    )


def test_the_verdict_of_an_answer_is_the_runs() -> None:
    text = "Task: sum\nAction: Finish[3]\nObservation: Answer is INCORRECT\nTask: next\nThought: hm"
    (draft,) = read(RunSource(), text)
    assert (draft.label, draft.goal) == ("failure", "sum")


def test_values_of_json_are_found_with_their_places() -> None:
    text = ' {"a": [1, {"b": "ü"}], "a": [2], "c": null}'
    (whole,) = documents(text)
    last = member(text, whole, "a")
    assert last is not None
    assert [one.value for one in elements(text, last)] == [2]
    assert text[last.start : last.end] == "[2]"
    assert member(text, whole, "none") is None
    assert documents("[" * 5000) == []
    assert [one.value for one in documents('{"a": 1}\nx\n  [2]\n{"b"')] == [{"a": 1}, [2]]


def test_lines_are_counted_from_one() -> None:
    index = LineIndex("a\nbc\n\nd")
    assert [index.lines(*place) for place in ((0, 1), (2, 4), (0, 7), (5, 5))] == [(1, 1), (2, 2), (1, 4), (3, 3)]
