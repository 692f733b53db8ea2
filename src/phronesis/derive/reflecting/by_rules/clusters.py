"""Clusters of memories that show one behaviour, and which trait a memory belongs to."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from phronesis.derive.reflecting.by_rules.likeness import Likeness
from phronesis.derive.reflecting.by_rules.reading import STATED, Reading
from phronesis.derive.reflecting.by_rules.statement import behaviours_of

Mask = npt.NDArray[np.bool_]

MIN_PLACES: Final = 3
"""Sessions that a behaviour shows in: what is said again and again in one is one occasion, and three are asked for."""

MAX_MEMBERS: Final = 40
"""Memories that a new trait cites; there may be thousands, and forty show it."""

HABITUAL: Final = 0.05
"""How much more alike a memory counts that says that it recurs ("again", "as usual")."""


def recurs(members: Sequence[Reading], least: int) -> bool:
    """Tell whether memories show something often enough: ``least`` of what was done, or of what is said to be so.

    What is so ("the salsa is too sweet") does not make what was done twice ("salsa last night") a habit, unless it
    says that it is one. What is so has to name one behaviour. They are of `MIN_PLACES` sessions.
    """
    done = sum(one.kind not in STATED or one.habit for one in members)
    enough = done >= least or (len(members) - done >= least and bool(behaviours_of(members)))
    return enough and len({one.place for one in members}) >= MIN_PLACES


def most_telling(members: Sequence[int], likeness: Likeness) -> list[int]:
    """Give the `MAX_MEMBERS` that are most like the others, in their order."""
    if len(members) <= MAX_MEMBERS:
        return list(members)
    kept = set(sorted(members, key=lambda n: -round(likeness.mean(n, members), 4))[:MAX_MEMBERS])
    return [n for n in members if n in kept]


def grown(
    readings: Sequence[Reading], likeness: Likeness, *, seeds: Sequence[int], free: Sequence[bool], near: float,
    close: float, least: int,
) -> list[list[int]]:  # fmt: skip
    """Give clusters around seeds, the densest first: of memories alike on average to those that are in already.

    ``near``: how alike the first two are; ``close``: how alike the others are on average. Each memory is in one cluster
    at most; a cluster recurs (`recurs`).
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
        if recurs([readings[n] for n in members], least):
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
