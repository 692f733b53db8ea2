"""Text features for models: conversion of traditional Chinese and written Cantonese, and hashed n-gram sets.

The conversion keeps the length, so that an offset is valid in both texts and quotations stay verbatim.
"""

import re
import tomllib
import unicodedata
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from typing import Final

from phronesis.core.lazy_loading import load_once
from phronesis.errors import PhronesisError

SCRIPT_FILE: Final = "chinese_script.toml"


@dataclass(frozen=True, slots=True)
class Script:
    """Characters and words, and their replacements of the same length."""

    characters: Mapping[int, int]
    marks: re.Pattern[str]
    words: re.Pattern[str]
    normal: Mapping[str, str]

    def simplified(self, text: str) -> str:
        """Return a text of the same length in simplified characters, with Cantonese words as Mandarin."""
        if text.isascii():
            return text
        text = text.translate(self.characters)
        return self.words.sub(self._put, text) if self.marks.search(text) is not None else text

    def _put(self, match: re.Match[str]) -> str:
        return self.normal[match[0]]


def parse_script(source: str) -> Script:
    """Parse the table of characters and words; PhronesisError if a replacement differs in length."""
    given = tomllib.loads(source)
    traditional, simple = ("".join(given[name].split()) for name in ("traditional", "simplified"))
    normal = {word: other for word, _, other in (pair.partition("=") for pair in given["words"].split())}
    uneven = [word for word, other in normal.items() if len(word) != len(other)]
    if uneven or len(traditional) != len(simple):
        raise PhronesisError(f"{SCRIPT_FILE}: {uneven[:1] or 'the scripts'}: what stands for another is as long as it")
    words = "|".join(sorted(map(re.escape, normal), key=len, reverse=True))
    return Script(str.maketrans(traditional, simple), re.compile(f"[{given['marks']}]"), re.compile(words), normal)


@load_once
def the_script() -> Script:
    """Return the table that is installed with the package."""
    return parse_script((files("phronesis.models") / SCRIPT_FILE).read_text("utf-8"))


def simplify_script(text: str) -> str:
    """Return a text of the same length in the script of the tables."""
    return text if text.isascii() else the_script().simplified(text)


def simplified_characters(text: str) -> str:
    """Return a text of the same length with simplified characters, and Cantonese words as they are."""
    return text if text.isascii() else text.translate(the_script().characters)


# Texts as sets of features for trained classifiers: English words and Chinese characters alike.

BUCKETS: Final = 1 << 16
"""Number of weight rows: the some 60,000 features of 2,000 texts seldom collide."""

MAX_SCANNED: Final = 20_000
"""Characters of a text that are processed: some 0.15 s. The rest is ignored."""

_MARKS: Final = str.maketrans("‘’“”‐‑‒–—", "''\"\"-----")
_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]+"
)
_BLANKS: Final = re.compile(r"[ \t\v\f\u3000]+")
_HAN: Final = "\u3400-\u4dbf\u4e00-\u9fff"
_HAN_GAP: Final = re.compile(rf"(?<=[{_HAN}]) (?=[{_HAN}])")
_HAS_HAN: Final = re.compile(f"[{_HAN}]")
_DIGITS: Final = re.compile(r"[0-9]+")
_WORD: Final = re.compile(r"[a-z0-9']+")
_ENGLISH: Final = (3, 4, 5)
_CHINESE: Final = (1, 2, 3)


def normalise_text(text: str) -> str:
    """Return the first `MAX_SCANNED` characters of a text, normalised.

    Lower case, half-width, simplified, single spaces.
    """
    narrow = unicodedata.normalize("NFKC", text[:MAX_SCANNED])[:MAX_SCANNED]
    seen = simplify_script(_INVISIBLE.sub("", narrow)).translate(_MARKS).replace("\u0130", "i").lower()
    return _HAN_GAP.sub("", _BLANKS.sub(" ", seen))


def has_han(text: str) -> bool:
    """Return whether a text has Chinese characters."""
    return _HAS_HAN.search(text) is not None


def language_of(text: str) -> str:
    """Return the language of the model for a text: Chinese if it has Chinese characters."""
    return "zh" if has_han(text) else "en"


def pieces(text: str) -> Sequence[str]:
    """Return the distinct features of a folded text, in code point order; all numbers are one feature."""
    seen = _DIGITS.sub("0", text)
    if has_han(seen):
        return sorted({seen[n : n + size] for size in _CHINESE for n in range(len(seen) - size + 1)})
    words = _WORD.findall(seen)
    found = set(words)
    found.update(f"{one} {other}" for one, other in pairwise(words))
    for word in found & set(words):
        marked = f"<{word}>"
        found.update(f"<{marked[n : n + size]}" for size in _ENGLISH for n in range(len(marked) - size + 1))
    return sorted(found)


def rows_of(text: str) -> list[int]:
    """Return the rows of a folded text's features, each once."""
    return sorted({bucket(piece) for piece in pieces(text)})


def bucket(piece: str) -> int:
    """Return the row of a feature's weights."""
    return zlib.crc32(piece.encode("utf-8", "surrogatepass")) % BUCKETS
