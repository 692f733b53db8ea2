"""Roles beside ``extract`` by recorded answers: each request is on the cassette, and what is expected comes of it."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from phronesis.errors import InputError
from phronesis_benchmarks.commands import bench
from phronesis_benchmarks.role_cases import RUNNERS
from phronesis_benchmarks.roles import load_cases, run_roles

DATA = Path(__file__).parents[3] / "benchmarks" / "data"
CASES, CASSETTE = DATA / "roles.jsonl", DATA / "roles_cassette.jsonl"
LEAST = 0.93
"""The share that a capable model's recorded answers reach in every role, about."""

AGAIN = (
    "a prompt, what it shows or a case changed: name a model in a brain.yml, run 'phronesis bench roles --data"
    f" {CASES.name} --policy brain.yml --cassette {CASSETTE.name} --record --mistakes', and commit the cassette"
)


@pytest.fixture
def policy(tmp_path: Path) -> Path:
    path = tmp_path / "brain.yml"
    gateway = "gateways:\n  lab: {kind: openai, base_url: 'http://127.0.0.1:9/v1', tries: 1, concurrency: 2}\n"
    roles = "".join(f"  {role}: {{gateway: lab, model: m}}\n" for role in RUNNERS)
    path.write_text(f"version: 1\n{gateway}roles:\n{roles}")
    return path


@pytest.mark.parametrize("role", RUNNERS)
def test_recorded_answers_meet_what_is_expected(role: str, policy: Path) -> None:
    report = run_roles([CASES], policy=policy, roles=[role], cassette=CASSETTE)
    (score,) = report.scores
    assert score.missed == 0, AGAIN
    assert score.share >= LEAST, report.mistakes


def test_every_role_has_cases_in_both_languages() -> None:
    cases = load_cases(CASES)
    for role in RUNNERS:
        languages = [case["language"] for case in cases if case["role"] == role]
        assert len(languages) >= 6
        assert languages.count("en") == languages.count("zh")


def test_without_a_model_rules_are_measured(policy: Path) -> None:
    report = run_roles([CASES], policy=None, roles=["plan"], cassette=CASSETTE)
    (score,) = report.scores
    assert (score.calls, score.missed) == (0, 0)
    assert 0.3 < score.share < LEAST
    assert report.mistakes


def test_a_request_that_is_not_on_the_cassette_is_told(policy: Path, tmp_path: Path) -> None:
    arguments = ["roles", "--data", str(CASES), "--policy", str(policy), "--role", "plan", "--mistakes"]
    shown = CliRunner().invoke(bench, [*arguments, "--cassette", str(tmp_path / "empty.jsonl")])
    assert shown.exit_code == 0
    assert "8 requests are not on the cassette" in shown.output
    assert "plan-en-1" in shown.output


def test_a_cassette_of_several_gateways_is_refused(policy: Path) -> None:
    two = policy.read_text().replace("questions: {gateway: lab", "questions: {gateway: other")
    policy.write_text(two.replace("gateways:\n", "gateways:\n  other: {kind: ollama}\n"))
    with pytest.raises(InputError, match="one gateway"):
        run_roles([CASES], policy=policy, roles=["questions"], cassette=CASSETTE)


def test_a_line_that_is_no_case_is_named(tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(json.dumps({"id": "x", "role": "dance", "language": "en", "given": {}, "expect": []}) + "\n")
    with pytest.raises(InputError, match=r"bad\.jsonl, line 1"):
        load_cases(path)
    with pytest.raises(InputError, match="dance"):
        run_roles([CASES], policy=None, roles=["dance"])
