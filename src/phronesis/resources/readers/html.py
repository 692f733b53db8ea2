"""Parse an HTML page into text: headings, lists, tables and code are kept, navigation is left out.

Covers which elements break lines, which hold no text, and where ``main`` or ``article`` is. Linear in the page.
"""

import logging
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import unescape
from typing import Final, NamedTuple

from phronesis.core.documents import ReadDocument
from phronesis.errors import InputError
from phronesis.resources.laws.outline import Heading, first_headings, has_words, plain_title, sections_of, told_title
from phronesis.resources.readers.markdown import first_title, markdown_headings, without_escapes
from phronesis.resources.readers.port import RawDocument, stem, text_of

# Tags and words of an HTML page, in order.

MAX_TAG: Final = 20_000
"""Characters of a tag with its attributes; a "<" that is not closed by then is text."""

_OPENING: Final = re.compile(r"<(?:(!--)|([!?])|(/?)([A-Za-z][A-Za-z0-9:-]{0,40}))")
_STOP: Final = re.compile(r""">|=[ \t\r\n]{0,8}["']""")
_RAW: Final = {
    name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE)
    for name in ("script", "style", "textarea", "title", "noscript", "iframe", "xmp")
}
"""Elements whose content is not markup, with the pattern of their end."""


class Tag(NamedTuple):
    """A tag with the text before it: its name in lower case ("" at the page's end), its attributes as written.

    ``inner`` is the content of an element without markup (``title``, ``script``).
    """

    words: str
    name: str
    closing: bool = False
    attributes: str = ""
    inner: str = ""


def tags_of(html: str) -> Iterator[Tag]:
    """Yield the tags of a page with the text before them; comments and declarations are skipped."""
    place = start = 0
    close = -1
    while (opening := _OPENING.search(html, place)) is not None:
        if opening[1]:
            yield Tag(html[start : opening.start()], "")
            end = html.find("-->", opening.end())
            place = start = len(html) if end < 0 else end + 3
            continue
        if close < opening.end():
            close = html.find(">", opening.end())
        if close < 0:
            break
        if close - opening.start() > MAX_TAG:
            place = opening.end()
            continue
        end = close + 1 if opening[2] else _tag_end(html, opening.end(), close)
        words, name = html[start : opening.start()], (opening[4] or "").lower()
        inner = ""
        place = start = end
        if name in _RAW and not opening[3]:
            closed = _RAW[name].search(html, end)
            place = start = len(html) if closed is None else closed.start()
            inner = html[end:place]
        yield Tag(words, name, bool(opening[3]), html[opening.end() : end - 1], inner)
    yield Tag(html[start:], "")


def _tag_end(html: str, place: int, close: int) -> int:
    """Return the end of a tag whose first ">" is at ``close``; a ">" in quotes does not end it."""
    limit = place + MAX_TAG
    while (stop := _STOP.search(html, place, limit)) is not None:
        if stop[0] == ">":
            return stop.end()
        closed = html.find(stop[0][-1], stop.end(), limit)
        if closed < 0:
            break
        place = closed + 1
    return close + 1


_META: Final = re.compile(r"""\bproperty\s{0,8}=\s{0,8}["']?og:title\b""", re.IGNORECASE)
_CONTENT: Final = re.compile(r"""\bcontent\s{0,8}=\s{0,8}(?:"([^"]{0,1000})"|'([^']{0,1000})')""", re.IGNORECASE)
_HIDDEN: Final = re.compile(
    r"""(?:^|\s)(?:hidden(?=[\s/]|$|=\s{0,8}["']?(?:hidden|true|["']))|role\s{0,8}=\s{0,8}["']?(?:navigation|search)\b)""",
    re.IGNORECASE,
)
_MAIN: Final = re.compile(r"""\brole\s{0,8}=\s{0,8}["']?main\b""", re.IGNORECASE)
_SPACE: Final = re.compile(r"[ \t\r\n\f\xa0]+")
_PILCROW: Final = re.compile(r"(?<![ \t¶§#🔗\uf0c1])[ \t¶§#🔗\uf0c1]+$")
"""Permalink marks that documentation generators append to headings."""

_DROPPED: Final = frozenset(
    {"nav", "footer", "aside", "template", "svg", "button", "select", "dialog", "canvas", "object"}
)
_VOID: Final = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
_UNCLOSED: Final = frozenset({"p", "li", "td", "th", "tr", "dt", "dd", "option", "tbody", "thead"})
"""Elements whose end tags are often omitted; they do not count for depth."""

_LINES: Final = frozenset(
    {
        "address",
        "article",
        "blockquote",
        "body",
        "caption",
        "center",
        "dd",
        "details",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "header",
        "hgroup",
        "hr",
        "li",
        "main",
        "menu",
        "ol",
        "p",
        "pre",
        "section",
        "summary",
        "table",
        "tbody",
        "tfoot",
        "thead",
        "tr",
        "ul",
    }
)
_APART: Final = frozenset({"p", "pre", "table", "ul", "ol", "dl", "blockquote", "figure", "article", "section"})
"""Blocks separated by a blank line."""

