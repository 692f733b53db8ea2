"""Parse Markdown (CommonMark and GitHub's strikethrough), Jupyter notebooks and HTML into sections.

markdown-it finds the blocks of the whole text, and the text of its headings: ATX, setext, or HTML's h1 to h6, outside
lists and quotations. A page becomes Markdown: headings, lists, tables and code are kept, navigation is left out. The
article is what trafilatura finds; if that loses too much, Beautiful Soup and markdownify convert the whole page. They
come with the extra ``documents``. Without it, and for a page too large or too deep for them, the tags are cut out.
"""

import json
import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from html import unescape
from itertools import accumulate, chain, pairwise
from typing import TYPE_CHECKING, Any, Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from phronesis.core.entries import ReadDocument
from phronesis.resources.laws import (
    MAX_TITLE,
    Heading,
    declared_title,
    first_headings,
    has_words,
    plain_title,
    sections_of,
)
from phronesis.resources.readers.decoding import unreadable
from phronesis.resources.readers.port import RawDocument, stem, text_of

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag
_LONGEST: Final = 8 * MAX_TITLE
"""Characters of a heading's source that are examined, including link addresses."""
_ANCHOR: Final = re.compile(r"[ \t]\{[#.:][^{}]{0,200}\}[ \t]*$")
_NEEDLESS: Final = re.compile(r"\\([_*~])")
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n?|\n|\Z)")
_HTML: Final = re.compile(r"^\ufeff? {0,3}<(h[1-6])(?=[ \t\n>])[^>]{0,1000}>", re.MULTILINE | re.IGNORECASE)
_HTML_LONGEST: Final = 1_000
"""Characters from ``<h1>`` to its end."""
_FRONT: Final = re.compile(r"\ufeff?---[ \t]*\r?\n")
_FRONT_END: Final = re.compile(r"^(?:---|\.\.\.)[ \t]*\r?$", re.MULTILINE)
_FRONT_LONGEST: Final = 20_000
_FRONT_TITLE: Final = re.compile(r"^title:[ \t]+(\S[^\n]{0,400})$", re.MULTILINE | re.IGNORECASE)


def read_markdown(raw: RawDocument) -> ReadDocument:
    """Return the sections; the title is that of the front matter, else the first outermost heading."""
    text = text_of(raw)
    begin, told = front_matter(text)
    headings = first_headings(markdown_headings(text, begin))
    title = told or first_title(headings, raw.name)
    sections = sections_of(text, headings)
    return ReadDocument(title, raw.media_type or "text/markdown", text, sections, "markdown/2")


def first_title(headings: list[Heading], name: str) -> str:
    """Return the title by headings: the first of level 1, the only outermost one, or the file's name."""
    named = [heading for heading in headings if heading.title]
    if not named:
        return stem(name)
    level = min(heading.level for heading in named)
    firsts = [heading.title for heading in named if heading.level == level]
    return firsts[0] if level == 1 or len(firsts) == 1 else stem(name) or firsts[0]


def front_matter(text: str) -> tuple[int, str]:
    """Return the end of the front matter and the title in it, or 0 and nothing."""
    opened = _FRONT.match(text)
    closed = _FRONT_END.search(text, opened.end(), opened.end() + _FRONT_LONGEST) if opened else None
    if opened is None or closed is None:
        return 0, ""
    told = _FRONT_TITLE.search(text, opened.end(), closed.start())
    title = told[1].strip() if told else ""
    if len(title) > 1 and title[0] == title[-1] and title[0] in "'\"":
        title = title[1:-1]
    return closed.end(), markdown_title(title)


def markdown_headings(text: str, begin: int = 0) -> Iterator[Heading]:
    """Yield the headings from ``begin`` on, in order."""
    begin += text.startswith("\ufeff", begin)
    starts = [begin, *accumulate((len(line[0]) for line in _LINE.finditer(text, begin)), initial=begin)][1:]
    references: dict[str, Any] = {}
    tokens = _parser(inline=False).parse(text[begin:], references)
    done = begin
    for token, content in pairwise(chain(tokens, tokens[-1:])):
        start, end = (starts[line] for line in token.map or (0, 0))
        if token.level or start < done:
            continue
        if token.type == "heading_open":
            yield Heading(int(token.tag[1]), markdown_title(content.content, references), start, end)
        elif token.type == "html_block":
            for heading in _html_headings(text, start, end):
                yield heading
                done = heading.end


def markdown_title(written: str, references: dict[str, Any] | None = None) -> str:
    """Return a Markdown heading without links, pictures, emphasis, code marks, tags and anchors."""
    inline = _parser(inline=True).parseInline(_ANCHOR.sub("", written[:_LONGEST]), references)
    return plain_title("".join(map(_plain, inline)))


def strip_escapes(markdown: str) -> str:
    """Return generated Markdown without the escapes that a person would not write."""
    return _NEEDLESS.sub(r"\1", markdown)


