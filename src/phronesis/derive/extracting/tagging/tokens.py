"""A message as the network sees it: letters, words and numbers, each by several features."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

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
class Encoded:
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
        """Give the numbers of the tokens that a stretch of the text touches."""
        touched = [n for n in range(len(self)) if self.starts[n] < end and self.ends[n] > start]
        return range(touched[0], touched[-1] + 1) if touched else range(0)


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words that were seen, and the pieces whose vectors are known: several letters in a row, or a word."""

    words: Mapping[str, int]
    pieces: Mapping[str, int]
    longest: int

    def encode(self, text: str) -> Encoded:
        """Give the tokens of a text, piece by piece the longest that is known."""
        spans = token_spans(text)
        said = [text[start:end] for start, end in spans]
        pieces, places = self._pieces([unicodedata.normalize("NFKC", one) for one in said])
        return Encoded(
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
    """Give where the tokens of a text stand: numbers, words in letters, and every other sign by itself.

    What stands behind an apostrophe is a word of its own (Mia 's, don 't), and a blank between words is none.
    """
    return [found.span() for found in _TOKEN.finditer(text)]


def word_of(said: str) -> str:
    """Give the word that a token counts as: numbers of as many figures are one."""
    return "0" * min(len(said), _LONGEST_NUMBER) if said[0].isdigit() else said.lower()


def is_letter(said: str) -> bool:
    """Tell whether a token is a Chinese letter."""
    return len(said) == 1 and "\u3400" <= said <= "\u9fff"


def shape_of(said: str) -> int:
    """Give a number for what a token looks like: figures, capitals, letters, stops, brackets."""
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
