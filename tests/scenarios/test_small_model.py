"""A server with a real small model takes the schema of an answer, and what came of it is replayed without it."""

import contextlib
import json
import time
from pathlib import Path

import pytest

from phronesis.memory import Memory
from phronesis.models.call_policy import Limits
from phronesis.models.language_model import PLAIN, Message
from phronesis.models.openai_models import OpenAIChat
from phronesis.models.transport import Gateway
from phronesis.store.log import read_outcomes
from small_model import MODEL, small_model

BLOCK = (
    'RBMEM_CLAIMS_V1\nTOPIC=t\nCLAIMS_JSON=[{"claim_id":"c1","status":"hypothesis","facts":{"source_run_ids":["x"]},'
    '"inference":"Zinc stays in the lattice."}]'
)


@pytest.mark.slow
def test_the_form_of_a_lesson_is_one_that_a_server_takes(tmp_path: Path) -> None:
    with small_model() as url:
        policy = {
            "embedder": "none",
            "gateways": {"here": {"kind": "openai", "base_url": url, "timeout": 240, "tries": 1}},
            "roles": {"learn": {"gateway": "here", "model": MODEL, "max_tokens": 24}},
        }
        with Memory.open(f"sqlite:///{tmp_path / 'lessons.db'}", policy=policy) as memory:
            item = memory.reasoning.add(BLOCK, user_id="u")
            memory.runs.record({"run_id": "r1", "output": {"M1": "Cu"}, "memory_ids": [item.id]}, user_id="u")
            memory.runs.feedback("r1", {"cons": "Much zinc was leached."}, user_id="u")
            result = memory.learn("r1", user_id="u")
            with memory.admin.components.database.transaction(memory.admin.tenant, "read") as unit:
                rows = read_outcomes(unit, [result.entry_id])[result.entry_id]
            first = next(json.loads(row["body"]) for row in rows if row["role"] == "answer")
            assert first["constraint"] == "schema"
            assert result.model == f"here/{MODEL}"
            assert memory.admin.rebuild(verify=True).equal


@pytest.mark.slow
def test_the_probabilities_that_a_server_gives_are_read() -> None:
    with small_model() as url:
        limits = Limits(time.monotonic, time.monotonic() + 240)
        with contextlib.closing(OpenAIChat(Gateway("here", url), MODEL)) as model:
            asked = [Message("user", "Is tea a drink? Answer yes or no.")]
            said = model.complete(asked, answer=PLAIN, constraint="choice", max_tokens=4, limits=limits)
    assert "".join(one.token for one in said.tokens).strip() == said.text.strip()
    assert [len(one.odds) for one in said.tokens] == [20] * len(said.tokens) != []
    assert all(0.0 < max(one.odds.values()) <= sum(one.odds.values()) <= 1.001 for one in said.tokens)
