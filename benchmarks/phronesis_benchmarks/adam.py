"""Fit small networks over token states by Adam (Kingma and Ba 2015) with weight decay; jax is imported when one is."""

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

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
