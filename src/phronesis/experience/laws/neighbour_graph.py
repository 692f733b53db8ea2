"""Exact nearest-neighbour lists, shared-neighbour similarity, and average-link clustering under pairs people set.

Texts that share nearest neighbours are about the same matter (Jarvis & Patrick 1973, 'Clustering Using a Similarity
Measure Based on Shared Near Neighbors').
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Final

import numpy as np
import numpy.typing as npt

from phronesis.core.vectors import components
from phronesis.experience.laws.similarity import Floats, Rows, SimilarityMetric

KEPT: Final = 15
"""Neighbours kept per event: candidates for the same cluster, and as many of the other outcome."""

SHARED: Final = (3, 9)
"""Lengths of the neighbour lists whose overlap counts, averaged (docs/decisions/13-experience-patterns.md)."""

OWN: Final = 0.2
"""Weight of an event in its own neighbour list, whose other weights add up to 1, so that mutual neighbours have an
overlap."""

BLOCK: Final = 256
"""Rows compared with all others at a time; with the later rows only where all lists are computed."""

NOBODY: Final = -1

Pairs = npt.NDArray[np.int64]
"""Pairs of rows, one pair per line."""

_Masks = npt.NDArray[np.bool_]


class _Lists:
    """For each event a list of others with their similarity, the most similar first."""

    def __init__(self, size: int) -> None:
        self.nearest = np.full((size, KEPT), NOBODY, np.int64)
        self.scores: Floats = np.full((size, KEPT), -np.inf, np.float32)

    def grow(self, count: int) -> None:
        """Add empty lists for more events."""
        more = _Lists(count)
        self.nearest = np.concatenate((self.nearest, more.nearest))
        self.scores = np.concatenate((self.scores, more.scores))

    def meet(self, rows: Rows, others: Rows, scores: Floats) -> None:
        """Insert events into the lists of ``rows`` by similarity, after equals; minus infinity is left out.

        None of ``others`` is in these lists yet, and the listed ones have smaller row numbers.
        """
        worst = np.nextafter(self.scores[rows, -1], np.float32(np.inf))
        if scores.shape[1] > KEPT:
            worst = np.maximum(worst, np.partition(scores, -KEPT, axis=1)[:, -KEPT])
        place, other = np.nonzero(_reaching_mask(scores, worst))
        owners, own = np.unique(place, return_inverse=True)
        owned = np.concatenate((np.repeat(np.arange(len(owners)), KEPT), own))
        named = np.concatenate((self.nearest[rows[owners]].ravel(), others[other]))
        alike = np.concatenate((self.scores[rows[owners]].ravel(), scores[place, other]))
        order = np.lexsort((-alike, owned))
        counts = np.bincount(owned, minlength=len(owners))
        best = order[np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts) < KEPT].reshape(-1, KEPT)
        self.nearest[rows[owners]], self.scores[rows[owners]] = named[best], alike[best]


class Neighbours:
    """The nearest neighbours of events within the same outcome group, and of other groups.

    Lists are computed on demand and cached; `grow` inserts new events into them.
    """

    def __init__(self, metric: SimilarityMetric, groups: npt.NDArray[np.int64]) -> None:
        self.metric = metric
        self._groups = groups
        self._same, self._across = _Lists(len(groups)), _Lists(len(groups))
        self._known: _Masks = np.zeros(len(groups), np.bool_)

    def grow(self, metric: SimilarityMetric, groups: npt.NDArray[np.int64]) -> None:
        """Add events behind the others, and insert them into the cached lists."""
        before, now = len(self._groups), len(groups)
        self.metric, self._groups = metric, groups
        self._same.grow(now - before)
        self._across.grow(now - before)
        told = np.flatnonzero(self._known)
        self._known = np.concatenate((self._known, np.ones(now - before, np.bool_)))
        everybody = np.arange(now)
        for block in np.split(everybody[before:], range(BLOCK, now - before, BLOCK)):
            scores = self.metric.matrix(block)
            self._meet(block, everybody, scores)
            self._meet(told, block, scores[:, told].T)

    def lists(self, rows: Rows) -> tuple[npt.NDArray[np.int64], Floats]:
        """Return the neighbours of some events with similarities, the nearest first (`NOBODY` if there are fewer)."""
        self._make(rows)
        return self._same.nearest[rows], self._same.scores[rows]

    def across(self, rows: Rows) -> npt.NDArray[np.int64]:
        """Return the nearest events of other groups, the most similar first (`NOBODY` where there are fewer)."""
        self._make(rows)
        return self._across.nearest[rows]

    def naming(self, rows: Rows) -> Rows:
        """Return the events whose cached lists contain one of some events."""
        known = np.flatnonzero(self._known)
        return known[np.isin(self._same.nearest[known], rows).any(axis=1)]

    def against(self, rows: Rows, least: float) -> Rows:
        """Return the events of other groups whose cached lists contain one of some events at ``least`` that similar."""
        known = np.flatnonzero(self._known)
        named = np.isin(self._across.nearest[known], rows) & (self._across.scores[known] >= least)
        return known[named.any(axis=1)]

    def _make(self, rows: Rows) -> None:
        missing = np.unique(rows[~self._known[rows]])
        self._known[missing] = True
        everybody = np.arange(len(self._groups))
        at_once = len(missing) == len(everybody) > BLOCK  # then each pair is compared once
        for begin in range(0, len(missing), BLOCK):
            block, others = missing[begin : begin + BLOCK], everybody[begin if at_once else 0 :]
            self._meet(block, others, self.metric.matrix(block, others if at_once else None), both=at_once)

    def _meet(self, rows: Rows, others: Rows, scores: Floats, *, both: bool = False) -> None:
        """Insert others into the lists of some events; with ``both``, where they come first, the reverse too."""
        groups, of_others = self._groups[rows], self._groups[others]
        for group in np.unique(groups):
            here = np.flatnonzero(groups == group)
            for lists, there in (
                (self._same, np.flatnonzero(of_others == group)),
                (self._across, np.flatnonzero(of_others != group)),
            ):
                alike = scores[np.ix_(here, there)]
                alike[rows[here][:, None] == others[there][None, :]] = -np.inf
                lists.meet(rows[here], others[there], alike)
                if both:
                    behind = int(np.searchsorted(there, len(rows)))
                    lists.meet(others[there[behind:]], rows[here], alike[:, behind:].T)


def _reaching_mask(scores: Floats, least: Floats) -> _Masks:
    """Return which scores of each row reach its ``least``; of many equal ones, such as zeros, the first."""
    out: _Masks = scores >= least[:, None]
    crowded = np.flatnonzero(out.sum(axis=1) > 4 * KEPT)
    if len(crowded):
        equal = scores[crowded] == least[crowded][:, None]
        out[crowded] &= ~equal | (equal.cumsum(axis=1, dtype=np.int32) <= KEPT)
    return out


def weights_of(nearest: npt.NDArray[np.int64], scores: Floats, count: int) -> Floats:
    """Return the weights of the nearest ``count`` by similarity; they add up to 1, absent ones are 0."""
    kept = np.where(nearest[:, :count] == NOBODY, 0.0, np.maximum(scores[:, :count], 0.0))
    out: Floats = (kept / np.maximum(kept.sum(axis=1, keepdims=True), 1e-9)).astype(np.float32)
    return out


def candidate_pairs(rows: Rows, nearest: npt.NDArray[np.int64]) -> Pairs:
    """Return each pair of an event of ``rows`` and a neighbour once, in order, the smaller row first."""
    named = nearest != NOBODY
    one, other = np.repeat(rows, named.sum(axis=1)), nearest[named]
    size = max(one.max(initial=0), other.max(initial=0)) + 1
    numbers = np.unique(np.minimum(one, other) * size + np.maximum(one, other))
    return np.stack(np.divmod(numbers, size), axis=1)


# Average-link clustering under must-link and cannot-link constraints (EMB-08, EMB-15).

_Matrix = npt.NDArray[np.float64]

_FORBIDDEN = np.float32(-1e9)


def average_link(
    alike: Floats, *, threshold: float, together: Iterable[tuple[int, int]] = (), apart: Iterable[tuple[int, int]] = ()
) -> list[list[int]]:
    """Return the clusters of a similarity matrix by average linkage, each sorted, ordered by first member.

    ``together`` are pairs joined first, whatever their similarity; ``apart`` pairs that no cluster may contain. A pair
    in both stays apart. Clusters of one row are included.
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
        # a cannot-link pair between two clusters makes their average far negative
        if one != other and likeness[one, other] >= float(_FORBIDDEN) / 1e6:
            _join(likeness, groups, one, other)
            where = [one if place == other else place for place in where]
    while size:
        first, second = divmod(int(likeness.argmax()), size)
        if likeness[first, second] < threshold:
            break
        _join(likeness, groups, *sorted((first, second)))
    return sorted(sorted(group) for group in groups.values())


