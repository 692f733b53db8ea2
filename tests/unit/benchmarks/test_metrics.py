import math
from collections.abc import Sequence

import pytest

from phronesis_benchmarks.metrics import Ranking, paired_difference, score, summarise


def ranking(question_id: str, ranked: Sequence[str], evidence: Sequence[str], category: str = "x") -> Ranking:
    return Ranking("talk", question_id, category, tuple(ranked), tuple(evidence), score(ranked, evidence))


def test_scores_by_hand() -> None:
    # Evidence a, b, c; a at rank 2, b at rank 6, c not found.
    found = score(["z1", "a", "z2", "z3", "z4", "b"], ["a", "b", "c"])
    assert found["recall@1"] == 0
    assert found["recall@5"] == pytest.approx(1 / 3)
    assert found["recall@10"] == pytest.approx(2 / 3)
    assert (found["hit@1"], found["hit@5"]) == (0, 1)
    assert found["mrr"] == 0.5
    ideal = 1 + 1 / math.log2(3) + 1 / 2
    assert found["ndcg@10"] == pytest.approx((1 / math.log2(3) + 1 / math.log2(7)) / ideal)


def test_the_interval_is_that_of_a_proportion_and_repeats_with_its_seed() -> None:
    rows = [ranking(f"q{n}", ["a"] if n % 2 else ["z"], ["a"]) for n in range(400)]
    estimate = summarise(rows, seed=1)["all"]["hit@1"]
    half_width = 1.96 * math.sqrt(0.25 / 400)
    assert estimate.mean == 0.5
    assert estimate.low == pytest.approx(0.5 - half_width, abs=0.01)
    assert estimate.high == pytest.approx(0.5 + half_width, abs=0.01)
    assert estimate == summarise(rows, seed=1)["all"]["hit@1"]
    assert estimate != summarise(rows, seed=2)["all"]["hit@1"]


def test_a_paired_difference_pairs_by_question() -> None:
    first = [ranking("q1", ["a"], ["a"]), ranking("q2", ["z"], ["a"]), ranking("q9", ["a"], ["a"])]
    second = [ranking("q2", ["a"], ["a"]), ranking("q1", ["a"], ["a"])]
    difference = paired_difference(first, second, "recall@10", seed=0)
    assert (difference.mean, difference.count) == (0.5, 2)
    assert 0 <= difference.low <= difference.high <= 1
