"""Query-independent bonuses of a result: recency, importance and a trait's stage (NM-11); and packed text properties.

The requirement's formula is ``base · (1 + recency + importance + trait)``. A base is a sum of standard deviations and
may be below 0, where a greater factor would lower it. So the bonuses multiply its size:

final = base + |base| · (recency + importance + trait)

This equals the requirement's formula wherever the base is above 0, and ``base · (1 - …)`` below. A bonus never lowers a
score, and since the bonuses sum to less than 1, two results with equal bonuses keep the order of their bases.

Verbatim messages get no recency bonus: questions refer to conversations of any time, and the date features cover
questions that ask for a time (docs/decisions/05-ranking.md has figures). Claims, documents and experience get no bonus
at all.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from struct import Struct
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from phronesis.errors import InputError
from phronesis.recall.scoring.lane_arrays import Floats, Mask, Rows

# Packed properties of a text that ranking needs besides its words, so that a search reads no texts.

FROM_USER: Final = 1
FROM_ASSISTANT: Final = 2
ASKS: Final = 4
SHARES_PHOTO: Final = 8
NAMES_TIME: Final = 16
SAID: Final = 32
FROM_TOOL: Final = 64
WHOLE_TERMS: Final = 128
"""Bits of ``Marks.flags``.

``SAID``: a verbatim message; not set for extracted or stated items. ``WHOLE_TERMS``: its terms keep identifiers whole;
not set for documents stored by an older version.
"""

NO_DAY: Final = 0
"""The day of a text without one; 1 is the first of January of year 1."""

NO_IMPORTANCE: Final = 0
"""The importance of a text without recency and importance bonuses."""

NO_STAGE: Final = 0
"""The stage of an item that is not a trait, or whose stage adds nothing (``STAGES``)."""

MAX_DATES: Final = 8
"""Maximum times kept of one text: a message names one or two."""

_HEAD: Final = Struct("<BIBB")
_HEADS: Final = np.dtype([("flags", "u1"), ("day", "<u4"), ("importance", "u1"), ("stage", "u1")])
_DATES: Final = Struct("<II")


@dataclass(frozen=True, slots=True)
class Marks:
    """A text's properties: flags, the day it was said, and the first and last day of each time it names.

    Days are proleptic Gregorian ordinals (``date.toordinal``). ``importance`` (1 to 10) and ``stage`` are those of its
    item, where they add a bonus.
    """

    flags: int = 0
    day: int = NO_DAY
    dates: Sequence[tuple[int, int]] = ()
    importance: int = NO_IMPORTANCE
    stage: int = NO_STAGE

    def pack(self) -> bytes:
        """Return 7 bytes, and 8 for each of the first ``MAX_DATES`` times."""
        dates = b"".join([_DATES.pack(first, last) for first, last in self.dates[:MAX_DATES]])
        return _HEAD.pack(self.flags, self.day, self.importance, self.stage) + dates


@dataclass(frozen=True, slots=True)
class MarksOfRows:
    """Marks of many texts, one row each. ``dates`` are (row, first day, last day), sorted by row."""

    flags: Sequence[int]
    days: Sequence[int]
    importance: Sequence[int]
    stages: Sequence[int]
    dates: Sequence[tuple[int, int, int]]


def read_marks(blobs: Sequence[bytes]) -> MarksOfRows:
    """Parse packed marks of texts; InputError for a damaged blob."""
    for blob in blobs:
        if len(blob) < _HEAD.size or (len(blob) - _HEAD.size) % _DATES.size:
            raise InputError(f"marks: {len(blob)} bytes are torn; rebuild the search document", field="marks")
    heads = np.frombuffer(b"".join([blob[: _HEAD.size] for blob in blobs]), _HEADS)
    dates = [
        (row, first, last)
        for row, blob in enumerate(blobs)
        if len(blob) > _HEAD.size
        for first, last in _DATES.iter_unpack(blob[_HEAD.size :])
    ]
    flags, days, importance, stages = (heads[name].tolist() for name in _HEADS.names or ())
    return MarksOfRows(flags, days, importance, stages, dates)


RECENCY: Final = 0.15
"""Maximum recency bonus (NM-11: 0 to .15): for the day of the question or later."""

HALF_LIFE_DAYS: Final = 30.0
"""Half-life of the recency bonus in days.

Our choice, the requirement names none: the longer window of a trend (NM-04). After three months an eighth is left
(.02), after a year nothing.
"""

IMPORTANCE: Final = 0.15
"""Maximum importance bonus (NM-11: 0 to .15): for importance 10; 0 for 1, linear in between."""

LEAST_IMPORTANT: Final = 1
MOST_IMPORTANT: Final = 10
"""The range of importance (contract: 1 small talk … 9 life event)."""

TRAIT_BOOSTS: Final[Mapping[str, float]] = MappingProxyType({"emerging": 0.05, "established": 0.15, "core": 0.25})
"""Bonus of a trait's stage (NM-11). Other stages and kinds have none."""

STAGES: Final = ("", *TRAIT_BOOSTS)
"""The stages with a bonus, indexed by ``Marks.stage``; 0: none of them."""

BONUSES: Final = ("recency", "importance", "trait_boost")
"""The names of the bonuses in ``why``."""

_BOOSTS: Final = np.array([0.0, *TRAIT_BOOSTS.values()], dtype=np.float32)
_IMPORTANCES: Final = np.array(
    [0.0, *(IMPORTANCE * above / (MOST_IMPORTANT - LEAST_IMPORTANT) for above in range(MOST_IMPORTANT))], np.float32
)


def stage_number(stage: str | None) -> int:
    """Return the number of a stage with a bonus; ``NO_STAGE`` for any other, and for none."""
    return STAGES.index(stage) if stage in TRAIT_BOOSTS else NO_STAGE


def recency(days: Rows, asked_on: int, *, learned: Mask) -> Floats:
    """Return ``RECENCY`` halved for every ``HALF_LIFE_DAYS`` between an item's day and that of the question.

    Days are ordinals. 0 for items that are not ``learned``, and if the question's day is unknown.
    """
    if asked_on == NO_DAY or not learned.any():
        return np.zeros(len(days), dtype=np.float32)
    age = np.maximum(asked_on - days, 0)
    return (RECENCY * np.exp2(-age / HALF_LIFE_DAYS) * learned).astype(np.float32)


def importance_bonus(importance: Rows) -> Floats:
    """Return ``IMPORTANCE`` · (importance - 1) / 9; 0 for ``NO_IMPORTANCE``."""
    return _IMPORTANCES[importance]


def trait_boost(stages: Rows) -> Floats:
    """Return the bonuses of stage numbers."""
    return _BOOSTS[stages]


def bonus_shares(base: Floats, bonuses: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return the amount that each bonus adds to a score: |base| · bonus."""
    size = np.abs(base)
    return {name: size * bonus for name, bonus in bonuses.items()}


def to_dict() -> dict[str, Any]:
    """Return the constants as plain JSON values, as ``explain`` shows them beside the formula."""
    return {
        "recency": RECENCY,
        "half_life_days": HALF_LIFE_DAYS,
        "importance": IMPORTANCE,
        "trait_boost": dict(TRAIT_BOOSTS),
    }
