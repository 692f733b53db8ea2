"""What lifts a result whatever the question: how recent it is, how important, how settled a trait (NM-11).

The requirement's formula is ``base · (1 + recency + importance + trait)``. A base is a sum of standard deviations and
may lie below 0, where a greater factor would lower it. So the bonuses count on its size:

    final = base + |base| · (recency + importance + trait)

which is the requirement's wherever the base is above 0, and ``base · (1 - …)`` below. A bonus never lowers a score; and
of two results with the same bonuses the one of the better base stays before the other, since they are below 1 together.

What was said word for word gets none for being recent: a question meets a talk of any time, and its date features know
when it asks for a time (docs/decisions/0021-recall-boosts.md has figures). What is no memory of conversations (claims,
documents, experience) gets none at all.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from phronesis.core.scoring.arrays import Floats, Mask, Rows
from phronesis.core.scoring.marks import NO_DAY, NO_STAGE

RECENCY: Final = 0.15
"""The most that being recent brings (NM-11: 0 to .15): to what is of the day of the question, or later."""

HALF_LIFE_DAYS: Final = 30.0
"""Days after which half the bonus for being recent is left.

Our choice, the requirement names none: the longer window of a trend (NM-04), which is what "of late" means here. After
three months an eighth is left (.02), after a year nothing.
"""

IMPORTANCE: Final = 0.15
"""The most that being important brings (NM-11: 0 to .15): to importance 10; nothing to 1, evenly in between."""

LEAST_IMPORTANT: Final = 1
MOST_IMPORTANT: Final = 10
"""The ends of importance (contract: 1 small talk … 9 life event)."""

TRAIT_BOOSTS: Final[Mapping[str, float]] = MappingProxyType({"emerging": 0.05, "established": 0.15, "core": 0.25})
"""What a trait's stage brings (NM-11). No other stage brings anything, nor does any other kind."""

STAGES: Final = ("", *TRAIT_BOOSTS)
"""The stages that bring something, by the number that stands for them in ``Marks.stage``; 0: none of them."""

BONUSES: Final = ("recency", "importance", "trait_boost")
"""What ``why`` calls the shares."""

_BOOSTS: Final = np.array([0.0, *TRAIT_BOOSTS.values()], dtype=np.float32)
_IMPORTANCES: Final = np.array(
    [0.0, *(IMPORTANCE * above / (MOST_IMPORTANT - LEAST_IMPORTANT) for above in range(MOST_IMPORTANT))], np.float32
)


def stage_number(stage: str | None) -> int:
    """Give the number of a stage that brings something; ``NO_STAGE`` for any other, and for none."""
    return STAGES.index(stage) if stage in TRAIT_BOOSTS else NO_STAGE


def recency(days: Rows, asked_on: int, *, learned: Mask) -> Floats:
    """Give ``RECENCY`` halved for every ``HALF_LIFE_DAYS`` between a thing's own day and that of the question.

    Days are ordinals. 0 for what is not ``learned``, and where nobody said when the question is asked.
    """
    if asked_on == NO_DAY or not learned.any():
        return np.zeros(len(days), dtype=np.float32)
    age = np.maximum(asked_on - days, 0)
    return (RECENCY * np.exp2(-age / HALF_LIFE_DAYS) * learned).astype(np.float32)


def importance_bonus(importance: Rows) -> Floats:
    """Give ``IMPORTANCE`` · (importance - 1) / 9; 0 for what has none (``NO_IMPORTANCE``)."""
    return _IMPORTANCES[importance]


def trait_boost(stages: Rows) -> Floats:
    """Give what the stages of those numbers bring."""
    return _BOOSTS[stages]


def bonus_shares(base: Floats, bonuses: Mapping[str, Floats]) -> dict[str, Floats]:
    """Give what each bonus adds to a score: |base| · bonus."""
    size = np.abs(base)
    return {name: size * bonus for name, bonus in bonuses.items()}


def to_dict() -> dict[str, Any]:
    """Give the constants as plain JSON values, as ``explain`` shows them beside the formula."""
    return {"recency": RECENCY, "half_life_days": HALF_LIFE_DAYS, "importance": IMPORTANCE,
            "trait_boost": dict(TRAIT_BOOSTS)}  # fmt: skip
