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

STRETCH: Final = 64
"""Scores per block of which only the maximum is compared when the nearest are selected."""

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

    def empty(self, rows: Rows) -> None:
        """Clear the lists of some events."""
        self.nearest[rows], self.scores[rows] = NOBODY, -np.inf

    def meet(self, rows: Rows, others: Rows, scores: Floats) -> None:
        """Insert events into the lists of ``rows`` by similarity, after equals; minus infinity is left out.

        None of ``others`` is in these lists yet, and the listed ones have smaller row numbers.
        """
        least = np.maximum(_reached_score(scores, KEPT), np.nextafter(self.scores[rows, -1], np.float32(np.inf)))
        place, other = np.nonzero(_reaching_mask(scores, least))
        owners, own = np.unique(place, return_inverse=True)
        owned = np.concatenate((np.repeat(np.arange(len(owners)), KEPT), own))
        named = np.concatenate((self.nearest[rows[owners]].ravel(), others[other]))
        alike = np.concatenate((self.scores[rows[owners]].ravel(), scores[place, other]))
        order = np.argsort(_falling_keys(owned, alike), kind="stable")
        counts = np.bincount(owned, minlength=len(owners))
        best = order[np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts) < KEPT].reshape(-1, KEPT)
        self.nearest[rows[owners]], self.scores[rows[owners]] = named[best], alike[best]

    def naming(self, rows: Rows, asked: Rows) -> _Masks:
        """Return which of ``asked`` have one of ``rows`` in their lists."""
        return np.array(np.isin(self.nearest[asked], rows).any(axis=1), np.bool_)


