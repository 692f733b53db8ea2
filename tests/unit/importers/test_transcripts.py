"""Transcripts of coding agents: turns with their tools, experience of commands, and what is nobody's word."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import exports
from phronesis import Memory
from phronesis.adapters.agent_hooks import answer_hook
from phronesis.adapters.hook_call import HookCall
from phronesis.errors import InputError
from phronesis.importers import ImportRunner, ImportSummary

CWD = {"cwd": "/home/lin/engine", "sessionId": "s1", "timestamp": "2026-10-01T12:00:00.000Z"}


def claude(role: str, *content: Any, **more: Any) -> dict[str, Any]:
    text = content[0] if len(content) == 1 and isinstance(content[0], str) else list(content)
    return {"type": role, **CWD, "message": {"role": role, "content": text}, **more}


def use(name: str, identity: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": identity, "name": name, "input": arguments}


def result(identity: str, text: Any, *, failed: bool = False) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": identity, "content": text, "is_error": failed}


CLAUDE: list[Any] = [
    {"type": "summary", "summary": "Fix the tests", "leafUuid": "a2"},
    claude("user", "<command-name>/clear</command-name>", uuid="u0"),
    claude("user", "The caveat.", uuid="m0", isMeta=True),
    claude("user", "The staging server is called preprod. Run the tests.", uuid="u1"),
    claude("assistant", {"type": "thinking", "thinking": "hm"}, use("Bash", "t1", command="pytest -q"), uuid="a1"),
    claude("user", result("t1", "Exit code 1\nNo module named foo", failed=True), uuid="r1"),
    claude("assistant", {"type": "text", "text": "I try it another way."}, use("Bash", "t2", command="pytest -p x")),
    claude("user", result("t2", [{"type": "text", "text": "9 passed"}]), uuid="r2"),
    claude("assistant", use("Bash", "t3", command="ls")),
    claude("user", result("t3", "a.py"), uuid="r3"),
    claude("assistant", use("Bash", "t4", command="rm -r /")),
    claude("user", result("t4", "no", failed=True), uuid="r4", toolUseResult="User rejected tool use"),
    claude("user", "This session continues from another: we ran the tests.", uuid="c1", isCompactSummary=True),
    claude("user", "Thanks.", uuid="u2"),
    claude("assistant", {"type": "text", "text": "You are welcome."}, uuid="a3"),
    {"type": "custom-title", "customTitle": "Tests of the engine"},
    claude("user", "Look for foo.", uuid="x1", isSidechain=True),
    claude("assistant", use("Bash", "t5", command="grep -r foo"), isSidechain=True),
    claude("user", result("t5", "Exit code 2", failed=True), isSidechain=True),
]

CODEX, CURSOR = exports.rows("codex"), exports.rows("cursor")


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory.open(f"sqlite:///{tmp_path / 'm.db'}", policy={"embedder": "none"}) as opened:
        yield opened


def write(path: Path, rows: list[Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def take(memory: Memory, path: Path, form: str) -> ImportSummary:
    summary = ImportRunner(memory, user_id="lin").run(path, format=form)
    assert summary.errors == []
    return summary


def events(memory: Memory, namespace: str = "engine") -> set[tuple[Any, Any, Any]]:
    found = [memory.get(item.id) for item in memory.get_all(namespace=namespace, kinds=["l1"], limit=50)]
    return {(one.attempt, one.label, one.result) for one in found}  # type: ignore[attr-defined]


def test_a_session_of_claude_code_becomes_turns_and_experience(memory: Memory, tmp_path: Path) -> None:
    path = write(tmp_path / "projects/-home-lin-engine/s1.jsonl", [*CLAUDE, "not json\n"])
    summary = take(memory, tmp_path / "projects", "claude-code")
    assert summary.skipped == {"said to or by a sub-agent": 1, "not a JSON object": 1}
    first, second = memory.sessions.turns("s1", user_id="lin")
    assert [(one["role"], one["content"]) for one in first.messages] == [
        ("user", "The staging server is called preprod. Run the tests."),
        ("assistant", "I try it another way."),
        ("system", "This session continues from another: we ran the tests."),
    ]
    assert [(one["args"]["command"], one.get("status")) for one in first.tool_calls] == [
        ("pytest -q", "error"), ("pytest -p x", "ok"), ("ls", "ok"), ("rm -r /", None),
    ]  # fmt: skip
    assert first.session_metadata["title"] == "Tests of the engine"
    assert [one["content"] for one in second.messages] == ["Thanks.", "You are welcome."]
    assert events(memory) == {
        ("pytest -q", "failure", "Exit code 1\nNo module named foo"),
        ("pytest -p x", "success", "9 passed"),
        ("grep -r foo", "failure", "Exit code 2"),
    }
    again = take(memory, path, "claude-code")
    assert (again.recorded, again.known) == (0, summary.recorded)


def test_a_session_goes_on_where_its_transcript_does(memory: Memory, tmp_path: Path) -> None:
    path = write(tmp_path / "s1.jsonl", CLAUDE[:8])
    take(memory, path, "claude-code")
    write(path, CLAUDE)
    take(memory, path, "claude-code")
    said = [one["content"] for turn in memory.sessions.turns("s1", user_id="lin") for one in turn.messages]
    assert len(said) == len(set(said)) == 5
    assert len(events(memory)) == 3


def test_a_rollout_of_codex_becomes_turns_and_experience(memory: Memory, tmp_path: Path) -> None:
    write(tmp_path / "2026/10/01/rollout-1.jsonl", CODEX)
    take(memory, tmp_path, "codex")
    (turn,) = memory.sessions.turns("c1", user_id="lin")
    assert [(one["role"], one["content"]) for one in turn.messages] == [
        ("user", "Build it. The staging server is called preprod."),
        ("system", "We built it."),
        ("assistant", "It is built."),
    ]
    assert events(memory) == {
        ("make all", "failure", "no rule"),
        ("make one", "success", "done"),
        ("make two", "failure", "no rule for two"),
        ("make three", "success", "three"),
        ('apply_patch {"input": "*** Begin Patch"}', "failure", "bad patch"),
    }


def test_a_sub_agent_of_codex_says_nothing_for_the_user(memory: Memory, tmp_path: Path) -> None:
    rows = [{"type": "session_meta", "payload": {"id": "c2", "parent_thread_id": "c1"}}, *CODEX[2:]]
    summary = take(memory, write(tmp_path / "rollout-2.jsonl", rows), "codex")
    assert summary.skipped == {"said to or by a sub-agent": 1}
    assert memory.sessions.list(user_id="lin") == []
    assert len(events(memory, "default")) == 5


def test_a_transcript_of_cursor_becomes_turns(memory: Memory, tmp_path: Path) -> None:
    take(memory, write(tmp_path / "agent-transcripts/k1/k1.jsonl", CURSOR), "cursor")
    (turn,) = memory.sessions.turns("k1", user_id="lin")
    assert [one["content"] for one in turn.messages] == ["Where is preprod?", "In Kiel."]
    assert [one["name"] for one in turn.tool_calls] == ["Read"]


def test_what_hooks_recorded_is_not_recorded_again(memory: Memory, tmp_path: Path) -> None:
    place = {"session_id": "s1", "cwd": "/home/lin/engine"}
    failed = {"tool_name": "Bash", "tool_use_id": "t1", "tool_input": {"command": "pytest -q"}, "error": "no"}
    for event, payload in (("prompt", {"prompt": "Run the tests."}), ("post-tool", failed)):
        answer_hook(memory, HookCall(event, user_id="lin", payload={**place, **payload}))
    memory.flush()
    summary = take(memory, write(tmp_path / "s1.jsonl", CLAUDE), "claude-code")
    assert (summary.skipped["recorded already, by hooks or from another export"], summary.known) == (2, 1)
    assert [one["content"] for turn in memory.sessions.turns("s1", user_id="lin") for one in turn.messages] == [
        "Run the tests."
    ]
    assert {attempt for attempt, _, _ in events(memory)} == {"pytest -q", "pytest -p x", "grep -r foo"}


def test_private_spans_are_not_imported(memory: Memory, tmp_path: Path) -> None:
    rows = [
        claude("user", "The lab is in Kiel. <private>My PIN is <private>47</private>11.</private>", uuid="u1"),
        claude("assistant", use("Bash", "t1", command="login <private>hunter2</private>"), uuid="a1"),
        claude("user", result("t1", "no such user <private>hunter2", failed=True), uuid="r1"),
        claude("assistant", {"type": "text", "text": "There is no such user."}, uuid="a3"),
        claude("user", "My cat is called hunter2. Don't remember this.", uuid="u2"),
        claude("assistant", {"type": "text", "text": "hunter2 it is."}, uuid="a2"),
    ]
    take(memory, write(tmp_path / "s1.jsonl", rows), "claude-code")
    (turn,) = memory.sessions.turns("s1", user_id="lin")
    assert turn.messages[0]["content"] == "The lab is in Kiel. [private]"
    assert events(memory) == {("login [private]", "failure", "no such user [private]")}
    assert "hunter2" not in str(turn)


def test_a_folder_without_transcripts_is_named(memory: Memory, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no transcript"):
        take(memory, tmp_path / "nothing", "codex")
