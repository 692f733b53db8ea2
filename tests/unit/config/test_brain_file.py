"""A brain.yml: what it holds, and the line of everything that is wrong in it."""

from pathlib import Path
from typing import Any

import pytest

from phronesis.config import Gateway
from phronesis.config.brain_file import MAX_DEPTH
from phronesis.errors import InputError
from phronesis.wiring import read_settings

EXAMPLE = """\
# What we decided.
version: 1
embedder: hashing
token_counter: bytes
budgets: {total: 6_000}
gateways:
  local:
    kind: ollama
  "on":
    kind: openai
    base_url: https://models.example/v1
    api_key_env: TEAM_KEY
    timeout: 15.5
roles:
  extract: {gateway: local, model: qwen3:4b, temperature: null, max_tokens: 2000}
  plan: rules
  learn: {gateway: "on", model: 2026-08-06}
  embed:
    gateway: local
    model: qwen3-embedding
    prefix_scheme: qwen3
    dimension: 1024
limits:
  tokens_per_day: 2000000
  cost_per_day: 5
prices:
  qwen3:4b: {input: 0.25, output: .5}
"""

MISTAKEN = """\
version: 1
gateways:
  local:
    kind: ollama
    tries: 0

roles:
  extract:
    gateway: local
    modle: qwen3:4b
    max_tokens: 99999
  plan: {gateway: local}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PHRONESIS_EMBEDDER", raising=False)
    return tmp_path


def load(content: str | bytes) -> Any:
    Path("brain.yml").write_bytes(content if isinstance(content, bytes) else content.encode())
    return read_settings("sqlite://", tenant=None, policy="brain.yml").policy


def refused(content: str | bytes) -> InputError:
    with pytest.raises(InputError) as told:
        load(content)
    return told.value


def test_a_file_is_read(folder: Path) -> None:
    policy = load(EXAMPLE)
    assert policy.embedder == "hashing"
    assert policy.budget.total == 6000
    assert policy.gateways["on"] == Gateway(
        kind="openai", base_url="https://models.example/v1", api_key_env="TEAM_KEY", timeout=15.5
    )
    extract, learn, embed = policy.role("extract"), policy.role("learn"), policy.role("embed")
    assert extract is not None
    assert extract.temperature is None
    assert learn is not None
    assert learn.model == "2026-08-06"
    assert embed is not None
    assert (embed.prefix_scheme, embed.dimension) == ("qwen3", 1024)
    assert policy.role("plan") is None
    assert policy.role("rerank") is None
    assert list(policy.roles_with_models()) == ["extract", "learn", "embed"]
    assert policy.limits.cost_per_day == 5.0
    assert policy.prices["qwen3:4b"].output == 0.5


def test_every_mistake_is_told_with_its_line(folder: Path) -> None:
    told = refused(MISTAKEN)
    assert told.message.splitlines() == [
        "brain.yml, line 5: gateways.local.tries must be at least 1, not 0",
        "brain.yml, line 10: roles.extract: unknown field 'modle'; did you mean 'model'?",
        "brain.yml, line 11: roles.extract.max_tokens must be at most 32768, not 99999",
        "brain.yml, line 12: roles.plan.model is missing; give the model's name at that server",
    ]
    assert told.field == "policy.gateways.local.tries"
    assert told.details["mistakes"] == told.message.splitlines()


def test_what_yaml_makes_doubtful_is_refused(folder: Path) -> None:
    cases: list[tuple[str | bytes, str, int, str]] = [
        ("a: 1\nroles:\n\textract: rules", "policy", 3, "a tab stands where blanks must"),
        ("version: 1\nroles: {plan: rules", "policy", 2, "a quote or bracket that is not closed"),
        ("a: 1\nb: c: d", "policy", 2, "is not YAML: mapping values are not allowed here"),
        ("a: 1\n---\nb: 2", "policy", 2, "a second document begins"),
        ("a: 1\nb: \x07", "policy", 2, "holds a control character"),
        (b"a: 1\nb: \xff", "policy", 2, "not UTF-8 (invalid start byte); save the file as UTF-8"),
        ("a: &x 1\nb: *x", "policy", 1, "anchors (&) and aliases (*) are not taken"),
        ("a: 1\nb: !!python/object/apply:os.getcwd []", "policy", 2, "tags (!) are not taken"),
        ("version: 1\na: " + "[" * 100_000, "policy", 2, f"is nested more than {MAX_DEPTH} deep"),
        ("roles:\n  plan: rules\n  plan: rules", "policy.roles.plan", 3, "roles.plan is given twice, first in line 2"),
        ("on: 1", "policy", 1, "YAML takes the name 'on' for true or false; put it in quotes"),
        ("? [a]\n: 1", "policy", 1, "a field's name must be a text, not a list"),
        ("version: 01", "policy.version", 1, "version is no plain number: '01'"),
        ("version: 3", "policy.version", 1, "version must be 1, not 3"),
        ("version: 1\nroles:\n", "policy.roles", 2, "roles is empty"),
    ]
    for content, field, line, says in cases:
        told = refused(content)
        assert told.field == field
        assert f"brain.yml, line {line}: " in told.message
        assert says in told.message
        assert len(told.message) < 300


def test_a_file_that_cannot_be_read_is_named(folder: Path) -> None:
    cases: list[tuple[str, str]] = [
        ("nowhere.yml", "nowhere.yml: there is no such file; give the path of a brain.yml"),
        ("folder.yml", "'folder.yml' cannot be read: Is a directory; give a file"),
        ("a\0b.yml", "cannot be read: no file can have this name"),
        ("a" * 5000 + ".yml", "cannot be read: File name too long"),
    ]
    (folder / "folder.yml").mkdir()
    for path, says in cases:
        with pytest.raises(InputError) as told:
            read_settings("sqlite://", tenant=None, policy=path)
        assert says in told.value.message
        assert told.value.field == "policy"


def test_no_text_of_a_broken_file_is_shown(folder: Path) -> None:
    for content in [
        "a: 'sk-1\nb",
        "a: sk-1: b",
        "- sk-1\n\t- b",
        "a: [sk-1",
        "{sk-1",
        "a: sk-1 b\n c: *d",
        "a: | sk-1",
    ]:
        assert "sk-1" not in refused(content).message
