"""From the headings of a text to its sections, and from offsets to lines. Pure, linear in the text.

How headings are written differs from one form to the next and is for the readers; what follows from them is told here,
once for all of them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

from phronesis.core.resources.chunking import chunks_of
from phronesis.core.resources.records import Section

MAX_SECTIONS: Final = 10_000
"""Headings of one document that part it (our choice: ten times those of a thick book); those of its deepest levels are
text beyond that."""

MAX_HEADINGS: Final = 100_000
"""Headings that are looked at: text beyond them belongs to the last one."""

MAX_SECTION: Final = 8_000
"""Columns of one section (our choice: some four pages). A longer one is several of the same path, cut as chunks are:
what is cited is near what is meant, and no item is a book."""

MAX_TITLE: Final = 200
"""Characters of a heading that are kept in a path; longer ones are paragraphs that somebody wrote as headings."""

MAX_DEPTH: Final = 8
"""Headings in a path; Word knows nine levels, HTML six."""

_PLACEHOLDER: Final = re.compile(
    r"\(?(?:anonymous|unspecified|unknown|no title|untitled(?: document)?(?:[ -]?\d{1,3})?|document ?\d{0,3}|title"
    r"|powerpoint presentation|无标题|未命名|文档 ?\d{0,3})\)?\Z",
    re.IGNORECASE,
)
"""Titles that programs write where nobody gave one (ReportLab, TeX, Word, PowerPoint, editors of pages)."""

_WORD: Final = re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: its level (1 is the outermost), and where its lines stand, [start, end).

    Its section's own words begin at ``end``: a reader of code, where the heading is part of what it heads, gives the
    same number twice. An empty title ends the section before without adding to any path; at level 0, all of them.
    """

    level: int
    title: str
    start: int
    end: int


def sections_of(text: str, headings: Sequence[Heading]) -> tuple[Section, ...]:
    """Give the sections of a text whose headings stand in its order and do not overlap.

    What stands before the first has the path (). Sections without a letter or digit of their own are left out; when all
    are, and the text has any, it is one section.
    """
    kept = _fewer(headings)
    out = list(_pieces(text, 0, kept[0].start if kept else len(text), ()))
    above: list[Heading] = []
    for n, heading in enumerate(kept):
        while above and above[-1].level >= heading.level:
            above.pop()
        above.append(heading)
        path = tuple(title for one in above if (title := plain_title(one.title)))[:MAX_DEPTH]
        end = kept[n + 1].start if n + 1 < len(kept) else len(text)
        out += _pieces(text, heading.end, end, path)
    return tuple(out or _pieces(text, 0, len(text), ()))


def first_headings(found: Iterable[Heading]) -> list[Heading]:
    """Give the headings that are looked at; the others are not even sought."""
    return list(islice(found, MAX_HEADINGS))


def plain_title(written: str) -> str:
    """Give a heading on one line, cut where it is longer than any heading."""
    title = " ".join(written[: 4 * MAX_TITLE].split())
    return title if len(title) <= MAX_TITLE else title[: MAX_TITLE - 1].rstrip() + "…"


def told_title(written: str) -> str:
    """Give the title that a file tells, or nothing where a program wrote it for want of one: ``(anonymous)``."""
    title = plain_title(written)
    return "" if _PLACEHOLDER.match(title) else title


def has_words(text: str, start: int = 0, end: int | None = None) -> bool:
    """Tell whether a letter or digit stands in [start, end)."""
    return _WORD.search(text, start, len(text) if end is None else end) is not None


def _pieces(text: str, start: int, end: int, path: tuple[str, ...]) -> Iterator[Section]:
    """Give the section between two headings, without blank lines around it; several when it is too long."""
    own = text[start:end]
    if not has_words(own):
        return
    begin = start + _first_line(own)
    if 2 * len(own) <= MAX_SECTION:  # however wide its characters are
        yield Section(path, begin, start + len(own.rstrip()))
        return
    for chunk in chunks_of(text[begin:end], limit=MAX_SECTION, overlap=0):
        if has_words(text, begin + chunk.start, begin + chunk.end):
            # Code keeps the blanks that its first line is indented by.
            place = begin + chunk.start
            line = max(begin, text.rfind("\n", begin, place) + 1)
            yield Section(path, place if text[line:place].strip() else line, begin + chunk.end)


def _first_line(own: str) -> int:
    """Give where the first line with words or marks begins."""
    return own.rfind("\n", 0, len(own) - len(own.lstrip())) + 1


def _fewer(headings: Sequence[Heading]) -> Sequence[Heading]:
    """Leave out the deepest levels, and then the last headings, of a document that has too many."""
    kept = headings
    while len(kept) > MAX_SECTIONS and len(levels := {heading.level for heading in kept}) > 1:
        kept = [heading for heading in kept if heading.level < max(levels)]
    return kept[:MAX_SECTIONS]
