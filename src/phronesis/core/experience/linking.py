"""Clusters by average link, within what pairs that must and must not be together allow (EMB-08, EMB-15).

Average link (Sokal & Michener 1958) joins the two groups whose members are on average most alike, as long as that is at
least a threshold. Unlike single link it makes no chains; unlike density clustering it can be asked about a part of the
events alone and gives there what it gave before, which is what an increment needs. Ties go to the smaller rows.
"""

from collections.abc import Iterable

import numpy as np

from phronesis.core.experience.similarity import Floats

_FORBIDDEN = np.float32(-1e9)


def average_link(
    alike: Floats,
    *,
    threshold: float,
    together: Iterable[tuple[int, int]] = (),
    apart: Iterable[tuple[int, int]] = (),
) -> list[list[int]]:
    """Give the groups of a square matrix of likeness, each sorted, ordered by their first member; single ones too.

    ``together`` are pairs that are joined first, whatever they are like; ``apart`` pairs that no group may hold. Where
    both are asked of the same two, they stay apart.
    """
    size = len(alike)
    likeness = np.array(alike, dtype=np.float64)
    for first, second in apart:
        likeness[first, second] = likeness[second, first] = _FORBIDDEN
    np.fill_diagonal(likeness, -np.inf)
    groups: dict[int, list[int]] = {row: [row] for row in range(size)}
    where = list(range(size))
    for first, second in together:
        one, other = sorted((where[first], where[second]))
        if one != other and not _torn(likeness[one, other]):
            _join(likeness, groups, one, other)
            where = [one if place == other else place for place in where]
    while size:
        first, second = divmod(int(likeness.argmax()), size)
        if likeness[first, second] < threshold:
            break
        _join(likeness, groups, *sorted((first, second)))
    return sorted(sorted(group) for group in groups.values())


def _torn(value: float) -> bool:
    """Whether two groups hold a pair that must stay apart: one such pair drags every average down."""
    return value < float(_FORBIDDEN) / 1e6


def _join(
    likeness: np.ndarray[tuple[int, int], np.dtype[np.float64]], groups: dict[int, list[int]], one: int, other: int
) -> None:
    here, there = len(groups[one]), len(groups[other])
    row = (here * likeness[one] + there * likeness[other]) / (here + there)
    likeness[one], likeness[:, one] = row, row
    likeness[one, one] = -np.inf
    likeness[other], likeness[:, other] = -np.inf, -np.inf
    groups[one] += groups.pop(other)
