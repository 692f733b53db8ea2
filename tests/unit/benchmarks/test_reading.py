"""Running conversations are read turn by turn, and what is stored, changed and wrongly ended is counted."""

import json
from pathlib import Path
from typing import Any

import pytest

import model_server as servers
from model_server import ModelServer, Reply
from phronesis_benchmarks.reading import run_reading

POLICY = """version: 1
embedder: none
gateways:
  lab: {{kind: openai, base_url: "{url}", api_key_env: LAB_KEY, tries: 1}}
roles:
  extract: {{gateway: lab, model: small}}
"""


def label(ref: str, value: str, does: str = "new", *of: str, about: str = "") -> dict[str, Any]:
    return {"ref": ref, "subject": "user", "value": value, "about": about or value, "does": does, "of": list(of)}


def turn(day: int, said: str, *memories: dict[str, Any]) -> dict[str, Any]:
    messages = [{"role": "user", "content": said}]
    return {"session": "s", "at": f"2026-03-{day:02}T09:00:00Z", "messages": messages, "memories": list(memories)}


TURNS = [
    turn(1, "I live in Lyon. I like tea.", label("m1", "Lyon"), label("m2", "tea")),
    turn(2, "Should I move to Rome?"),
    turn(3, "I moved to Porto.", label("m3", "Porto", "replaces", "m1")),
    turn(4, "Tea is not for me any more.", label("m4", "tea", "ends", "m2")),
]


def said(quote: str, key: str, value: str, **more: Any) -> dict[str, Any]:
    return {"n": 0, "quote": quote, "subject": "user", "key": key, "value": value, "content": quote, **more}


ANSWERS = {
    "I live in Lyon. I like tea.": [said("I live in Lyon.", "home_city", "Lyon"), said("I like tea.", "likes", "tea")],
    "Should I move to Rome?": [said("move to Rome", "plan", "Rome")],
    "I moved to Porto.": [said("I moved to Porto.", "home_city", "Porto")],
    "Tea is not for me any more.": [],
}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    monkeypatch.setenv("LAB_KEY", "k")
    data = tmp_path / "data.jsonl"
    data.write_text(json.dumps({"id": "one", "language": "en", "turns": TURNS}) + "\n")
    return data, tmp_path / "cassette.jsonl"


def read(reply: Reply) -> None:
    shown = reply.asked.body["messages"][1]["content"]
    (memories,) = [found for text, found in ANSWERS.items() if f"\n{text}\n" in shown]
    servers.chat(json.dumps({"memories": memories, "names": []}))(reply)


def test_what_a_model_stores_misses_and_changes_is_counted_and_played_again(files: tuple[Path, Path]) -> None:
    data, cassette = files
    policy = data.with_name("brain.yml")
    with ModelServer(read) as server:
        policy.write_text(POLICY.format(url=server.base_url))
        asked = run_reading([data], policy=policy, cassette=cassette, record=True)
    score = asked.scores[-1]
    assert (score.stored, score.right, score.wanted, score.found) == (4, 3, 3, 3)
    assert (score.empty, score.empty_kept) == (1, 0)
    assert (score.changes, score.changes_seen, score.touched) == (2, 1, 0)
    assert [one["what"] for one in asked.mistakes] == ["wrong", "change missed"]
    assert asked.calls == len(ANSWERS)
    again = run_reading([data], policy=policy, cassette=cassette)
    assert (again.scores, again.missed) == (asked.scores, 0)


def test_a_request_that_is_not_on_the_cassette_is_told(files: tuple[Path, Path]) -> None:
    data, cassette = files
    policy = data.with_name("brain.yml")
    policy.write_text(POLICY.format(url="http://127.0.0.1:9/v1"))
    report = run_reading([data], policy=policy, cassette=cassette)
    assert report.missed == len(TURNS)
    assert "not on the cassette" in report.to_markdown()
    assert report.scores[-1].degraded == len(TURNS)


def test_labelled_turns_are_conversations_of_one_turn(tmp_path: Path) -> None:
    label = {"kind": "profile", "subject": "user", "key": "home_city", "value": "Lyon"}
    row = {"at": "2026-03-01T09:00:00Z", "role": "user", "name": None, "gate": None}
    rows = [
        {**row, "id": "1", "split": "dev", "text": "I live in Lyon.", "expect": [label]},
        {**row, "id": "2", "split": "test", "text": "I live in Rome.", "expect": []},
    ]
    path = tmp_path / "turns.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    policy = tmp_path / "brain.yml"
    policy.write_text("version: 1\nembedder: none\n")
    score = run_reading([path], policy=policy, split="dev").scores[-1]
    assert (score.turns, score.right, score.found) == (1, 1, 1)


DATA = Path(__file__).parents[3] / "benchmarks" / "data"


@pytest.mark.slow
def test_recorded_answers_of_a_capable_model_are_read_as_well_as_before(files: tuple[Path, Path]) -> None:
    policy = files[0].with_name("brain.yml")
    policy.write_text(POLICY.format(url="http://127.0.0.1:9/v1"))
    report = run_reading([DATA / "running.jsonl.xz"], policy=policy, cassette=DATA / "running_cassette.jsonl.xz")
    assert report.missed == 0, (
        "the prompt or what it shows changed: record the answers again (benchmarks/data/README.md)"
    )
    total = report.scores[-1]
    assert total.right >= 0.95 * total.stored
    assert total.found >= 0.93 * total.wanted
    assert total.changes_seen >= 0.9 * total.changes
    assert total.differing == 0
    assert report.tokens_per_message < 400
