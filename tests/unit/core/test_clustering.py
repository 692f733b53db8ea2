"""Clusters, their cohesion and their continuity; nothing depends on the order of what comes in."""

import random

from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.vectors import cohesion, components, jaccard, match_by_overlap, similar_pairs

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


def test_cohesion_is_the_mean_similarity_to_the_others() -> None:
    pairs = {("a", "b"): 1.0, ("b", "c"): 0.5, ("c", "z"): 1.0}
    assert cohesion(["a", "b", "c"], pairs) == {"a": 0.5, "b": 0.75, "c": 0.25}
    assert cohesion(["a"], pairs) == {"a": 0.0}


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
