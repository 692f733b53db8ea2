"""Where what encoders of lessons see begins to speak for one lesson, by how alike a lane's events are anyway."""

import numpy as np
import pytest

from phronesis.experience.event_embeddings import Apart, Placed, with_presence
from phronesis.experience.laws.similarity import Floats, SideBySide

UNRELATED = np.eye(8, dtype=np.float32)[:4]


def leaning(count: int, share: float) -> Floats:
    """Give vectors of which any two have a cosine of about ``share``, and the first two nearly 1."""
    rng = np.random.default_rng(1)
    own = rng.standard_normal((count, 64)).astype(np.float32)
    own[1] = own[0] + 0.1 * own[1]
    own /= np.linalg.norm(own, axis=1, keepdims=True)
    common = np.zeros((count, 8), np.float32)
    common[:, 7] = np.sqrt(share)
    return np.concatenate([common, np.float32(np.sqrt(1 - share)) * own], axis=1)


def likeness(vectors: Floats, apart: Apart) -> Floats:
    rows = with_presence(vectors)
    placed = Placed(apart, slice(0, rows.shape[1]))
    placed.build(rows, np.pad(UNRELATED, ((0, 0), (0, vectors.shape[1] - UNRELATED.shape[1]))))
    return SideBySide(rows, placed.weights(2.0)).matrix(np.arange(2))


def test_what_two_have_anyway_says_nothing_where_all_are_alike() -> None:
    fixed, moving = Apart(0.1, 0.4), Apart(0.1, 0.4, 0.1)
    alike = leaning(60, 0.8)
    assert likeness(alike, fixed)[0, 2:].mean() == pytest.approx(8.0, abs=0.2)
    assert likeness(alike, moving)[0, 2:].mean() < 0
    assert likeness(alike, moving)[0, 1] > 2


def test_a_few_events_that_are_alike_still_are() -> None:
    few = leaning(3, 0.9)
    assert likeness(few, Apart(0.1, 0.4, 0.1))[0, 1] > 8


def test_where_events_are_apart_the_start_stays() -> None:
    apart = leaning(60, 0.2)
    assert np.array_equal(likeness(apart, Apart(0.1, 0.4, 0.1)), likeness(apart, Apart(0.1, 0.4)))