class Neighbours:
    """The nearest neighbours of events within the same outcome ``group`` that are ``alive``, and of other groups.

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
        self._known = np.concatenate((self._known, np.zeros(now - before, np.bool_)))
        told = np.flatnonzero(self._known)
        everybody = np.arange(now)
        for block in np.split(everybody[before:], range(BLOCK, now - before, BLOCK)):
            scores = self.metric.matrix(block)
            self._empty(block)
            self._meet(block, everybody, scores)
            self._meet(told, block, scores[:, told].T)

    def forget(self, rows: Iterable[int]) -> None:
        """Exclude events from now on; lists that contained them are recomputed on demand."""
        gone = np.array(sorted(rows), dtype=np.int64)
        self._groups[gone] = NOBODY
        known = np.flatnonzero(self._known)
        self._known[known] = ~(self._same.naming(gone, known) | self._across.naming(gone, known))
        self._known[gone] = False

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
        return known[self._same.naming(rows, known)]

    def against(self, rows: Rows, least: float) -> Rows:
        """Return the events of other groups whose cached lists contain one of some events at ``least`` that similar."""
        known = np.flatnonzero(self._known)
        named = np.isin(self._across.nearest[known], rows) & (self._across.scores[known] >= least)
        return known[named.any(axis=1)]

    def _make(self, rows: Rows) -> None:
        missing = np.unique(rows[~self._known[rows]])
        if len(missing) > BLOCK and np.array_equal(missing, np.flatnonzero(self._groups != NOBODY)):
            self._make_all(missing)
            return
        everybody = np.arange(len(self._groups))
        for begin in range(0, len(missing), BLOCK):
            block = missing[begin : begin + BLOCK]
            self._empty(block)
            self._meet(block, everybody, self.metric.matrix(block))

    def _make_all(self, rows: Rows) -> None:
        """Compute the lists of all events, comparing each pair once."""
        self._empty(rows)
        for begin in range(0, len(rows), BLOCK):
            block, rest = rows[begin : begin + BLOCK], rows[begin:]
            self._meet(block, rest, self.metric.matrix(block, rest), both=True)

    def _empty(self, rows: Rows) -> None:
        self._same.empty(rows)
        self._across.empty(rows)
        self._known[rows] = True

    def _meet(self, rows: Rows, others: Rows, scores: Floats, *, both: bool = False) -> None:
        """Insert others into the lists of some events; with ``both``, where they come first, the reverse too."""
        groups, of_others = self._groups[rows], self._groups[others]
        for group in np.unique(groups[groups != NOBODY]):
            here = np.flatnonzero(groups == group)
            for lists, there in (
                (self._same, np.flatnonzero(of_others == group)),
                (self._across, np.flatnonzero((of_others != group) & (of_others != NOBODY))),
            ):
                alike = scores[np.ix_(here, there)]
                alike[rows[here][:, None] == others[there][None, :]] = -np.inf
                lists.meet(rows[here], others[there], alike)
                if both:
                    behind = int(np.searchsorted(there, len(rows)))
                    lists.meet(others[there[behind:]], rows[here], alike[:, behind:].T)

    def shared(self, rows: Rows, counts: Sequence[int] = SHARED) -> Floats:
        """Return the neighbourhood overlap of some events, in [0, 1], as a square matrix.

        It is the cosine of the weighted lists, the event itself included, averaged over the lengths in ``counts``.
        """
        nearest, scores = self.lists(rows)
        widest = max(counts)
        names, places = np.unique(np.concatenate((rows[:, None], nearest[:, :widest]), axis=1), return_inverse=True)
        columns = places.reshape(len(rows), widest + 1)
        out: Floats = np.zeros((len(rows), len(rows)), np.float32)
        for count in counts:
            held = np.zeros((len(rows), len(names)), np.float32)
            np.put_along_axis(held, columns[:, 1 : count + 1], weights_of(nearest, scores, count), axis=1)
            held[:, names == NOBODY] = 0.0
            held[np.arange(len(rows)), columns[:, 0]] = OWN
            held /= np.linalg.norm(held, axis=1, keepdims=True)
            out += held @ held.T
        out /= np.float32(len(counts))
        return out


def _reached_score(scores: Floats, count: int) -> Floats:
    """Return for each row a score that at least ``count`` of its scores reach, and few more, by block maxima."""
    if not scores.shape[1]:
        return np.full(len(scores), -np.inf, np.float32)
    stretch = max(1, min(STRETCH, scores.shape[1] // count))
    highest = np.maximum.reduceat(scores, np.arange(0, scores.shape[1], stretch), axis=1)
    kth = highest.shape[1] - min(count, highest.shape[1])
    out: Floats = np.partition(highest, kth, axis=1)[:, kth]
    return out


def _reaching_mask(scores: Floats, least: Floats) -> _Masks:
    """Return which scores of each row reach its ``least``; of many equal ones, such as zeros, the first."""
    out: _Masks = scores >= least[:, None]
    crowded = np.flatnonzero(out.sum(axis=1) > KEPT * STRETCH)
    if len(crowded):
        equal = scores[crowded] == least[crowded][:, None]
        out[crowded] &= ~equal | (equal.cumsum(axis=1, dtype=np.int32) <= KEPT)
    return out


def _falling_keys(owners: Rows, scores: Floats) -> npt.NDArray[np.int64]:
    """Return integer keys that rise with the owner and, within one, fall as the scores rise, by their bits."""
    bits = (scores + np.float32(0.0)).view(np.uint32)  # minus zero is zero
    rising = np.where(bits >> 31, ~bits, bits | np.uint32(1 << 31))
    return (owners << 32) | (~rising).astype(np.int64)


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
        if one != other and not _is_torn(likeness[one, other]):
            _join(likeness, groups, one, other)
            where = [one if place == other else place for place in where]
    while size:
        first, second = divmod(int(likeness.argmax()), size)
        if likeness[first, second] < threshold:
            break
        _join(likeness, groups, *sorted((first, second)))
    return sorted(sorted(group) for group in groups.values())


def _is_torn(value: float) -> bool:
    """Return whether two clusters contain a cannot-link pair: it makes their average far negative."""
    return value < float(_FORBIDDEN) / 1e6


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
    crossing = [(pair, *_ends(pair, place, home)) for pair in kept if len(place.keys() & set(pair)) == 1]
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


def _ends(pair: Pair, place: Mapping[str, int], home: Mapping[str, int]) -> tuple[int, int]:
    inner, outer = pair if pair[0] in place else (pair[1], pair[0])
    return place[inner], home[outer]


def _chain(ids: Iterable[str]) -> frozenset[Pair]:
    return frozenset(pairwise(sorted(set(ids))))
