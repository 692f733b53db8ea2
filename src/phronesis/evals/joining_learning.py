"""How it is learned which groups of events become one: lanes to learn from, and the network's fit.

What is to be known is what the network will meet, and that depends on what it joins. So groups are joined first by
likeness alone, then by what that taught, and all that was met on both ways is learned from (Ross et al. 2011, 'A
Reduction of Imitation Learning and Structured Prediction to No-Regret Online Learning').
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from phronesis.core.experience.grouping import Belonging
from phronesis.core.experience.joining import SAID, Joining, Judge, Merging
from phronesis.core.experience.linking import Matrix
from phronesis.core.experience.neighbours import Neighbours
from phronesis.core.experience.similarity import Floats, Rows
from phronesis.evals.lesson_learning import Adam

PARTS: Final = (8, 12, 18, 25, 35, 50, 70, 90)
"""Events of the smaller lanes that are made of a file's, for each number one of chance and one of whole patterns."""

ONCE: Final = 0.2
"""The share of events of no pattern in a part of whole patterns, as in a file."""

GROWN: Final = 3
LEAST_MORE, MOST_MORE = 3, 30
"""Patterns of a file that are told more often in one more lane, and how much more often. No author tells a lesson
thirty times; where nobody did, those of one lesson fell apart into fours, each of which had others just as like it."""

SAME: Final = (0.7, 0.95)
IN_THE_SAME_WORDS: Final = 0.5
"""How like an event another is that tells nearly the same, in shares of how like it is itself; and of the patterns that
are told more often, the share of which this is done in."""

SCATTER: Final = 0.25
"""How far what is more is like others than what it stands for, in standard deviations of the lane."""

WAYS: Final = 2
"""Times that groups are joined and watched: by likeness, and by what that taught. A third adds nothing."""

LOOKED: Final = 3
"""Pairs of groups that are looked at beside the one that is joined, at each step."""

LOWEST: Final = -1.75
"""Log odds down to which groups are joined while they are watched: what is met there is to be known, too."""

HIDDEN: Final = 24
"""Numbers of the hidden layer; 12 find .01 of F1 less, 48 no more."""

ROUNDS: Final = 60
BATCH: Final = 1024
RATE: Final = 5e-3
DECAY: Final = 1e-3
"""Times that all is seen, rows at a time, Adam's rate at its height, and what the weights lose a step."""


@dataclass(frozen=True, slots=True)
class Lane:
    """Events that may become patterns: how alike they are, in units of `Belonging`, and which are one lesson.

    ``events`` are in the lane, those of the other outcome with them.
    """

    alike: Floats
    same: npt.NDArray[np.bool_]
    events: int


@dataclass(frozen=True, slots=True)
class Compared:
    """The events of one file: how alike all are, their outcomes, their patterns by number, and when two belong."""

    alike: Floats
    outcomes: npt.NDArray[np.int64]
    patterns: Sequence[frozenset[int]]
    belonging: Belonging

    @property
    def same(self) -> npt.NDArray[np.bool_]:
        """Which two have a pattern in common."""
        return np.array([[bool(one & other) for other in self.patterns] for one in self.patterns])

    def part(self, rows: Rows) -> "Compared":
        """Give some of the events as if there were no others."""
        patterns = [self.patterns[row] for row in rows.tolist()]
        return Compared(self.alike[np.ix_(rows, rows)], self.outcomes[rows], patterns, self.belonging)

    def lanes(self) -> Iterator[tuple[Rows, Lane]]:
        """Give the events of each outcome, by row, as they are compared."""
        neighbours = Neighbours(_Known(self.alike), self.outcomes.copy())
        same = self.same
        for outcome in np.unique(self.outcomes).tolist():
            rows = np.flatnonzero(self.outcomes == outcome)
            both = np.ix_(rows, rows)
            shared = neighbours.shared(rows, self.belonging.counts)
            alike = self.belonging.units(self.alike[both], shared, len(self.outcomes))
            yield rows, Lane(alike, same[both], len(self.outcomes))


@dataclass(frozen=True, slots=True)
class _Known:
    """Likeness that is known of all pairs."""

    alike: Floats
    name: str = "known"

    @property
    def size(self) -> int:
        return len(self.alike)

    def matrix(self, rows: Rows, others: Rows | None = None) -> Floats:
        return self.alike[rows] if others is None else self.alike[np.ix_(rows, others)]


@dataclass(frozen=True, slots=True)
class Met:
    """What was said of pairs of groups, the share of the pairs across that are one lesson, and how many these are."""

    said: Matrix
    share: Matrix
    pairs: Matrix


def learned(files: Sequence[Compared], *, seed: int = 0) -> Joining:
    """Give what the files teach of which groups become one."""
    rng = np.random.default_rng(seed)
    lanes = [lane for one in files for part in _parts(one, rng) for _, lane in part.lanes()]
    met: list[Met] = []
    judge: Judge = by_likeness
    for _ in range(WAYS):
        met += [step for lane in lanes for step in watched(lane, judge, rng)]
        all_met = Met(*(np.concatenate([getattr(one, name) for one in met]) for name in Met.__slots__))
        judge = fitting = _fitted(all_met, rng)
    return fitting


def by_likeness(said: Matrix) -> Matrix:
    """Judge as average link does: even odds where two are one unit alike."""
    odds: Matrix = said[:, 0] - 1.0
    return odds


