"""The network: gated convolutions over the tokens of a message, and what the message says as a whole.

Each token is a vector of its word, its piece, its shape and its place. Three convolutions see one, two and four tokens
to both sides, each with a gate (Dauphin et al. 2017, 'Language Modeling with Gated Convolutional Networks') and a norm
(Ba et al. 2016, 'Layer Normalization'); the largest and the mean of what they give stand beside each token, so that a
question mark at the end is seen at the first word. Pieces have the vectors of a sentence encoder that was
trained on many languages (multilingual Universal Sentence Encoder, Apache-2.0), projected: a word that no label holds
is known by its likes.
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

import numpy as np
from numpy.typing import NDArray

from phronesis.core.loading import once
from phronesis.derive.extracting.tagging.tokens import Encoded, Vocabulary

REACHES: Final = (1, 2, 4)
"""How far each convolution looks to both sides, in tokens."""

NORM: Final = 1e-5
"""What is added to a variance before it divides."""

TABLES: Final = ("words", "pieces", "shapes", "places")
"""The tables of vectors, in the order in which a token's are joined."""

_BYTE: Final = 127
_LEAST: Final = 1e-6
"""The largest number of a byte with its sign, and the least that a column is divided by."""

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Chances:
    """By token: the log chances of each tag, and the chances that a value there is given up, done, of another."""

    tags: Floats
    signs: Floats


@dataclass(frozen=True, slots=True)
class Network:
    """What was fitted: the vocabulary, the names of the tags, and the weights by name."""

    vocabulary: Vocabulary
    tags: tuple[str, ...]
    weights: Mapping[str, Floats]

    def chances(self, seen: Encoded) -> Chances:
        """Give the chances of the tokens of a text, which has one at least."""
        held = self.weights
        numbers = (seen.words, seen.pieces, seen.shapes, seen.places)
        joined = np.concatenate([held[name][row] for name, row in zip(TABLES, numbers, strict=True)], axis=1)
        state = np.tanh(joined @ held["in"] + held["in_bias"])
        for n, reach in enumerate(REACHES):
            state = _convolved(state, held[f"conv{n}"], held[f"conv{n}_bias"], reach)
        whole = np.tanh(np.concatenate((state.max(axis=0), state.mean(axis=0))) @ held["whole"])
        both = np.concatenate((state, np.broadcast_to(whole, state.shape)), axis=1)
        last = np.maximum(both @ held["last"] + held["last_bias"], 0)
        scores = last @ held["tags"] + held["tags_bias"]
        signs = 1 / (1 + np.exp(-(last @ held["signs"] + held["signs_bias"])))
        scores -= scores.max(axis=1, keepdims=True)
        return Chances(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)), signs)

    def to_bytes(self) -> bytes:
        """Give the stored form: a compressed archive of numpy, the weights as halves, the pieces' in a byte each."""
        out = io.BytesIO()
        halves = {f"weight_{name}": values.astype(np.float16) for name, values in self.weights.items()}
        scale = np.abs(self.weights["pieces"]).max(axis=0, initial=_LEAST) / _BYTE
        halves["weight_pieces"] = np.round(self.weights["pieces"] / scale).astype(np.int8)
        halves["scale"] = scale.astype(np.float32)
        lists = {"words": self.vocabulary.words, "pieces": self.vocabulary.pieces}
        named = {f"list_{name}": np.array(sorted(held, key=held.__getitem__)) for name, held in lists.items()}
        np.savez_compressed(out, allow_pickle=False, tags=np.array(self.tags), **named, **halves)
        return out.getvalue()


def network_from(stored: bytes) -> Network:
    """Give a network again."""
    with np.load(io.BytesIO(stored), allow_pickle=False) as held:
        words = {str(word): n for n, word in enumerate(held["list_words"], start=2)}
        pieces = {str(piece): n for n, piece in enumerate(held["list_pieces"], start=1)}
        weights = {name.removeprefix("weight_"): held[name].astype(np.float32)
                   for name in held.files if name.startswith("weight_")}  # fmt: skip
        weights["pieces"] *= held["scale"]
        longest = max(map(len, pieces), default=1)
        return Network(Vocabulary(words, pieces, longest), tuple(map(str, held["tags"])), weights)


@once
def load_network(language: str) -> Network:
    """Give the network that is installed with the package; there is one for ``en`` and one for ``zh``."""
    return network_from(files(__package__).joinpath(f"{language}.npz").read_bytes())


def _convolved(state: Floats, weights: Floats, bias: Floats, reach: int) -> Floats:
    """Add to each token what it and those ``reach`` tokens before and behind it say; beyond the ends is naught."""
    count = len(state)
    padded = np.pad(state, ((reach, reach), (0, 0)))
    seen = sum((padded[n * reach : n * reach + count] @ weights[n] for n in range(3)), start=np.float32(0)) + bias
    said, gate = np.split(seen, 2, axis=1)
    out = state + said / (1 + np.exp(-gate))
    out -= out.mean(axis=1, keepdims=True)
    scaled: Floats = out / np.sqrt(out.var(axis=1, keepdims=True) + NORM)
    return scaled
