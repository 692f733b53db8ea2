"""What ranking needs to know of a text beside its words, packed: a search reads no texts."""

from collections.abc import Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Final

import numpy as np

from phronesis.errors import InputError

FROM_USER: Final = 1
FROM_ASSISTANT: Final = 2
ASKS: Final = 4
SHARES_PHOTO: Final = 8
NAMES_TIME: Final = 16
SAID: Final = 32
FROM_TOOL: Final = 64
WHOLE_TERMS: Final = 128
"""Bits of ``Marks.flags``. ``SAID``: a message, word for word; without it something made of messages, or stated.
``WHOLE_TERMS``: its terms hold identifiers whole; those of a document stored by an older version do not."""

NO_DAY: Final = 0
"""The day of what has none; 1 is the first of January of year 1."""

NO_IMPORTANCE: Final = 0
"""The importance of what gets no bonus for being recent or important."""

NO_STAGE: Final = 0
"""The stage of what is no trait, or of one whose stage brings nothing (``bonuses.STAGES``)."""

MAX_DATES: Final = 8
"""Times of one text that are kept: a message names one or two, and a diary's later ones would add little."""

_HEAD: Final = Struct("<BIBB")
_HEADS: Final = np.dtype([("flags", "u1"), ("day", "<u4"), ("importance", "u1"), ("stage", "u1")])
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


@dataclass(frozen=True, slots=True)
class MarksOfRows:
    """Marks of many texts, a row each. ``dates`` are (row, first day, last day), by row."""

    flags: Sequence[int]
    days: Sequence[int]
    importance: Sequence[int]
    stages: Sequence[int]
    dates: Sequence[tuple[int, int, int]]


def read_marks(blobs: Sequence[bytes]) -> MarksOfRows:
    """Read what ``Marks.pack`` gave of each text; InputError for a torn blob."""
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
