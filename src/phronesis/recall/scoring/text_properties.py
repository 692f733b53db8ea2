"""Packed properties of a text that ranking needs besides its words, so that a search reads no texts."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Final

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

LEAST_IMPORTANT: Final = 1
MOST_IMPORTANT: Final = 10
"""The range of importance (contract: 1 small talk … 9 life event)."""

TRAIT_BOOSTS: Final[Mapping[str, float]] = {"emerging": 0.05, "established": 0.15, "core": 0.25}
"""Bonus of a trait's stage (NM-11). Other stages and kinds have none."""

STAGES: Final = ("", *TRAIT_BOOSTS)
"""The stages with a bonus, indexed by ``Marks.stage``; 0: none of them."""

HEAD: Final = Struct("<BIBB")  # flags, day, importance, stage
DATES: Final = Struct("<II")  # first and last day


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
        dates = b"".join([DATES.pack(first, last) for first, last in self.dates[:MAX_DATES]])
        return HEAD.pack(self.flags, self.day, self.importance, self.stage) + dates


@dataclass(frozen=True, slots=True)
class MarksOfRows:
    """Marks of many texts, one row each. ``dates`` are (row, first day, last day), sorted by row."""

    flags: Sequence[int]
    days: Sequence[int]
    importance: Sequence[int]
    stages: Sequence[int]
    dates: Sequence[tuple[int, int, int]]


def stage_number(stage: str | None) -> int:
    """Return the number of a stage with a bonus; ``NO_STAGE`` for any other, and for none."""
    return STAGES.index(stage) if stage in TRAIT_BOOSTS else NO_STAGE
