"""Text features for models: conversion of traditional Chinese and written Cantonese, hashed n-grams, and sentences.

The conversion keeps the length, so that an offset is valid in both texts and quotations stay verbatim. Sentences, and
the windows that are read at once, are found by punctuation and line breaks alone.
"""

import re
import tomllib
import unicodedata
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from itertools import pairwise
from typing import Final

from phronesis.core.lazy_loading import load_once


@dataclass(frozen=True, slots=True)
class _Script:
    """Characters and words, and their replacements of the same length; ``marks`` are in each of the words."""

    characters: Mapping[int, int]
    marks: re.Pattern[str]
    words: re.Pattern[str]
    normal: Mapping[str, str]


@load_once
def _load_script() -> _Script:
    """Return the table that is installed with the package."""
    given = tomllib.loads((files("phronesis.models") / "chinese_script.toml").read_text("utf-8"))
    traditional, simple = ("".join(given[name].split()) for name in ("traditional", "simplified"))
    normal = {word: other for word, _, other in (pair.partition("=") for pair in given["words"].split())}
    words = "|".join(sorted(map(re.escape, normal), key=len, reverse=True))
    return _Script(str.maketrans(traditional, simple), re.compile(f"[{given['marks']}]"), re.compile(words), normal)


def simplify_script(text: str) -> str:
    """Return a text of the same length in simplified characters, with Cantonese words as Mandarin."""
    text = simplified_characters(text)
    if text.isascii() or (script := _load_script()).marks.search(text) is None:
        return text
    return script.words.sub(lambda word: script.normal[word[0]], text)


def simplified_characters(text: str) -> str:
    """Return a text of the same length with simplified characters, and Cantonese words as they are."""
    return text if text.isascii() else text.translate(_load_script().characters)


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


def bucket(piece: str) -> int:
    """Return the row of a feature's weights."""
    return zlib.crc32(piece.encode("utf-8", "surrogatepass")) % BUCKETS


# Sentences of a text, and the windows that are read at once.

FIRST: Final = 4_000
LAST: Final = 2_000
"""Characters at the beginning and at the end of a message that are read: what lies between in a longer one is mostly a
text handed over."""
MAX_WINDOW: Final = 400
"""Characters that are read at once, at most: what is said further away seldom bears on a sentence."""
_ABBREVIATIONS: Final = frozenset({"dr", "mr", "mrs", "ms", "st", "no", "prof", "e.g", "i.e", "vs", "approx", "etc"})
_LONGEST_WORD: Final = 12
"""Characters before a full stop that are looked at: more than any abbreviation has."""
_END: Final = re.compile(r"[.!?…]{1,9}[\"'”’)\]]{0,3}(?=\s)|[。！？…；]{1,9}[”’」』）]{0,3}|;(?=\s)|\n+")
_FENCE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
Span = tuple[int, int]


def blank_code(text: str) -> str:
    """Return a text of the same length with fenced code blanked out."""
    return _FENCE.sub(lambda block: " " * len(block[0]), text) if "```" in text else text


@lru_cache(maxsize=2)  # each value found in a long text asks for the sentences around it
def sentences(text: str) -> Sequence[Span]:
    """Return the sentences of a text, without the white space around them."""
    found: list[Span] = []
    start = 0
    for mark in _END.finditer(text):
        word = text[max(start, mark.start() - _LONGEST_WORD) : mark.start()].rpartition(" ")[2].lower()
        if mark[0] == "." and (word in _ABBREVIATIONS or len(word) == 1):
            continue
        _add(found, text, start, mark.end())
        start = mark.end()
    _add(found, text, start, len(text))
    return found


def _add(found: list[Span], text: str, start: int, end: int) -> None:
    inside = text[start:end]
    if inside.strip():
        found.append((start + len(inside) - len(inside.lstrip()), start + len(inside.rstrip())))


def windows(text: str) -> Iterator[Span]:
    """Yield spans of neighbouring sentences that are read at once; a longer sentence is cut at white space."""
    begun: int | None = None
    last = 0
    for start, end in (part for sentence in sentences(text) for part in _cut(text, *sentence)):
        if FIRST < start < len(text) - LAST:
            continue
        if begun is not None and end - begun > MAX_WINDOW:
            yield begun, last
            begun = None
        begun, last = start if begun is None else begun, end
    if begun is not None:
        yield begun, last


def _cut(text: str, start: int, end: int) -> Iterator[Span]:
    at = start
    while end - at > MAX_WINDOW:
        blank = text.rfind(" ", at + MAX_WINDOW // 2, at + MAX_WINDOW)
        cut = at + MAX_WINDOW if blank < 0 else blank
        yield at, cut
        at = cut
    yield at, end


def sentence_at(text: str, start: int, end: int) -> Span:
    """Return the span of the sentences that hold ``start:end``."""
    inside = [one for one in sentences(text) if one[0] < end and start < one[1]]
    return (min(start, inside[0][0]), max(end, inside[-1][1])) if inside else (start, end)
