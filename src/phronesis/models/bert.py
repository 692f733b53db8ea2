"""BERT in numpy: where a text lies, by the mean of what the layers make of its pieces (Devlin et al. 2019).

For encoders of a few layers whose weights come with the package: a text at a time, so that what a text is given does
not depend on the texts beside it, and nothing is filled up.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from phronesis.core.vectors import Floats

EPSILON: Final = 1e-12
"""What is added to a variance before its root is taken, as in the weights of BERT."""

_GELU: Final = np.float32(math.sqrt(2 / math.pi))
_CUBE: Final = np.float32(0.044715)


@dataclass(frozen=True)
class Bert:
    """Weights by name: ``word``, ``place``, ``type`` and the layers' ``l0.q.w`` ...; ``heads`` of each layer.

    Matrices have a row for each number that comes out. ``l{n}.`` has q, k, v (attention), ao (its output), an (the norm
    behind it), up and down (the dense layers), dn (the norm behind these); ``.w`` what is multiplied by, ``.b`` what is
    added.
    """

    weights: Mapping[str, Floats]
    heads: int

    @cached_property
    def layers(self) -> int:
        """How many layers there are."""
        return len({name.split(".")[0] for name in self.weights if name.startswith("l")})

    @property
    def width(self) -> int:
        """Numbers of a state, and of what comes out."""
        return int(self.weights["word"].shape[1])

    @property
    def longest(self) -> int:
        """Pieces of a text that have a place."""
        return len(self.weights["place"])

    def placed(self, pieces: Sequence[int]) -> Floats:
        """Give where a text lies, from the numbers of its pieces: float32 (width,) of length 1."""
        held = self.weights
        states = held["word"][list(pieces)] + held["place"][: len(pieces)] + held["type"][0]
        states = self._normed(states, "en")
        for n in range(self.layers):
            states = self._passed(states, f"l{n}.")
        mean = states.mean(axis=0)
        out: Floats = mean / np.float32(max(float(np.linalg.norm(mean)), EPSILON))
        return out

    def _passed(self, states: Floats, layer: str) -> Floats:
        """Give what a layer makes of states: attention and a dense network, each added to what it was given."""
        length = len(states)
        q, k, v = (self._linear(states, f"{layer}{name}").reshape(length, self.heads, -1).transpose(1, 0, 2)
                   for name in ("q", "k", "v"))  # fmt: skip
        likeness = q @ k.transpose(0, 2, 1) / np.float32(math.sqrt(q.shape[-1]))
        shares = np.exp(likeness - likeness.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        seen = (shares @ v).transpose(1, 0, 2).reshape(length, -1)
        states = self._normed(states + self._linear(seen, f"{layer}ao"), f"{layer}an")
        dense = self._linear(_gelu(self._linear(states, f"{layer}up")), f"{layer}down")
        return self._normed(states + dense, f"{layer}dn")

    def _linear(self, given: Floats, name: str) -> Floats:
        out: Floats = given @ self.weights[f"{name}.w"].T + self.weights[f"{name}.b"]
        return out

    def _normed(self, given: Floats, name: str) -> Floats:
        apart = given - given.mean(axis=-1, keepdims=True)
        spread = np.sqrt((apart * apart).mean(axis=-1, keepdims=True) + np.float32(EPSILON))
        out: Floats = apart / spread * self.weights[f"{name}.w"] + self.weights[f"{name}.b"]
        return out


def _gelu(given: Floats) -> Floats:
    """Give Gaussian error linear units, by tanh (Hendrycks and Gimpel 2016): numpy has no error function."""
    inner = _GELU * (given + _CUBE * given * given * given)
    out: Floats = np.float32(0.5) * given * (1 + np.tanh(inner))
    return out
