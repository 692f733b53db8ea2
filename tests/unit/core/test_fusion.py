"""Fusing by strength of evidence: the formula, done again by hand."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.fusion import DEFAULT_WEIGHTS, Channels, Fused, Weights, fuse, z_scores

Floats = npt.NDArray[np.float32]
SCORES = st.lists(st.floats(0, 100, width=32), min_size=1, max_size=12)


def floats(*values: float) -> Floats:
    return np.asarray(values, dtype=np.float32)


def lane(lexical: Floats, **more: object) -> Channels:
    """Give a lane whose rows stand in one session, in order."""
    size = len(lexical)
    rows = np.arange(size, dtype=np.int64)
    after = np.where(rows + 1 < size, rows + 1, -1)
    parts = {"alive": np.ones(size, dtype=np.bool_), "before": rows - 1, "after": after, **more}
    return Channels(lexical=lexical, **parts)  # type: ignore[arg-type]


@given(SCORES, SCORES)
def test_z_scores_have_mean_nought_and_spread_one_over_all_lanes(one: list[float], other: list[float]) -> None:
    arrays = [floats(*one), floats(*other)]
    masks = [np.ones(len(array), dtype=np.bool_) for array in arrays]
    together = np.concatenate(z_scores(arrays, masks))
    if np.concatenate(arrays).std() < 1e-3:
        return
    assert together.mean() == pytest.approx(0, abs=1e-3)
    assert together.std() == pytest.approx(1, abs=1e-2)


def test_rows_outside_the_mask_count_for_nothing() -> None:
    [scores] = z_scores([floats(1, 3, 1000)], [np.asarray([True, True, False])])
    assert scores.tolist() == [-1, 1, 0]


@pytest.mark.parametrize("array", [floats(), floats(5), floats(2, 2, 2)])
def test_no_spread_says_nothing(array: Floats) -> None:
    [scores] = z_scores([array], [np.ones(len(array), dtype=np.bool_)])
    assert scores.tolist() == [0] * len(array)


def by_hand(z: Floats, weights: Weights) -> list[float]:
    def at(place: int) -> float:
        return float(z[place]) if 0 <= place < len(z) else 0.0

    return [
        weights.lexical * at(n)
        + weights.neighbour * (at(n - 1) + at(n + 1))
        + weights.second_neighbour * (at(n - 2) + at(n + 2))
        for n in range(len(z))
    ]


@given(SCORES)
def test_neighbours_lend_their_words(scores: list[float]) -> None:
    array = floats(*scores)
    [z] = z_scores([array], [np.ones(len(array), dtype=np.bool_)])
    [fused] = fuse([lane(array)])
    np.testing.assert_allclose(fused.score, by_hand(z, DEFAULT_WEIGHTS), rtol=1e-3, atol=1e-3)
    assert set(fused.shares) == {"lexical", "neighbours"}


def test_every_share_adds_up_to_the_score() -> None:
    given_lane = lane(
        floats(1, 0, 4), dense=floats(0.9, 0.7, 0.8), embedded=np.asarray([True, True, False]),
        speaker=floats(0, 1, 0), mention=floats(0, 0, 1),
    )  # fmt: skip
    [fused] = fuse([given_lane])
    assert set(fused.shares) == {"lexical", "neighbours", "dense", "speaker", "mention"}
    np.testing.assert_allclose(np.sum(list(fused.shares.values()), axis=0), fused.score, rtol=1e-6)
    assert fused.shares["dense"].tolist() == pytest.approx([0.7, -0.7, 0])
    assert fused.shares["speaker"].tolist() == [0, 1, 0]
    assert fused.shares["mention"].tolist() == [0, 0, 0.5]


def test_the_dead_are_never_found() -> None:
    [fused] = fuse([lane(floats(9, 1, 2), alive=np.asarray([False, True, True]))])
    assert fused.score[0] == -np.inf
    assert np.isfinite(fused.score[1:]).all()


def test_a_lane_without_vectors_stands_beside_one_with_them() -> None:
    one = lane(floats(1, 2), dense=floats(0.1, 0.9), embedded=np.asarray([True, True]))
    other = lane(floats(3, 4))
    fused = fuse([one, other])
    assert fused[0].shares["dense"].tolist() == pytest.approx([-0.7, 0.7])
    assert fused[1].shares["dense"].tolist() == [0, 0]


def test_an_empty_lane_gives_nothing() -> None:
    empty = lane(floats())
    assert [len(fused.score) for fused in fuse([empty, lane(floats(1, 2))])] == [0, 2]
    assert Fused(floats()).shares == {}