@cache
def _parser(*, inline: bool) -> MarkdownIt:
    """Return the parser of inline text, or the one of blocks only, which is several times as fast."""
    parser = MarkdownIt("commonmark").enable("strikethrough")
    return parser if inline else parser.disable("inline")


def _plain(token: Token) -> str:
    if token.type in {"inline", "image"}:
        return "".join(map(_plain, token.children or ()))
    return " " if token.type in {"softbreak", "hardbreak"} else "" if token.type == "html_inline" else token.content


def _html_headings(text: str, start: int, end: int) -> Iterator[Heading]:
    """Yield the headings that begin in a block of HTML; one may end behind it, since a blank line ends the block."""
    while (opened := _HTML.search(text, start, end)) is not None:
        start = opened.end()
        near = text[start : start + _HTML_LONGEST].lower()
        length = near.find(close := f"</{opened[1].lower()}>")
        if length >= 0:
            inner, start = text[start : start + length], start + length + len(close)
            yield Heading(int(opened[1][1]), markdown_title(inner), opened.start(), start)


# Jupyter notebooks (nbformat 3 and 4): the cells as Markdown, code fenced, with its output below it.

MAX_OUTPUT: Final = 2_000
"""Characters of the output of one cell; pictures and pages are left out."""


def read_notebook(raw: RawDocument) -> ReadDocument:
    """Return the cells in order, with the sections of their headings."""
    try:
        notebook = json.loads(text_of(raw))
    except (ValueError, RecursionError) as error:
        raise unreadable("it is no notebook, which is JSON; save it again") from error
    name = _member(notebook, "metadata", "language_info", "name")
    language = name if isinstance(name, str) and name.isalnum() else "python"
    parts = (part for cell in _cells(notebook) for part in _cell_text(cell, language))
    text = "\n\n".join(part for part in parts if part.strip())
    headings = first_headings(markdown_headings(text))
    title = first_title(headings, raw.name)
    return ReadDocument(title, raw.media_type or "", text, sections_of(text, headings), "notebook/2")


def _member(value: Any, *names: str) -> Any:
    """Return a member of a member, or None where there is none."""
    for name in names:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _cells(notebook: Any) -> Iterator[Mapping[str, Any]]:
    sheets = _member(notebook, "worksheets")
    for sheet in sheets if isinstance(sheets, list) else [notebook]:
        cells = _member(sheet, "cells")
        yield from (cell for cell in (cells if isinstance(cells, list) else ()) if isinstance(cell, dict))


def _cell_text(cell: Mapping[str, Any], language: str) -> Iterator[str]:
    source = _join_lines(cell.get("source", cell.get("input")))
    if cell.get("cell_type") != "code":
        yield source
        return
    if source.strip():
        yield _fence(source, language)
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        told = _join_lines(_member(output, "text")) or _join_lines(_member(output, "data", "text/plain"))
        if told.strip():
            yield _fence(told[:MAX_OUTPUT], "text")


def _fence(words: str, language: str) -> str:
    fence = "~~~~" if "```" in words else "```"
    return f"{fence}{language}\n{words.rstrip()}\n{fence}"


def _join_lines(lines: Any) -> str:
    if isinstance(lines, list):
        return "".join(line for line in lines if isinstance(line, str))
    return lines if isinstance(lines, str) else ""


MAX_TAGS: Final = 1_000_000
"""Tags of a page (our choice); a long article has some thousand."""
MAX_PARSED: Final = 50_000
MAX_DEPTH: Final = 100
"""Tags and nesting of a page that is made a tree: some 3 s, and a third of the nesting at which recursion ends."""
MAX_EXTRACTED: Final = 2_000_000
MAX_EXTRACTED_TAGS: Final = 20_000
"""Characters and tags of a page given to trafilatura. It took 5 s for 67,000 tags; articles have some thousand, and a
larger page is a book without menus."""
_KEPT: Final = 0.5
"""Share of the page's text and headings that an extract must have; below it, the extract lost content."""
_QUIET: Final = logging.NullHandler()
_DROPPED: Final = (
    "nav, footer, aside, template, svg, button, select, dialog, canvas, object, script, style, noscript, iframe, title,"
    " [hidden], [role=navigation], [role=search]"
)
_LAYOUT: Final = "table:has(h1, h2, h3, h4, ul, ol, pre, table)"
"""Tables that arrange a page. The cells of other tables are one line each."""
_CELLS: Final = ["table", "thead", "tbody", "tfoot", "tr", "th", "td"]
_HEADINGS: Final = ["h1", "h2", "h3", "h4", "h5", "h6"]
_BLOCKS: Final = ["main", "header", "hgroup", "figure", "details", "summary", "address", "fieldset", "center"]
"""Blocks that markdownify does not know."""
_INLINE: Final = ["a", "img", "b", "strong", "i", "em"]
"""Elements of which only the text is kept."""
_STYLE: Final[dict[str, Any]] = {
    "heading_style": "ATX",
    "bullets": "-",
    "strip": _INLINE,
    "wrap": True,
    "wrap_width": None,  # a paragraph is a line
    "escape_asterisks": False,
    "escape_underscores": False,
    "escape_misc": False,
}
_WITHOUT_TEXT: Final = frozenset({"script", "style", "noscript", "nav", "footer", "template", "svg", "title"})
_BREAKS: Final = {name: f"\n\n{'#' * int(name[1])} " for name in _HEADINGS} | {"li": "\n- ", "td": " | ", "th": " | "}
_WITHIN_LINES: Final = frozenset({*_INLINE, "code", "span", "font", "sub", "sup", "tt", "u", "small", "/td", "/th"})