def _parts(one: Compared, rng: np.random.Generator) -> Iterator[Compared]:
    """Give a file twice, once with some lessons told more often, and parts of it as if there were no more."""
    yield from (one, one, grown(one, rng))
    size = len(one.outcomes)
    for count in (count for count in PARTS if count < size):
        yield one.part(np.sort(rng.choice(size, count, replace=False)))
        yield one.part(_whole_patterns(one, count, rng))


def _whole_patterns(one: Compared, count: int, rng: np.random.Generator) -> Rows:
    """Give about so many events, of some patterns all there are."""
    once = [row for row, names in enumerate(one.patterns) if not names]
    held = set(rng.permutation(once)[: max(1, round(ONCE * count))].tolist())
    for name in rng.permutation(sorted(frozenset[int]().union(*one.patterns))).tolist():
        if len(held) >= count:
            break
        held |= {row for row, names in enumerate(one.patterns) if name in names}
    return np.array(sorted(held), dtype=np.int64)


def grown(one: Compared, rng: np.random.Generator) -> Compared:
    """Give a file with more events of some patterns: half of these in other words, half in nearly the same.

    In other words, an event is as like those of its pattern as these are like each other.
    """
    size = len(one.outcomes)
    stands_for, nearly = list(range(size)), [False] * size
    for name in rng.permutation(sorted(frozenset[int]().union(*one.patterns)))[:GROWN].tolist():
        members = [row for row, names in enumerate(one.patterns) if name in names]
        more = int(np.exp(rng.uniform(np.log(LEAST_MORE), np.log(MOST_MORE))))
        stands_for += rng.choice(members, more).tolist()
        nearly += [bool(rng.random() < IN_THE_SAME_WORDS)] * more
    rows = np.array(stands_for, dtype=np.int64)
    away = np.triu(rng.normal(0, SCATTER * one.alike.std(), (len(rows), len(rows))), 1).astype(np.float32)
    away[:size, :size] = 0
    alike = one.alike[np.ix_(rows, rows)] + away + away.T
    same = one.same & ~np.eye(size, dtype=np.bool_)
    for first, second in zip(*np.nonzero(np.triu(rows[:, None] == rows, 1)), strict=True):
        row = rows[first]
        itself = one.alike[row, row]
        like = itself * rng.uniform(*SAME) if nearly[second] else rng.choice(one.alike[row][same[row]])
        alike[first, second] = alike[second, first] = like
    patterns = [one.patterns[row] for row in stands_for]
    return Compared(alike, one.outcomes[rows], patterns, one.belonging)


def watched(lane: Lane, judge: Judge, rng: np.random.Generator) -> Iterator[Met]:
    """Join the groups of a lane as they are judged; gives what is met: those joined, and some that could be."""
    merging = Merging(lane.alike, judge, events=lane.events)
    same = lane.same.astype(np.float64)
    while (found := merging.likeliest()) is not None and found[2] >= LOWEST:
        first, second = np.nonzero(np.triu(np.isfinite(merging.odds)))
        some = rng.choice(len(first), min(LOOKED, len(first)), replace=False)
        one, other = np.append(first[some], found[0]), np.append(second[some], found[1])
        pairs = (merging.groups.sizes[one] * merging.groups.sizes[other]).astype(np.float64)
        yield Met(merging.said(one, other), same[one, other] / pairs, pairs)
        joined, gone = found[:2]
        same[joined] += same[gone]
        same[:, joined] = same[joined]
        merging.join(joined, gone)


def _fitted(met: Met, rng: np.random.Generator) -> Joining:
    """Fit the network by the cross entropy of shares; of many pairs counts the square root."""
    means, spreads = met.said.mean(axis=0), met.said.std(axis=0) + 1e-6
    given = np.concatenate(((met.said - means) / spreads, np.ones((len(met.said), 1))), axis=1).astype(np.float32)
    counts = np.sqrt(met.pairs)
    counts = (counts / counts.mean()).astype(np.float32)
    wanted = met.share.astype(np.float32)
    held = {
        "hidden": rng.uniform(-1, 1, (SAID + 1, HIDDEN)).astype(np.float32) / np.float32(np.sqrt(SAID)),
        "out": rng.uniform(-1, 1, HIDDEN + 1).astype(np.float32) / np.float32(np.sqrt(HIDDEN)),
    }
    batches = -(-len(given) // BATCH)
    adam = Adam(RATE, steps=ROUNDS * batches, decay=DECAY)
    for _ in range(ROUNDS):
        order = rng.permutation(len(given))
        for rows in np.array_split(order, batches):
            held = adam.step(held, slope(held["hidden"], held["out"], given[rows], wanted[rows], counts[rows]))
    return Joining(means, spreads, held["hidden"].astype(np.float64), held["out"].astype(np.float64))


def slope(hidden: Floats, out: Floats, given: Floats, wanted: Floats, counts: Floats) -> dict[str, Floats]:
    """Give the slope of the mean cross entropy by the weights; ``given`` ends in a column of ones."""
    inner = np.concatenate((np.tanh(given @ hidden), np.ones((len(given), 1), np.float32)), axis=1)
    by_odds = (1 / (1 + np.exp(-(inner @ out))) - wanted) * counts / np.float32(len(given))
    by_inner = by_odds[:, None] * out[:-1] * (1 - inner[:, :-1] ** 2)
    return {"hidden": given.T @ by_inner, "out": inner.T @ by_odds}
