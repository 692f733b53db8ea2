"""Sentences of a text, and the windows that are read at once; by punctuation and line breaks alone."""

import re
from collections.abc import Iterator
from typing import Final

FIRST: Final = 4_000
LAST: Final = 2_000
"""Characters at the beginning and at the end of a message that are read: what lies between in a longer one is mostly a
text handed over."""

MAX_WINDOW: Final = 400
"""Characters that are read at once, at most: what is said further away seldom bears on a sentence."""

_ABBREVIATIONS: Final = frozenset({"dr", "mr", "mrs", "ms", "st", "no", "prof", "e.g", "i.e", "vs", "approx", "etc"})
_END: Final = re.compile(r"[.!?…]{1,9}[\"'”’)\]]{0,3}(?=\s)|[。！？…；]{1,9}[”’」』）]{0,3}|;(?=\s)|\n+")

_FENCE: Final = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)

Span = tuple[int, int]


def without_code(text: str) -> str:
    """Return a text of the same length with fenced code blanked out."""
    return _FENCE.sub(lambda block: " " * len(block[0]), text) if "```" in text else text


def sentences(text: str) -> list[Span]:
    """Return the sentences of a text, without the white space around them."""
    found: list[Span] = []
    start = 0
    for mark in _END.finditer(text):
        word = text[start : mark.start()].rpartition(" ")[2].lower()
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