def read_html(raw: RawDocument) -> ReadDocument:
    """Return the article, or the text of the whole page, with its sections."""
    html = text_of(raw)
    page = page_of(html)
    headings = first_headings(markdown_headings(page.text))
    article = _extract_article(html, page, len(headings))
    text, headings, made_by = article or (page.text, headings, "html/3")
    title = declared_title(page.title) or first_title(headings, "") or stem(raw.name)
    return ReadDocument(title, raw.media_type or "text/html", text, sections_of(text, headings), made_by)


@dataclass(frozen=True, slots=True)
class Page:
    """The content of a page: its text in Markdown, its title, and whether it was made a tree."""

    text: str
    title: str
    parsed: bool


def page_of(html: str) -> Page:
    """Return the content of a page; input that is not HTML is text. InputError for too many tags."""
    tags = html.count("<")
    if tags > MAX_TAGS:
        raise unreadable(f"a page of over {MAX_TAGS:,} tags; split it")
    try:
        from bs4 import BeautifulSoup  # noqa: PLC0415 - optional
    except ImportError:
        return _strip_tags(html)
    # The line break keeps Beautiful Soup from taking the page for XML, or for a file name.
    soup = BeautifulSoup(f"\n{html}", "lxml") if tags <= MAX_PARSED else None
    level: list[Tag] = [] if soup is None else [soup]
    for _ in range(MAX_DEPTH):
        level = [child for tag in level for child in tag.find_all(recursive=False)]
    if soup is None or level:
        return _strip_tags(html)
    told = soup.select_one('meta[property="og:title"][content]')
    title = str(told["content"]) if told else soup.title.get_text() if soup.title else ""
    return Page(_convert_page(soup), title, parsed=True)


def _extract_article(html: str, page: Page, count: int) -> tuple[str, list[Heading], str] | None:
    """Return the article found by trafilatura, and its version; None without it or if it leaves out too much.

    ``count`` is the number of the page's headings.
    """
    if not page.parsed or len(html) > MAX_EXTRACTED or html.count("<") > MAX_EXTRACTED_TAGS:
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
    found = strip_escapes(found)
    headings = first_headings(markdown_headings(found))
    made_by = f"html/3 trafilatura {trafilatura.__version__}"
    return None if len(headings) < _KEPT * count else (found, headings, made_by)


def _convert_page(soup: "BeautifulSoup") -> str:
    """Return a page in Markdown; the tree is changed."""
    from markdownify import MarkdownConverter  # noqa: PLC0415 - optional

    for tag in soup.select(_DROPPED):
        tag.decompose()
    for tag in soup(["a", *_HEADINGS]):
        if not has_words(tag.get_text()):  # a heading's link to itself, or an empty heading
            tag.decompose()
    # The only ``main`` or ``article`` if it has text; else the page.
    alone = (found[0] for found in map(soup.select, ("main, [role=main]", "article")) if len(found) == 1)
    region = next((tag for tag in alone if has_words(tag.get_text())), soup)
    arranged = [cell for table in soup.select(_LAYOUT) for cell in [table, *table(_CELLS)]]
    for tag in [*soup(_BLOCKS), *arranged]:
        tag.name = "div"
    return MarkdownConverter(**_STYLE).convert_soup(region).replace("\xa0", " ").strip()


def _strip_tags(html: str) -> Page:
    """Return a page by cutting out its tags."""
    shown, *comments = html.split("<!--")
    first, *tags = (shown + "".join(comment.partition("-->")[2] for comment in comments)).split("<")
    parts, title, within = [first], "", ""
    for written in tags:
        tag, _, words = written.partition(">")
        name = (tag.split(maxsplit=1) or [""])[0].lower()
        if name == "title":
            title = title or unescape(words)
        if not within and name in _WITHOUT_TEXT:
            within = name
        elif name == f"/{within}":
            within = ""
        if not within:
            parts += "" if name.lstrip("/") in _WITHIN_LINES else _BREAKS.get(name, "\n"), words
    return Page(unescape("".join(parts)).strip(), title, parsed=False)
