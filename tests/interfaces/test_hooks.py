"""Hooks of coding agents: recall before a prompt, record after it, learn from tools that fail."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from phronesis import Memory
from phronesis.adapters.agent_hooks import NOTICE, answer_hook
from phronesis.adapters.hook_call import HookCall, project_name
from phronesis.errors import InputError

FAILED: dict[str, Any] = {
    "tool_name": "Bash",
    "tool_input": {"command": "pytest -q"},
    "error": "Exit code 1\nNo module named foo",
}
WORKED: dict[str, Any] = {
    "tool_name": "Bash",
    "tool_input": {"command": "pytest -q -p xdist"},
    "tool_response": {"stdout": "9 passed"},
}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(f"sqlite:///{tmp_path / 'm.db'}", policy={"embedder": "none"}) as opened:
        yield opened


def hook(memory: Memory, event: str, session: str = "s1", host: str = "claude-code", **payload: Any) -> dict[str, Any]:
    """Call a hook as its host does; what it records is interpreted before this returns."""
    given = {"session_id": session, "cwd": "/home/lin/engine", **payload}
    answer = answer_hook(memory, HookCall.read({"event": event, "host": host, "user_id": "lin", "payload": given}))
    memory.flush()
    return answer


def context(answer: dict[str, Any]) -> str:
    """Return what an answer adds to the model's context."""
    text: str = answer["hookSpecificOutput"]["additionalContext"]
    return text


def test_a_prompt_recalls_what_an_earlier_session_said(memory: Memory) -> None:
    assert hook(memory, "prompt", prompt="The staging server is called preprod.") == {}
    answer = hook(
        memory, "prompt", "s2", prompt="Which server is the staging server?", hook_event_name="UserPromptSubmit"
    )
    assert answer["hookSpecificOutput"]["hookEventName"] == "UserPromptSubmit"
    assert context(answer).startswith(NOTICE)
    assert "called preprod" in context(answer)
    assert hook(memory, "prompt", "s3", prompt="Write a haiku about rain.") == {}
    asked: dict[str, Any] = {"session_id": None, "conversation_id": "c1", "prompt": "Which is the staging server?"}
    assert set(hook(memory, "prompt", host="cursor", **asked)) == {"additional_context"}
    assert memory.sessions.turns("c1", user_id="lin")
    hook(memory, "prompt", host="vscode", session_id=None, sessionId="v1", prompt="Which is the staging server?")
    assert memory.sessions.turns("v1", user_id="lin")


def test_prompts_and_replies_become_turns_of_the_session(memory: Memory, tmp_path: Path) -> None:
    transcript = tmp_path / "t.jsonl"
    rows = [
        {"type": "user", "message": {"role": "user", "content": "Where do we deploy?"}},
        {"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": "To preprod."}]}},
        {"type": "system", "content": "done"},
    ]
    transcript.write_text("".join(json.dumps(row) + "\n" for row in rows) + "not json\n", encoding="utf-8")
    hook(memory, "prompt", prompt="Where do we deploy?", prompt_id="p1")
    hook(memory, "stop", transcript_path=str(transcript))
    hook(memory, "stop", last_assistant_message="Done.")
    hook(memory, "stop", transcript_path=str(tmp_path / "none.jsonl"))
    messages = [one for turn in memory.sessions.turns("s1", user_id="lin") for one in turn.messages]
    assert [(one["role"], one["content"]) for one in messages] == [
        ("user", "Where do we deploy?"),
        ("assistant", "To preprod."),
        ("assistant", "Done."),
    ]


def test_a_reply_says_by_its_citations_which_memories_helped(memory: Memory) -> None:
    for fact in ("The staging server is called preprod.", "Ruth restarts the staging server."):
        memory.add(fact, kind="fact", user_id="lin")
    shown = context(hook(memory, "prompt", prompt="What is the staging server called, and does Ruth restart it?"))
    alias = next(line for line in shown.splitlines() if "preprod" in line)[1:].partition("]")[0]
    hook(memory, "stop", last_assistant_message=f"It is called preprod [{alias}].")
    hook(memory, "stop", "s9", last_assistant_message="[m1]")  # of a session that was shown nothing
    uses = {one.content: memory.explain(one.id).use for one in memory.get_all(user_id="lin", kinds=["fact"])}
    assert {content: (use.used, use.ignored) for content, use in uses.items()} == {
        "The staging server is called preprod.": (1, 0),
        "Ruth restarts the staging server.": (0, 1),
    }


