"""The shape of the labelled chats: whatever is measured with them rests on it."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from labelled_texts import LABELLED_TEXTS
from phronesis_benchmarks.datasets import load_locomo

LABELLED = LABELLED_TEXTS
LONG_TURNS = LABELLED / "chats_long_turns.json"
CHINESE = LABELLED / "chats_chinese.json"

both = pytest.mark.parametrize("path", [LONG_TURNS, CHINESE], ids=lambda path: path.stem)


def _questions(path: Path) -> list[tuple[str, dict[str, Any]]]:
    """Return the questions as the file has them, each with the id of its conversation."""
    samples = json.loads(path.read_text(encoding="utf-8"))
    return [(sample["sample_id"], row) for sample in samples for row in sample["qa"]]


@both
def test_the_sets_are_large_enough_and_nothing_is_dropped(path: Path) -> None:
    conversations = load_locomo(path)
    assert len(conversations) >= 6
    assert sum(len(talk.turns) for talk in conversations) >= 400
    assert sum(len(talk.questions) for talk in conversations) >= 60
    assert [talk.dropped for talk in conversations] == [0] * len(conversations)


@both
def test_every_question_has_one_to_three_turns_of_evidence(path: Path) -> None:
    known = {talk.id: {turn.id for turn in talk.turns} for talk in load_locomo(path)}
    for sample, row in _questions(path):
        assert row["question"]
        assert row["answer"]
        assert 1 <= len(row["evidence"]) == len(set(row["evidence"])) <= 3
        assert set(row["evidence"]) <= known[sample]


@both
def test_half_is_for_choosing_and_half_for_testing_by_whole_conversations(path: Path) -> None:
    rows = _questions(path)
    parts = Counter(row["split"] for _, row in rows)
    assert set(parts) == {"dev", "test"}
    assert min(parts.values()) >= 0.45 * len(rows)
    assert len({(sample, row["split"]) for sample, row in rows}) == len({sample for sample, _ in rows})


def test_the_chinese_set_is_chinese() -> None:
    for talk in load_locomo(CHINESE):
        for text in [*(turn.text for turn in talk.turns), *(question.text for question in talk.questions)]:
            assert len(re.findall(r"[\u4e00-\u9fff]", text)) >= 0.5 * len(text)
