"""A layer of BERT in jax, and where a text lies by the mean of its states (Devlin et al. 2019)."""

import math
from collections.abc import Mapping
from typing import Any, Final

from phronesis_benchmarks.optional import import_optional

SMALL: Final = 1e-12
"""What is added to a variance before its root is taken, as in the weights of BERT."""

_OUT: Final = -1e9


def passed(layer: Mapping[str, Any], states: Any, there: Any, *, heads: int) -> Any:
    """Return what a layer makes of states (texts, tokens, width), the layer norms behind the sums.

    ``layer`` has q, k, v (attention), ao (its output), an (the norm behind it), up and down (the dense layers), dn (the
    norm behind these); ``.w`` what is multiplied by, ``.b`` what is added. ``there`` tells which tokens there are.
    """
    jax = import_optional("jax", "jax", field="data")
    jnp = jax.numpy
    count, length, width = states.shape

    def linear(given: Any, name: str) -> Any:
        return given @ layer[f"{name}.w"].T + layer[f"{name}.b"]

    q, k, v = (linear(states, name).reshape(count, length, heads, -1) for name in ("q", "k", "v"))
    likeness = jnp.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(width // heads)
    shares = jax.nn.softmax(likeness + jnp.where(there, 0.0, _OUT)[:, None, None, :], axis=-1)
    seen = jnp.einsum("bhqk,bkhd->bqhd", shares, v).reshape(count, length, width)
    states = normed(states + linear(seen, "ao"), layer, "an")
    dense = linear(jax.nn.gelu(linear(states, "up"), approximate=False), "down")
    return normed(states + dense, layer, "dn")


def normed(given: Any, layer: Mapping[str, Any], name: str) -> Any:
    """Return states less their mean, by their spread, as a layer norm has learned."""
    jnp = import_optional("jax", "jax", field="data").numpy
    apart = given - given.mean(axis=-1, keepdims=True)
    spread = jnp.sqrt((apart * apart).mean(axis=-1, keepdims=True) + SMALL)
    return apart / spread * layer[f"{name}.w"] + layer[f"{name}.b"]


def mean_of(states: Any, there: Any) -> Any:
    """Return the means of states over the tokens that there are, of length 1."""
    jnp = import_optional("jax", "jax", field="data").numpy
    pooled = (states * there[..., None]).sum(axis=1)
    return pooled / jnp.maximum(jnp.linalg.norm(pooled, axis=1, keepdims=True), SMALL)
