"""A message as the network sees it: letters, words and numbers, each by several features."""

import io
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

import numpy as np
from numpy.typing import NDArray

from phronesis.core.lazy_loading import load_once

MAX_READ: Final = {"zh": 200, "en": 400}
"""Characters of the longest message that is tagged, by language: the networks were fitted on messages of at most 80 and
250."""

UNKNOWN: Final = 1
"""The number of a word that was not seen; 0 is left for what pads."""

SHAPES: Final = 16
PLACES: Final = 4
"""Shapes that a token can have, and its places within a piece: alone, first, between, last."""

_ASIAN: Final = r"\u3040-\u30ff\u3400-\u9fff"
_TOKEN: Final = re.compile(
    rf"\d+|['’]?[^\W\d_{_ASIAN}]+|(?! (?<=[^{_ASIAN}] )[^{_ASIAN}]).",  # a blank between words is no token
    re.DOTALL,
)
_LONGEST_NUMBER: Final = 4
_STOPS: Final = frozenset("，。！？；,.!?;\n、")
_BRACKETS: Final = frozenset('“”"「」《》()（）‘’')
_ALONE, _FIRST, _BETWEEN, _LAST = range(PLACES)

Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class EncodedText:
    """A text by token: where each begins and ends, and the numbers of its word, piece, shape and place."""

    starts: Sequence[int]
    ends: Sequence[int]
    words: Numbers
    pieces: Numbers
    shapes: Numbers
    places: Numbers

    def __len__(self) -> int:
        """Count the tokens."""
        return len(self.starts)

    def span(self, start: int, end: int) -> range:
        """Return the numbers of the tokens that a stretch of the text touches."""
        touched = [n for n in range(len(self)) if self.starts[n] < end and self.ends[n] > start]
        return range(touched[0], touched[-1] + 1) if touched else range(0)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words that were seen, and the pieces whose vectors are known: several letters in a row, or a word."""

    words: Mapping[str, int]
    pieces: Mapping[str, int]
    longest: int

    def encode(self, text: str) -> EncodedText:
        """Return the tokens of a text, piece by piece the longest that is known."""
        spans = token_spans(text)
        said = [text[start:end] for start, end in spans]
        pieces, places = self._pieces([unicodedata.normalize("NFKC", one) for one in said])
        return EncodedText(
            starts=[start for start, _ in spans],
            ends=[end for _, end in spans],
            words=np.array([self.words.get(word_of(one), UNKNOWN) for one in said], dtype=np.int64),
            pieces=np.array(pieces, dtype=np.int64),
            shapes=np.array([shape_of(one) for one in said], dtype=np.int64),
            places=np.array(places, dtype=np.int64),
        )

    def _pieces(self, said: Sequence[str]) -> tuple[list[int], list[int]]:
        pieces, places = [0] * len(said), [_ALONE] * len(said)
        n = 0
        while n < len(said):
            count = 1
            if is_letter(said[n]):
                run = "".join(said[n : n + self.longest])
                count = next((size for size in range(len(run), 1, -1) if run[:size] in self.pieces), 1)
            found = self.pieces.get("".join(said[n : n + count])) or self.pieces.get(said[n].lower(), 0)
            for place in range(count):
                pieces[n + place] = found
                places[n + place] = _place(place, count)
            n += count
        return pieces, places


def token_spans(text: str) -> list[tuple[int, int]]:
    """Return where the tokens of a text stand: numbers, words in letters, and every other sign by itself.

    What stands behind an apostrophe is a word of its own (Mia 's, don 't), and a blank between words is none.
    """
    return [found.span() for found in _TOKEN.finditer(text)]


def word_of(said: str) -> str:
    """Return the word that a token counts as: numbers of as many figures are one."""
    return "0" * min(len(said), _LONGEST_NUMBER) if said[0].isdigit() else said.lower()


def is_letter(said: str) -> bool:
    """Return whether a token is a Chinese letter."""
    return len(said) == 1 and "\u3400" <= said <= "\u9fff"


def shape_of(said: str) -> int:
    """Return a number for what a token looks like: figures, capitals, letters, stops, brackets."""
    first = said[0]
    if first.isdigit():
        return 1 + min(len(said), _LONGEST_NUMBER)
    if first.isascii() and first.isalpha():
        return 6 if said.islower() else 7 if said.isupper() else 8
    kinds = (is_letter(first), first.isspace(), first in _STOPS, first in _BRACKETS, first in ":：", first.isalpha())
    return 9 + next((n for n, holds in enumerate(kinds) if holds), len(kinds))


def _place(n: int, count: int) -> int:
    if count == 1:
        return _ALONE
    return _FIRST if n == 0 else _LAST if n == count - 1 else _BETWEEN


# The network: gated convolutions over the tokens of a message, and what the message says as a whole.

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
class TagProbabilities:
    """By token: the log chances of each tag, and the chances that a value there is given up, done, of another."""

    tags: Floats
    signs: Floats


@dataclass(frozen=True, slots=True)
class Network:
    """What was fitted: the vocabulary, the names of the tags, and the weights by name."""

    vocabulary: Vocabulary
    tags: tuple[str, ...]
    weights: Mapping[str, Floats]

    def chances(self, seen: EncodedText) -> TagProbabilities:
        """Return the chances of the tokens of a text, which has one at least."""
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
        return TagProbabilities(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)), signs)

    def to_bytes(self) -> bytes:
        """Return the stored form: a compressed archive of numpy, the weights as halves, the pieces' in a byte each."""
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
    """Return a network again."""
    with np.load(io.BytesIO(stored), allow_pickle=False) as held:
        words = {str(word): n for n, word in enumerate(held["list_words"], start=2)}
        pieces = {str(piece): n for n, piece in enumerate(held["list_pieces"], start=1)}
        weights = {
            name.removeprefix("weight_"): held[name].astype(np.float32)
            for name in held.files
            if name.startswith("weight_")
        }
        weights["pieces"] *= held["scale"]
        longest = max(map(len, pieces), default=1)
        return Network(Vocabulary(words, pieces, longest), tuple(map(str, held["tags"])), weights)


@load_once
def load_network(language: str) -> Network:
    """Return the network that is installed with the package; there is one for ``en`` and one for ``zh``."""
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
