"""Chats and notes in each of their forms, and runs of agents as their programs write them: task, steps, end."""

import json
from typing import Any, Final

from phronesis.experience.laws.event_draft import Draft
from phronesis.experience.sources.chat import ChatSource
from phronesis.experience.sources.run import RunSource
from unit.experience.sources.labelled_sources import read


def run(value: object) -> list[Draft]:
    return read(RunSource(), json.dumps(value, indent=1))


def call(n: int, name: str, **arguments: str) -> dict[str, Any]:
    given = {"id": f"c{n}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return {"role": "assistant", "content": f"Words of the model {n}.", "tool_calls": [given]}


def answer(n: int, content: str) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": f"c{n}", "content": content}


TASK: Final = {"role": "user", "content": "Fix the rounding bug in cart.py."}
FAILED: Final = "E   AssertionError: 10.004 != 10.0\n1 failed"
OPENHANDS: Final = {
    "instance_id": "acme__cart-17",
    "run_id": "gpt-x_maxiter_30",
    "resolved": True,
    "messages": [
        {"role": "system", "content": "You are a coding agent."},
        TASK,
        call(1, "execute_bash", command="pytest tests/test_cart.py"),
        answer(1, FAILED),
        call(2, "str_replace_editor", command="str_replace", path="cart.py"),
        answer(2, "The file has been edited."),
    ],
}


def test_messages_with_calls_are_steps_of_a_run() -> None:
    failed, whole = run([OPENHANDS])
    assert (failed.attempt, failed.label) == ("execute_bash: pytest tests/test_cart.py", "failure")
    assert failed.goal == whole.goal == TASK["content"]
    assert (whole.label, whole.result, whole.episode_id) == ("success", "The file has been edited.", "acme__cart-17")
    assert whole.observations["steps"] == 2
    assert not any("Words of the model" in text for draft in (failed, whole) for text in draft.texts.values())


def said(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def test_actions_written_as_text_are_steps() -> None:
    call = "<function=bash>\n<parameter=command>make test</parameter>\n</function>"
    ended = "EXECUTION RESULT of [bash]:\nok\n[Command finished with exit code 2]"
    listed = "<returncode>0</returncode>\n<output>\na.py\n</output>"
    opened = "raise ValueError('x')\nerror: none\nKeyError: 'shown in the file'"
    tagged = "<execute_bash>\nmake test\n</execute_bash>"
    cases: list[tuple[str, str, str, list[str]]] = [
        (f"I run it.\n\n{call}", ended, "bash: make test", ["failure", "unknown"]),
        (f"I run it.\n{tagged}", "OBSERVATION:\nKeyError: 'port'", "execute_bash: make test", ["failure", "unknown"]),
        ("Let me look.\n```\nfind_file cart.py\n```", "Found 1 match", "find_file cart.py", ["unknown"]),
        ("THOUGHT: run\n\n```bash\nls -la\n```", listed, "ls -la", ["unknown"]),
        ("I open it.\n```\nopen cart.py\n```", opened, "open cart.py", ["unknown"]),
    ]
    for action, result, shown, labels in cases:
        drafts = run({"instance_id": "a-1", "messages": [TASK, said(action), {"role": "user", "content": result}]})
        assert (drafts[-1].attempt, drafts[-1].goal) == (shown, TASK["content"]), action
        assert [draft.label for draft in drafts] == labels, action


def trajectory(exit_status: str | None, submission: str | None = None) -> dict[str, Any]:
    steps = [
        {"action": "open cart.py\n", "observation": "[File: cart.py]", "response": "Words of the model"},
        {"action": "submit\n", "observation": "", "response": "Words of the model"},
    ]
    prompt = (
        "We're solving the following issue. Here's the text:\nISSUE:\ncart total is off\n\nINSTRUCTIONS:\nBe careful."
    )
    shown = {"role": "user", "content": "A demonstration:\nISSUE:\nanother one", "is_demo": True}
    history = [{"role": "system", "content": "SETTING"}, shown, {"role": "user", "content": prompt}]
    info = {"exit_status": exit_status, "submission": submission}
    return {"environment": "swe_main", "trajectory": steps, "history": history, "info": info}


def test_swe_agent_tells_the_issue_and_how_the_run_ended() -> None:
    cases: list[tuple[str | None, str, str]] = [
        ("exit_cost", "failure", "exit status: exit_cost"),
        ("early_exit", "failure", "exit status: early_exit"),
        ("LimitsExceeded", "failure", "exit status: LimitsExceeded"),
        ("submitted", "unknown", "exit status: submitted"),
        (None, "unknown", "[File: cart.py]"),
    ]
    for status, label, result in cases:
        (draft,) = run(trajectory(status))
        assert (draft.goal, draft.label, draft.result) == ("cart total is off", label, result), status
        assert draft.attempt == "open cart.py → submit", status


def test_a_conversation_in_which_nothing_is_done_is_no_run() -> None:
    assert run({"id": "a", "messages": [TASK, said("I would round it.")]}) == []


ASKED: Final = "What is the weather in Gent?"
ARGUMENTS: Final = '{"city": "Gent"}'
GONE: Final = '{"error": "no such city"}'
ANSWERED: Final = "It cannot be told."


def messages(role: str, content: str, *rows: tuple[str, Any]) -> list[dict[str, Any]]:
    return [{role: name, content: words} for name, words in rows]


CALLED: Final = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": ARGUMENTS}}
USED: Final = [{"type": "tool_use", "id": "c1", "name": "get_weather", "input": {"city": "Gent"}}]
FORMS: Final[dict[str, Any]] = {
    "sharegpt": {
        "conversations": messages(
            "from",
            "value",
            ("human", ASKED),
            ("function_call", json.dumps({"name": "get_weather", "arguments": {"city": "Gent"}})),
            ("observation", GONE),
            ("gpt", ANSWERED),
        )
    },
    "openai": {
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": ASKED}]},
            {"role": "assistant", "content": None, "tool_calls": [CALLED]},
            {"role": "tool", "tool_call_id": "c1", "content": GONE},
            {"role": "assistant", "content": ANSWERED},
        ]
    },
    "responses": [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": ASKED}]},
        {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": ARGUMENTS},
        {"type": "function_call_output", "call_id": "c1", "output": GONE},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ANSWERED}]},
    ],
    "anthropic": {
        "messages": messages(
            "role",
            "content",
            ("user", ASKED),
            ("assistant", USED),
            ("user", [{"type": "tool_result", "tool_use_id": "c1", "content": GONE}]),
            ("assistant", ANSWERED),
        )
    },
    "google": {
        "history": messages(
            "role",
            "parts",
            ("user", [{"text": ASKED}]),
            ("model", [{"functionCall": {"name": "get_weather", "args": {"city": "Gent"}}}]),
            ("function", [{"text": GONE}]),
            ("model", [{"text": ANSWERED}]),
        )
    },
}


def test_a_conversation_is_read_in_every_form_of_its_messages() -> None:
    for form, conversation in FORMS.items():
        called, answered = read(ChatSource(), json.dumps(conversation, indent=1))
        assert (called.goal, called.attempt, called.label) == (ASKED, "get_weather: Gent", "failure"), form
        assert called.result == GONE, form
        assert (answered.attempt, answered.label) == (ANSWERED, "unknown"), form


def test_what_is_no_run_gives_nothing() -> None:
    for value in ({}, [], {"x": 1}, [1, 2], {"runs": 3}, "text", {"messages": [{"role": "user", "content": "x"}]}):
        assert run(value) == []
