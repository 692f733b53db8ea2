"""How the network that tags messages learns: batches, the loss, and Adam's steps, with jax for the gradients."""

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from phronesis.conversation.extracting.tagging.network import NORM, PLACES, REACHES, SHAPES, TABLES, EncodedText, Floats
from phronesis_benchmarks.optional import import_optional

SIGNS: Final = 3
"""What a value may be beside its key: given up, done, of another."""

SIZES: Final = {"words": 48, "pieces": 64, "shapes": 12, "places": 4}
"""Numbers in the vector of each."""

WIDTH: Final = 192
BATCH: Final = 32
RATE: Final = 2e-3
DROPPED: Final = 0.2
FORGOTTEN: Final = 0.15
"""Numbers of a state; messages at a time; Adam's rate at its height; the share of
states, and of words, that are left out while it learns."""

DECAY: Final = 0.01
_FIRST, _SECOND, _TINY = 0.9, 0.999, 1e-8
"""Adam's (Kingma and Ba 2015), with weight decay apart from it (Loshchilov and Hutter 2019)."""

_ROUNDED_TO: Final = 16
_POOL: Final = 20

Weights = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Example:
    """A message: its tokens, the number of the tag of each, its signs, and where these count."""

    seen: EncodedText
    tags: Sequence[int]
    signs: Floats
    counts: Floats


