"""Clusters of memories that show one behaviour, and which trait a memory belongs to."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from phronesis.derive.reflecting.by_rules.likeness import Likeness, scores
from phronesis.derive.reflecting.by_rules.reading import Reading

MIN_PLACES: Final = 2
"""Sessions that a behaviour shows in: what is said again and again in one is one thing (NM-05)."""

MAX_MEMBERS: Final = 40
"""Memories that a new trait cites; there may be thousands, and forty show it."""


def grown(
    readings: Sequence[Reading], likeness: Likeness, *, seeds: Sequence[int], free: Sequence[bool], near: float,
    close: float, least: int,
) -> list[list[int]]:  # fmt: skip
    """Give clusters around seeds, the densest first: of memories alike to the seed, and on average to each other.

    ``near``: how alike to the seed; ``close``: how alike on average to those that are in already. Each memory is in one
    cluster at most; a cluster has ``least`` members of two sessions.
    """
    if not seeds:
        return []
    table = scores(likeness, seeds)
    usable = np.array(free)
    table[:, ~usable] = 0.0
    for row, seed in enumerate(seeds):
        table[row, seed] = 0.0
    alike = np.where(table >= near, table, 0.0)
    weight = np.sort(alike, axis=1)[:, -MAX_MEMBERS:].sum(axis=1)
    order = sorted(range(len(seeds)), key=lambda row: (-round(float(weight[row]), 4), _key(readings[seeds[row]])))
    taken: set[int] = set()
    found = []
    for row in order:
        seed = seeds[row]
        if seed in taken or weight[row] <= 0.0:
            continue
        near_by = [int(n) for n in np.flatnonzero(alike[row]) if int(n) not in taken]
        near_by.sort(key=lambda n: (-round(float(alike[row, n]), 4), _key(readings[n])))
        members = [seed]
        for n in near_by[: 4 * MAX_MEMBERS]:
            if len(members) < MAX_MEMBERS and likeness.mean(n, members) >= close:
                members.append(n)
        if len(members) >= least and len({readings[n].place for n in members}) >= MIN_PLACES:
            found.append(sorted(members, key=lambda n: _key(readings[n])))
            taken.update(members)
    return found


def _key(one: Reading) -> tuple[object, ...]:
    return (one.at, one.id)
