"""Arrays of a lane: its documents in chronological order with windows, packed properties of texts, and bonuses.

A *place* is a document's position in that order: messages of a session are adjacent; an item outside a session stands
alone. All context-dependent scores are indexed by place.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from phronesis.errors import InputError
from phronesis.recall.scoring.text_properties import (
    DATES,
    HEAD,
    LEAST_IMPORTANT,
    MOST_IMPORTANT,
    NO_DAY,
    TRAIT_BOOSTS,
    MarksOfRows,
)

Floats = npt.NDArray[np.float32]
Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Spread:
    """The mean and standard deviation of a score over all lanes of a query."""

    mean: float
    deviation: float

    def z(self, values: Floats) -> Floats:
        """Return (values - mean) / deviation; 0 if the score does not vary and so carries no information."""
        if self.deviation < 1e-9:  # noqa: PLR2004 - nothing but rounding: all are alike
            return np.zeros_like(values)
        return ((values - np.float32(self.mean)) / np.float32(self.deviation)).astype(np.float32, copy=False)


def best_of(values: Floats, count: int) -> Rows:
    """Return the indexes of the ``count`` greatest values, ascending; of equals at the edge the first.

    All if there are fewer. A partition and a scan for values at the edge takes half as long as ``argpartition``.
    """
    if count >= len(values):
        return np.arange(len(values))
    place = len(values) - count
    edge = np.partition(values, place)[place]
    found = np.flatnonzero(values >= edge)
    if len(found) > count:
        even = np.flatnonzero(values[found] == edge)
        found = np.delete(found, even[count - len(found) :])
    return found


def spread_of(arrays: Sequence[Floats]) -> Spread:
    """Return the spread of one score over all lanes: a term that is rare in a small lane may be common in the scope."""
    count = sum(len(array) for array in arrays)
    if not count:
        return Spread(0.0, 0.0)
    mean = sum(float(array.sum(dtype=np.float64)) for array in arrays) / count
    squares = 0.0
    for array in arrays:
        apart = array - np.float32(mean)
        squares += float(np.square(apart, out=apart).sum(dtype=np.float64))
    return Spread(mean, (squares / count) ** 0.5)


WINDOW_REACH: Final = 4
WINDOW_TOKENS: Final = 150
"""Maximum terms of a window: a message with up to four on either side, growing outwards.

Of 100, 150, 200 and 300 terms, 150 found most on LoCoMo's dev conversations (.770, .775, .772, .772).
"""

PAIR_TOKENS: Final = 60
"""Maximum terms of a pair: a message with the one before it, such as a question and its answer."""

ALONE: Final = -1
"""The session number of a document outside sessions."""


@dataclass(frozen=True, slots=True)
class Windows:
    """Each place's window, as the half-open range of its places, and its length in terms."""

    start: Rows
    stop: Rows
    lengths: Floats


@dataclass(frozen=True, slots=True)
class Pairs:
    """Each place's pair: whether it is joined with the previous place, and its length."""

    joined: Mask
    lengths: Floats


@dataclass(frozen=True, slots=True)
class Layout:
    """The live documents of one lane by place.

    ``rows`` are the row numbers by place, ``place_of`` the inverse (-1: not live). ``first`` and ``last`` are the
    bounds of the place's session, both inclusive; ``begins`` holds the first place of each session. ``apart``: every
    place is a session of its own, so its window and pair are its text alone.
    """

    rows: Rows
    place_of: Rows
    first: Rows
    last: Rows
    begins: Rows
    lengths: Floats
    windows: Windows
    pairs: Pairs
    apart: bool

    def __len__(self) -> int:
        return len(self.rows)

    def neighbours(self, places: Rows, step: int) -> tuple[Rows, Mask]:
        """Return the places ``step`` further on, and a mask of those in the same session.

        Ignore the others.
        """
        there = places + step
        inside = (there >= self.first[places]) & (there <= self.last[places])
        return np.where(inside, there, 0), inside

    def shifted(self, values: Floats, step: int) -> Floats:
        """Return for every place the value ``step`` places further on in its session, 0 beyond the session's end."""
        there = np.arange(len(self)) + step
        inside = (there >= self.first) & (there <= self.last)
        return np.roll(values, -step) * inside


