"""Cluster events into patterns, for a whole lane and for an incremental update alike (EMB-09).

Two events belong together when they are similar and share nearest neighbours. Components of the neighbour graph are
separated first, so that only events within reach of each other are compared pairwise.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from phronesis.core.vectors import components, jaccard
from phronesis.experience.laws.event_draft import VIEWS
from phronesis.experience.laws.neighbour_graph import (
    NOBODY,
    OWN,
    SHARED,
    Neighbours,
    PairConstraints,
    Pairs,
    average_link,
    candidate_pairs,
    weights_of,
)
from phronesis.experience.laws.similarity import EdgeBuilder, Floats, Rows, SimilarityMetric

REACH: Final = 0.6
"""Share of the threshold that one pair of neighbours must reach for two groups to be compared."""

STEP: Final = 1.15
"""Factor by which the pair threshold rises each time a component is too large to compare all pairs."""

MAX_COMPARED: Final = 500
"""Events that are compared pairwise: a quarter of a million pairs, and as many steps of average link at most."""

CLOSEST: Final = 2.0
"""Multiple of the threshold beyond which a component is taken as one group: its events are nearly equal."""


SETTLED: Final = 100
"""Events from which shared neighbours count fully."""

FEW: Final = 30
"""Events up to which a nearest pair is seldom similar by chance: the threshold rises with each doubling beyond."""


@dataclass(frozen=True, slots=True)
class MembershipThresholds:
    """Thresholds of belonging together: an average similarity of ``alone``, or ``threshold`` with shared neighbours.

    ``shared`` is added for sharing all neighbours among at least `SETTLED` events, in proportion less among fewer. Two
    of a few events are seldom similar by chance: the threshold is lower for them (``early``, ``rising``).
    """

    shared: float
    threshold: float
    alone: float
    counts: tuple[int, ...] = SHARED
    """Lengths of the neighbour lists whose overlap is counted."""
    unit: float | None = None
    """Unit of similarity where shared neighbours do not count: for counterexamples, and for edges between similar
    patterns. None: the threshold."""
    early: float | None = None
    """Similarity required without shared neighbours among `FEW` events or fewer; None: ``alone``."""
    rising: float = 0.0
    """Increase of that similarity for each doubling of the events, up to ``alone``."""

    def lone_pair_threshold(self, size: int) -> float:
        """Return the similarity that two of ``size`` events need if shared neighbours are not counted."""
        if self.early is None:
            return self.alone
        return min(self.alone, self.early + self.rising * math.log2(max(size, FEW) / FEW))

    @property
    def likeness_unit(self) -> float:
        """Return ``unit``, or its default."""
        return self.threshold if self.unit is None else self.unit

    def units(self, alike: Floats, shared: Floats, size: int) -> Floats:
        """Return by how much events belong together in a lane of ``size`` events; 1 is the threshold."""
        adding = self.shared * min(1.0, size / SETTLED)
        known, plain = (alike + adding * shared) / self.threshold, alike / self.lone_pair_threshold(size)
        out: Floats = np.maximum(known, plain).astype(np.float32)
        return out


@dataclass(frozen=True, slots=True)
class Grouper:
    """Groups events by their neighbours."""

    neighbours: Neighbours
    belonging: MembershipThresholds
    bonds: PairConstraints = field(default_factory=PairConstraints)

    def groups(self, rows: Rows) -> list[list[int]]:
        """Return the groups of at least two of ``rows``, each sorted, ordered by their first member."""
        rows = np.unique(rows)
        found: list[list[int]] = []
        for part in reachable_components(rows.tolist(), *self.pairs(rows), self.bonds.together):
            found += self._split(part)
        return sorted(group for group in found if len(group) > 1)

    def alike(self, rows: Rows) -> Floats:
        """Return a square matrix of similarity between events, in units of the threshold."""
        places, shared = np.triu_indices(len(rows), 1), np.eye(len(rows), dtype=np.float32)
        shared[places] = shared_of(places, rows, self.neighbours.lists(rows), self.belonging.counts)
        shared = np.maximum(shared, shared.T)
        return self.belonging.units(self.neighbours.metric.matrix(rows, rows), shared, self.neighbours.metric.size)

    def pairs(self, rows: Rows) -> tuple[Pairs, Floats]:
        """Return the neighbour pairs among ``rows``, the smaller row first, and their similarity in threshold units."""
        nearest, scores = self.neighbours.lists(rows)
        pairs = candidate_pairs(rows, np.where(np.isin(nearest, rows), nearest, NOBODY))
        one, other = np.searchsorted(rows, pairs).T

        def listed(own: Rows, far: Rows) -> Floats:
            found: Floats = np.where(nearest[own] == rows[far][:, None], scores[own], -np.inf).max(axis=1)
            return found

        alike = np.maximum(listed(one, other), listed(other, one))  # as one of the two lists has it
        shared = shared_of((one, other), rows, (nearest, scores), self.belonging.counts)
        return pairs, self.belonging.units(alike, shared, self.neighbours.metric.size)

    def _split(self, rows: list[int]) -> list[list[int]]:
        if not 1 < len(rows) <= MAX_COMPARED:  # `reachable_components` has narrowed it down as far as it goes
            return [rows]
        members = np.array(rows, dtype=np.int64)
        own = self.bonds.among(members)
        found = average_link(self.alike(members), threshold=1.0, together=own.together, apart=own.apart)
        return [[rows[n] for n in group] for group in found]


def reachable_components(
    rows: Sequence[int], pairs: Pairs, alike: Floats, together: Sequence[tuple[int, int]] = ()
) -> list[list[int]]:
    """Return the components of rows under pairs above `REACH`; large ones are split at rising thresholds.

    Those still larger than `MAX_COMPARED` beyond `CLOSEST` are of nearly equal rows.
    """
    out: list[list[int]] = []
    waiting = [(list(rows), pairs, alike, REACH)]
    while waiting:
        members, pairs, alike, reach = waiting.pop()
        inside = set(members)
        joined = [*map(tuple, pairs[alike >= reach].tolist()), *(pair for pair in together if inside.issuperset(pair))]
        for part in components(sorted(inside), joined):
            if len(part) <= MAX_COMPARED or reach > CLOSEST:
                out.append(part)
            else:
                within = np.isin(pairs, part).all(axis=1)
                waiting.append((part, pairs[within], alike[within], reach * STEP))
    return out


def shared_of(
    places: tuple[Rows, Rows], rows: Rows, lists: tuple[npt.NDArray[np.int64], Floats], counts: Sequence[int] = SHARED
) -> Floats:
    """Return the neighbourhood overlap, in [0, 1], of pairs of ``rows``, given by the places of either side.

    It is the cosine of the weighted lists, the event itself included, averaged over the lengths in ``counts``.
    """
    (one, other), (nearest, scores) = places, lists
    out = np.zeros(len(one), np.float32)
    for count in counts:
        names = np.concatenate((rows[:, None], nearest[:, :count]), axis=1)
        held = np.concatenate((np.full((len(rows), 1), OWN), weights_of(nearest, scores, count)), axis=1)
        held /= np.linalg.norm(held, axis=1, keepdims=True)
        for n in range(count + 1):
            same = names[one, n][:, None] == names[other]
            out += held[one, n] * np.where(same, held[other], 0.0).sum(axis=1)
    out /= np.float32(len(counts))
    return out


# Clustering by views: groups that are similar in one view, or in two crossed (EMB-08).

ALIKE: Final = 1.5
"""Mean similarity from which members are similar in a view. Of random pairs of labelled events 7 % reach it."""

SEEN: Final = 0.5
"""Share of the members that must have a text for the pattern to have that view."""

LEAST: Final = 3
"""Members of a group by one view or two, at least: two such texts are easily similar by chance."""

TRIED: Final = "attempt+result"

SAME: Final = 0.8
"""Jaccard index from which a group equals an existing one."""


def cohesion(alike: Floats) -> float | None:
    """Return the mean of a square matrix off its diagonal; None for fewer than two rows."""
    size = len(alike)
    return float(alike.sum() - np.trace(alike)) / (size * (size - 1)) if size > 1 else None


def view_of(cohesions: Mapping[str, float]) -> str:
    """Return the views in which members are similar, joined by ``+``; at least the one with the highest cohesion.

    `TRIED` if they are similar in none.
    """
    alike = [view for view in VIEWS if cohesions.get(view, 0.0) >= ALIKE]
    most = max(cohesions, key=lambda view: (cohesions[view], -VIEWS.index(view)), default=TRIED)
    return "+".join(alike) or (most if cohesions.get(most, 0.0) > 0 else TRIED)


def view_groups(metric: SimilarityMetric, builder: EdgeBuilder, *, threshold: float) -> list[list[int]]:
    """Return the groups, of at least `LEAST`, of rows with an average similarity of ``threshold`` that edges join."""
    links = builder.build(metric, np.arange(metric.size))
    out: list[list[int]] = []
    for part in components(range(metric.size), [(link.first, link.second) for link in links]):
        if len(part) >= LEAST:
            members = np.array(part, dtype=np.int64)
            groups = average_link(metric.matrix(members, members), threshold=threshold)
            out += [[part[n] for n in group] for group in groups if len(group) >= LEAST]
    return out


def intersect_groups(first: Sequence[Sequence[int]], second: Sequence[Sequence[int]]) -> list[list[int]]:
    """Return the intersections of the groups of two views, of at least `LEAST` members, unless nearly equal to one."""
    cells: dict[tuple[int, int], list[int]] = {}
    of = {row: n for n, group in enumerate(second) for row in group}
    for n, group in enumerate(first):
        for row in group:
            if row in of:
                cells.setdefault((n, of[row]), []).append(row)
    return distinct_groups([sorted(cell) for cell in cells.values() if len(cell) >= LEAST], [*first, *second])


def distinct_groups(
    groups: Sequence[Sequence[int]], known: Sequence[Sequence[int]], *, subsets: bool = True
) -> list[list[int]]:
    """Return the groups that nearly equal neither a known one nor one before them, the largest first.

    Without ``subsets``, none is a subset of a known one or one before it.
    """
    out: list[list[int]] = []
    holders: dict[int, list[frozenset[int]]] = {}
    for group in known:
        members = frozenset(group)
        for row in group:
            holders.setdefault(row, []).append(members)
    for group in sorted(groups, key=lambda one: (-len(one), list(one))):
        members = frozenset(group)
        met = {other for row in group for other in holders.get(row, ())}
        if any((not subsets and members <= other) or jaccard(members, other) >= SAME for other in met):
            continue
        out.append(sorted(group))
        for row in group:
            holders.setdefault(row, []).append(members)
    return out
