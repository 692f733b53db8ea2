"""The benchmark of experience: it reads a folder of trials and tells what was found."""

import json
from pathlib import Path

from phronesis.models.embedder import HashingEmbedder
from phronesis_benchmarks.experience import run_experience


def _folder(tmp_path: Path) -> Path:
    lessons = {
        "env_1": ["go to the sink first", "go to the sink and clean the mug"],
        "env_2": ["the lamp stands on the desk"],
        "env_3": [],
    }
    for n in range(2):
        rows = [{"name": name, "memory": said[: n + 1], "is_success": n == 1} for name, said in lessons.items()]
        (tmp_path / f"env_results_trial_{n}.json").write_text(json.dumps(rows), encoding="utf-8")
    (tmp_path / "env_results_trial_x.json").write_text("[]", encoding="utf-8")
    return tmp_path


def test_lessons_of_a_task_find_each_other(tmp_path: Path) -> None:
    seen: list[str] = []
    report = run_experience(
        _folder(tmp_path),
        embedders={"words": None, "hashing": HashingEmbedder()},
        on_progress=lambda what, *_: seen.append(what),
    )
    assert (report.events, report.tasks, report.asked_tasks, report.questions) == (4, 2, 1, 2)
    assert [one.system for one in report.found] == ["BM25", "words", "hashing"]
    for one in report.found:
        assert (one.situation, one.goal) == (1.0, 1.0)
        assert one.latest_by_situation in (None, 1.0)
        assert one.latest_by_goal in (None, 1.0)
    assert "| words | 1.000 | 1.000 | 1.000 | 1.000 |" in report.to_markdown()
    assert report.to_dict()["found"][0]["latest_by_goal"] is None
    assert "asking words" in seen