MAX_TAGS: Final = 1_000_000
"""Tags of a page, some 10 s of work (our choice); a long article has some thousand."""

MAX_WRITTEN: Final = 2_000
"""Characters of a heading that are examined."""

_HEADING: Final = re.compile(r"h[1-6]")
_CODE: Final = "```"


@dataclass(frozen=True, slots=True)
class Page:
    """The content of a page: its text, headings and title; its number of tags, and their depth."""

    text: str
    headings: tuple[Heading, ...]
    title: str
    tags: int
    depth: int


def page_of(html: str) -> Page:
    """Return the content of a page; input that is not HTML is text. InputError for too many tags."""
    writer = _Writer()
    for number, tag in enumerate(tags_of(html)):
        if number >= MAX_TAGS:
            raise InputError(f"document: a page of over {MAX_TAGS:,} tags; split it", field="document")
        writer.take(tag)
    return writer.page()


class _Event(NamedTuple):
    """An output event: text, a number of line breaks, or the border of a heading (its level; 0 ends it).

    ``begins``: the next text continues this line, whatever breaks precede it; ``joins``: continues the line before.
    """

    words: str = ""
    breaks: int = 0
    level: int | None = None
    verbatim: bool = False
    begins: bool = False
    joins: bool = False


class _Writer:
    """Collects the tags of a page and returns its text."""

    def __init__(self) -> None:
        self._events: list[_Event] = []
        self._dropping: tuple[str, int, int] | None = None
        self._tags = self._depth = self._deepest = 0
        self._lists: list[int | None] = []
        self._opened: dict[str, list[int]] = {"main": [], "article": []}
        self._regions: dict[str, list[tuple[int, int]]] = {"main": [], "article": []}
        self._title = self._og_title = ""
        self._code = self._row_begins = False

    def take(self, tag: Tag) -> None:
        """Process the next tag."""
        self._tags += 1
        if tag.words:
            self._events.append(_Event(unescape(tag.words), verbatim=self._code))
        if tag.closing:
            self._close(tag.name)
        elif tag.name:
            self._open(tag)

    def page(self) -> Page:
        """Return the page, after all tags."""
        text, headings = _written(self._events[slice(*self._region())])
        return Page(text, headings, plain_title(self._og_title or self._title), self._tags, self._deepest)

    def _open(self, tag: Tag) -> None:
        name = tag.name
        if name == "title" and not self._title:
            self._title = unescape(tag.inner)
        elif name == "meta" and _META.search(tag.attributes) and (told := _CONTENT.search(tag.attributes)):
            self._og_title = unescape(told[1] or told[2] or "")
        if name not in _VOID and name not in _UNCLOSED:
            self._depth += 1
            self._deepest = max(self._deepest, self._depth)
        if self._dropping is not None:
            dropped, depth, mark = self._dropping
            self._dropping = (dropped, depth + (name == dropped), mark)
        elif name in _DROPPED or (tag.attributes and name not in _VOID and _HIDDEN.search(tag.attributes)):
            self._dropping = (name, 1, len(self._events))
        region = "main" if name in {"div", "section"} and _MAIN.search(tag.attributes) else name
        if region in self._opened:
            self._opened[region].append(len(self._events))
        self._block(name)
        self._begin(name)

    def _begin(self, name: str) -> None:
        if _HEADING.fullmatch(name):
            self._events.append(_Event(breaks=2, level=int(name[1])))
        elif name in {"ul", "ol"}:
            self._lists.append(0 if name == "ol" else None)
        elif name == "li":
            self._events.append(_Event(self._entry(), begins=True))
        elif name == "tr":
            self._row_begins = True
        elif name in {"td", "th"}:
            self._events.append(_Event(" | ", begins=True, joins=not self._row_begins))
            self._row_begins = False
        elif name == "pre":
            self._code = True
            self._events.append(_Event(f"{_CODE}\n", verbatim=True))

    def _close(self, name: str) -> None:
        if name not in _UNCLOSED:
            self._depth = max(0, self._depth - 1)
        if _HEADING.fullmatch(name):
            self._events.append(_Event(breaks=2, level=0))
        elif name in {"ul", "ol"} and self._lists:
            self._lists.pop()
        elif name == "pre" and self._code:
            self._code = False
            self._events.append(_Event(f"\n{_CODE}", verbatim=True))
        self._block(name)
        if self._opened.get(name):
            self._regions[name].append((self._opened[name].pop(), len(self._events)))
        if self._dropping is not None and self._dropping[0] == name:
            dropped, depth, mark = self._dropping
            self._dropping = (dropped, depth - 1, mark)
            if depth == 1:
                del self._events[mark:]
                self._events.append(_Event(breaks=1))
                self._dropping = None

    def _block(self, name: str) -> None:
        if name in _LINES or name == "br":
            self._events.append(_Event(breaks=2 if name in _APART else 1))

    def _entry(self) -> str:
        """Return the prefix of an entry of the innermost list."""
        if not self._lists or self._lists[-1] is None:
            return "- "
        self._lists[-1] += 1
        return f"{self._lists[-1]}. "

    def _region(self) -> tuple[int, int]:
        """Return the range of events of the only ``main`` or ``article``, if it has text; else all."""
        for name in ("main", "article"):
            regions = self._regions[name] or [(start, len(self._events)) for start in self._opened[name]]
            if len(regions) == 1:
                start, end = regions[0]
                if any(has_words(event.words) for event in self._events[start:end]):
                    return start, end
        return 0, len(self._events)


