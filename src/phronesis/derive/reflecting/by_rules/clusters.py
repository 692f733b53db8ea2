"""Clusters of memories that show one behaviour, and which trait a memory belongs to."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from phronesis.derive.reflecting.by_rules.likeness import Likeness
from phronesis.derive.reflecting.by_rules.reading import Reading

Mask = npt.NDArray[np.bool_]

MIN_PLACES: Final = 2
"""Sessions that a behaviour shows in: what is said again and again in one is one thing (NM-05)."""

MAX_MEMBERS: Final = 40
"""Memories that a new trait cites; there may be thousands, and forty show it."""

HABITUAL: Final = 0.05
"""How much more alike a memory counts that says that it recurs ("again", "as usual")."""


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
    left = np.array(free, np.bool_)
    lift = np.array([HABITUAL * one.habit for one in readings])
    weight = {}
    for seed in seeds:
        row = likeness.row(seed)
        alike = np.sort(row[left & (row >= near)])[-MAX_MEMBERS - 1 :]
        weight[seed] = float(alike.sum()) - float(row[seed])
    order = sorted(seeds, key=lambda n: (-round(weight[n], 4), _key(readings[n])))
    found = []
    for seed in order:
        if not left[seed]:
            continue
        members = _around(seed, likeness, left=left, lift=lift, near=near, close=close)
        if len(members) >= least and len({readings[n].place for n in members}) >= MIN_PLACES:
            found.append(sorted(members, key=lambda n: _key(readings[n])))
            left[members] = False
    return found


def _around(
    seed: int, likeness: Likeness, *, left: Mask, lift: npt.NDArray[np.float64], near: float, close: float
) -> list[int]:
    """Give a seed and, one after the other, what is most alike on average to those that are in already."""
    members = [seed]
    total = likeness.row(seed).copy()
    open_ = left.copy()
    open_[seed] = False
    least = near
    while len(members) < MAX_MEMBERS:
        mean = np.where(open_, np.round(total / len(members) + lift, 4), -1.0)
        best = int(mean.argmax())  # the earliest of those that are as alike: memories stand in the order of time
        if mean[best] < least:
            break
        members.append(best)
        open_[best] = False
        total = total + likeness.row(best)
        least = close
    return members


def _key(one: Reading) -> tuple[object, ...]:
    return (one.at, one.id)