def test_private_spans_are_neither_stored_nor_searched(memory: Memory) -> None:
    hook(memory, "prompt", prompt="The lab is in Kiel. <private>My PIN is 4711.</private> <PRIVATE>and so on")
    hook(memory, "post-tool", **FAILED | {"tool_input": {"command": "login <private>hunter2</private>"}})
    held = [item.content for item in memory.get_all(user_id="lin", namespace="engine", limit=50)]
    assert any("The lab is in Kiel. [private] [private]" in text for text in held)
    assert not any("4711" in text or "hunter2" in text or "and so on" in text for text in held)


def test_a_turn_off_the_record_is_not_stored(memory: Memory) -> None:
    hook(memory, "prompt", prompt="The lab is in Kiel.")
    hook(memory, "stop", last_assistant_message="Noted: Kiel.")
    for prompt in ("My PIN is 4711. Please don’t remember this!", "请别记住这个：我的密码是 4711"):
        hook(memory, "prompt", prompt=prompt)
        hook(memory, "stop", last_assistant_message="Your PIN 4711 is not kept.")
    hook(memory, "prompt", prompt="The backup runs at noon.")
    hook(memory, "stop", last_assistant_message="Noted: at noon.")
    memory.flush()
    said = [m["content"] for turn in memory.sessions.turns("s1", user_id="lin") for m in turn.messages]
    assert [one for one in said if one != "[private]"] == [
        *("The lab is in Kiel.", "Noted: Kiel."),
        *("The backup runs at noon.", "Noted: at noon."),
    ]
    assert "4711" not in json.dumps([item.to_dict() for item in memory.get_all(limit=50, user_id="lin")], default=str)


def test_the_lesson_of_a_failed_command_comes_before_its_repetition(memory: Memory) -> None:
    hook(memory, "prompt", prompt="Run the tests.")
    assert hook(memory, "post-tool", tool_use_id="t1", **FAILED) == {}
    assert hook(memory, "post-tool", tool_use_id="t1", **FAILED) != {}  # called twice, recorded once
    hook(memory, "post-tool", tool_use_id="t2", **WORKED)
    events = [memory.get(item.id) for item in memory.get_all(namespace="engine", kinds=["l1"])]
    assert {(e.attempt, e.label, e.goal) for e in events} == {  # type: ignore[attr-defined]
        ("pytest -q", "failure", "Run the tests."),
        ("pytest -q -p xdist", "success", "Run the tests."),
    }
    recalled = context(hook(memory, "prompt", "s2", prompt="Run the tests of the engine with pytest"))
    assert "pytest -q -p xdist" in recalled
    assert "This failed before (once). What worked then:\n- pytest -q -p xdist" in context(
        hook(memory, "post-tool", "s2", **FAILED)
    )


def test_a_failure_without_a_remedy_is_named_and_other_successes_are_not_recorded(memory: Memory) -> None:
    hook(memory, "post-tool", **WORKED)
    assert memory.get_all(namespace="engine", kinds=["l1"]).items == ()
    hook(memory, "post-tool", **FAILED)
    told = context(hook(memory, "post-tool", "s2", **FAILED))
    assert told.endswith("nothing is known to work:\n- pytest -q: No module named foo")
    hook(memory, "post-tool", tool_input={}, error="no tool")
    hook(memory, "post-tool", tool_name="Edit", tool_input={"file_path": "a.py"}, error="no such file")
    newest, *_ = memory.get_all(namespace="engine", kinds=["l1"])
    assert 'Edit {"file_path": "a.py"}' in newest.content  # without a command: by its arguments


