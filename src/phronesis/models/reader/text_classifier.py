"""Classes of a text by a small network over the reader's token states.

Each token gives every class a score. A class's log-odds for the text are the soft maximum of its tokens' scores, so
that one telling word suffices, plus what the first state says of the whole. Several classes may hold at once.
``phronesis_benchmarks.text_classifier_training`` fits the weights; they are stored with the room that uses them.
"""

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from phronesis.core.vectors import Floats
from phronesis.models.reader.network import sigmoid
from phronesis.models.reader.token_encoder import gelu

WEIGHTS: Final = ("mix.w", "mix.b", "token.w", "token.b", "whole.w")
"""Names of the weights: a hidden layer, the scores of tokens, the score of the whole."""


@dataclass(frozen=True, slots=True)
class TextClassifier:
    """The classes and the weights; ``encoder`` is the fingerprint of the encoder whose states it was fitted over."""

    classes: Sequence[str]
    weights: Mapping[str, Floats]
    encoder: str

    def __call__(self, states: Floats) -> dict[str, float]:
        """Return how likely each class holds of the text with these token states."""
        weights = self.weights
        tokens = gelu(states @ weights["mix.w"] + weights["mix.b"]) @ weights["token.w"] + weights["token.b"]
        top = tokens.max(axis=0)
        pooled = top + np.log(np.exp(tokens - top).sum(axis=0))
        odds = sigmoid(pooled + states[0] @ weights["whole.w"])
        return dict(zip(self.classes, odds.tolist(), strict=True))

    def to_bytes(self) -> bytes:
        """Return the stored form, in half precision."""
        arrays: dict[str, Any] = {name: self.weights[name].astype(np.float16) for name in WEIGHTS}
        out = io.BytesIO()
        about = json.dumps({"classes": list(self.classes), "encoder": self.encoder}).encode()
        np.savez_compressed(out, about=np.frombuffer(about, np.uint8), **arrays)
        return out.getvalue()


def load_text_classifier(stored: bytes) -> TextClassifier:
    """Return a classifier from its stored form."""
    with np.load(io.BytesIO(stored)) as arrays:
        about = json.loads(arrays["about"].tobytes())
        weights = {name: arrays[name].astype(np.float32) for name in WEIGHTS}
        return TextClassifier(about["classes"], weights, about["encoder"])
