"""How the map of lessons learns: sets of events by one author at a time, and the gradient of the loss by hand.

Of an event that shares a pattern with others of its set, these are to be nearer than all the rest of its lane (a
softmax over cosines: Khosla et al. 2020, 'Supervised Contrastive Learning'). Adam with weight decay apart from it
(Kingma and Ba 2015; Loshchilov and Hutter 2019).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from phronesis.core.experience.similarity import Floats

NUMBERS: Final = 128
"""Numbers that come out; 256 and 512 told no more."""

TEMPERATURE: Final = 0.1
"""What cosines are divided by before the softmax; .05, .15 and .2 told less."""

DROPPED: Final = 0.3
"""The share of the numbers that are left out at each step; .5 is as good, .15 less."""

ROUNDS: Final = 30
RATE: Final = 1e-3
DECAY: Final = 0.05
"""Times that every set is seen; Adam's rate at its height; what the weights lose a step. 60 rounds are as good."""

_RISING: Final = 20
_FIRST, _SECOND, _TINY = 0.9, 0.999, 1e-8
_OUT: Final = np.float32(-1e4)


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """The events of one author: a row of numbers each; which are one lesson, and which can be, in one lane."""

    rows: Floats
    same: npt.NDArray[np.bool_]
    lane: npt.NDArray[np.bool_]


def fit(sets: Sequence[TrainingSet], *, seed: int = 0) -> Floats:
    """Give the weights of the map, float32 (numbers in, numbers out)."""
    rng = np.random.default_rng(seed)
    inside = sets[0].rows.shape[1]
    weights = np.linalg.qr(rng.standard_normal((inside, NUMBERS)))[0].astype(np.float32)
    first, second = np.zeros_like(weights), np.zeros_like(weights)
    steps = ROUNDS * len(sets)
    for n, one in enumerate(_in_turn(sets, rng), start=1):
        kept = rng.random(one.rows.shape, dtype=np.float32) >= DROPPED
        slope = gradient(one.rows * kept / np.float32(1 - DROPPED), one, weights)
        first += (1 - _FIRST) * (slope - first)
        second += (1 - _SECOND) * (slope * slope - second)
        rate = RATE * min(1.0, n / _RISING) * (1 - (n - 1) / steps)
        step = first / (1 - _FIRST**n) / (np.sqrt(second / (1 - _SECOND**n)) + _TINY)
        weights -= np.float32(rate) * (step + DECAY * weights)
    return weights


def _in_turn(sets: Sequence[TrainingSet], rng: np.random.Generator) -> Iterator[TrainingSet]:
    """Give all sets, in an order of chance, as often as there are rounds."""
    for _ in range(ROUNDS):
        for n in rng.permutation(len(sets)).tolist():
            yield sets[n]


def gradient(rows: Floats, one: TrainingSet, weights: Floats) -> Floats:
    """Give the slope of the loss of one set, by weight: ``rows`` are its events, with what is left out this time."""
    placed = rows @ weights
    lengths = np.maximum(np.linalg.norm(placed, axis=1, keepdims=True), _TINY)
    there = placed / lengths
    open_to = one.lane & ~np.eye(len(rows), dtype=np.bool_)
    cosines = np.where(open_to, there @ there.T / TEMPERATURE, _OUT)
    chances = np.exp(cosines - cosines.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    right = (one.same & open_to).astype(np.float32)
    count = right.sum(axis=1, keepdims=True)
    asked = count > 0
    by_cosine = np.where(asked, chances - right / np.maximum(count, 1), 0) / max(1, int(asked.sum()))
    by_place = (by_cosine + by_cosine.T) @ there / TEMPERATURE
    by_number = (by_place - (by_place * there).sum(axis=1, keepdims=True) * there) / lengths
    slope: Floats = (rows.T @ by_number).astype(np.float32)
    return slope