def _join(likeness: _Matrix, groups: dict[int, list[int]], one: int, other: int) -> None:
    here, there = len(groups[one]), len(groups[other])
    row = (here * likeness[one] + there * likeness[other]) / (here + there)
    likeness[one], likeness[:, one] = row, row
    likeness[one, one] = -np.inf
    likeness[other], likeness[:, other] = -np.inf, -np.inf
    groups[one] += groups.pop(other)


@dataclass(frozen=True, slots=True)
class PairConstraints:
    """Pairs of rows that must be together or must be apart, as people said (EMB-15)."""

    together: Sequence[tuple[int, int]] = ()
    apart: Sequence[tuple[int, int]] = ()

    def among(self, rows: Rows) -> "PairConstraints":
        """Return the pairs among some rows, by their places there."""
        place = {row: n for n, row in enumerate(rows.tolist())}

        def placed(pairs: Iterable[tuple[int, int]]) -> tuple[tuple[int, int], ...]:
            return tuple((place[one], place[other]) for one, other in pairs if one in place and other in place)

        return PairConstraints(placed(self.together), placed(self.apart))


# Must-link and cannot-link pairs of events, as merges and splits change them (EMB-15).

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ImpliedPairs:
    """Pairs of events that must be together, and that must be apart; the smaller id first."""

    together: frozenset[Pair] = frozenset()
    apart: frozenset[Pair] = frozenset()

    @property
    def ids(self) -> frozenset[str]:
        """The events of all pairs."""
        return frozenset(one for pair in (*self.together, *self.apart) for one in pair)

    def part_of(self) -> dict[str, int]:
        """Return the number of the connected component of each event in a must-link pair."""
        groups = components(self.ids, self.together)
        return {one: n for n, group in enumerate(groups) for one in group}


