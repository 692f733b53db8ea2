"""int8 cosines are near the exact ones, and rescoring makes them exact."""

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from phronesis.core.vectors import (
    Floats,
    VectorScope,
    components,
    jaccard,
    match_by_overlap,
    normalise_rows,
    quantise,
    similar_pairs,
)
from phronesis.errors import InputError

MATRICES = arrays.arrays(
    np.float32, st.tuples(st.integers(0, 6), st.integers(1, 5)), elements=st.floats(-(2.0**100), 2.0**100, width=32)
)


def random_rows(rows: int, dimension: int = 64, *, seed: int = 7) -> Floats:
    return np.random.default_rng(seed).standard_normal((rows, dimension)).astype(np.float32)


@given(matrix=MATRICES)
def test_quantised_rows_are_within_half_a_step_of_the_unit_rows(matrix: Floats) -> None:
    codes, scales = quantise(matrix)
    assert codes.dtype == np.int8
    assert scales.dtype == np.float32
    assert (codes.shape, scales.shape) == (matrix.shape, (len(matrix),))
    unit = normalise_rows(matrix)
    assert np.all(np.abs(codes) <= 127)
    assert np.all(np.abs(codes * scales[:, None] - unit) <= 0.501 * scales[:, None])
    lengths = np.linalg.norm(unit, axis=1)
    np.testing.assert_allclose(lengths, np.where(np.any(matrix, axis=1), 1.0, 0.0), atol=1e-5)


def test_recall_at_ten_is_that_of_float32() -> None:
    rows, queries = random_rows(5000, 384), random_rows(100, 384, seed=8)
    scope = VectorScope(384)
    scope.put(range(5000), rows)
    exact = normalise_rows(queries) @ normalise_rows(rows).T
    raw = 0
    for query, truth in zip(queries, exact, strict=True):
        best = set(np.argsort(-truth)[:10].tolist())
        scores, present = scope.cosines(query)
        assert present.all()
        assert np.abs(scores - truth).max() < 0.01
        raw += len(best & set(np.argsort(-scores)[:10].tolist()))
    assert raw / 1000 >= 0.985  # measured .989; random rows are the hardest case, their best ten lie close together


def test_put_replaces_and_remove_leaves_nothing_behind() -> None:
    rows = random_rows(2)
    scope = VectorScope(64)
    scope.put([0, 1], rows)
    scope.put([0], rows[1:])
    assert scope.cosines(rows[1])[0] == pytest.approx([1.0, 1.0], abs=0.01)
    scope.remove([0, 7, -1])
    scores, present = scope.cosines(rows[1])
    assert (scores[0], present.tolist()) == (0.0, [False, True])
    assert not scope._codes[0].any()
    scope.remove([])


def test_a_wrong_put_is_refused_and_changes_nothing() -> None:
    cases: list[tuple[list[int], Any, str]] = [
        ([0], np.zeros((1, 3)), "matrix"),
        ([0, 1], np.zeros((1, 4)), "matrix"),
        ([0], np.zeros(4), "matrix"),
        ([0], np.full((1, 4), np.nan), "matrix"),
        ([0], np.full((1, 4), np.inf), "matrix"),
        ([-1], np.zeros((1, 4)), "rows"),
    ]
    for rows, matrix, field in cases:
        scope = VectorScope(4)
        with pytest.raises(InputError) as caught:
            scope.put(rows, matrix)
        assert (caught.value.field, scope.row_count) == (field, 0), rows


def test_nothing_put_and_zero_vectors_score_zero() -> None:
    scope = VectorScope(3)
    assert scope.dimension == 3
    scores, present = scope.cosines(np.ones(3, np.float32))
    assert (scores.shape, present.shape) == ((0,), (0,))
    scope.put([], np.zeros((0, 3), np.float32))
    scope.put([0], np.zeros((1, 3), np.float32))
    scores, present = scope.cosines(np.ones(3, np.float32))
    assert (scores.tolist(), present.tolist()) == ([0.0], [True])
    scope.put([0], np.ones((1, 3), np.float32))
    assert scope.cosines(np.zeros(3, np.float32))[0].tolist() == [0.0]


def test_other_dimensions_are_refused_everywhere() -> None:
    scope = VectorScope(4)
    with pytest.raises(InputError, match="own model"):
        scope.cosines(np.zeros(3, np.float32))
    with pytest.raises(InputError, match="one vector"):
        scope.put_quantised(
            [0], np.zeros((1, 4), np.int16).view(np.int8)[:, ::2][:, :3], scales=np.zeros(1, np.float32)
        )
    with pytest.raises(InputError, match="1 or more"):
        VectorScope(0)


# Clusters and their continuity; nothing depends on the order of what comes in.


TOKENS = st.dictionaries(st.sampled_from("abcdefgh"), st.frozensets(st.sampled_from("uvwxyz")), max_size=8)


@given(TOKENS, st.sampled_from([0.25, 0.5, 1.0]))
def test_every_pair_above_the_threshold_is_found_and_no_other(tokens: dict[str, frozenset[str]], least: float) -> None:
    expected = {
        (first, second): jaccard(tokens[first], tokens[second])
        for first in tokens
        for second in tokens
        if first < second and jaccard(tokens[first], tokens[second]) >= least
    }
    assert similar_pairs(tokens, threshold=least) == expected


@given(TOKENS, st.randoms(use_true_random=False))
def test_components_partition_and_do_not_depend_on_order(
    tokens: dict[str, frozenset[str]], chance: random.Random
) -> None:
    pairs = list(similar_pairs(tokens, threshold=0.5))
    found = components(tokens, pairs)
    assert sorted(node for group in found for node in group) == sorted(tokens)
    assert found == sorted(map(sorted, found))
    place = {node: n for n, group in enumerate(found) for node in group}
    assert all(place[first] == place[second] for first, second in pairs)
    shuffled = chance.sample(pairs, len(pairs))
    assert components(chance.sample(sorted(tokens), len(tokens)), [(b, a) for a, b in shuffled]) == found


def test_a_cluster_continues_what_it_shares_most_with() -> None:
    cases: list[tuple[list[str], dict[str, str], dict[int, str]]] = [
        (["abc"], {"p": "ab"}, {0: "p"}),
        (["ab", "cde"], {"p": "abcde"}, {1: "p"}),  # split: the larger share goes on
        (["abcd"], {"q": "ab", "p": "cd"}, {0: "p"}),  # merged: a tie goes by id
        (["ab", "cd"], {"p": "cd", "q": "ab"}, {0: "q", 1: "p"}),
        (["xy"], {"p": "ab", "q": ""}, {}),
    ]
    for clusters, existing, expected in cases:
        found = match_by_overlap([set(one) for one in clusters], {name: set(ids) for name, ids in existing.items()})
        assert found == expected, clusters


def test_to_share_one_token_of_many_is_not_to_be_alike() -> None:
    tokens = {"a": {"x", "y", "z"}, "b": {"x", "p", "q"}, "c": {"x", "y", "z", "p"}}
    assert similar_pairs(tokens, threshold=0.7) == {("a", "c"): 0.75}
