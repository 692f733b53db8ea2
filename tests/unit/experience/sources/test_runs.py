"""Runs of agents as their programs write them: task, steps, end."""

import json
from typing import Any, Final

from phronesis.experience.laws.event_draft import Draft
from phronesis.experience.sources.run import RunSource
from unit.experience.sources.labelled_sources import read


def run(value: object) -> list[Draft]:
    return read(RunSource(), json.dumps(value, indent=1))


TASK: Final = {"role": "user", "content": "Fix the rounding bug in cart.py."}


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


def test_what_is_no_run_gives_nothing() -> None:
    for value in ({}, [], {"x": 1}, [1, 2], {"runs": 3}, "text", {"messages": [{"role": "user", "content": "x"}]}):
        assert run(value) == []
