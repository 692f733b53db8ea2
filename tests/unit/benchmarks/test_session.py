"""The benchmark of a session's contexts, on a session of a few turns."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from phronesis.errors import InputError
from phronesis_benchmarks.session import run_session

TURNS: list[dict[str, object]] = [
    {"at": "2026-03-02T08:00:00Z", "user": "I'm allergic to sesame.", "assistant": "Noted."},
    {
        "at": "2026-03-02T08:01:00Z",
        "user": "The oven is a Miwe from 2014.",
        "assistant": "A Miwe.",
        "tool": {"name": "weather", "result": "4 degrees"},
    },
]
QUESTIONS: list[dict[str, object]] = [
    {"text": "Which oven is it, the Miwe?", "bears": ["Miwe"]},
    {"text": "What is my blood type?", "bears": []},
]


def written(folder: Path, name: str, rows: Sequence[Mapping[str, object]]) -> Path:
    path = folder / name
    path.write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    return path


@pytest.mark.slow
def test_it_measures_prompts_and_evidence(tmp_path: Path) -> None:
    steps: list[tuple[str, int, int]] = []
    turns, questions = written(tmp_path, "t.jsonl", TURNS), written(tmp_path, "q.jsonl", QUESTIONS)
    report = run_session(turns, questions, on_progress=lambda *one: steps.append(one))
    assert report.questions["shared_text"] == report.questions["shared_messages"] == 1.0
    assert report.evidence["answered"] == 1.0
    assert report.turns["tokens"] > 0
    assert steps[-1] == ("questions", 2, 2)
    assert report.to_dict()["embedder"] == "none"
    assert "turn after turn" in report.to_markdown()
    with pytest.raises(InputError, match="holds nothing"):
        run_session(written(tmp_path, "none.jsonl", []), questions)