def link_events(ids: Collection[str], drawn: ImpliedPairs) -> ImpliedPairs:
    """Return the pairs with some events linked: one chain, and no cannot-link pair inside the joined component."""
    together = drawn.together | _chain(ids)
    return _consistent(ImpliedPairs(together, drawn.apart))


def separate_parts(parts: Sequence[Collection[str]], drawn: ImpliedPairs) -> ImpliedPairs:
    """Return the pairs with each part linked and the parts kept apart; an event is in one part at most.

    Must-link pairs across parts are removed. Events in no part that were linked with several stay with the largest.
    """
    place = {one: n for n, part in enumerate(parts) for one in part}
    torn = {pair for pair in drawn.together if len({place[one] for one in pair if one in place}) > 1}
    kept = set(drawn.together - torn)
    outside = components(
        {one for pair in kept for one in pair if one not in place},
        [pair for pair in kept if not place.keys() & set(pair)],
    )
    home = {one: n for n, group in enumerate(outside) for one in group}
    reached: dict[int, set[int]] = {}
    crossing = []
    for pair in kept:
        if len(place.keys() & set(pair)) == 1:
            inner, outer = pair if pair[0] in place else (pair[1], pair[0])
            crossing.append((pair, place[inner], home[outer]))
    for _, part, group in crossing:
        reached.setdefault(group, set()).add(part)
    stays = {group: max(found, key=lambda n: (len(parts[n]), -n)) for group, found in reached.items()}
    kept -= {pair for pair, part, group in crossing if stays[group] != part}
    chains = frozenset[Pair]().union(*(_chain(part) for part in parts))
    borders = set(combinations(sorted(min(part) for part in parts), 2))
    return _consistent(ImpliedPairs(frozenset(kept) | chains, drawn.apart | borders))


def resolve_pairs(drawn: ImpliedPairs, rows: Mapping[str, int], group_of: Mapping[int, int]) -> PairConstraints:
    """Return the pairs among rows, within one outcome group; ``rows`` are those of the events present.

    An event that changed group neither takes its linked events along nor separates them.
    """
    part_of = drawn.part_of()
    held: dict[tuple[int, int], list[int]] = {}
    for one in sorted(rows.keys() & part_of.keys(), key=rows.__getitem__):
        held.setdefault((part_of[one], group_of[rows[one]]), []).append(rows[one])
    together = [pair for found in held.values() for pair in pairwise(found)]
    apart = set()
    for one, other in sorted(drawn.apart):
        for group in set(group_of.values()):
            here, there = held.get((part_of[one], group)), held.get((part_of[other], group))
            if here and there and here is not there:
                apart.add((min(here[0], there[0]), max(here[0], there[0])))
    return PairConstraints(together=tuple(sorted(together)), apart=tuple(sorted(apart)))


def _consistent(drawn: ImpliedPairs) -> ImpliedPairs:
    part_of = drawn.part_of()
    apart = frozenset((one, other) for one, other in drawn.apart if part_of[one] != part_of[other])
    return ImpliedPairs(drawn.together, apart)


def _chain(ids: Iterable[str]) -> frozenset[Pair]:
    return frozenset(pairwise(sorted(set(ids))))
