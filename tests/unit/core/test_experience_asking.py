"""Walking the graph, what meets a question, and what a score is made of: the pure parts of asking."""

from collections.abc import Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from phronesis.experience.laws.graph_traversal import LEAST, Link, Node, walk
from phronesis.experience.laws.ranking import Signals, score_of, shares_of, weights


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


@given(st.lists(st.tuples(st.integers(0, 12), st.integers(0, 12), st.floats(0, 1)), max_size=40), st.integers(1, 5))
def test_a_walk_never_strengthens(pairs: list[tuple[int, int, float]], width: int) -> None:
    edges = [(f"e{a}", f"e{b}", weight) for a, b, weight in pairs]
    found = walk(Drawn(edges), {"e0": 1.0}, width=width)
    for step in found.values():
        assert step.hops == 0 or LEAST <= step.strength <= found[step.via or ""].strength
    assert len(found) <= 1 + 3 * width


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
