"""What ranking needs to know of a text beside its words, packed: a search reads no texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Final

from phronesis.errors import InputError

FROM_USER: Final = 1
FROM_ASSISTANT: Final = 2
ASKS: Final = 4
SHARES_PHOTO: Final = 8
NAMES_TIME: Final = 16
SAID: Final = 32
"""Bits of ``Marks.flags``. ``SAID``: a message, word for word; without it something made of messages, or stated."""

NO_DAY: Final = 0
"""The day of what has none; 1 is the first of January of year 1."""

NO_IMPORTANCE: Final = 0
"""The importance of what gets no bonus for being recent or important."""

NO_STAGE: Final = 0
"""The stage of what is no trait, or of one whose stage brings nothing (``bonuses.STAGES``)."""

MAX_DATES: Final = 8
"""Times of one text that are kept: a message names one or two, and a diary's later ones would add little."""

_HEAD: Final = Struct("<BIBB")
_DATES: Final = Struct("<II")


@dataclass(frozen=True, slots=True)
class Marks:
    """A text's properties: flags, the day it speaks from, and the first and last day of each time it names.

    Days are proleptic Gregorian ordinals (``date.toordinal``). ``importance`` (1 to 10) and ``stage`` are its item's,
    as far as they bring a bonus (``bonuses``).
    """

    flags: int = 0
    day: int = NO_DAY
    dates: Sequence[tuple[int, int]] = ()
    importance: int = NO_IMPORTANCE
    stage: int = NO_STAGE

    def pack(self) -> bytes:
        """Give 7 bytes, and 8 for each of the first ``MAX_DATES`` times."""
        dates = b"".join([_DATES.pack(first, last) for first, last in self.dates[:MAX_DATES]])
        return _HEAD.pack(self.flags, self.day, self.importance, self.stage) + dates

    @classmethod
    def unpack(cls, blob: bytes) -> "Marks":
        """Read what ``pack`` gave; InputError for a torn blob."""
        if len(blob) < _HEAD.size or (len(blob) - _HEAD.size) % _DATES.size:
            raise InputError(f"marks: {len(blob)} bytes are torn; rebuild the search document", field="marks")
        flags, day, importance, stage = _HEAD.unpack_from(blob)
        return cls(flags, day, tuple(_DATES.iter_unpack(blob[_HEAD.size :])), importance, stage)
