"""The reader: a transformer and heads that find values and speech acts in texts (English, Chinese).

Its weights are fitted by ``phronesis bench reader``; a new head goes into ``network``, its loss into the benchmark.
"""

import hashlib
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from typing import Any, Final

import numpy as np

from phronesis.core.lazy_loading import load_once
from phronesis.core.vectors import Floats
from phronesis.errors import MissingExtra
from phronesis.models.reader.network import FoundValue, Heads, Labels, Scores, sigmoid
from phronesis.models.reader.token_encoder import (
    MAX_TOKENS,
    Image,
    TokenEncoder,
    Tokenizer,
    Tokens,
    gelu,
    parse_weights,
    shipped_weights,
    vocabulary,
)
from phronesis.models.text_features import blank_code, windows

WEIGHTS: Final = "reader.npz"
READER_VERSION: Final = "reader/2"
"""Recorded with every outcome; rises with the weights, the decoding and the thresholds."""
ENCODER: Final = "encoder."
"""What the names of the encoder's updates begin with."""
MAX_BEFORE: Final = 48
"""Tokens of the assistant's question that are read before a message."""

BATCH: Final = 16
"""Short texts that are encoded at once: a third of the time that they take one by one."""


@dataclass(frozen=True, slots=True)
class Reading:
    """What a message says: its values, how likely it holds any, and why not.

    ``ended`` are the places of words that are said to hold no more.
    """

    values: list[FoundValue]
    holds: float
    gate: str | None
    ended: list[tuple[int, int]] = field(default_factory=list)


class Reader:
    """Reads messages by an encoder and heads over its states."""

    def __init__(
        self, tokenizer: Tokenizer, encoder: TokenEncoder, heads: Heads, thresholds: Mapping[str, float]
    ) -> None:
        self.tokenizer, self.encoder, self.heads, self._thresholds = tokenizer, encoder, heads, thresholds

    def __call__(self, text: str, before: str = "") -> Reading:
        """Return the values of a message; ``before`` is what the assistant asked right before, if it did."""
        values: list[FoundValue] = []
        ended: list[tuple[int, int]] = []
        held, gate = 0.0, None
        labels = self.heads.labels
        shown = blank_code(text)
        for n, (start, end) in enumerate(windows(shown)):
            part = shown[start:end]
            found, over, scores = self._read(part, before if n == 0 else "")
            ended += [(first + start, last + start) for first, last in over]
            values += [replace(one, start=one.start + start, end=one.end + start) for one in found]
            if scores.holds >= held:
                held = scores.holds
                gate = labels.gates[int(scores.gate[1:].argmax())]
        return Reading(values, held, gate, ended)

    def states(self, *texts: str) -> list[Floats]:
        """Return the token states of the windows of texts, for other networks (`TextClassifier`)."""
        shown = map(blank_code, texts)
        ids = [self._tokens(text[start:end], "")[2] for text in shown for start, end in windows(text)]
        batches = (ids[first : first + BATCH] for first in range(0, len(ids), BATCH))
        return [states for batch in batches for states in self.encoder.encode(batch)]

    def _read(self, text: str, before: str) -> tuple[list[FoundValue], list[tuple[int, int]], Scores]:
        tokens, first, ids = self._tokens(text, before)
        scores = self.heads.scores(self.encoder(ids), first)
        found = [self._calibrated(one) for one in self.heads.values(text, tokens, scores)]
        return found, self.heads.ended(text, tokens, scores), scores

    def _tokens(self, text: str, before: str) -> tuple[Tokens, int, list[int]]:
        """Return the tokens of a text, the place of the first among those that are encoded, and these."""
        tokenizer = self.tokenizer
        tokens = tokenizer(text)
        asked = [*tokenizer(before).ids[-MAX_BEFORE:], tokenizer.end] if before else []
        room = MAX_TOKENS - 2 - len(asked)
        tokens = replace(tokens, ids=tokens.ids[:room], starts=tokens.starts[:room], ends=tokens.ends[:room])
        return tokens, 1 + len(asked), [tokenizer.begin, *asked, *tokens.ids, tokenizer.end]

    def _calibrated(self, one: FoundValue) -> FoundValue:
        """Return a value with a confidence of .8 where the threshold of precision lies."""
        raw = one.confidence
        limit = self._thresholds.get(one.key.partition(".")[0], self._thresholds[""])
        sure = 0.8 * raw / limit if raw < limit else 0.8 + 0.2 * (raw - limit) / (1 - limit)
        return replace(one, confidence=round(sure, 4))


