"""Walking the graph, what meets a question, and what a score is made of: the pure parts of asking."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core.lexical_index import ScopeIndex
from phronesis.experience.laws.graph_traversal import CROSS, LEAST, SAME, Link, Node, walk
from phronesis.experience.laws.ranking import (
    EXACT,
    MAX_TERMS,
    Signals,
    relevance_of,
    score_of,
    shares_of,
    weights,
    word_shares,
)
from phronesis.index.tokens import pack_terms, term_hash


class Drawn:
    """A graph of pairs with weights; ``hidden`` nodes may not be shown."""

    def __init__(self, edges: Sequence[tuple[str, str, float]], hidden: frozenset[str] = frozenset()) -> None:
        self.edges, self.hidden, self.asked = edges, hidden, 0

    def links(self, ids: Sequence[str]) -> list[Link]:
        out = [Link(a, b, "similar", w) for a, b, w in self.edges if a in ids]
        return out + [Link(b, a, "similar", w) for a, b, w in self.edges if b in ids]

    def nodes(self, ids: Sequence[str]) -> Mapping[str, Node]:
        self.asked += len(ids)
        layers = {"e": 1, "p": 2, "k": 3, "a": 0}
        return {one: Node(one, layers[one[0]], at=int(one[1:])) for one in ids if one not in self.hidden}


def test_a_walk_goes_up_and_down() -> None:
    found = walk(Drawn([("e1", "p1", 1.0), ("p1", "k1", 1.0), ("k1", "p2", 1.0), ("p2", "e9", 1.0)]), {"e1": 1.0})
    assert {one: round(step.strength, 3) for one, step in found.items()} == {
        "e1": 1.0,
        "p1": CROSS,
        "k1": round(CROSS**2, 3),
        "p2": round(CROSS**3, 3),
    }
    assert (found["k1"].hops, found["k1"].via, found["k1"].by) == (2, "p1", "similar")


def test_a_walk_is_bounded_and_takes_the_newest_of_equals() -> None:
    star = Drawn([("e0", f"e{n}", 1.0) for n in range(1, 200)])
    found = walk(star, {"e0": 1.0}, depth=1, width=3)
    assert set(found) == {"e0", "e97", "e98", "e99"}
    assert star.asked == 1 + 6
    assert walk(star, {"e0": 1.0}, depth=0).keys() == {"e0"}


def test_what_may_not_be_shown_is_not_gone_through() -> None:
    found = walk(Drawn([("e1", "p1", 1.0), ("p1", "e2", 1.0)], frozenset({"p1"})), {"e1": 1.0, "e7": 0.5})
    assert found.keys() == {"e1", "e7"}
    assert walk(Drawn([], frozenset({"e1"})), {"e1": 1.0}) == {}


def test_the_stronger_of_two_ways_counts_and_weak_ones_end() -> None:
    found = walk(Drawn([("e1", "e3", 0.5), ("e2", "e3", 1.0), ("e1", "e4", 0.05)]), {"e1": 1.0, "e2": 1.0})
    assert (found["e3"].via, found["e3"].strength) == ("e2", SAME)
    assert "e4" not in found
    back = walk(Drawn([("e2", "e3", 0.5), ("e1", "e3", 0.2)]), {"e1": 1.0, "e2": 1.0})
    assert back["e3"].via == "e2"


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12), st.floats(0, 1)), max_size=40), st.integers(1, 5))
def test_a_walk_never_strengthens(pairs: list[tuple[int, int, float]], width: int) -> None:
    edges = [(f"e{a}", f"e{b}", weight) for a, b, weight in pairs]
    found = walk(Drawn(edges), {"e0": 1.0}, width=width)
    for step in found.values():
        assert step.hops == 0 or LEAST <= step.strength <= found[step.via or ""].strength
    assert len(found) <= 1 + 3 * width


def index(*documents: Sequence[str]) -> ScopeIndex:
    made = ScopeIndex()
    made.add([(n, pack_terms(list(words))) for n, words in enumerate(documents)])
    return made


def shares(index_: ScopeIndex, *words: str) -> list[float]:
    mask = np.ones(index_.row_count, np.bool_)
    return [float(one) for one in word_shares([(index_, mask)], list(map(term_hash, words)))[0]]


def test_only_experience_counts_and_long_questions_are_cut() -> None:
    made = index(["pin", "a"], ["pin", "b"], ["pin", "c"])
    alone = word_shares([(made, np.array([True, False, False]))], [term_hash("pin")])[0]
    assert alone[0] > 0 == alone[1] == alone[2]
    many = [f"t{n}" for n in range(3 * MAX_TERMS)]
    assert shares(index(many, ["t0"]), *many)[1] == 0.0  # the one that both hold is not among the rarest


def test_relevance_is_what_is_lifted() -> None:
    plain = Signals(words=0.5, meaning=0.5)
    better = plain._replace(usefulness=1.0, confidence=1.0, trust=1.0, preference=1.0)
    worse = plain._replace(usefulness=0.0, counter=1.0, age=10_000.0, weight=0.5)
    scores = [score_of(shares_of(one)) for one in (worse, plain, better)]
    assert scores == sorted(scores)
    assert shares_of(worse)["downweighted"] < 0
    assert shares_of(Signals(usefulness=1.0, confidence=1.0, trust=1.0)) == {}
    assert "meaning" not in shares_of(Signals(words=0.5))
    assert set(weights()) >= {"words", "half_life_days", "members"}


def test_an_exact_name_is_before_all_words() -> None:
    named = relevance_of(Signals(words=0.0, meaning=0.0, exact=True))
    assert sum(named.values()) == EXACT
    below = relevance_of(Signals(words=0.1, meaning=0.0, members=2.0))
    assert sum(below.values()) == pytest.approx(1.6)
    assert relevance_of(Signals(words=0.9, meaning=0.9, members=0.1))["members"] == 0.0
