"""The benchmark of experience: it reads a folder of trials and tells what was found."""

import json
from pathlib import Path
from typing import Any

import pytest

from labelled_texts import LABELLED_TEXTS
from phronesis.models.embedder import HashingEmbedder
from phronesis_benchmarks.experience import run_experience
from phronesis_benchmarks.experience_clusters import (
    Agreement,
    clustered,
    clustered_in_parts,
    load_events,
    pairs_of,
    run_clusters,
)


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


# Clusters of labelled events are scored, and adding events a part at a time gives what all at once gives.


DEV = LABELLED_TEXTS / "experience" / "dev.jsonl"

CI = "The runner stopped with no space left on device while layers were unpacked"
OVEN = "面团发酵时间太短，烤出来的面包很硬，切开全是死面"


def event(number: int, attempt: str, *patterns: str, lang: str = "en", **fields: Any) -> dict[str, Any]:
    return {
        "id": f"e{number}",
        "attempt": f"{attempt} {number}",
        "source_ref": f"log:{number}",
        "label": "failure",
        "lang": lang,
        "patterns": list(patterns),
    } | fields


EVENTS = [
    *(event(n, CI, "disk") for n in range(4)),
    *(event(n, OVEN, "dough", lang="zh") for n in range(4, 7)),
    event(7, "Asked for the price first and lost the negotiation", "price"),
    event(8, "The parcel came back because the postcode was wrong"),
]


def written(folder: Path, events: list[dict[str, Any]]) -> Path:
    path = folder / "made.jsonl"
    path.write_text("\n\n".join(json.dumps(one, ensure_ascii=False) for one in events), "utf-8")
    return path


@pytest.mark.parametrize("embedder", ["none", "hashing"])
def test_clusters_are_scored_by_pairs_and_languages(tmp_path: Path, embedder: str) -> None:
    (tmp_path / "near_misses.json").write_text(json.dumps({"made": [["disk", "dough"]]}), "utf-8")
    (score,) = run_clusters([written(tmp_path, EVENTS)], embedder=embedder, in_parts=True).scores
    assert (score.events, score.gold, score.patterns) == (9, 3, 2)
    assert score.pairs == Agreement(1.0, 1.0) == score.english == score.chinese
    assert score.across == Agreement(None, None)
    assert score.across.f1 is None
    assert score.per_pattern == Agreement(1.0, 1.0)  # a pattern of one event has no pair
    assert (score.noise, score.near, score.kept) == (0.0, 0.0, 1.0)
    assert score.in_parts == Agreement(1.0, 1.0)


@pytest.mark.slow
def test_events_that_come_a_part_at_a_time_end_in_the_same_patterns() -> None:
    events = load_events(DEV)[:150]
    together, _ = clustered(events, "none")
    in_parts, kept = clustered_in_parts(events, "none", at_once=0.0, part=40)
    both = Agreement.of(pairs_of(in_parts), pairs_of(together))
    assert both.f1 is not None
    assert kept is not None
    assert both.f1 >= 0.95
    assert kept >= 0.9
