"""How the map of lessons learns: sets of events by one author at a time, and the gradient of the loss by hand.

Of an event that shares a pattern with others of its set, these are to be nearer than all the rest of its lane (a
softmax over cosines: Khosla et al. 2020, 'Supervised Contrastive Learning').
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from phronesis.experience.laws.similarity import Floats

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


def same_and_lane(events: Sequence[Mapping[str, Any]]) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return which of labelled events are one lesson, and which can be, in one lane: a row and a column an event."""
    patterns = [set(event["patterns"]) for event in events]
    same = np.array([[bool(one & other) for other in patterns] for one in patterns])
    succeeded = np.array([event.get("label") == "success" for event in events])
    return same, succeeded[:, None] == succeeded


def pairs_of_a_lane(lane: npt.NDArray[np.bool_]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the pairs of events that are in one lane, each once: the rows of the first, and of the second."""
    first, second = np.triu_indices(len(lane), 1)
    comparable = lane[first, second]
    return first[comparable], second[comparable]


class Adam:
    """Adam's steps over named numbers (Kingma and Ba 2015): the rate rises at first, then falls to nothing.

    What is not asked for by its slope goes by ``decay`` a step, apart from it (Loshchilov and Hutter 2019).
    """

    def __init__(self, rate: float, *, steps: int, decay: float = 0.0) -> None:
        self.rate, self.steps, self.decay = rate, steps, decay
        self._done = 0
        self._first: dict[str, Floats] = {}
        self._second: dict[str, Floats] = {}

    def step(self, held: Mapping[str, Floats], slopes: Mapping[str, Floats]) -> dict[str, Floats]:
        """Return the numbers after one more step."""
        self._done += 1
        rate = self.rate * min(1.0, self._done / _RISING) * (1 - (self._done - 1) / self.steps)
        out = {}
        for name, slope in slopes.items():
            first, second = self._first.get(name, 0.0), self._second.get(name, 0.0)
            self._first[name] = first + (1 - _FIRST) * (slope - first)
            self._second[name] = second + (1 - _SECOND) * (slope * slope - second)
            spread = np.sqrt(self._second[name] / (1 - _SECOND**self._done)) + _TINY
            step = self._first[name] / (1 - _FIRST**self._done) / spread
            out[name] = held[name] - np.float32(rate) * (step + np.float32(self.decay) * held[name])
        return out


def fit(sets: Sequence[TrainingSet], *, seed: int = 0) -> Floats:
    """Return the weights of the map, float32 (numbers in, numbers out)."""
    rng = np.random.default_rng(seed)
    inside = sets[0].rows.shape[1]
    weights = {"map": np.linalg.qr(rng.standard_normal((inside, NUMBERS)))[0].astype(np.float32)}
    adam = Adam(RATE, steps=ROUNDS * len(sets), decay=DECAY)
    for one in _in_turn(sets, rng):
        kept = rng.random(one.rows.shape, dtype=np.float32) >= DROPPED
        slope = gradient(one.rows * kept / np.float32(1 - DROPPED), one, weights["map"])
        weights = adam.step(weights, {"map": slope})
    return weights["map"]


def _in_turn(sets: Sequence[TrainingSet], rng: np.random.Generator) -> Iterator[TrainingSet]:
    """Return all sets, in an order of chance, as often as there are rounds."""
    for _ in range(ROUNDS):
        for n in rng.permutation(len(sets)).tolist():
            yield sets[n]


def gradient(rows: Floats, one: TrainingSet, weights: Floats) -> Floats:
    """Return the slope of the loss of one set, by weight: ``rows`` are its events, with what is left out this time."""
    placed = rows @ weights
    lengths = np.maximum(np.linalg.norm(placed, axis=1, keepdims=True), _TINY)
    there = placed / lengths
    by_place = pulled(there, one.same, one.lane, temperature=TEMPERATURE)
    by_number = (by_place - (by_place * there).sum(axis=1, keepdims=True) * there) / lengths
    slope: Floats = (rows.T @ by_number).astype(np.float32)
    return slope


def pulled(there: Floats, same: npt.NDArray[np.bool_], lane: npt.NDArray[np.bool_], *, temperature: float) -> Floats:
    """Return the slope of the loss by where each event lies: ``there`` are rows of length 1."""
    open_to = lane & ~np.eye(len(there), dtype=np.bool_)
    cosines = np.where(open_to, there @ there.T / np.float32(temperature), _OUT)
    chances = np.exp(cosines - cosines.max(axis=1, keepdims=True))
    chances /= chances.sum(axis=1, keepdims=True)
    right = (same & open_to).astype(np.float32)
    count = right.sum(axis=1, keepdims=True)
    asked = count > 0
    by_cosine = np.where(asked, chances - right / np.maximum(count, 1), 0) / max(1, int(asked.sum()))
    slope: Floats = ((by_cosine + by_cosine.T) @ there / temperature).astype(np.float32)
    return slope
