"""BERT in numpy: where a text lies, by the mean of what the layers make of its pieces (Devlin et al. 2019).

For encoders of a few layers whose weights come with the package. The pieces of several texts stand behind each other in
one matrix, and each text attends to itself: nothing is filled up, and the products are large enough for several cores.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Final
from unicodedata import category, normalize

import numpy as np
import numpy.typing as npt

from phronesis.core.vectors import Floats

# The tokenizer of uncased BERT: a text's words in lower case, cut into the longest pieces of a vocabulary.

MAX_WORD: Final = 100
"""Characters of a word that is cut; a longer one is unknown."""

_BEGIN, _END, _UNKNOWN, _WITHIN = "[CLS]", "[SEP]", "[UNK]", "##"
_IDEOGRAPHS: Final = (
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002a6df\U0002a700-\U0002ceaf\U0002f800-\U0002fa1f"
)
_IDEOGRAPH: Final = re.compile(f"([{_IDEOGRAPHS}])")
_ASCII_MARKS: Final = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_BLANKS: Final = frozenset("\t\n\r")


class WordPiece:
    """Cuts texts by a vocabulary: the pieces in the order of their numbers, the marks of begin and end among them."""

    def __init__(self, pieces: Sequence[str]) -> None:
        self._number = {piece: n for n, piece in enumerate(pieces)}
        self._begin, self._end, self._unknown = (self._number[mark] for mark in (_BEGIN, _END, _UNKNOWN))

    def numbers(self, text: str, *, longest: int) -> list[int]:
        """Return the numbers of a text's pieces between the marks of begin and end, ``longest`` at most with these."""
        found = [number for word in _words(text) for number in self._cut(word)]
        return [self._begin, *found[: longest - 2], self._end]

    def _cut(self, word: str) -> list[int]:
        if len(word) > MAX_WORD:
            return [self._unknown]
        out: list[int] = []
        start = 0
        while start < len(word):
            mark = _WITHIN if start else ""
            ends = (end for end in range(len(word), start, -1) if mark + word[start:end] in self._number)
            end = next(ends, None)
            if end is None:
                return [self._unknown]
            out.append(self._number[mark + word[start:end]])
            start = end
        return out


def _words(text: str) -> Iterator[str]:
    """Return words and marks, in lower case and without accents."""
    kept = "".join(" " if _is_blank(one) else one for one in text if _is_blank(one) or not _is_control(one))
    for word in _IDEOGRAPH.sub(r" \1 ", kept).split():
        plain = "".join(one.lower() for one in normalize("NFD", word) if category(one) != "Mn")
        yield from _parted(plain)


def _parted(word: str) -> Iterator[str]:
    """Return the runs of letters and the marks of a word, each mark alone."""
    run = ""
    for one in word:
        if one in _ASCII_MARKS or category(one).startswith("P"):
            if run:
                yield run
            yield one
            run = ""
        else:
            run += one
    if run:
        yield run


def _is_blank(one: str) -> bool:
    return one in _BLANKS or category(one) == "Zs"


def _is_control(one: str) -> bool:
    return one in "\0\ufffd" or category(one).startswith("C")


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

    def placed(self, texts: Sequence[Sequence[int]]) -> Floats:
        """Return where texts lie, from the numbers of their pieces, at least one each: float32 (n, width), length 1."""
        held, lengths = self.weights, np.array([len(pieces) for pieces in texts])
        edges = np.concatenate([[0], np.cumsum(lengths)])
        places = np.concatenate([np.arange(length) for length in lengths])
        states = held["word"][np.concatenate(texts)] + held["place"][places] + held["type"][0]
        states = self._normed(states, "en")
        for n in range(self.layers):
            states = self._passed(states, edges, f"l{n}.")
        means = np.add.reduceat(states, edges[:-1], axis=0) / lengths[:, None].astype(np.float32)
        out: Floats = means / np.maximum(np.linalg.norm(means, axis=1, keepdims=True), np.float32(EPSILON))
        return out

    def _passed(self, states: Floats, edges: npt.NDArray[np.int64], layer: str) -> Floats:
        """Return what a layer makes of states: attention and a dense network, each added to what it was given."""
        q, k, v = (self._linear(states, f"{layer}{name}") for name in ("q", "k", "v"))
        seen = np.concatenate([self._attended(q[a:b], k[a:b], v[a:b]) for a, b in pairwise(edges.tolist())])
        states = self._normed(states + self._linear(seen, f"{layer}ao"), f"{layer}an")
        dense = self._linear(_gelu(self._linear(states, f"{layer}up")), f"{layer}down")
        return self._normed(states + dense, f"{layer}dn")

    def _attended(self, *given: Floats) -> Floats:
        """Return what the pieces of one text see of each other, by what they ask for, offer and say."""
        q, k, v = (one.reshape(len(one), self.heads, -1).transpose(1, 0, 2) for one in given)
        likeness = q @ k.transpose(0, 2, 1) / np.float32(math.sqrt(q.shape[-1]))
        shares = np.exp(likeness - likeness.max(axis=-1, keepdims=True))
        shares /= shares.sum(axis=-1, keepdims=True)
        out: Floats = (shares @ v).transpose(1, 0, 2).reshape(q.shape[1], -1)
        return out

    def _linear(self, given: Floats, name: str) -> Floats:
        out: Floats = given @ self.weights[f"{name}.w"].T + self.weights[f"{name}.b"]
        return out

    def _normed(self, given: Floats, name: str) -> Floats:
        apart = given - given.mean(axis=-1, keepdims=True)
        spread = np.sqrt((apart * apart).mean(axis=-1, keepdims=True) + np.float32(EPSILON))
        out: Floats = apart / spread * self.weights[f"{name}.w"] + self.weights[f"{name}.b"]
        return out


def _gelu(given: Floats) -> Floats:
    """Return Gaussian error linear units, by tanh (Hendrycks and Gimpel 2016): numpy has no error function."""
    inner = _GELU * (given + _CUBE * given * given * given)
    out: Floats = np.float32(0.5) * given * (1 + np.tanh(inner))
    return out
