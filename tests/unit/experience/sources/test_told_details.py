"""Single forms of chats, notes and runs."""

import json

from phronesis.experience.laws.event_draft import Draft
from phronesis.experience.sources.chat import ChatSource
from phronesis.experience.sources.manual import ManualSource
from phronesis.experience.sources.run import RunSource
from unit.experience.sources.labelled_sources import read


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


def test_a_written_label_wins() -> None:
    cases: list[tuple[str, str]] = [
        ("Success", "success"),
        ("失败", "failure"),
        ("no", "failure"),
        ("unknown", "unknown"),
    ]
    for label, expected in cases:
        (draft,) = note(f"Tried: a\nResult: it works\nLabel: {label}")
        assert (draft.label, list(draft.signals)) == (expected, ["given"]), label


def test_what_is_no_run_gives_nothing() -> None:
    for value in ({}, [], {"x": 1}, [1, 2], {"runs": 3}, "text", {"messages": [{"role": "user", "content": "x"}]}):
        assert run(value) == []
