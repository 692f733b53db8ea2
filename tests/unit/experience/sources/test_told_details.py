"""Single forms of chats, notes and runs."""

import json

from phronesis.experience.laws.event_draft import Draft
from phronesis.experience.sources.chat import ChatSource
from phronesis.experience.sources.manual import ManualSource
from phronesis.experience.sources.run import RunSource
from unit.experience.sources.labelled_sources import read


def chat(*said: object) -> list[Draft]:
    roles = ("user", "assistant")
    return read(
        ChatSource(),
        json.dumps(
            [one if isinstance(one, dict) else {"role": roles[n % 2], "content": one} for n, one in enumerate(said)]
        ),
    )


def note(text: str) -> list[Draft]:
    return read(ManualSource(), text)


def run(record: object) -> list[Draft]:
    return read(RunSource(), json.dumps(record))


ASKED = "What is the weather in Gent?"
CALLED = {"name": "get_weather", "arguments": {"city": "Gent"}}
FORMS = {
    "sharegpt": {
        "conversations": [
            {"from": "human", "value": ASKED},
            {"from": "function_call", "value": json.dumps(CALLED)},
            {"from": "observation", "value": '{"error": "no such city"}'},
            {"from": "gpt", "value": "It cannot be told."},
        ]
    },
    "openai": {
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": ASKED}]},
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "get_weather", "arguments": '{"city": "Gent"}'},
                    }
                ],
            },
            {"role": "tool", "tool_call_id": "c1", "content": '{"error": "no such city"}'},
            {"role": "assistant", "content": "It cannot be told."},
        ]
    },
    "responses": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": ASKED}]},
        {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": '{"city": "Gent"}'},
        {"type": "function_call_output", "call_id": "c1", "output": '{"error": "no such city"}'},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It cannot be told."}]},
    ],
    "anthropic": {
        "messages": [
            {"role": "user", "content": ASKED},
            {
                "role": "assistant",
                "content": [{"type": "tool_use", "id": "c1", "name": "get_weather", "input": {"city": "Gent"}}],
            },
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "c1", "content": '{"error": "no such city"}'}],
            },
            {"role": "assistant", "content": "It cannot be told."},
        ]
    },
    "google": {
        "history": [
            {"role": "user", "parts": [{"text": ASKED}]},
            {"role": "model", "parts": [{"functionCall": {"name": "get_weather", "args": {"city": "Gent"}}}]},
            {"role": "function", "parts": [{"text": '{"error": "no such city"}'}]},
            {"role": "model", "parts": [{"text": "It cannot be told."}]},
        ]
    },
}


def test_a_conversation_is_read_in_every_form_of_its_messages() -> None:
    for form, messages in FORMS.items():
        called, answered = read(ChatSource(), json.dumps(messages, indent=1))
        assert (called.goal, called.attempt, called.label) == (ASKED, "get_weather: Gent", "failure"), form
        assert called.result == '{"error": "no such city"}', form
        assert (answered.attempt, answered.label) == ("It cannot be told.", "unknown"), form


def test_words_that_say_both_leave_the_attempt_unknown_and_the_episode_open() -> None:
    first, second = chat("Make it run.", "Done.", "It works on Linux but fails on Windows.", "Use Path.", "ok")
    assert (first.label, len(first.signals)) == ("unknown", 2)
    assert first.episode_id == second.episode_id


def test_a_confirmation_may_hold_the_next_request() -> None:
    first, second = chat("Make it run.", "Done.", "It works now! How do I stop it?", "Press q.")
    assert (first.label, second.goal, second.seq) == ("success", "How do I stop it?", 1)
    assert first.episode_id != second.episode_id


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


def test_a_chat_of_one_side_gives_nothing() -> None:
    assert read(ChatSource(), "User: hello\nUser: anybody?") == []
    assert chat({"role": "user", "content": "hello"}, {"role": 7, "content": "x"}, {"x": 1}) == []


WRITTEN_LABEL_WINS: list[tuple[str, str]] = [
    ("Success", "success"),
    ("失败", "failure"),
    ("no", "failure"),
    ("unknown", "unknown"),
]


def test_a_written_label_wins() -> None:
    for label, expected in WRITTEN_LABEL_WINS:
        (draft,) = note(f"Tried: a\nResult: it works\nLabel: {label}")
        assert (draft.label, list(draft.signals)) == (expected, ["given"]), label


def test_a_label_that_is_none_decides_nothing() -> None:
    assert note("Tried: a\nLabel: perhaps")[0].label == "unknown"


def test_an_attempts_own_words_decide_where_there_is_no_result() -> None:
    assert note("Tried: the old driver, it still crashes")[0].label == "failure"


def test_attempts_by_number_share_the_goal() -> None:
    first, second = note("Goal: sort\nTried 1: a\nResult: failed\nTried 2: b\nResult: success")
    assert (first.goal, second.goal, first.seq, second.seq) == ("sort", "sort", 1, 2)


def test_a_number_that_json_does_not_know_is_told_in_words() -> None:
    (draft,) = run({"id": "a", "success": True, "score": float("inf")})
    assert draft.observations["score"] == "inf"


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


def test_the_verdict_of_an_answer_is_the_runs() -> None:
    text = "Task: sum\nAction: Finish[3]\nObservation: Answer is INCORRECT\nTask: next\nThought: hm"
    (draft,) = read(RunSource(), text)
    assert (draft.label, draft.goal) == ("failure", "sum")
