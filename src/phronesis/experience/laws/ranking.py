"""Traverse the experience graph from what a question found (EMB-13), and score what is reached (EMB-14).

score = relevance · (1 + usefulness + confidence + freshness + trust + preference - counter - downweighted)

Relevance is a sum of non-negative shares; the other signals scale it. The weights of words, meaning and views were
tuned (``phronesis bench lessons``); the others are our choice. The traversal is breadth-first and bounded.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from phronesis.core.lexical_index import K1, B, ScopeIndex, idf_of
from phronesis.recall.scoring.lane_arrays import Floats, Mask, Spread, spread_of

DEPTH: Final = 3
"""Steps: from an event to its pattern, on to the principle, and down again to another pattern."""
WIDTH: Final = 24
"""Nodes that the first step expands, the strongest; the second half as many, the third a third (docs/decisions/14)."""
SPARE: Final = 2
"""Nodes read per expanded node: some may not be visible, and those of another layer count less."""
CROSS: Final = 0.8
"""Factor of the strength for a step to another layer: a pattern is about what its members are about."""
SAME: Final = 0.6
"""Factor of the strength for a step within a layer: a similar event is about something a little different."""
THROUGH: Final = 0.5
"""Factor of the strength for a step to or from an artifact: two events that name one file share a place, not a
lesson."""
LEAST: Final = 0.05
"""Strength below which a path is not followed: that of three steps over edges of half weight."""
ARTIFACT: Final = 0
"""The layer of artifacts; events are layer 1, patterns 2, principles 3."""


@dataclass(frozen=True, slots=True)
class Link:
    """An edge as seen from one of its ends; ``weight`` in [0, 1]."""

    near: str
    far: str
    type: str
    weight: float


@dataclass(frozen=True, slots=True)
class Node:
    """What a traversal needs of a node: its layer, creation time (microseconds), and usefulness in [0, 1]."""

    id: str
    layer: int
    at: int = 0
    usefulness: float = 0.5


@dataclass(frozen=True, slots=True)
class ReachedNode:
    """A node that was reached: its strength, the number of steps, the previous node and the edge's type."""

    node: Node
    strength: float
    hops: int
    via: str | None = None
    by: str | None = None


