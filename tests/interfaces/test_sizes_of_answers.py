"""What HTTP and the command line give of a context or an answer bears a proportion to the budget that was asked for."""

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

from phronesis import Memory
from phronesis.config.server import Serving
from phronesis.errors import InputError
from phronesis.interfaces.server_process import make_server_app
from phronesis.models.token_counter import load_token_counter

count = load_token_counter("auto").count

BUDGET = 600


def tokens(value: Any) -> int:
    return count(json.dumps(value, ensure_ascii=False))


def fill(memory: Memory) -> None:
    for n in range(30):
        text = f"In week {n} the green tea study measured sample {n}, in the laboratory on the hill. " * 3
        memory.add(text, infer=False, user_id="u", session_id=f"s{n % 3}", metadata={"week": n})
    attempt: dict[str, Any] = {
        "situation": "offline machine",
        "goal": "install the driver",
        "label": "failure",
        "source_type": "run",
    }
    attempt |= {"result": "connection timed out " * 20, "payload": {"log": "words " * 100}}
    for n in range(12):
        memory.ingest({**attempt, "attempt": f"mirror {n}", "source_ref": f"build.log#L{n}"}, user_id="u")


@pytest.fixture
def api(memory: Memory) -> TestClient:
    fill(memory)
    app = make_server_app(memory, Serving(access_log=False))
    return TestClient(app, base_url="http://127.0.0.1:8765/api/v1/")


def test_a_context_over_http_brings_its_records_only_when_they_are_asked_for(api: TestClient) -> None:
    asked: dict[str, Any] = {"session_id": "s1", "user_message": "What did the green tea study measure?"}
    asked |= {"user_id": "u", "token_budget": BUDGET}
    short = api.post("context", json=asked).json()
    whole = api.post("context", json={**asked, "explain": True}).json()
    assert count(short["text"]) <= BUDGET
    assert tokens(short) <= 5 * BUDGET < tokens(whole)
    assert short["explain"] == {}
    assert whole["explain"]
    assert short["text"].splitlines()[-1] == whole["text"].splitlines()[-1]
    for name in ("system_blocks", "working_summary", "recent_turns", "evidence", "user_message", "messages"):
        assert len(short[name]) == len(whole[name])
    assert [one["item"]["id"] for one in short["evidence"]] == [one["item"]["id"] for one in whole["evidence"]]


def test_an_answer_of_experience_keeps_to_its_budget(api: TestClient, memory: Memory) -> None:
    asked: dict[str, Any] = {"goal": "install the driver", "situation": "offline machine", "user_id": "u"}
    whole = memory.query(**asked, limit=12)
    assert whole.left_out == {}
    for budget in (400, 2_000, 5_000):
        answer = api.post("query", json={**asked, "limit": 12, "token_budget": budget}).json()
        assert tokens(answer) <= budget
        assert sum(answer["left_out"].values()) > 0
        assert len(answer["l1_evidence"]) + answer["left_out"]["l1_evidence"] == len(whole.l1_evidence)
    assert answer["avoid"][0]["attempt"] == whole.avoid[0].attempt
    assert memory.query(**asked, token_budget=1_000_000, limit=12).left_out == {}
    with pytest.raises(InputError, match="token_budget"):
        memory.query(**asked, token_budget=20)


def test_the_command_line_says_as_little(call: Any, store: str) -> None:
    with Memory.open(store, policy={"version": 1, "embedder": "none"}) as memory:
        fill(memory)
    asked = ("context", "What did the green tea study measure?", "--user", "u", "--budget", str(BUDGET), "--json")
    short, whole = call(*asked).json, call(*asked, "--explain").json
    assert tokens(short) <= 5 * BUDGET < tokens(whole)
    assert tokens(call("query", "--goal", "install the driver", "--user", "u", "--budget", "900", "--json").json) <= 900
