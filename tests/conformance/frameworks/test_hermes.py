"""The memory provider of Hermes Agent, loaded and called by Hermes' own manager."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agent.memory_manager import MemoryManager
from plugins.memory import discover_memory_providers, load_memory_provider

from phronesis import Memory
from phronesis.interfaces.cli.dispatch import run


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Hermes' home in a user's, with what the installer writes; nothing of it is left afterwards."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("HERMES_HOME", str(tmp_path / "home/.hermes"))
    monkeypatch.setenv("PHRONESIS_EMBEDDER", "none")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    (tmp_path / "home/.hermes").mkdir(parents=True)
    assert run(["install", "hermes"]) == 0
    yield tmp_path / "home/.hermes"
    assert run(["uninstall", "hermes"]) == 0
    assert not [
        path for path in (tmp_path / "home/.hermes").rglob("*") if "phronesis" in str(path.relative_to(tmp_path))
    ]


@pytest.fixture
def url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'm.db'}"


@pytest.fixture
def manager(home: Path, url: str) -> Iterator[MemoryManager]:
    provider = load_memory_provider("phronesis")
    provider.save_config({"url": url, "namespace": "engine", "other": 1}, str(home))
    made = MemoryManager()
    made.add_provider(provider)
    made.initialize_all(session_id="one", hermes_home=str(home), platform="cli", user_id="lin")
    yield made
    made.shutdown_all()


def settle(url: str) -> None:
    with Memory.open(url) as memory:
        memory.flush()


def turn(manager: MemoryManager, asked: str, answer: str, messages: list[dict[str, Any]] | None = None) -> None:
    manager.sync_all(asked, answer, session_id="one", messages=messages)
    flush = getattr(manager, "flush_pending", None)
    if flush is not None:
        flush(timeout=30)


def failing(arguments: str, result: Any, call: str) -> list[dict[str, Any]]:
    function = {"name": "terminal", "arguments": arguments}
    return [
        {"role": "user", "content": "build it"},
        {"role": "assistant", "content": None, "tool_calls": [{"id": call, "type": "function", "function": function}]},
        {"role": "tool", "tool_call_id": call, "content": result},
        {"role": "assistant", "content": "It fails."},
    ]


def test_hermes_finds_the_provider(home: Path) -> None:
    assert home.exists()
    assert ("phronesis", True) in {(name, available) for name, _, available in discover_memory_providers()}
    keys = [one["key"] for one in load_memory_provider("phronesis").get_config_schema()]
    assert keys == ["url", "user_id", "namespace"]


def test_a_turn_is_recalled_in_the_next_session(manager: MemoryManager, url: str) -> None:
    assert manager.prefetch_all("Where is the staging server?", session_id="one") == ""
    private = "<private>The PIN of the gate is 4711.</private>"
    turn(manager, f"The staging server is called preprod. I'm allergic to acetone. {private}", "Noted.")
    settle(url)
    assert "4711" not in manager.prefetch_all("What is the PIN of the gate?", session_id="two")
    assert "preprod" in manager.prefetch_all("Which is the staging server?", session_id="two")
    assert manager.prefetch_all("Write a haiku.", session_id="three") == ""
    assert "acetone" in manager.build_system_prompt()


def test_a_failed_command_is_kept_through_a_compression_and_recalled(manager: MemoryManager, url: str) -> None:
    messages = failing(json.dumps({"command": "make all"}), json.dumps({"output": "no rule", "exit_code": 2}), "c1")
    turn(manager, "build it", "It fails.", messages)
    settle(url)
    assert "make all: no rule" in manager.on_pre_compress(messages)
    assert "make all" in manager.prefetch_all("make all", session_id="two")
    turn(manager, "build it", "Done.", failing("not json", "fine", "c2"))


def test_the_tools_search_and_remember(manager: MemoryManager) -> None:
    assert {one["name"] for one in manager.get_all_tool_schemas()} == {"phronesis_search", "phronesis_remember"}
    assert json.loads(manager.handle_tool_call("phronesis_search", {"query": "backup"})) == {"memories": []}
    manager.handle_tool_call("phronesis_remember", {"text": "The backup runs at noon."})
    (found,) = json.loads(manager.handle_tool_call("phronesis_search", {"query": "backup noon"}))["memories"]
    assert found["text"] == "The backup runs at noon."
    assert "error" in json.loads(manager.handle_tool_call("phronesis_search", {"query": ""}))


def test_a_sub_agent_records_nothing(home: Path, url: str) -> None:
    provider = load_memory_provider("phronesis")
    assert provider.prefetch("anything") == provider.system_prompt_block() == provider.on_pre_compress([]) == ""
    assert "error" in json.loads(provider.handle_tool_call("phronesis_search", {"query": "x"}))
    (home / "phronesis.json").write_text(json.dumps({"url": url}), encoding="utf-8")
    provider.initialize("sub", hermes_home=str(home), agent_context="subagent")
    provider.sync_turn("The key is under the mat.", "Noted.", session_id="sub")
    provider.on_session_switch("sub2")
    assert [one["name"] for one in provider.get_tool_schemas()] == ["phronesis_search"]
    provider.shutdown()
    with Memory.open(url) as memory:
        assert memory.sessions.list(user_id="user") == []