def walk(
    links: Callable[[Sequence[str]], Sequence[Link]],
    nodes: Callable[[Sequence[str]], Mapping[str, Node]],
    seeds: Mapping[str, float],
    *,
    depth: int = DEPTH,
    width: int = WIDTH,
) -> dict[str, ReachedNode]:
    """Return what is reached from ``seeds`` (strengths in [0, 1] by id), visible seeds included, by id.

    Of two paths to a node the shorter counts; of equally long ones the stronger. The n-th step expands the strongest
    ``width`` / n nodes; ties go to the more useful node, then to the newer. ``links`` returns the edges at any of some
    nodes, in both directions, in a fixed order; ``nodes`` those that are visible.
    """
    found = {one: ReachedNode(node, seeds[one], 0) for one, node in nodes(list(seeds)).items()}
    front = _best(list(found.values()), width)
    for hop in range(1, depth + 1):
        if not front:
            break
        near = {one.node.id: one for one in front}
        wide = max(1, width // hop)
        told = [(link, near[link.near]) for link in links(list(near)) if link.far not in found]
        likely = nodes(_likely(told, SPARE * wide))
        level: dict[str, ReachedNode] = {}
        for link, start in told:
            if (node := likely.get(link.far)) is None:
                continue
            near_layer = start.node.layer
            share = THROUGH if ARTIFACT in (near_layer, node.layer) else SAME if near_layer == node.layer else CROSS
            strength = start.strength * link.weight * share
            if strength >= LEAST and (node.id not in level or strength > level[node.id].strength):
                level[node.id] = ReachedNode(node, strength, hop, start.node.id, link.type)
        front = _best(list(level.values()), wide)
        found |= {one.node.id: one for one in front}
    return found


def _likely(told: Sequence[tuple[Link, ReachedNode]], count: int) -> list[str]:
    """Return the nodes that the strongest edges lead to, of which a hub has hundreds; ties go to the later id."""
    strongest: dict[str, float] = {}
    for link, start in told:
        strongest[link.far] = max(strongest.get(link.far, 0.0), start.strength * link.weight)
    newest_first = sorted(strongest, reverse=True)
    return sorted(newest_first, key=lambda one: -strongest[one])[:count]


def _best(reached: Sequence[ReachedNode], width: int) -> list[ReachedNode]:
    order = attrgetter("strength", "node.usefulness", "node.at")
    return sorted(sorted(reached, key=lambda one: one.node.id), key=order, reverse=True)[:width]


# Centred vectors, and the spread of cosines between unrelated texts.

SAMPLED: Final = 400
"""Events from which the spread of cosines is computed: 80,000 pairs."""


@dataclass(frozen=True, slots=True)
class Centre:
    """The mean to subtract from every vector, and the standard deviation of cosines of unrelated texts after that.

    ``languages`` are the orthonormal directions in which languages differ.
    """

    mean: Floats
    languages: Floats
    spread: float

    @classmethod
    def of(cls, vectors: Floats, unrelated: Floats, languages: Sequence[int] = ()) -> "Centre":
        """Return the centre of some events (rows of zeros have no vector) and of unrelated texts.

        ``languages`` number the language of each unrelated text; without them no direction is removed.
        """
        apart = _directions(unrelated, languages)
        there = vectors[vectors.any(axis=1)]
        every = max(1, len(there) // SAMPLED)
        sample = np.concatenate((unrelated, there[::every][:SAMPLED]))
        mean = np.concatenate((unrelated, there)).mean(axis=0, dtype=np.float64).astype(np.float32)
        plain = cls(mean, apart, 1.0).centred(sample)
        cosines = (plain @ plain.T)[np.triu_indices(len(sample), 1)]
        return cls(mean, apart, max(float(cosines.std()), 1e-3))

    def centred(self, vectors: Floats) -> Floats:
        """Return vectors less the mean and the language directions, of length 1; rows of zeros stay zero."""
        there = vectors.any(axis=1, keepdims=True)
        out = np.where(there, vectors - self.mean, 0.0)
        out -= (out @ self.languages.T) @ self.languages
        lengths = np.linalg.norm(out, axis=1, keepdims=True)
        scaled: Floats = np.divide(out, lengths, out=np.zeros_like(out), where=lengths > 0).astype(np.float32)
        return scaled


def _directions(unrelated: Floats, languages: Sequence[int]) -> Floats:
    """Return the differences of the languages' means from the first one's, as orthonormal rows."""
    spoken = np.array(languages, dtype=np.int64)
    means = [unrelated[spoken == one].mean(axis=0, dtype=np.float64) for one in np.unique(spoken)]
    apart = np.array([mean - means[0] for mean in means[1:]]).reshape(-1, unrelated.shape[1])
    rows: Floats = np.linalg.qr(apart.T)[0].T.astype(np.float32)
    return rows


WORDS: Final = 2.0
"""Weight of BM25 as a share of the maximum for the question's terms; doubled for a `LONG` question."""
MEANING: Final = 1.0
"""Weight of the cosine of the whole, standardised over the scope's experience; `FULL` standard deviations are 1."""
VIEWS: Final = 0.5
"""Weight of the best cosine of a view that the question is about, standardised like the whole; none for a `LONG`
question, since a vector of two hundred words is close to all texts of the same style."""
SHORT: Final = 16
LONG: Final = 48
"""Distinct terms of a question: up to the first its words count normally, from the second on they count more and views
less, linearly in between."""
MEMBERS: Final = 0.8
"""Share of its best member's relevance that a pattern has at least, and of its best pattern's that a principle has: a
question is asked in the words of the members (`CROSS`)."""
EPISODE: Final = 0.3
"""Weight of the relevance of the best other event of the same episode: if one attempt of an episode answers, the others
are more likely to."""
FULL: Final = 4.0
"""Standard deviations above the mean at which a cosine counts fully."""
EXACT: Final = 2.0
"""Added for an event whose situation, goal or episode equals the question: more than all words and embeddings."""
LATEST: Final = 1.0
"""If the question is only a name: added for the latest lesson under it; half for the one before, a third …"""
ARTIFACTS: Final = 0.5
"""Added for holding all the artifacts that the question names."""
GRAPH: Final = 0.3
"""Weight of the strength with which the graph traversal reached it from another item."""
USEFULNESS: Final = 0.3
"""Subtracted at usefulness 0, added at 1, as feedback says; nothing at `NEUTRAL`."""
NEUTRAL: Final = 0.5
CONFIDENCE: Final = 0.1
"""Added at confidence 1: of an event's label, or by the number of events behind a pattern."""
FRESHNESS: Final = 0.1
"""Added for an item of now; halved every `HALF_LIFE_DAYS`."""
HALF_LIFE_DAYS: Final = 180.0
"""Half a year: tools and code change in seasons; six times that of conversation (`scoring.lane_arrays`)."""
COUNTER: Final = 0.3
"""Subtracted if all evidence contradicts it."""
TRUST: Final = 0.1
"""Added for the most trusted source, an operator; a person counts above a machine (EMB-16)."""
PREFERENCE: Final = 0.4
"""Added for what is preferred, subtracted for what is to be avoided."""


class Signals(NamedTuple):
    """The ranking signals of one candidate, in [0, 1] each.

    ``length`` is the question's length, from `SHORT` to `LONG`; ``episode`` is the relevance of the best other event of
    the same episode and ``members`` that of what a pattern or a principle rests on, both perhaps above 1; ``latest`` is
    1 / the place among the events of the asked name, the latest lesson first, and 0 if more than a name was asked;
    ``preference`` is in [-1, 1]; ``age`` in days. ``weight`` is below 1 for a downweighted item (EMB-16).
    """

    words: float = 0.0
    length: float = 0.0
    meaning: float | None = None
    views: float = 0.0
    exact: bool = False
    latest: float = 0.0
    artifacts: float = 0.0
    graph: float = 0.0
    episode: float = 0.0
    members: float = 0.0
    usefulness: float = NEUTRAL
    weight: float = 1.0
    confidence: float = 0.0
    age: float = 0.0
    counter: float = 0.0
    trust: float = 0.0
    preference: float = 0.0


def length_of(terms: int) -> float:
    """Return the length of a question by its distinct terms: 0 up to `SHORT`, 1 from `LONG` on."""
    return min(1.0, max(0.0, (terms - SHORT) / (LONG - SHORT)))


def relevance_of(signals: Signals) -> dict[str, float]:
    """Return the shares of relevance; without an encoder (meaning None) words count for both."""
    weight = WORDS * (1.0 + signals.length)
    shares = {
        "words": signals.words * (weight if signals.meaning is not None else weight + MEANING),
        "meaning": MEANING * (signals.meaning or 0.0),
        "views": VIEWS * (1.0 - signals.length) * signals.views,
        "exact": EXACT * signals.exact,
        "latest": LATEST * signals.latest,
        "artifacts": ARTIFACTS * signals.artifacts,
        "graph": GRAPH * signals.graph,
        "episode": EPISODE * signals.episode,
    }
    shares["members"] = max(0.0, MEMBERS * signals.members - sum(shares.values()))
    return shares


def shares_of(signals: Signals) -> dict[str, float]:
    """Return every non-zero share of a score; their sum is the score."""
    relevant = relevance_of(signals)
    size = sum(relevant.values())
    shares = {
        **relevant,
        "usefulness": size * (USEFULNESS * 2.0 * (signals.usefulness - NEUTRAL)),
        "confidence": size * (CONFIDENCE * signals.confidence),
        "freshness": size * (FRESHNESS * 0.5 ** (max(0.0, signals.age) / HALF_LIFE_DAYS)),
        "trust": size * (TRUST * signals.trust),
        "preference": size * (PREFERENCE * signals.preference),
        "counter": size * (-COUNTER * signals.counter),
        "downweighted": size * (signals.weight - 1.0),
    }
    return {name: share for name, share in shares.items() if share}


def score_of(shares: Mapping[str, float]) -> float:
    """Return the sum of the shares."""
    return sum(shares.values())


def weights() -> dict[str, Any]:
    """Return the constants as JSON values, as ``explain`` shows them."""
    return {
        "words": WORDS,
        "meaning": MEANING,
        "views": VIEWS,
        "exact": EXACT,
        "latest": LATEST,
        "artifacts": ARTIFACTS,
        "graph": GRAPH,
        "episode": EPISODE,
        "members": MEMBERS,
        "usefulness": USEFULNESS,
        "confidence": CONFIDENCE,
        "freshness": FRESHNESS,
        "half_life_days": HALF_LIFE_DAYS,
        "counter": COUNTER,
        "trust": TRUST,
        "preference": PREFERENCE,
    }


# Match of documents with a question: BM25 as a share of its maximum, and standardised cosines.

MAX_TERMS: Final = 64
"""Terms of a question that are looked up, the rarest: a pasted log has thousands."""
FEW: Final = 8
"""Vectors below which their own spread is not used."""
USUAL: Final = Spread(0.0, 0.15)
"""The standard deviation that is then used with their mean: that of unrelated texts with the encoders tried (.05 to
.2)."""


def word_shares(lanes: Sequence[tuple[ScopeIndex, Mask]], terms: Sequence[int]) -> list[Floats]:
    """Return BM25 of each row as a share of the maximum for the question's terms, one array per lane.

    ``lanes`` come with masks of the rows that are experience, over which statistics are. A term that no row holds
    counts in the maximum, so that an unrelated question gets small shares.
    """
    asked = Counter(terms)
    distinct = list(asked)
    found = [_postings(index, mask, distinct) for index, mask in lanes]
    total = sum(int(mask.sum()) for _, mask in lanes)
    held = [sum(len(one[n][0]) for one in found) for n in range(len(distinct))]
    kept = sorted(range(len(distinct)), key=lambda n: (held[n], n))
    known = [n for n in kept if held[n]][:MAX_TERMS]
    unknown = [n for n in kept if not held[n]][: max(0, MAX_TERMS - len(known))]
    weights = {n: asked[distinct[n]] * idf_of(total, held[n]) for n in (*known, *unknown)}
    most = sum(weights.values())
    lengths = [index.lengths for index, _ in lanes]
    average = sum(float(one[mask].sum()) for one, (_, mask) in zip(lengths, lanes, strict=True)) / max(1, total)
    out = []
    for (_, mask), length, one in zip(lanes, lengths, found, strict=True):
        scores = np.zeros(len(mask), np.float32)
        norms = K1 * (1.0 - B) + K1 * B / max(average, 1e-9) * length
        for n in known:
            rows, tf = one[n]
            scores[rows] += (weights[n] / most) * (tf / (tf + norms[rows]))
        out.append(scores)
    return out


def _postings(index: ScopeIndex, mask: Mask, terms: Sequence[int]) -> list[tuple[npt.NDArray[np.int32], Floats]]:
    """Return the rows of the mask that hold each term, and the counts."""
    found = index.postings(terms)
    if not mask.all():  # as it is where a lane holds nothing but experience
        kept = [mask[rows] for rows, _ in found]
        found = [(rows[inside], tf[inside]) for (rows, tf), inside in zip(found, kept, strict=True)]
    return [(rows, tf.astype(np.float32)) for rows, tf in found]


def lane_cosine_statistics(cosines: Sequence[Floats]) -> Spread:
    """Return the mean and deviation of cosines of several lanes; of few, their mean and `USUAL`'s deviation."""
    own = spread_of(cosines)
    return own if sum(map(len, cosines)) >= FEW else Spread(own.mean, USUAL.deviation)


def standardise_cosines(cosines: Floats, spread: Spread) -> Floats:
    """Return standardised cosines: 0 at the mean and below, 1 at `FULL` standard deviations above it."""
    out: Floats = np.clip(spread.z(cosines) / np.float32(FULL), 0.0, 1.0)
    return out
