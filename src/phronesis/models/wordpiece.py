"""The tokenizer of uncased BERT: a text's words in lower case, cut into the longest pieces of a vocabulary.

As in Devlin et al. 2019 and Wu et al. 2016: accents go, punctuation and Chinese characters stand alone, and what of a
word is no beginning of one is written with ``##`` before it. The same numbers as the ``tokenizers`` library gives.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final
from unicodedata import category, normalize

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
        """Give the numbers of a text's pieces between the marks of begin and end, ``longest`` at most with these."""
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
    """Give words and marks, in lower case and without accents."""
    kept = "".join(" " if _is_blank(one) else one for one in text if _is_blank(one) or not _is_control(one))
    for word in _IDEOGRAPH.sub(r" \1 ", kept).split():
        plain = "".join(one.lower() for one in normalize("NFD", word) if category(one) != "Mn")
        yield from _parted(plain)


def _parted(word: str) -> Iterator[str]:
    """Give the runs of letters and the marks of a word, each mark alone."""
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
