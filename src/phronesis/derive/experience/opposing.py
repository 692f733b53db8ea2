"""What speaks against patterns: the events of the other outcome that are like their most typical members."""

from collections.abc import Sequence
from typing import Final

import numpy as np

from phronesis.core.experience.neighbours import NOBODY
from phronesis.derive.experience.table import EventTable

COUNTER: Final = 0.5
"""How alike an event of the other outcome must be to a pattern's members, in units of the threshold and without shared
neighbours, which events of two outcomes do not have, to be its counterexample."""

MAX_COUNTER: Final = 5
"""Counterexamples that a pattern names, the most alike first."""

_TYPICAL: Final = 3
"""Members that are compared with those of the other outcome that are nearest to one of them."""


def counterexamples(table: EventTable, groups: Sequence[Sequence[int]]) -> list[list[tuple[str, float]]]:
    """Give for each group, whose most typical members stand first, the events of the other outcome that are like these.

    They come with how alike they are, in units of what belonging together needs, the most alike first.
    """
    out = []
    for group in groups:
        assert table.neighbours is not None  # there are groups  # noqa: S101
        typical = np.array(group[:_TYPICAL], dtype=np.int64)
        met = np.unique(table.neighbours.across(typical))
        met = met[met != NOBODY]
        mean = table.neighbours.metric.matrix(typical, met).mean(axis=0) / table.belonging.likeness_unit
        like = [(table.ids[met[n]], float(mean[n])) for n in np.flatnonzero(mean >= COUNTER).tolist()]
        out.append(sorted(like, key=lambda one: (-one[1], one[0]))[:MAX_COUNTER])
    return out
