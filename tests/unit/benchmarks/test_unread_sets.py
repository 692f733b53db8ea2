"""What is found of texts that nobody tunes on stays found: floors under the figures of docs/benchmarks.md.

A floor that breaks is a reason to look at the change, never at the texts (benchmarks/data/README.md).
"""

import pytest

from labelled_texts import LABELLED_TEXTS
from phronesis_benchmarks.experience_clusters import load_events, run_clusters
from phronesis_benchmarks.extraction import run_extraction
from phronesis_benchmarks.traits import load_users, run_traits

UNREAD = LABELLED_TEXTS / "unread"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "turns", "precision", "recall", "gate"),
    [
        ("turns_en_b", 140, 0.97, 0.69, 0.82),
        ("turns_zh_c", 140, 0.94, 0.59, 0.74),
    ],
)
def test_turns_are_read_no_worse_than_they_were(
    name: str, turns: int, precision: float, recall: float, gate: float
) -> None:
    [score] = run_extraction([UNREAD / f"{name}.jsonl"]).scores
    assert (score.split, score.turns) == ("test", turns)
    assert score.precision is not None
    assert score.recall is not None
    assert (score.precision >= precision, score.recall >= recall, score.gate >= gate) == (True, True, True), score


@pytest.mark.parametrize(
    ("name", "count", "precision", "recall"), [("experience_a", 170, 0.85, 0.45), ("experience_b", 159, 0.93, 0.15)]
)
def test_patterns_found_by_words_alone_are_rarely_wrong(name: str, count: int, precision: float, recall: float) -> None:
    path = UNREAD / f"{name}.jsonl"
    assert len(load_events(path)) == count
    [score] = run_clusters([path]).scores
    assert score.pairs.precision is not None
    assert score.pairs.recall is not None
    assert (score.pairs.precision >= precision, score.pairs.recall >= recall) == (True, True), score


@pytest.mark.parametrize(
    ("name", "users", "precision", "recall"),
    [("traits_b", 6, 0.9, 0.5), ("traits_f", 10, 0.9, 0.1)],
)
def test_traits_found_by_words_alone_are_rarely_wrong_and_never_sensitive(
    name: str, users: int, precision: float, recall: float
) -> None:
    path = UNREAD / f"{name}.jsonl"
    assert len(load_users(path)) == users
    score = run_traits([path], guarded=True).scores[-1]
    assert score.language == "all"
    assert score.precision is not None
    assert score.recall is not None
    assert (score.precision >= precision, score.recall >= recall) == (True, True), score
    assert not score.never.keys() & {"sensitive", "one-off"}
