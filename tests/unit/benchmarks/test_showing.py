"""The weights that tell what shows a behaviour are fitted on labelled users, and each file is judged by the others'."""

import json
from pathlib import Path
from typing import Any

import pytest

from phronesis.traits.by_rules.showing import showing_from
from phronesis_benchmarks.showing import run_showing, told_of

SHOWN = (
    "Zorbed round the lake before work",
    "Zorbed to the mill and back",
    "Zorbed with Ivo in the rain",
    "绕湖走了一圈",
    "绕着公园走了两圈",
    "又绕湖走了一趟",
)
TOLD = (
    "The lift is broken",
    "My desk is by the lift",
    "The lift has a new door",
    "电梯坏了",
    "工位在电梯旁",
    "电梯换了门",
)


def user(*, kind: str = "episodic") -> dict[str, Any]:
    texts = [text for pair in zip(SHOWN, TOLD, strict=True) for text in pair]
    return {
        "user": "ann",
        "language": "mixed",
        "memories": [
            {
                "id": f"m{n}",
                "at": f"2025-01-{n + 1:02}T08:00:00Z",
                "session": f"s{n}",
                "text": text,
                "kind": kind if n % 2 == 0 else "fact",
            }
            for n, text in enumerate(texts)
        ],
        "traits": [{"id": "t1", "members": ["m0", "m2", "m4"]}, {"id": "t2", "members": ["m6", "m8", "m10"]}],
        "never": [],
    }


def written(path: Path) -> Path:
    path.write_text(json.dumps(user(), ensure_ascii=False) + "\n", "utf-8")
    return path


@pytest.mark.slow
def test_each_file_is_judged_by_what_the_others_teach_and_all_of_it_is_written(tmp_path: Path) -> None:
    out = tmp_path / "weights"
    report = run_showing([written(tmp_path / "a.jsonl"), written(tmp_path / "b.jsonl")], out=out)
    assert [(one.data, one.memories, one.members, one.area) for one in report.scores] == [
        ("a.jsonl", 12, 6, 1.0),
        ("b.jsonl", 12, 6, 1.0),
    ]
    assert all(one.kept == 1.0 and one.taken < 1.0 for one in report.scores)
    assert "| a.jsonl | 12 | 6 | 1.000 | 1.000 |" in report.to_markdown()
    model = showing_from((out / "showing_zh.npz").read_bytes())
    assert model.to_bytes() == showing_from(model.to_bytes()).to_bytes()
    told = told_of(user())
    assert sum(told.shows) == 6
