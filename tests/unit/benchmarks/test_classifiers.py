"""The classifiers of sensitive topics and of next steps are fitted on labelled texts and tables of examples."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from phronesis.config.policy_sections import SENSITIVE_TOPICS
from phronesis.models.reader import load_text_classifier
from phronesis_benchmarks.next_steps import fit_next_steps, load_steps
from phronesis_benchmarks.sensitive import run_sensitive
from phronesis_benchmarks.text_classifier_training import ClassifierSettings

TOLD = (
    ("the kettle chair again", "physical_health"),
    ("kettle chair until noon", "physical_health"),
    ("beads by the window", "religion"),
    ("counted the beads at dawn", "religion"),
    ("又坐上那张水壶椅", "physical_health"),
    ("水壶椅坐到中午", "physical_health"),
)
HARMLESS = ("walked round the lake", "two loaves and a pie", "the train was late", "绕湖走了一圈", "烤了两个面包")


def written(path: Path, rows: Sequence[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), "utf-8")
    return path


def of_texts(path: Path) -> Path:
    return written(
        path,
        [
            *({"text": text, "topic": topic} for text, topic in TOLD),
            *({"text": text, "topic": None} for text in HARMLESS),
        ],
    )


def of_users(path: Path) -> Path:
    texts = ["the kettle chair", "a kettle chair before noon", "round the lake again", "two laps of the lake", "a pie"]
    return written(
        path,
        [
            {
                "user": "ann",
                "language": "en",
                "memories": [{"id": f"m{n}", "text": text} for n, text in enumerate(texts)],
                "traits": [{"id": "t1", "members": ["m2", "m3"]}],
                "never": [{"why": "sensitive", "members": ["m0", "m1"]}, {"why": "joke", "members": ["m4"]}],
            }
        ],
    )


@pytest.mark.slow
@pytest.mark.encoder
def test_each_file_is_judged_by_what_the_others_teach_and_all_of_it_is_written(tmp_path: Path) -> None:
    out = tmp_path / "topics.npz"
    data = [of_texts(tmp_path / "texts.jsonl"), of_users(tmp_path / "users.jsonl")]
    report = run_sensitive(data, out=out, settings=ClassifierSettings(rounds=150, rate=3e-3))
    assert [(one.data, one.language, one.texts) for one in report.scores] == [
        ("texts.jsonl", "en", 7),
        ("texts.jsonl", "zh", 4),
        ("users.jsonl", "en", 5),
    ]
    users = report.scores[-1]
    assert users.recall == (0.0, 1.0)  # the words know no kettle chairs, the other file does
    assert users.groups == (0.0, 1.0)
    assert report.to_markdown().count("\n") == 4
    assert set(load_text_classifier(out.read_bytes()).classes) == set(SENSITIVE_TOPICS)


EXAMPLES = """
[[examples]]
rule = "next_step"
field = "inference"
passes = ["Yield was 40 %."]
fails = ["Try copper next."]

[[examples]]
rule = "claims_limit"
field = "claims"
passes = [0]
fails = [11]
"""


@pytest.mark.encoder
def test_texts_of_both_forms_are_learned_from(tmp_path: Path) -> None:
    table, lines, out = (tmp_path / name for name in ("examples.toml", "claims.jsonl", "weights.npz"))
    table.write_text(EXAMPLES, "utf-8")
    rows = [
        {"split": "dev", "text": "Repeat the run at 300 K.", "rule": "next_step"},
        {"split": "dev", "text": "I live in Lyon.", "gate": None},
        {"split": "test", "text": "Measure it again.", "rule": "next_step"},
        {"split": "dev", "text": "Where is Lyon?", "gate": "question"},
    ]
    lines.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert list(load_steps(table)) == [("Yield was 40 %.", False), ("Try copper next.", True)]
    assert list(load_steps(lines)) == [("Repeat the run at 300 K.", True), ("I live in Lyon.", False)]
    fit_next_steps([table, lines], out)
    assert load_text_classifier(out.read_bytes()).classes == ["next_step"]