def make_layout(*, sessions: Rows, positions: Rows, offsets: Rows, alive: Mask, lengths: Floats) -> Layout:
    """Return the layout of rows sorted by session, position and offset in the message; arrays are by row number.

    ``sessions`` are any numbers, ``ALONE`` for none; ``lengths`` are in index terms.
    """
    live = np.flatnonzero(alive)
    alone = sessions[live] == ALONE
    # Each document outside sessions is a session of its own, after all the others.
    group = np.where(alone, sessions.max(initial=0) + 1 + live, sessions[live])
    order = np.lexsort((live, offsets[live], positions[live], group))
    rows, group = live[order], group[order]
    size = len(rows)
    place_of = np.full(len(alive), -1, dtype=np.int64)
    place_of[rows] = np.arange(size)
    begins = np.flatnonzero(np.diff(group, prepend=np.int64(-1)))
    counts = np.diff(begins, append=np.int64(size))
    first = np.repeat(begins, counts)
    last = np.repeat(begins + counts - 1, counts)
    by_place = lengths[rows].astype(np.float32, copy=False)
    return Layout(
        rows=rows,
        place_of=place_of,
        first=first,
        last=last,
        begins=begins,
        lengths=by_place,
        windows=_windows(by_place, first, last),
        pairs=_pairs(by_place, first),
        apart=len(begins) == size,
    )


def _windows(lengths: Floats, first: Rows, last: Rows) -> Windows:
    """Return windows that grow outwards, the earlier side first, each side until the limit or the session's end."""
    places = np.arange(len(lengths), dtype=np.int64)
    total = lengths.copy()
    room = {-1: places - first, 1: last - places}
    growing = {side: np.ones(len(places), dtype=np.bool_) for side in room}
    reach = {side: np.zeros(len(places), dtype=np.int8) for side in room}
    for distance in range(1, min(WINDOW_REACH, len(places) - 1) + 1):
        for side, left in room.items():
            more = total.copy()
            if side < 0:
                more[distance:] += lengths[:-distance]
            else:
                more[:-distance] += lengths[distance:]
            grows = growing[side]
            grows &= left >= distance
            grows &= more <= WINDOW_TOKENS
            np.copyto(total, more, where=grows)
            reach[side] += grows
    return Windows(places - reach[-1], places + reach[1] + 1, total)


def _pairs(lengths: Floats, first: Rows) -> Pairs:
    places = np.arange(len(lengths), dtype=np.int64)
    before = np.concatenate((np.zeros(1, np.float32), lengths[:-1])) if len(lengths) else lengths
    joined = (places > first) & (lengths + before <= PAIR_TOKENS)
    return Pairs(joined, np.where(joined, lengths + before, lengths))


_HEADS: Final = np.dtype([("flags", "u1"), ("day", "<u4"), ("importance", "u1"), ("stage", "u1")])


def read_marks(blobs: Sequence[bytes]) -> MarksOfRows:
    """Parse packed marks of texts; InputError for a damaged blob."""
    for blob in blobs:
        if len(blob) < HEAD.size or (len(blob) - HEAD.size) % DATES.size:
            raise InputError(f"marks: {len(blob)} bytes are torn; rebuild the search document", field="marks")
    heads = np.frombuffer(b"".join([blob[: HEAD.size] for blob in blobs]), _HEADS)
    dates = [
        (row, first, last)
        for row, blob in enumerate(blobs)
        if len(blob) > HEAD.size
        for first, last in DATES.iter_unpack(blob[HEAD.size :])
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

BONUSES: Final = ("recency", "importance", "trait_boost")
"""The names of the bonuses in ``why``."""

BOOSTS: Final = np.array([0.0, *TRAIT_BOOSTS.values()], dtype=np.float32)
"""The bonuses by stage number."""

IMPORTANCES: Final = np.array(
    [0.0, *(IMPORTANCE * above / (MOST_IMPORTANT - LEAST_IMPORTANT) for above in range(MOST_IMPORTANT))], np.float32
)
"""``IMPORTANCE`` · (importance - 1) / 9, by importance; 0 for ``NO_IMPORTANCE``."""


def recency(days: Rows, asked_on: int, *, learned: Mask) -> Floats:
    """Return ``RECENCY`` halved for every ``HALF_LIFE_DAYS`` between an item's day and that of the question.

    Days are ordinals. 0 for items that are not ``learned``, and if the question's day is unknown.
    """
    if asked_on == NO_DAY or not learned.any():
        return np.zeros(len(days), dtype=np.float32)
    age = np.maximum(asked_on - days, 0)
    return (RECENCY * np.exp2(-age / HALF_LIFE_DAYS) * learned).astype(np.float32)


def bonus_shares(base: Floats, bonuses: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return the amount that each bonus adds to a score: |base| · bonus."""
    size = np.abs(base)
    return {name: size * bonus for name, bonus in bonuses.items()}


def bonus_constants() -> dict[str, Any]:
    """Return the constants as plain JSON values, as ``explain`` shows them beside the formula."""
    return {
        "recency": RECENCY,
        "half_life_days": HALF_LIFE_DAYS,
        "importance": IMPORTANCE,
        "trait_boost": dict(TRAIT_BOOSTS),
    }
