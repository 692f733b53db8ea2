"""reStructuredText: titles by their adornments, in levels by the order in which the adornments first appear.

As docutils reads them (its specification, "Sections"): one character of punctuation below the title, or above and
below it, at least as long as the title. Code, directives and comments are indented and so hold no titles.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from phronesis.core.resources.outlining import MAX_TITLE, Heading, first_headings, sections_of
from phronesis.core.resources.records import ReadDocument
from phronesis.derive.resources.reading.markdown import first_title
from phronesis.derive.resources.reading.marking import rst_title
from phronesis.derive.resources.reading.port import RawDocument, text_of

_ADORNMENT: Final = re.compile(r"^([!-/:-@\[-`{-~])\1+[ \t\r]*$", re.MULTILINE)
_LEAST: Final = 3
"""Marks of an adornment that is shorter than its title; docutils asks for four, and warns."""

_SHORTER: Final = 0.5
"""Share of its title's width that an underline must have. Who counts Chinese characters as one comes to a half."""


class RstReader:
    """Reads reStructuredText; the text stays as it is."""

    version = "rst/1"

    def read(self, raw: RawDocument) -> ReadDocument:
        """Give the sections; the title is the document's own, or else the only one of the outermost level."""
        text = text_of(raw)
        headings = first_headings(rst_headings(text))
        title = first_title(headings, raw.name)
        return ReadDocument(title, raw.media_type or "text/x-rst", text, sections_of(text, headings), self.version)


def rst_headings(text: str) -> Iterator[Heading]:
    """Give the titles, in order."""
    levels: dict[tuple[str, bool], int] = {}
    done = 0
    for mark in _ADORNMENT.finditer(text):
        above, line = _line_above(text, mark.start())
        if above < done or not _is_title(line, mark[0]):
            continue
        over, overline = _line_above(text, above)
        both = over >= done and over < above and overline.rstrip() == mark[0].rstrip()
        if not both and (line != line.lstrip() or not _is_border(overline, over, done)):
            continue  # only a title between two lines may be indented, or stand on a paragraph
        level = levels.setdefault((mark[1], both), len(levels) + 1)
        yield Heading(level, rst_title(line), over if both else above, mark.end())
        done = mark.end()


def _line_above(text: str, start: int) -> tuple[int, str]:
    """Give the line before the one that begins at ``start``: where it begins, and what it says."""
    begin = text.rfind("\n", 0, max(0, start - 1)) + 1
    return begin, text[begin : max(begin, start - 1)]


def _is_border(line: str, begin: int, done: int) -> bool:
    """Tell whether a title may follow a line: a blank one, one that was read, or a comment, target or field."""
    return begin < done or not line.strip() or line.startswith(("..", ":"))


def _is_title(line: str, adornment: str) -> bool:
    title = line.strip()
    if not title or len(title) > MAX_TITLE or _ADORNMENT.fullmatch(title):
        return False
    width = sum(1 + (unicodedata.east_asian_width(char) in "WF") for char in title)
    marks = len(adornment.rstrip())
    if adornment[0] in ":." and marks < _LEAST:  # "::" is the mark of code, ".." that of a comment
        return False
    return marks >= width or (marks >= _LEAST and marks >= _SHORTER * width)
