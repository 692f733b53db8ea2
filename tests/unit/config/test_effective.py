"""The policy in force: every field once, with its value and where that comes from, and never a key."""

import json
from pathlib import Path
from typing import Any

import pytest

from phronesis.config import effective_policy
from phronesis.core.results import PolicyValue
from phronesis.wiring import find_engines, read_settings

FILE = """\
version: 1
budgets: {total: 3000}
retention:
  types:
    favorite.*: overwrite
sensitive:
  also: [并购案]
gateways:
  far: {kind: openai, api_key_env: FAR_KEY}
roles:
  extract: {gateway: far, model: m}
"""


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("PHRONESIS_POLICY", "PHRONESIS_EMBEDDER"):
        monkeypatch.delenv(name, raising=False)


def rows(policy: Any = None) -> dict[str, PolicyValue]:
    settings = read_settings("sqlite://", tenant=None, policy=policy)
    found = effective_policy(settings.policy, settings.origin)
    assert len({one.path for one in found}) == len(found)
    return {one.path: one for one in found}


def test_each_value_says_which_line_it_is_from(tmp_path: Path) -> None:
    path = tmp_path / "brain.yml"
    path.write_text(FILE, "utf-8")
    found = rows(path)
    given = {
        one.path: (one.value, one.source.removeprefix(f"{path}, ")) for one in found.values() if one.source != "default"
    }
    assert given == {
        "version": (1, "line 1"),
        "budgets.total": (3000, "line 2"),
        "retention.types.favorite.*": ("overwrite", "line 5"),
        "sensitive.also": (["并购案"], "line 7"),
        "gateways.far.kind": ("openai", "line 9"),
        "gateways.far.api_key_env": ("FAR_KEY", "line 9"),
        "roles.extract.gateway": ("far", "line 11"),
        "roles.extract.model": ("m", "line 11"),
    }
    assert (found["budgets.evidence"].value, found["gateways.far.timeout"].value) == (2000, 60.0)
    assert json.loads(json.dumps([one.to_dict() for one in found.values()]))


def test_what_a_call_or_a_variable_gives_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PHRONESIS_EMBEDDER", "hashing")
    found = rows({"gates": {"user": 0.5}})
    assert (found["gates.user"].source, found["gates.tool"].source) == ("argument", "default")
    assert (found["embedder"].value, found["embedder"].source) == ("hashing", "PHRONESIS_EMBEDDER")
    assert rows(find_engines().policy.model_validate({"extraction": False}))["extraction"].source == "argument"


def test_no_key_is_among_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FAR_KEY", "hunter2")
    path = tmp_path / "brain.yml"
    path.write_text(FILE, "utf-8")
    assert "hunter2" not in json.dumps([one.to_dict() for one in rows(path).values()])
