"""The command line with models: who does what, and a model that is away."""

import json
from pathlib import Path
from typing import Any

import pytest

import model_server as servers
from model_server import ModelServer
from phronesis.models.reader.reader import READER_VERSION

POLICY = """\
version: 1
embedder: none
gateways:
  lab: {{kind: openai, base_url: "{url}", timeout: 30, tries: 1}}
roles:
  extract: {{gateway: lab, model: small}}
"""


@pytest.fixture
def brain(tmp_path: Path) -> Any:
    def write(url: str) -> str:
        path = tmp_path / "brain.yml"
        path.write_text(POLICY.format(url=url), encoding="utf-8")
        return str(path)

    return write


def test_a_model_that_is_away_is_said_on_stderr_and_changes_no_output(call: Any, brain: Any) -> None:
    with ModelServer(servers.chat(json.dumps({"names": [], "memories": []}))) as server:
        policy = brain(server.base_url)
        assert call("add", "Alice is here", "--user", "u", "--policy", policy).err == ""
    told = call("add", "Good morning, Bob", "--user", "u", "--policy", policy)
    assert told.code == 0
    assert told.out.startswith(told.out.split()[0] + "  message  Good morning, Bob\n")
    assert (
        told.err.strip()
        == f"extract: lab/small gave no answer (model.unavailable); mentions-rules/2 {READER_VERSION} stood in"
    )
    told = call("add", "Carol is here", "--user", "u", "--policy", policy, "--json")
    assert told.json["degraded"][0]["role"] == "extract"
