"""The memory of a crew, called by CrewAI's own crews with a scripted model, and beside the promises of its storage."""

import os
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false", "OTEL_SDK_DISABLED": "true"}
from crewai import Agent, BaseLLM, Crew, Task
from crewai.memory.storage.backend import StorageBackend

from phronesis import Memory
from phronesis.adapters.crewai import PhronesisMemory, PhronesisStorage


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CREWAI_STORAGE_DIR", str(tmp_path / "crew"))
    with Memory.open(f"sqlite:///{tmp_path / 'm.db'}", policy={"embedder": "none"}) as opened:
        yield opened


class Scripted(BaseLLM):
    """Answers with one name; keeps what it was sent."""

    sent: list[str] = []  # noqa: RUF012 - a field of pydantic, copied for each model

    def call(self, messages: Any, *_: Any, **__: Any) -> str:
        self.sent.append(str(messages))
        return "Thought: I know.\nFinal Answer: The staging server is called preprod."

    def supports_function_calling(self) -> bool:
        return False


def work(memory: Memory, description: str) -> str:
    """Run a crew of one agent on one task, and return what its model was sent."""
    model = Scripted(model="scripted")
    agent = Agent(role="helper", goal="help", backstory="none", llm=model)
    task = Task(description=description, expected_output="a name", agent=agent)
    Crew(agents=[agent], tasks=[task], memory=PhronesisMemory(memory, user_id="lin")).kickoff()
    return "\n".join(model.sent)


def test_what_one_crew_found_is_known_to_the_next(memory: Memory) -> None:
    assert "preprod" not in work(memory, "Find out which is the staging server.")
    assert "called preprod" in work(memory, "Deploy to the staging server.")
    memory.add("The backup runs at noon.", kind="fact", user_id="lin")
    assert "runs at noon" in work(memory, "When does the backup run?")
    assert "preprod" not in work(memory, "Write a haiku.")


def test_records_keep_scopes_categories_and_privacy(memory: Memory) -> None:
    crew = PhronesisMemory(memory, user_id="lin", root_scope="/lab")
    ops = crew.remember("The backup runs at noon.", scope="ops", categories=["time"], metadata={"from": "ann"})
    own = crew.remember("The backup password is kept in a safe.", scope="ops/own", source="lin", private=True)
    assert ops is not None
    assert own is not None
    assert [one.record for one in crew.recall("backup noon")] == [ops]
    assert {one.record.id for one in crew.recall("backup", source="lin")} == {ops.id, own.id}
    assert crew.recall("backup", scope="op") == []
    assert [one.record.id for one in crew.scope("/ops/own").recall("backup", include_private=True)] == [own.id]
    assert PhronesisMemory(memory, user_id="ann").recall("backup noon") == []
    assert crew.list_scopes() == ["/lab/ops"]
    assert crew.list_categories() == {"time": 1}
    assert crew.info("/ops").child_scopes == ["/lab/ops/own"]
    assert [one.id for one in crew.list_records()] == [own.id, ops.id]
    changed = crew.update(ops.id, content="The backup runs at night.")
    assert crew.recall("backup night")[0].record.content == changed.content
    assert [event.op for event in memory.history(crew.storage.items.find(ops.id).id)] == ["create", "update"]
    assert crew.forget(older_than=datetime.now(UTC) - timedelta(days=1)) == 0
    assert crew.forget(metadata_filter={"from": "ann"}) == 1
    crew.reset()
    assert crew.list_records() == []


def test_the_storage_is_a_backend_that_refuses_vectors(memory: Memory) -> None:
    storage = PhronesisStorage(memory)
    assert isinstance(storage, StorageBackend)
    with pytest.raises(NotImplementedError, match="by text"):
        storage.search([0.1])
    assert PhronesisMemory(memory, read_only=True).remember("x") is None
    assert storage.count() == 0