def test_a_failure_is_read_from_the_fields_of_each_host(memory: Memory) -> None:
    cases: list[tuple[dict[str, Any], bool]] = [
        ({"tool_response": {"exit_code": 2, "output": "no"}}, True),
        ({"tool_output": {"success": False}}, True),
        ({"tool_response": {"is_error": True}}, True),
        ({"error_message": "timed out"}, True),
        ({"tool_response": {"stdout": "", "interrupted": True}, "error": "stopped"}, False),
        ({"is_interrupt": True, "error": "stopped"}, False),
        ({"tool_response": "Exit code: 0"}, False),
        ({"tool_output": '{"exitCode": 2, "stdout": "no"}'}, True),
        ({"tool_output": '{"exitCode": 0, "stdout": "yes"}'}, False),
        ({"tool_output": "{ not json"}, False),
        ({"tool_response": "no\n\nCommand exited with code 2"}, True),
        ({"tool_response": ["rows"]}, False),
        ({}, False),
    ]
    for n, (payload, fails) in enumerate(cases):
        tool: dict[str, Any] = {"tool_name": "shell", "tool_input": {"command": ["make", f"target{n}"]}}
        hook(memory, "post-tool", f"session{n}", **tool, **payload)
        held = memory.get_all(namespace="engine", kinds=["l1"]).items
        assert any(f"make target{n}" in item.content for item in held) is fails, payload


def test_codex_names_an_exit_code_in_its_transcript_alone(memory: Memory, tmp_path: Path) -> None:
    ran = {"type": "CommandExecution", "id": "c1", "exit_code": 2}
    transcript = tmp_path / "rollout.jsonl"
    transcript.write_text(json.dumps({"type": "event_msg", "payload": {"item": ran}}) + "\n", encoding="utf-8")
    tool: dict[str, Any] = {"tool_name": "Bash", "tool_input": {"command": "make all"}, "tool_response": "no rule"}
    for own_id, path in (("c1", transcript), ("c2", transcript), ("c1", tmp_path / "none")):
        hook(memory, "post-tool", host="codex", tool_use_id=own_id, transcript_path=str(path), **tool)
    (event,) = memory.get_all(namespace="engine", kinds=["l1"])
    assert "make all" in event.content


def test_a_session_starts_with_the_profile_and_goes_on_after_a_compaction_with_what_failed(memory: Memory) -> None:
    assert hook(memory, "session-start", source="startup") == {}
    memory.add("I'm allergic to acetone.", user_id="lin")
    hook(memory, "post-tool", **FAILED)
    assert hook(memory, "pre-compact", trigger="auto") == {}
    started = context(hook(memory, "session-start", "s2", source="startup"))
    assert "acetone" in started
    assert "failed" not in started
    compacted = context(hook(memory, "session-start", source="compact"))
    assert "Tried in this session, and failed:\n- pytest -q: No module named foo" in compacted


@pytest.mark.parametrize("host", ["cursor", "vscode"])
def test_a_host_that_starts_no_session_after_a_compaction_is_told_by_its_next_tool(memory: Memory, host: str) -> None:
    assert hook(memory, "pre-compact", host=host) == {}
    assert hook(memory, "post-tool", host=host, **WORKED) == {}
    hook(memory, "post-tool", host=host, **FAILED)
    hook(memory, "pre-compact", host=host)
    told = str(hook(memory, "post-tool", host=host, **WORKED))
    assert "Tried in this session, and failed:\\n- pytest -q: No module named foo" in told
    assert hook(memory, "post-tool", host=host, **WORKED) == {}  # told once


def test_a_wrong_call_names_the_field() -> None:
    with pytest.raises(InputError, match="event must be one of"):
        HookCall.read({"event": "lunch"})
    with pytest.raises(InputError, match="payload must be an object"):
        HookCall.read({"event": "stop", "payload": []})


def test_a_project_is_named_by_its_repository_or_the_first_folder_of_a_workspace(tmp_path: Path) -> None:
    inner = tmp_path / "my engine" / "src"
    inner.mkdir(parents=True)
    assert project_name(str(inner)) == "src"
    (tmp_path / "my engine" / ".git").mkdir()
    assert project_name(str(inner)) == "my-engine"
    for roots in (None, 5, [], [None], ["/home/lin/engine"]):  # whatever a host gives
        named = HookCall("prompt", payload={"workspace_roots": roots}).project
        assert named == ("engine" if roots == ["/home/lin/engine"] else "default")
