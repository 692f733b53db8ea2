"""The text of an HTML page, by a writer of its own: headings, lists, tables and code as they stand, menus left out.

It knows what a reader of text must know of HTML: which elements break lines, which hold no text, where ``main`` or
``article`` is. Linear in the page.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import unescape
from typing import Final, NamedTuple

from phronesis.core.resources.outlining import Heading, has_words, plain_title
from phronesis.derive.resources.reading.html_tags import Tag, tags_of
from phronesis.errors import InputError

_META: Final = re.compile(r"""\bproperty\s{0,8}=\s{0,8}["']?og:title\b""", re.IGNORECASE)
_CONTENT: Final = re.compile(r"""\bcontent\s{0,8}=\s{0,8}(?:"([^"]{0,1000})"|'([^']{0,1000})')""", re.IGNORECASE)
_HIDDEN: Final = re.compile(
    r"""(?:^|\s)(?:hidden(?=[\s/]|$|=\s{0,8}["']?(?:hidden|true|["']))|role\s{0,8}=\s{0,8}["']?(?:navigation|search)\b)""",
    re.IGNORECASE,
)
_MAIN: Final = re.compile(r"""\brole\s{0,8}=\s{0,8}["']?main\b""", re.IGNORECASE)
_SPACE: Final = re.compile(r"[ \t\r\n\f\xa0]+")
_PILCROW: Final = re.compile(r"(?<![ \t¶§#🔗\uf0c1])[ \t¶§#🔗\uf0c1]+$")
"""What generators of documentation hang on headings, as a link to themselves."""

_DROPPED: Final = frozenset(
    {"nav", "footer", "aside", "template", "svg", "button", "select", "dialog", "canvas", "object"}
)
_VOID: Final = frozenset(
    {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
)
_UNCLOSED: Final = frozenset({"p", "li", "td", "th", "tr", "dt", "dd", "option", "tbody", "thead"})
"""Elements whose end tags are often left out: they say nothing about depth."""

_LINES: Final = frozenset({
    "address", "article", "blockquote", "body", "caption", "center", "dd", "details", "div", "dl", "dt", "fieldset",
    "figcaption", "figure", "header", "hgroup", "hr", "li", "main", "menu", "ol", "p", "pre", "section", "summary",
    "table", "tbody", "tfoot", "thead", "tr", "ul",
})  # fmt: skip
_APART: Final = frozenset({"p", "pre", "table", "ul", "ol", "dl", "blockquote", "figure", "article", "section"})
"""Blocks with a blank line around them: their borders are those of paragraphs."""

MAX_TAGS: Final = 1_000_000
"""Tags of a page, some 10 s of work (our choice); a long article has some thousand."""

MAX_WRITTEN: Final = 2_000
"""Characters of a heading that are looked at."""

_HEADING: Final = re.compile(r"h[1-6]")
_CODE: Final = "```"


@dataclass(frozen=True, slots=True)
class Page:
    """What a page says: its text, the headings in it, the title that it tells; how many tags it has, and how deep."""

    text: str
    headings: tuple[Heading, ...]
    title: str
    tags: int
    depth: int


def page_of(html: str) -> Page:
    """Give the text of a page; what is no HTML is text. InputError for one of too many tags."""
    writer = _Writer()
    for number, tag in enumerate(tags_of(html)):
        if number >= MAX_TAGS:
            raise InputError(f"document: a page of over {MAX_TAGS:,} tags; split it", field="document")
        writer.take(tag)
    return writer.page()


class _Event(NamedTuple):
    """What is to be written: words, a break of so many lines, or the border of a heading (its level; 0 is its end).

    ``begins`` the line that the next words stand in, whatever breaks they ask for; ``joins`` the line before.
    """

    words: str = ""
    breaks: int = 0
    level: int | None = None
    verbatim: bool = False
    begins: bool = False
    joins: bool = False


class _Writer:
    """Takes the pieces of a page, and gives its text."""

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
        """Take the next piece."""
        self._tags += 1
        if tag.words:
            self._events.append(_Event(unescape(tag.words), verbatim=self._code))
        if tag.closing:
            self._close(tag.name)
        elif tag.name:
            self._open(tag)

    def page(self) -> Page:
        """Give the page, all of which was taken."""
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
        """Give what stands before an entry of the innermost list."""
        if not self._lists or self._lists[-1] is None:
            return "- "
        self._lists[-1] += 1
        return f"{self._lists[-1]}. "

    def _region(self) -> tuple[int, int]:
        """Give which events are the page's own: those of its only ``main`` or ``article``, when that has words."""
        for name in ("main", "article"):
            regions = self._regions[name] or [(start, len(self._events)) for start in self._opened[name]]
            if len(regions) == 1:
                start, end = regions[0]
                if any(has_words(event.words) for event in self._events[start:end]):
                    return start, end
        return 0, len(self._events)


def _written(events: Sequence[_Event]) -> tuple[str, tuple[Heading, ...]]:
    """Write events down, white space as one blank where it is not code."""
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
    """The text as it grows, with the breaks that the next words are to be set off by."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.length = 0
        self.breaks = 0
        self._begun = False

    def put(self, event: _Event) -> None:
        """Write an event's words."""
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
        """Write the breaks that are due, in place of the blanks before them."""
        if self.breaks and self.parts:
            kept = self.parts[-1].rstrip(" ")
            self.length -= len(self.parts[-1]) - len(kept)
            self.parts[-1] = kept
            self._add("\n" * self.breaks)
        self.breaks = 0

    def _add(self, words: str) -> None:
        self.parts.append(words)
        self.length += len(words)
