"""Parse PDF by pypdf (extra ``documents``) into pages of text, with sections by outline, numbered headings, or pages.

Running headers and footers are left out. A scan has no text: there is no OCR.
"""

import logging
import re
import struct
import unicodedata
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

from phronesis.core.entries import ReadDocument
from phronesis.errors import InputError, MissingExtra
from phronesis.resources.laws import Heading, declared_title, plain_title, sections_of
from phronesis.resources.readers.decoding import unreadable
from phronesis.resources.readers.plain_text import numbered_headings
from phronesis.resources.readers.port import MAX_CHARACTERS, REMEDY, RawDocument, data_of, stem

if TYPE_CHECKING:
    from pypdf import PdfReader as Pages


MAX_PAGES: Final = 3_000
"""Pages that are read (our choice): pypdf takes some 20 to 60 ms for one."""

MAX_PAGE: Final = 4_000_000
MAX_DRAWN: Final = 100_000_000
"""Decompressed bytes of one page's drawing (a larger one is a picture without text), and of all pages: pypdf reads one
or two million per second. A page of prose has 5,000."""

MAX_OUTLINE: Final = 10_000
_OUTLINE_DEPTH: Final = 8
"""Entries of an outline that are examined, and their maximum depth."""

_EDGE: Final = 2
"""Lines at a page's head and foot that may be running headers or footers."""
_REPEATED: Final = 0.5
_FEWEST_PAGES: Final = 4
"""Share of the pages that a running line is on, and the number of pages from which it is looked for."""

_BETWEEN: Final = "\n\n"
"""Separator between two pages."""

_LONGEST: Final = 400
_BROKEN: Final = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    NotImplementedError,
    OSError,
    RecursionError,
    TypeError,
    ValueError,
    struct.error,
    zlib.error,
)
"""Exceptions beside pypdf's own that it raises for invalid files."""

_QUIET: Final = logging.NullHandler()
_SAME: Final = {
    code: unicodedata.normalize("NFKC", chr(code)) for code in (*range(0x2F00, 0x2FD6), *range(0xFB00, 0xFB07))
}
"""Kangxi radicals, which Chinese fonts use for characters, and ligatures (fi, ff), with their replacements."""

_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_FILE_NAME: Final = re.compile(
    r"^(?:microsoft|untitled|无标题|幻灯片|slide 1)|\.(?:docx?|pptx?|xlsx?|indd|tex|dvi|qxd|pdf|rtf)$", re.IGNORECASE
)
_LINE: Final = re.compile(r"(?<![^\n])[^\n]*[^\W_][^\n]*")
_NUMBER: Final = re.compile(r"\d+")
_SPACE: Final = re.compile(r"\s+")
_LABEL: Final = re.compile(
    r"(?:(?:APPENDIX|CHAPTER|PART)\s+)?(?:\d{1,3}(?:\.\d{1,3}){0,4}|[A-Z](?:\.\d{1,3}){0,4}|[IVX]{1,5})[.:、]?\s+"
    r"|第[\d一二三四五六七八九十百]{1,5}[章节節编篇部][:：、]?\s*|[一二三四五六七八九十]{1,3}、\s*"
)
"""The number of a heading, which may be only in the outline or only on the page."""


def read_pdf(raw: RawDocument) -> ReadDocument:
    """Return the pages' text with sections by the outline, by numbered headings, or by page."""
    try:
        import pypdf  # noqa: PLC0415 - optional
    except ImportError as error:
        raise MissingExtra(f"document: PDF is read with pypdf; {REMEDY}", field="document") from error
    pages, told, outline = _unpack_file(data_of(raw))
    pages = _without_running_lines(pages)
    starts = [0, *accumulate(len(page) + len(_BETWEEN) for page in pages)][: len(pages)]
    text = _BETWEEN.join(pages)
    headings = _from_outline(text, starts, outline) or numbered_headings(text, paged=True)
    if not headings:
        headings = [Heading(1, f"p. {n}", start, start) for n, start in enumerate(starts, start=1)]
    version = f"pdf/2 pypdf {pypdf.__version__}"
    return ReadDocument(told or stem(raw.name), raw.media_type or "", text, sections_of(text, headings), version)


@dataclass(frozen=True, slots=True)
class _Entry:
    """An entry of the outline: its level, its title, and the number of its page, from 0."""

    level: int
    title: str
    page: int


def _unpack_file(data: bytes) -> tuple[list[str], str, list[_Entry]]:
    """Return the pages' texts, the title, and the outline; InputError for an invalid or locked file."""
    import pypdf  # noqa: PLC0415 - see above
    from pypdf.errors import DependencyError, PyPdfError  # noqa: PLC0415 - see above

    # It warns of every flaw that it gets over; a program that wants to hear of them gives the logger a handler.
    logging.getLogger("pypdf").addHandler(_QUIET)
    broken = (PyPdfError, *_BROKEN)
    try:
        reader = pypdf.PdfReader(BytesIO(data))
        if reader.is_encrypted and not reader.decrypt(""):  # what only restricts rights needs no password
            raise unreadable("the PDF is encrypted; save it without its password")
        return list(_texts(reader)), _title(reader), list(_entries(reader))
    except DependencyError as error:
        raise unreadable("the PDF is encrypted; save it without its password") from error
    except InputError:
        raise
    except broken as error:
        raise unreadable(f"it cannot be read as PDF ({type(error).__name__}); save or print it to PDF anew") from error


