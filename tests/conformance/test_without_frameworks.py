"""Where a framework is not installed, its adapter says so by name, and the others work."""

import importlib
import sys

import pytest

from phronesis import Memory
from phronesis.adapters.anthropic_memory import MemoryFiles
from phronesis.adapters.openai_agents import PhronesisSession
from phronesis.errors import MissingExtra


@pytest.mark.parametrize(
    ("adapter", "package", "remedy"),
    [
        ("langgraph", "langgraph.store", "pip install langgraph"),
        ("langchain", "langchain_core.chat_history", "pip install langchain-core"),
    ],
)
def test_importing_an_adapter_names_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, adapter: str, package: str, remedy: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, f"phronesis.adapters.{adapter}", raising=False)
    with pytest.raises(MissingExtra, match=remedy):
        importlib.import_module(f"phronesis.adapters.{adapter}")


@pytest.mark.parametrize(
    ("adapter", "framework"), [("mem0", "mem0"), ("openai_agents", "agents"), ("anthropic_memory", "anthropic")]
)
def test_an_adapter_that_needs_none_imports_none(monkeypatch: pytest.MonkeyPatch, adapter: str, framework: str) -> None:
    monkeypatch.setitem(sys.modules, framework, None)
    monkeypatch.delitem(sys.modules, f"phronesis.adapters.{adapter}", raising=False)
    importlib.import_module(f"phronesis.adapters.{adapter}")


def test_what_needs_the_sdk_names_it(monkeypatch: pytest.MonkeyPatch, memory: Memory) -> None:
    monkeypatch.setitem(sys.modules, "anthropic", None)
    for form in ("tool", "async_tool"):
        with pytest.raises(MissingExtra, match="pip install anthropic"):
            getattr(MemoryFiles(memory), form)()
    monkeypatch.setitem(sys.modules, "agents", None)
    assert PhronesisSession("chat", memory).session_settings is None
    with pytest.raises(MissingExtra, match="pip install openai-agents"):
        PhronesisSession("chat", memory, session_settings={"limit": 1})
