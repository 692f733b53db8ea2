"""How well an event, a pattern or a principle answers a question: the weights, and what each brings (EMB-14).

    score = relevance · (1 + usefulness + confidence + freshness + trust + preference - counter - downweighted)

Relevance is a sum of shares of 0 and more; what is known of the source alone lifts or lowers it and never makes
something relevant. The requirement names the signals, no numbers: the weights of words, meaning and views were tuned
on tests/labelled/experience/dev.jsonl and on the reflections of Reflexion's ALFWorld runs (docs/benchmarks.md); the
others are our choice, small enough that all together they do not turn over a relevance that is half as large again.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

WORDS: Final = 2.0
"""Of BM25 as a share of the most that the question's terms can come to; twice that where the question is `LONG`."""

MEANING: Final = 1.0
"""Of the cosine of the whole, standardised over the scope's experience, `FULL` standard deviations being 1."""

VIEWS: Final = 0.5
"""Of the best cosine of a view that the question is about, standardised like the whole; none where the question is
`LONG`: a vector of two hundred words is near to all that is told in the same manner."""

SHORT: Final = 16
LONG: Final = 48
"""Distinct terms of a question from and up to which its words count more and views less, evenly in between."""

MEMBERS: Final = 0.8
"""A pattern is at least so relevant, by this share, as its most relevant member, and a principle as its pattern: what
is asked is what its members are about, in words of theirs (`walking.CROSS`)."""

EPISODE: Final = 0.3
"""Of the relevance of the best other event of the same episode: an episode is about one thing, and where one of its
attempts answers, the others do more likely."""

FULL: Final = 4.0
"""Standard deviations above the mean at which a cosine counts fully."""

EXACT: Final = 2.0
"""Of an event whose situation, goal or episode is what was asked, to the letter: more than all words and meaning."""

LATEST: Final = 1.0
"""Where nothing but a name was asked: of the latest lesson under it; half of it for the one before, a third …"""

ARTIFACTS: Final = 0.5
"""Of holding all the artifacts that the question names."""

GRAPH: Final = 0.3
"""Of the strength with which the walk over the graph came to it from something else."""

USEFULNESS: Final = 0.3
"""Taken off at usefulness 0, added at 1: what people said of it. Nothing at `NEUTRAL`."""

NEUTRAL: Final = 0.5

CONFIDENCE: Final = 0.1
"""Of a confidence of 1: how sure an event's label is, how many events are behind a pattern."""

FRESHNESS: Final = 0.1
"""Of what is of now; halved every `HALF_LIFE_DAYS`."""

HALF_LIFE_DAYS: Final = 180.0
"""Half a year: tools and code change in seasons; six times the half-life of talk (`scoring.bonuses`)."""

COUNTER: Final = 0.3
"""Taken off where all that is known speaks against it."""

TRUST: Final = 0.1
"""Of the most trusted source, an operator: a person counts above a machine (EMB-16)."""

PREFERENCE: Final = 0.4
"""Of what was said to be preferred, or taken off of what was said not to be."""


class Signals(NamedTuple):
    """What is known of one candidate, in [0, 1] each.

    ``length`` says how long the question is, from `SHORT` to `LONG`; ``episode`` is the relevance of the best other
    event of the same episode and ``members`` that of what a pattern or a principle rests on, both perhaps above 1;
    ``latest`` 1 / its place among what the asked name stands for, the
    latest lesson first, and 0 where more than a name was asked; ``preference`` is in [-1, 1]; ``age`` in days.
    ``weight`` is below 1 for what was downweighted (EMB-16).
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
    """Give how long a question of so many distinct terms is: 0 up to `SHORT`, 1 from `LONG` on."""
    return min(1.0, max(0.0, (terms - SHORT) / (LONG - SHORT)))


def relevance_of(signals: Signals) -> dict[str, float]:
    """Give the shares that make something relevant; without an encoder (meaning None) words weigh for both."""
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
    """Give every share of a score; their sum is the score. Shares that are 0 are left out."""
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
    """Give the score that shares come to."""
    return sum(shares.values())


def weights() -> dict[str, Any]:
    """Give the constants as plain JSON values, as ``explain`` shows them."""
    return {
        "words": WORDS, "meaning": MEANING, "views": VIEWS, "exact": EXACT, "latest": LATEST, "artifacts": ARTIFACTS,
        "graph": GRAPH, "episode": EPISODE, "members": MEMBERS, "usefulness": USEFULNESS,
        "confidence": CONFIDENCE, "freshness": FRESHNESS, "half_life_days": HALF_LIFE_DAYS, "counter": COUNTER,
        "trust": TRUST, "preference": PREFERENCE,
    }  # fmt: skip