def _texts(reader: "Pages") -> Iterator[str]:
    if len(reader.pages) > MAX_PAGES:
        raise unreadable(f"{len(reader.pages):,} pages; at most {MAX_PAGES:,} are read. Split it")
    drawn = length = 0
    for page in reader.pages:
        contents = page.get_contents()
        size = 0 if contents is None else len(contents.get_data())
        drawn += size
        if drawn > MAX_DRAWN:
            raise unreadable("its pages unfold to too much; print it to PDF anew")
        text = "" if size > MAX_PAGE else page.extract_text()
        plain = _UNSTORABLE.sub("\ufffd", text.translate(_SAME)).replace("\r\n", "\n").replace("\f", "\n")
        text = "\n".join(line.rstrip() for line in plain.split("\n")).strip("\n")
        length += len(text)
        if length > MAX_CHARACTERS:
            raise unreadable(f"more than {MAX_CHARACTERS:,} characters. Split it")
        yield text


def _title(reader: "Pages") -> str:
    """Return the title in the document's metadata, unless a program put a file name there."""
    told = reader.metadata.title if reader.metadata is not None else None
    title = declared_title(_UNSTORABLE.sub("", told)) if isinstance(told, str) else ""
    return "" if _FILE_NAME.search(title) else title


def _entries(reader: "Pages") -> Iterator[_Entry]:
    waiting: list[tuple[int, Iterator[Any]]] = [(1, iter(reader.outline))]
    count = 0
    while waiting and count < MAX_OUTLINE:
        level, entries = waiting[-1]
        entry = next(entries, None)
        if entry is None:
            waiting.pop()
        elif isinstance(entry, list):
            if level < _OUTLINE_DEPTH:
                waiting.append((level + 1, iter(entry)))
        else:
            count += 1
            page = reader.get_destination_page_number(entry)
            title = plain_title(_UNSTORABLE.sub("", str(entry.title or "")))
            if page is not None and page >= 0 and title:
                yield _Entry(level, title, page)


def _without_running_lines(pages: Sequence[str]) -> list[str]:
    """Return the pages without the headers and footers that most pages have, whatever their numbers."""
    lines = [page.split("\n") for page in pages]
    if len(pages) < _FEWEST_PAGES:
        return list(pages)
    seen = Counter(
        mark for page in lines for mark in {_mark(line) for line in (*page[:_EDGE], *page[-_EDGE:]) if line.strip()}
    )
    running = {mark for mark, times in seen.items() if times > _REPEATED * len(pages)}
    out = []
    for n, page in enumerate(lines):
        # Chapters' names run on fewer pages, but over the same place of those before: of odd and even ones in turn.
        before = {_mark(one[edge]) for one in lines[max(0, n - 2) : n] for edge in (0, -1)}
        foot_from = max(_EDGE, len(page) - _EDGE)
        kept = [
            line
            for place, line in enumerate(page)
            if _EDGE <= place < foot_from
            or (_mark(line) not in running and (0 < place < len(page) - 1 or _mark(line) not in before))
        ]
        out.append("\n".join(kept))
    return out


def _mark(line: str) -> str:
    return _NUMBER.sub("#", line.strip())


def _from_outline(text: str, starts: Sequence[int], outline: Sequence[_Entry]) -> list[Heading]:
    """Return headings for the entries of an outline, each at its title on the page, or at the page's start."""
    places: dict[int, dict[str, list[tuple[int, int]]]] = {}
    out: list[Heading] = []
    done, ends = 0, [*starts[1:], len(text)]
    for entry in outline:
        if entry.page >= len(starts):
            continue
        start = starts[entry.page]
        if entry.page not in places:
            places[entry.page] = _titles(text, start, ends[entry.page])
        known = places[entry.page]
        found = [span for key in _keys(entry.title) for span in known.get(key, ()) if span[0] >= done]
        begin, end = found[0] if found else (max(start, done), max(start, done))
        out.append(Heading(entry.level, entry.title, begin, end))
        done = end
    return out


def _titles(text: str, start: int, end: int) -> dict[str, list[tuple[int, int]]]:
    """Return the spans of each line of a page, and of each two lines, by their comparison key."""
    spans = [match.span() for match in _LINE.finditer(text, start, end)]
    out: dict[str, list[tuple[int, int]]] = {}
    for n, (begin, close) in enumerate(spans):
        for last in (close, spans[n + 1][1] if n + 1 < len(spans) else close):
            for key in set(_keys(text[begin : min(last, begin + _LONGEST)])):
                out.setdefault(key, []).append((begin, last))
    return out


def _keys(title: str) -> tuple[str, str]:
    """Return the comparison keys of a title: without case and spaces; then without its number too."""
    flat = unicodedata.normalize("NFKC", title).upper().strip()
    return _SPACE.sub("", flat), _SPACE.sub("", _LABEL.sub("", flat, count=1) if _LABEL.match(flat) else flat)
