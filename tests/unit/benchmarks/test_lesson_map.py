"""The map of lessons learns, from events of some authors, what makes two events of another author one lesson."""

from typing import Any

import numpy as np
import pytest

from phronesis.experience.lesson_map import PARTS, LessonMap, map_from
from phronesis.models.embedder import Floats
from phronesis_benchmarks.lesson_learning import TEMPERATURE, TrainingSet, fit, gradient
from phronesis_benchmarks.lesson_map import average_precision

RNG = np.random.default_rng(7)


def author(seed: int, *, lessons: int = 6, each: int = 4, inside: int = 48) -> TrainingSet:
    """Events of which a matter says most and a lesson little; lessons differ in the same places, whoever tells them."""
    rng = np.random.default_rng(seed)
    lesson = np.repeat(np.arange(lessons), each)
    rows = np.zeros((len(lesson), inside), np.float32)
    rows[:, :40] = rng.standard_normal((lessons, 40))[rng.permutation(lesson)]
    rows[:, 40:] = 1.4 * rng.standard_normal((lessons, 8))[lesson]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    return TrainingSet(rows, lesson[:, None] == lesson, np.ones((len(lesson), len(lesson)), np.bool_))


def ranked(rows: Floats, one: TrainingSet) -> float:
    first, second = np.triu_indices(len(rows), 1)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return average_precision((unit[first] * unit[second]).sum(axis=1), one.same[first, second])


def test_what_authors_told_apart_is_told_apart_of_another() -> None:
    other = author(99)
    weights = fit([author(seed) for seed in range(1, 21)])
    assert weights.shape == (48, 48)
    before, after = ranked(other.rows, other), ranked(other.rows @ weights, other)
    assert (before < 0.5, after > 0.9) == (True, True), (before, after)


def loss(rows: Floats, one: TrainingSet, weights: Any) -> float:
    placed = rows.astype(np.float64) @ weights
    placed /= np.linalg.norm(placed, axis=1, keepdims=True)
    terms = []
    for n in range(len(rows)):
        open_to = [m for m in range(len(rows)) if m != n and one.lane[n, m]]
        right = [m for m in open_to if one.same[n, m]]
        if right:
            cosines = {m: placed[n] @ placed[m] / TEMPERATURE for m in open_to}
            total = np.log(np.sum(np.exp(list(cosines.values()))))
            terms.append(np.mean([total - cosines[m] for m in right]))
    return float(np.mean(terms))


def test_the_slope_is_that_of_the_loss() -> None:
    rows = RNG.standard_normal((7, 5)).astype(np.float32)
    lesson, lane = np.array([0, 0, 1, 1, 1, 2, 3]), np.array([0, 0, 0, 0, 1, 1, 1])
    one = TrainingSet(rows, lesson[:, None] == lesson, lane[:, None] == lane)
    weights = RNG.standard_normal((5, 3))
    told = gradient(rows, one, weights.astype(np.float32))
    for place in np.ndindex(weights.shape):
        nudge = np.zeros_like(weights)
        nudge[place] = 1e-5
        by_hand = (loss(rows, one, weights + nudge) - loss(rows, one, weights - nudge)) / 2e-5
        assert told[place] == pytest.approx(by_hand, rel=5e-3, abs=5e-3)


def test_a_map_is_read_as_it_was_written() -> None:
    centres = [RNG.standard_normal(4).astype(np.float32), RNG.standard_normal(3).astype(np.float32)]
    weights = RNG.standard_normal((28, 5)).astype(np.float32)
    one = LessonMap(("a", "b"), tuple(centres), weights)
    again = map_from(one.to_bytes())
    seen = [RNG.standard_normal((6, 4 if n < len(PARTS) else 3)).astype(np.float32) for n in range(8)]
    seen[2][1] = 0  # an event without a result
    for part in seen:
        part[5] = 0  # and one of which nothing is seen
    placed = again.of(seen)
    assert np.allclose(np.linalg.norm(placed[:5], axis=1), 1, atol=1e-5)
    assert not placed[5].any()
    assert np.abs(placed - one.of(seen)).max() < 0.02  # 127 steps a column
    assert map_from(again.to_bytes()).weights == pytest.approx(again.weights, rel=1e-5)