def _written(events: Sequence[_Event]) -> tuple[str, tuple[Heading, ...]]:
    """Return the text and headings of events; white space is collapsed outside of code."""
    line = _Line()
    headings: list[Heading] = []
    opened: tuple[int, int, int] | None = None  # level, start, and the number of its first part
    for event in events:
        line.breaks = max(line.breaks, event.breaks)
        if opened is not None and (event.level is not None or event.breaks > 1):
            level, start, first = opened
            title = plain_title(_PILCROW.sub("", "".join(line.parts[first:])[:MAX_WRITTEN]))
            if title:
                headings.append(Heading(level, title, start, line.length))
            opened = None
        if event.level:
            line.flush()
            opened = event.level, line.length, len(line.parts)
        line.put(event)
    return "".join(line.parts), tuple(headings)


class _Line:
    """The output text with its pending line breaks."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.length = 0
        self.breaks = 0
        self._begun = False

    def put(self, event: _Event) -> None:
        """Append an event's text."""
        if event.joins or self._begun:
            self.breaks = 0
        told = event.words if event.verbatim else _SPACE.sub(" ", event.words)
        if not event.verbatim and (self.breaks or not self.parts or self.parts[-1].endswith((" ", "\n"))):
            told = told.removeprefix(" ")
        if told:
            self.flush()
            self._add(told)
            self._begun = event.begins

    def flush(self) -> None:
        """Append the pending line breaks, replacing the blanks before them."""
        if self.breaks and self.parts:
            kept = self.parts[-1].rstrip(" ")
            self.length -= len(self.parts[-1]) - len(kept)
            self.parts[-1] = kept
            self._add("\n" * self.breaks)
        self.breaks = 0

    def _add(self, words: str) -> None:
        self.parts.append(words)
        self.length += len(words)


# The reader: the text of an article without menus, scripts and advertisements.

MAX_EXTRACTED: Final = 2_000_000
MAX_EXTRACTED_TAGS: Final = 20_000
MAX_DEPTH: Final = 200
"""Limits of a page given to trafilatura: characters, tags, and nesting (libxml2 drops elements deeper than 256). It
took 5 s for 67,000 tags; articles have some thousand, and a larger page is a book without menus."""

_QUIET: Final = logging.NullHandler()
_KEPT: Final = 0.5
"""Share of our own text (without menus) that an extract must have; below it, the extract lost content."""


class HtmlReader:
    """Reads pages into Markdown or plain text."""

    version = "html/2"

    def read(self, raw: RawDocument) -> ReadDocument:
        """Return the article in Markdown, or the text of the whole page, with its sections."""
        html = text_of(raw)
        page = page_of(html)
        extract = _extracted(html, page)
        if extract is not None:
            text, made_by = extract
            headings = first_headings(markdown_headings(text))
        else:
            text, headings, made_by = page.text, list(page.headings), self.version
        title = told_title(page.title) or first_title(headings, "") or stem(raw.name)
        return ReadDocument(title, raw.media_type or "text/html", text, sections_of(text, headings), made_by)


def _extracted(html: str, page: Page) -> tuple[str, str] | None:
    """Return the article found by trafilatura, and its version; None without it or if it leaves out too much."""
    if len(html) > MAX_EXTRACTED or page.tags > MAX_EXTRACTED_TAGS or page.depth > MAX_DEPTH:
        return None
    try:
        import trafilatura  # noqa: PLC0415 - a second, optional
    except ImportError:
        return None
    # It tells of every page that it makes nothing of; who wants to hear of it gives the logger a handler.
    logging.getLogger("trafilatura").addHandler(_QUIET)
    found = trafilatura.extract(
        html,
        output_format="markdown",
        include_formatting=True,
        include_comments=False,
        include_tables=True,
        favor_recall=True,
        with_metadata=False,
    )
    if not found or len(found) < _KEPT * len(page.text):
        return None
    found = without_escapes(found)
    kept = first_headings(markdown_headings(found))
    if len(kept) < _KEPT * sum(has_words(one.title) for one in page.headings):
        return None
    return found, f"{HtmlReader.version} trafilatura {trafilatura.__version__}"
