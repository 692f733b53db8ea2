"""How relevant each result of a source is, on one scale for all sources, from 0 to 1.

A source's score is a sum of weighted standard deviations over its own scope (``core.scoring``): how far a text stands
out among the texts beside it. A scope of ten manuals and one of a hundred thousand messages have different spreads, and
features that the other lacks (who speaks, what stands next to it), so scores of two sources say nothing of each other.
Reciprocal ranks (RRF, Cormack et al. 2009) would compare by places alone: the best of a source that knows nothing of
the question would stand beside the best of the one that holds the answer.

So relevance is made of what says the same in every scope:

- ``covered``: the share of the question's words that the text holds, by idf, those that its scope does not know counted
  as missing. (The ranking's own coverage counts known words alone: who knows one word of six covers all of it.)
- ``outlying``: how far its cosine lies above its scope's mean, in standard deviations: nothing up to ``USUAL``, a half
  at three (``abstention.OUTLIER``, where a cosine alone counts as support), all at ``CERTAIN``.
- ``timed``: how well it fits the time asked about; ``mentioned``: whether it mentions, by any name, whom or what is
  asked about. Neither says what the text is about: each counts in part.

Each is a reason that may suffice by itself, and they add up as such reasons do: a noisy-or, 1 - Π(1 - reason) (Pearl,
"Probabilistic Reasoning in Intelligent Systems", 1988). The source's own order knows more than they do (it was fitted
to labelled questions), so it is kept: relevance is the fit to these numbers that never rises along the order (isotonic
regression by pooling adjacent violators: Ayer et al. 1955), in which what must be levelled shares its mean.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from phronesis.core.results import Evidence

COVERED: Final = "covered"
OUTLYING: Final = "outlying"
TIMED: Final = "timed"
MENTIONED: Final = "mentioned"
SIGNALS: Final = (COVERED, OUTLYING, TIMED, MENTIONED)
"""The members of ``why`` that relevance is made of; they are no shares of the score."""

USUAL: Final = 1.0
CERTAIN: Final = 5.0
"""Standard deviations of a cosine. A sixth of any scope lies above one. Among a hundred thousand numbers of a normal
distribution the largest is expected near 4.4: five is hardly ever chance."""

BY_TIME: Final = 0.5
BY_NAME: Final = 0.3
"""The most that a fitting time and a name bring alone: of what was said on a day about half is not what is meant, and
of what mentions a person most is not."""


def relevance(found: Sequence[Evidence]) -> list[float]:
    """Give the relevance of a source's results, best first, from 0 to 1: it never rises along the list."""
    return falling([support(one.why or {}) for one in found])


def support(why: Mapping[str, float]) -> float:
    """Give what the signals of one result say together, from 0 to 1; what is not there says nothing."""
    meaning = (why.get(OUTLYING, 0.0) - USUAL) / (CERTAIN - USUAL)
    reasons = (
        _share(why.get(COVERED, 0.0)),
        _share(meaning),
        BY_TIME * _share(why.get(TIMED, 0.0)),
        BY_NAME * _share(why.get(MENTIONED, 0.0)),
    )
    doubt = 1.0
    for reason in reasons:
        doubt *= 1.0 - reason
    return 1.0 - doubt


def falling(values: Sequence[float]) -> list[float]:
    """Give the sequence nearest to ``values`` by least squares that never rises."""
    pools: list[tuple[float, int]] = []
    for value in values:
        total, count = value, 1
        while pools and pools[-1][0] * count < total * pools[-1][1]:
            before = pools.pop()
            total, count = total + before[0], count + before[1]
        pools.append((total, count))
    return [total / count for total, count in pools for _ in range(count)]


def _share(value: float) -> float:
    return min(1.0, max(0.0, value))
