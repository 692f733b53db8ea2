"""How an encoder is tuned to tell lessons apart, with jax for the gradients (``phronesis bench lesson-encoder``).

The loss is that of the map of lessons, over all events of one author. They are too many to keep what they passed
through: each batch is placed once to know where all lie, and once more for the slope (Gao et al. 2021, 'Scaling Deep
Contrastive Learning Batch Size under Memory Limited Setup').
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt

from phronesis.experience.laws.similarity import Floats
from phronesis_benchmarks.lesson_learning import Adam, pulled
from phronesis_benchmarks.optional import import_optional

TEMPERATURE: Final = 0.05
"""What cosines are divided by before the softmax."""

BATCH: Final = 32
_ROUNDED_TO: Final = 16

States = npt.NDArray[Any]
Changes = dict[str, Floats]


class Network(Protocol):
    """An encoder, and which of its numbers are learned.

    ``rounds``: times that every author's events are seen; ``rate``: Adam's rate at its height; ``decay``: what its
    numbers lose a step; ``width``: numbers that a text is placed by.
    """

    rounds: int
    rate: float
    decay: float

    @property
    def width(self) -> int:
        """Numbers that a text is placed by."""
        ...

    def begun(self, texts: Sequence[str]) -> list[States]:
        """Return what is made of texts before anything that is learned: rows a token, of each."""
        ...

    def nothing(self) -> Changes:
        """Return the numbers that are learned, before they are."""
        ...

    def pooled(self, changes: Mapping[str, Any], states: Any, there: Any) -> Any:
        """Return where a batch of texts lies, rows of length 1, from what was begun: in terms of jax."""
        ...


@dataclass(frozen=True, slots=True)
class TunedSet:
    """The events of one author: what is begun of each, in one or more wordings, and which are one lesson.

    ``wordings`` have a list of states an event, rows of numbers a token.
    """

    wordings: Sequence[Sequence[States]]
    same: npt.NDArray[np.bool_]
    lane: npt.NDArray[np.bool_]


class EncoderLearner:
    """Places texts by a network with some numbers changed, and learns which: jax is imported when one is made."""

    def __init__(self, network: Network, *, seed: int = 0) -> None:
        self.jax = import_optional("jax", "jax", field="data")
        self.network = network
        self.random = np.random.default_rng(seed)

    def placed(self, states: Sequence[States], changes: Mapping[str, Floats]) -> Floats:
        """Return where texts lie, rows of length 1, from what was begun of them."""
        return np.stack(in_batches(states, self._place, dict(changes)))

    def learn(self, sets: Sequence[TunedSet], *, told: Callable[[int, int], None] | None = None) -> Changes:
        """Return what becomes of the numbers of `Network.nothing`, by their names.

        ``told`` is called after each step with how many are done, and how many there are.
        """
        changes, steps = self.network.nothing(), self.network.rounds * len(sets)
        adam = Adam(self.network.rate, steps=steps, decay=self.network.decay)
        for n in range(steps):
            if n % len(sets) == 0:
                order = self.random.permutation(len(sets)).tolist()
            changes = adam.step(changes, self.slope(sets[order[n % len(sets)]], changes))
            if told is not None:
                told(n + 1, steps)
        return changes

    def slope(self, one: TunedSet, changes: Changes) -> Changes:
        """Return the slope of the loss of one author's events, in a wording of chance, by each number."""
        states = one.wordings[int(self.random.integers(len(one.wordings)))]
        by_place = pulled(self.placed(states, changes), one.same, one.lane, temperature=TEMPERATURE)
        total: Changes = {name: np.zeros_like(held) for name, held in changes.items()}
        for rows, filled, there in _batches(states):
            pull = np.zeros((BATCH, self.network.width), np.float32)
            pull[: len(rows)] = by_place[rows]
            more = self._pull(changes, filled, there, pull)
            total = {name: held + np.asarray(more[name]) for name, held in total.items()}
        return total

    @cached_property
    def _place(self) -> Callable[..., Any]:
        jitted: Callable[..., Any] = self.jax.jit(self.network.pooled)
        return jitted

    @cached_property
    def _pull(self) -> Callable[..., Any]:
        def along(changes: Any, states: Any, there: Any, pull: Any) -> Any:
            return (self.network.pooled(changes, states, there) * pull).sum()

        jitted: Callable[..., Any] = self.jax.jit(self.jax.grad(along))
        return jitted


def in_batches(states: Sequence[States], place: Callable[..., Any], weights: Any) -> list[Any]:
    """Give what ``place`` makes of each text, from weights, states that are filled up, and where there is something."""
    out: list[Any] = [None] * len(states)
    for rows, filled, there in _batches(states):
        for row, found in zip(rows, np.asarray(place(weights, filled, there)), strict=False):
            out[row] = found[: len(states[row])] if found.ndim > 1 else found
    return out


def _batches(states: Sequence[States]) -> Iterator[tuple[list[int], States, npt.NDArray[np.bool_]]]:
    """Return texts of about one length together: their places, their states filled up, and where there is something."""
    order = sorted(range(len(states)), key=lambda n: len(states[n]))
    for start in range(0, len(order), BATCH):
        rows = order[start : start + BATCH]
        longest = -(-len(states[rows[-1]]) // _ROUNDED_TO) * _ROUNDED_TO
        filled = np.zeros((BATCH, longest, states[0].shape[1]), states[0].dtype)
        there = np.zeros((BATCH, longest), np.bool_)
        there[:, 0] = True  # a row that is filled up has something, or its mean would be none
        for n, row in enumerate(rows):
            filled[n, : len(states[row])], there[n, : len(states[row])] = states[row], True
        yield rows, filled, there
