"""What the reasoning bank leaves out on purpose (RB-x): no black lists in FACTS, no step counts, no archiving."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from model_server import ModelServer
from phronesis import Memory
from scripted_lessons import by_claim, lesson, policy

STRANGE = {"password": "0451", "max_steps": 20, "p_value": 0.00000001, "next step": "see protocol", "温度": "80 ℃"}
BLOCK = (
    'RBMEM_CLAIMS_V1\nTOPIC=t\nCLAIMS_JSON=[{"claim_id":"c1","status":"conclusion","facts":{"source_run_ids":["x"]},'
    '"inference":"Zinc stays in the lattice."}]'
)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(lesson()) as running:
        yield running


@pytest.fixture
def memory(database_url: str, server: ModelServer) -> Iterator[Memory]:
    with Memory.open(database_url, policy=policy(server.base_url), tenant="acme") as opened:
        yield opened


def ran(memory: Memory, run_id: str, item_id: str, **more: Any) -> str:
    run = {"run_id": run_id, "output": {"M1": "Cu", "yield": 1e308, **STRANGE}, "memory_ids": [item_id], **more}
    memory.runs.record(run, namespace="lab")
    memory.runs.feedback(run_id, {"cons": "Zinc was leached."}, namespace="lab")
    return run_id


def test_no_name_and_no_number_is_kept_out_of_facts(memory: Memory) -> None:
    facts = {"source_run_ids": ["x"], **STRANGE, "yield": 1e308}
    claim = {"claim_id": "c1", "status": "fact", "facts": facts, "inference": "Copper binds formate."}
    assert memory.reasoning.check(f"RBMEM_CLAIMS_V1\nTOPIC=t\nCLAIMS_JSON={json.dumps([claim])}") == []


def test_a_model_is_told_no_steps_and_asked_by_no_setting_of_the_run(memory: Memory, server: ModelServer) -> None:
    item = memory.reasoning.add(BLOCK, namespace="lab")
    config = {"steps_left": 3, "config": {"model": "the-runs-own", "temperature": 1.7}}
    result = memory.learn(ran(memory, "r1", item.id, trace=config), namespace="lab")
    [request] = server.requests
    assert (result.model, request.body["model"]) == ("lab/teacher", "teacher")
    sent = str(request.body)
    assert "steps_left" not in sent
    assert "the-runs-own" not in sent


def test_a_learn_archives_nothing_however_wrong_it_finds_an_item(memory: Memory, server: ModelServer) -> None:
    item = memory.reasoning.add(BLOCK, namespace="lab")
    server.answers(lesson(by_claim({"c1": "contra"}, delete=True, reason="it left")))
    for n in range(3):
        memory.learn(ran(memory, f"r{n}", item.id), namespace="lab")
    assert (memory.get(item.id).status, memory.reasoning.get(item.id).claims) == ("active", ())