@load_once
def load_reader() -> Reader | None:
    """Return the reader that is installed with the package; None without the base weights."""
    try:
        image = shipped_weights()
    except MissingExtra:
        return None
    return make_reader((files("phronesis.models.reader") / WEIGHTS).read_bytes(), image)


def stored_weights(stored: bytes) -> dict[str, Floats]:
    """Return the weights in what ``store_reader`` gave, by name."""
    return _unpack(stored)[1]


def encoder_fingerprint() -> str:
    """Return a hash of the installed encoder's updates, by which classifiers know what they were fitted over."""
    sums = hashlib.sha256()
    for name, value in sorted(stored_weights((files("phronesis.models.reader") / WEIGHTS).read_bytes()).items()):
        if name.startswith(ENCODER):
            sums.update(name.encode() + value.astype(np.float16).tobytes())
    return sums.hexdigest()[:16]


def stored_labels(stored: bytes) -> Labels:
    """Return the labels in what ``store_reader`` gave."""
    about, _ = _unpack(stored)
    return Labels(about["names"], about["gates"])


def make_reader(stored: bytes, image: Image) -> Reader:
    """Return the reader of stored weights over the base weights ``image``."""
    about, weights = _unpack(stored)
    file = parse_weights(image)
    updates = {name.removeprefix(ENCODER): value for name, value in weights.items() if name.startswith(ENCODER)}
    heads = Heads(Labels(about["names"], about["gates"]), weights)
    encoder = TokenEncoder(file, updates, about["layers"])
    return Reader(Tokenizer(vocabulary(file.image)), encoder, heads, about["thresholds"])


def store_reader(
    labels: Labels, weights: Mapping[str, Floats], *, layers: int, thresholds: Mapping[str, float]
) -> bytes:
    """Return what ``make_reader`` reads, in half precision."""
    about = {"names": list(labels.names), "gates": list(labels.gates)}
    return _pack(about | {"layers": layers, "thresholds": dict(thresholds)}, weights)


def _pack(about: Mapping[str, Any], weights: Mapping[str, Floats]) -> bytes:
    """Return weights in half precision, with a description."""
    arrays: dict[str, Any] = {name: value.astype(np.float16) for name, value in weights.items()}
    out = io.BytesIO()
    np.savez_compressed(out, about=np.frombuffer(json.dumps(about).encode(), np.uint8), **arrays)
    return out.getvalue()


def _unpack(stored: bytes) -> tuple[Mapping[str, Any], dict[str, Floats]]:
    """Return the description and the weights that ``_pack`` stored."""
    with np.load(io.BytesIO(stored)) as arrays:
        weights = {name: arrays[name].astype(np.float32) for name in arrays.files if name != "about"}
        return json.loads(arrays["about"].tobytes()), weights


CLASSIFIER_WEIGHTS: Final = ("mix.w", "mix.b", "token.w", "token.b", "whole.w")
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
        weights = {name: self.weights[name] for name in CLASSIFIER_WEIGHTS}
        return _pack({"classes": list(self.classes), "encoder": self.encoder}, weights)


def load_text_classifier(stored: bytes) -> TextClassifier:
    """Return a classifier from its stored form."""
    about, weights = _unpack(stored)
    return TextClassifier(about["classes"], weights, about["encoder"])
