"""What two lists of neighbours share, and the order that they have by it."""

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.experience import sharing
from phronesis.core.experience.neighbours import NOBODY, Neighbours
from phronesis.core.experience.sharing import OWN, SHARED, Reranked, shared_among, shared_of
from unit.core.experience.metrics import Given, crowds, drawn, rows


def of(metric: Given) -> Neighbours:
    return Neighbours(metric, np.zeros(metric.size, np.int64))


@given(st.integers(2, 30), st.integers(0, 99))
def test_what_is_shared_is_the_cosine_of_the_lists(size: int, seed: int) -> None:
    everybody = np.arange(size)
    nearest, scores = of(drawn(size, seed)).lists(everybody)
    shared = shared_among(everybody, nearest, scores)
    assert np.allclose(shared, shared.T)
    assert np.allclose(np.diag(shared), 1.0)
    assert (shared >= 0).all()
    pairs = np.array([(one, other) for one in range(size) for other in range(one)], dtype=np.int64)
    assert np.allclose(shared_of(pairs, everybody, nearest, scores), shared[pairs[:, 0], pairs[:, 1]], atol=1e-5)
    expecting = np.mean([cosines_of(nearest, scores, count) for count in SHARED], axis=0)
    assert np.allclose(expecting, shared, atol=1e-5)


def cosines_of(nearest: npt.NDArray[np.int64], scores: npt.NDArray[np.float32], count: int) -> npt.NDArray[np.float64]:
    """Give what lists of so many neighbours share, slowly."""
    size = len(nearest)
    held = np.zeros((size, size))
    for row in range(size):
        likes = {n: max(0.0, s) for n, s in zip(nearest[row, :count].tolist(), scores[row].tolist(), strict=False)
                 if n != NOBODY}  # fmt: skip
        for n, like in likes.items():
            held[row, n] = like / max(sum(likes.values()), 1e-9)
        held[row, row] = OWN
        held[row] /= np.linalg.norm(held[row])
    return held @ held.T


@given(st.integers(1, 30), st.integers(0, 99), st.sampled_from([0.0, 4.0]), st.data())
def test_lists_keep_their_members_in_the_order_of_what_they_share_too(
    size: int, seed: int, weight: float, data: st.DataObject
) -> None:
    neighbours = of(drawn(size, seed))
    ranked = Reranked(neighbours, weight)
    asked = np.array(sorted(data.draw(st.sets(st.integers(0, size - 1)))), dtype=np.int64)
    ranked.lists(asked)  # what was asked for before changes nothing
    everybody = np.arange(size)
    nearest, scores = neighbours.lists(everybody)
    shared = shared_among(everybody, nearest, scores)
    order, near = ranked.lists(everybody)
    for row in range(size):
        told = [n for n in nearest[row].tolist() if n != NOBODY]
        told_near = {n: scores[row, k] + weight * shared[row, n] for k, n in enumerate(told)}
        assert sorted(told) == sorted(n for n in order[row].tolist() if n != NOBODY)
        assert near[row, : len(told)].tolist() == pytest.approx(sorted(told_near.values(), reverse=True), abs=1e-4)
        assert near[row, : len(told)].tolist() == pytest.approx(
            [told_near[n] for n in order[row, : len(told)].tolist()], abs=1e-4
        )


def test_who_shares_a_crowd_comes_before_who_is_as_alike_and_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    metric = crowds((4, 4))
    metric.alike[0, 4] = metric.alike[4, 0] = 9.0  # nearer to 0 than its own, and of another crowd
    monkeypatch.setattr(sharing, "AT_ONCE", 2)
    assert of(metric).lists(rows(0))[0][0, 0] == 4
    assert 4 not in Reranked(of(metric), 9.0).lists(np.arange(8))[0][0, :3].tolist()