class Learner:
    """Adam over batches: jax is imported when one is made."""

    def __init__(self, vectors: Floats, *, sizes: tuple[int, int], rounds: int, seed: int) -> None:
        self.jax = import_optional("jax", "jax", field="data")
        self.vectors, self.rounds = vectors, rounds
        self.random = random.Random(seed)  # noqa: S311 - an order of messages, no secret
        self.key = self.jax.random.PRNGKey(seed)
        self.weights = self._begun(np.random.default_rng(seed), *sizes)

    def _begun(self, rng: np.random.Generator, words: int, tags: int) -> Weights:
        def drawn(*shape: int) -> Floats:
            values: Floats = (rng.standard_normal(shape) / np.sqrt(np.prod(shape[:-1]))).astype(np.float32)
            return values

        rows = {"words": words, "shapes": SHAPES, "places": PLACES}
        out: Weights = {
            name: drawn(count, SIZES[name]) * np.sqrt(count, dtype=np.float32) / 10 for name, count in rows.items()
        }
        out |= {"projection": drawn(self.vectors.shape[1], SIZES["pieces"]), "in": drawn(sum(SIZES.values()), WIDTH)}
        out |= {f"conv{n}": drawn(3, WIDTH, 2 * WIDTH) for n in range(len(REACHES))}
        out |= {f"conv{n}_bias": np.zeros(2 * WIDTH, np.float32) for n in range(len(REACHES))}
        out |= {"whole": drawn(2 * WIDTH, WIDTH), "last": drawn(2 * WIDTH, WIDTH), "tags": drawn(WIDTH, tags)}
        out |= {"signs": drawn(WIDTH, SIGNS), "signs_bias": np.zeros(SIGNS, np.float32)}
        out |= {"in_bias": np.zeros(WIDTH, np.float32), "last_bias": np.zeros(WIDTH, np.float32)}
        return out | {"tags_bias": np.zeros(tags, np.float32)}

    def learn(self, examples: Sequence[Example]) -> dict[str, Floats]:
        """Return the weights after all rounds, by name as the network has them."""
        jax, tree = self.jax, self.jax.tree
        steps = self.rounds * max(1, len(examples) // BATCH)
        moments: Any = (tree.map(np.zeros_like, self.weights), tree.map(np.zeros_like, self.weights))
        weights: Any = self.weights

        @jax.jit  # type: ignore[untyped-decorator]
        def step(weights: Any, moments: Any, batch: Any, n: Any, key: Any) -> Any:
            slope = jax.grad(self._loss)(weights, batch, key)
            done = n / steps
            rate = RATE * jax.numpy.minimum(done * 20, 0.51 + 0.49 * jax.numpy.cos(np.pi * done))
            first = tree.map(lambda m, g: _FIRST * m + (1 - _FIRST) * g, moments[0], slope)
            second = tree.map(lambda v, g: _SECOND * v + (1 - _SECOND) * g * g, moments[1], slope)

            def moved(w: Any, m: Any, v: Any) -> Any:
                m, v = m / (1 - _FIRST**n), v / (1 - _SECOND**n)
                return w - rate * (m / (jax.numpy.sqrt(v) + _TINY) + DECAY * w)

            return tree.map(moved, weights, first, second), (first, second)

        n = 0
        for _ in range(self.rounds):
            for batch in self._batches(examples):
                n += 1
                key = jax.random.fold_in(self.key, n)
                weights, moments = step(weights, moments, batch, float(n), key)
        held = {name: np.asarray(values) for name, values in weights.items()}
        held["pieces"] = self.vectors @ held.pop("projection")
        return held

    def _batches(self, examples: Sequence[Example]) -> Iterator[Mapping[str, Any]]:
        """Return the messages in an order of chance, those of about one length together."""
        order = list(range(len(examples)))
        self.random.shuffle(order)
        batches = []
        for start in range(0, len(order), BATCH * _POOL):
            pool = sorted(order[start : start + BATCH * _POOL], key=lambda n: len(examples[n].tags))
            batches += [pool[n : n + BATCH] for n in range(0, len(pool), BATCH)]
        self.random.shuffle(batches)
        for batch in batches:
            yield self.padded([examples[n] for n in batch])

    def padded(self, batch: Sequence[Example]) -> Mapping[str, Any]:
        """Return messages as arrays of one length, filled with what counts nothing."""
        longest = -(-max(len(one.tags) for one in batch) // _ROUNDED_TO) * _ROUNDED_TO
        shape = (BATCH, longest)
        out: dict[str, Any] = {name: np.zeros(shape, np.int32) for name in (*TABLES, "tags")}
        out |= {"there": np.zeros(shape, np.float32), "counts": np.zeros(shape, np.float32)}
        out["signs"] = np.zeros((*shape, SIGNS), np.float32)
        for row, one in enumerate(batch):
            size = len(one.tags)
            for name in TABLES:
                out[name][row, :size] = getattr(one.seen, name)
            out["tags"][row, :size], out["there"][row, :size] = one.tags, 1
            out["signs"][row, :size], out["counts"][row, :size] = one.signs, one.counts
        out["vectors"] = self.vectors[out["pieces"]]
        return out

    def _loss(self, weights: Any, batch: Any, key: Any) -> Any:
        jnp, jax = self.jax.numpy, self.jax
        tags, signs = self.scores(weights, batch, key)
        chances = jax.nn.log_softmax(tags)
        right = jnp.take_along_axis(chances, batch["tags"][..., None], axis=-1)[..., 0]
        missed = jnp.logaddexp(0, signs) - signs * batch["signs"]
        told = (missed.sum(axis=-1) * batch["counts"]).sum() / 2
        return (told - (right * batch["there"]).sum()) / batch["there"].sum()

    def scores(self, weights: Any, batch: Any, key: Any) -> Any:
        """Return the scores of tags and signs, as the network does for one message.

        ``key`` leaves out by chance, and None nothing.
        """
        jnp, jax = self.jax.numpy, self.jax
        there = batch["there"][..., None]

        def thinned(values: Any, n: int, share: float = DROPPED, *, rows: bool = False) -> Any:
            if key is None:
                return values
            shape = (*values.shape[:-1], 1) if rows else values.shape
            left = jax.random.bernoulli(jax.random.fold_in(key, n), 1 - share, shape)
            return values * left if rows else values * left / (1 - share)

        vectors = {name: weights[name][batch[name]] for name in TABLES if name != "pieces"}
        vectors["pieces"] = batch["vectors"] @ weights["projection"]
        vectors["words"] = thinned(vectors["words"], 0, FORGOTTEN, rows=True)
        joined = thinned(jnp.concatenate([vectors[name] for name in TABLES], axis=-1), 1)
        state = jnp.tanh(joined @ weights["in"] + weights["in_bias"]) * there
        count = state.shape[1]
        for n, reach in enumerate(REACHES):
            padded = jnp.pad(thinned(state, 2 + n), ((0, 0), (reach, reach), (0, 0)))
            kernel = weights[f"conv{n}"]
            seen = (
                sum(padded[:, k * reach : k * reach + count] @ kernel[k] for k in range(3)) + weights[f"conv{n}_bias"]
            )
            said, gate = jnp.split(seen, 2, axis=-1)
            out = state + said * jax.nn.sigmoid(gate)
            out -= out.mean(axis=-1, keepdims=True)
            state = out / jnp.sqrt(out.var(axis=-1, keepdims=True) + NORM) * there
        largest = jnp.where(there > 0, state, -jnp.inf).max(axis=1)
        mean = state.sum(axis=1) / jnp.maximum(there.sum(axis=1), 1)
        whole = jnp.tanh(
            jnp.concatenate((jnp.where(jnp.isfinite(largest), largest, 0), mean), axis=-1) @ weights["whole"]
        )
        both = jnp.concatenate((state, jnp.broadcast_to(whole[:, None], state.shape)), axis=-1)
        last = thinned(jax.nn.relu(thinned(both, 8) @ weights["last"] + weights["last_bias"]), 9)
        return last @ weights["tags"] + weights["tags_bias"], last @ weights["signs"] + weights["signs_bias"]
