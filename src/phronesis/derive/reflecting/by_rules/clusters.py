"""Clusters of memories that show one behaviour, and which trait a memory belongs to."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from phronesis.derive.reflecting.by_rules.likeness import Floats, Likeness, scores
from phronesis.derive.reflecting.by_rules.reading import Reading

Mask = npt.NDArray[np.bool_]

MIN_PLACES: Final = 2
"""Sessions that a behaviour shows in: what is said again and again in one is one thing (NM-05)."""

MAX_MEMBERS: Final = 40
"""Memories that a new trait cites; there may be thousands, and forty show it."""


def grown(
    readings: Sequence[Reading], likeness: Likeness, *, seeds: Sequence[int], free: Sequence[bool], near: float,
    close: float, least: int,
) -> list[list[int]]:  # fmt: skip
    """Give clusters around seeds, the densest first: of memories alike on average to those that are in already.

    ``near``: how alike the first two are; ``close``: how alike the others are on average. Each memory is in one cluster
    at most; a cluster has ``least`` members of two sessions.
    """
    if not seeds:
        return []
    rows = _Rows(likeness, free)
    first = rows.of(seeds)
    weight = np.sort(np.where(first >= near, first, 0.0), axis=1)[:, -MAX_MEMBERS:].sum(axis=1)
    order = sorted(range(len(seeds)), key=lambda row: (-round(float(weight[row]), 4), _key(readings[seeds[row]])))
    left = np.array(free)
    found = []
    for row in order:
        seed = seeds[row]
        if not left[seed] or weight[row] <= 0.0:
            continue
        members = _around(seed, first[row], rows, left=left, near=near, close=close)
        if len(members) >= least and len({readings[n].place for n in members}) >= MIN_PLACES:
            found.append(sorted(members, key=lambda n: _key(readings[n])))
            left[members] = False
    return found


class _Rows:
    """How alike memories are to all others, a row worked out when it is asked for; 0 for what is not free."""

    def __init__(self, likeness: Likeness, free: Sequence[bool]) -> None:
        self._likeness = likeness
        self._barred = ~np.array(free, bool)
        self._known: dict[int, Floats] = {}

    def of(self, rows: Sequence[int]) -> Floats:
        """Give the rows of several memories."""
        table = scores(self._likeness, rows)
        table[:, self._barred] = 0.0
        for place, n in enumerate(rows):
            table[place, n] = 0.0
            self._known[n] = table[place]
        return table

    def one(self, n: int) -> Floats:
        """Give the row of one memory."""
        return self._known[n] if n in self._known else self.of([n])[0]


def _around(seed: int, row: Floats, rows: _Rows, *, left: Mask, near: float, close: float) -> list[int]:
    """Give a seed and, one after the other, what is most alike on average to those that are in already."""
    members = [seed]
    total = row.copy()
    open_ = left.copy()
    open_[seed] = False
    least = near
    while len(members) < MAX_MEMBERS:
        mean = np.where(open_, np.round(total / len(members), 4), -1.0)
        best = int(mean.argmax())  # the earliest of those that are as alike: memories stand in the order of time
        if mean[best] < least:
            break
        members.append(best)
        open_[best] = False
        total = total + rows.one(best)
        least = close
    return members


def _key(one: Reading) -> tuple[object, ...]:
    return (one.at, one.id)
