"""In which of their texts the members of a pattern are alike; groups that are alike in one text, or in two (EMB-08).

All in units of how far the texts of unrelated events are apart: 0 is what those have on average.
"""

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from phronesis.core.clustering import components, jaccard
from phronesis.core.experience.drafts import VIEWS
from phronesis.core.experience.edge_building import EdgeBuilder
from phronesis.core.experience.linking import average_link
from phronesis.core.experience.similarity import Floats, SimilarityMetric

ALIKE: Final = 1.5
"""Mean likeness from which members are alike in a view. Of pairs of labelled events picked at random 7 in 100 are."""

SEEN: Final = 0.5
"""Share of the members that must have a text for the pattern to be of that view."""

LEAST: Final = 3
"""Members of a group that is alike in one view, or in two: two such texts are easily alike by chance."""

TRIED: Final = "attempt+result"

SAME: Final = 0.8
"""Jaccard index from which a group is one that is there already."""


def cohesion(alike: Floats) -> float | None:
    """Give the mean of a square matrix beside its diagonal; None for fewer than two rows."""
    size = len(alike)
    return float(alike.sum() - np.trace(alike)) / (size * (size - 1)) if size > 1 else None


def view_of(cohesions: Mapping[str, float]) -> str:
    """Give the views that members are alike in, joined by ``+``: at least the one they are most alike in.

    Where they are alike in none, but what one tried is what came to another, it is `TRIED`.
    """
    alike = [view for view in VIEWS if cohesions.get(view, 0.0) >= ALIKE]
    most = max(cohesions, key=lambda view: (cohesions[view], -VIEWS.index(view)), default=TRIED)
    return "+".join(alike) or (most if cohesions.get(most, 0.0) > 0 else TRIED)


def view_groups(
    metric: SimilarityMetric, builder: EdgeBuilder, *, threshold: float, apart: Sequence[tuple[int, int]] = ()
) -> list[list[int]]:
    """Give the groups of rows that are on average ``threshold`` alike, among those that edges join, each sorted.

    No group holds a pair of ``apart``; those below `LEAST` members are left out.
    """
    everybody = np.arange(metric.size)
    links = builder.build(metric, everybody)
    out: list[list[int]] = []
    for part in components(range(metric.size), [(link.first, link.second) for link in links]):
        if len(part) >= LEAST:
            members = np.array(part, dtype=np.int64)
            place = {row: n for n, row in enumerate(part)}
            torn = [(place[one], place[other]) for one, other in apart if one in place and other in place]
            groups = average_link(metric.matrix(members, members), threshold=threshold, apart=torn)
            out += [[part[n] for n in group] for group in groups if len(group) >= LEAST]
    return out


def crossed(first: Sequence[Sequence[int]], second: Sequence[Sequence[int]]) -> list[list[int]]:
    """Give what groups of two views have in common, of at least `LEAST` members, each sorted.

    What one view gives nearly alone is left out: there the other one tells nothing apart.
    """
    cells: dict[tuple[int, int], list[int]] = {}
    of = {row: n for n, group in enumerate(second) for row in group}
    for n, group in enumerate(first):
        for row in group:
            if row in of:
                cells.setdefault((n, of[row]), []).append(row)
    return finer([sorted(cell) for cell in cells.values() if len(cell) >= LEAST], [*first, *second])


def finer(groups: Sequence[Sequence[int]], known: Sequence[Sequence[int]]) -> list[list[int]]:
    """Give the groups that are not nearly the same as one that is known; they may be within one."""
    return _unlike(groups, known, within=True)


def beside(groups: Sequence[Sequence[int]], known: Sequence[Sequence[int]]) -> list[list[int]]:
    """Give the groups that say something new: neither within one that is known, nor nearly the same as one."""
    return _unlike(groups, known, within=False)


def _unlike(groups: Sequence[Sequence[int]], known: Sequence[Sequence[int]], *, within: bool) -> list[list[int]]:
    """Give the groups that are nearly the same as none that is known, the largest first, nor as one before them."""
    out: list[list[int]] = []
    holders: dict[int, list[frozenset[int]]] = {}
    for group in known:
        members = frozenset(group)
        for row in group:
            holders.setdefault(row, []).append(members)
    for group in sorted(groups, key=lambda one: (-len(one), list(one))):
        members = frozenset(group)
        met = {other for row in group for other in holders.get(row, ())}
        if any((not within and members <= other) or jaccard(members, other) >= SAME for other in met):
            continue
        out.append(sorted(group))
        for row in group:
            holders.setdefault(row, []).append(members)
    return out
