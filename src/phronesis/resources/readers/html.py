"""Read an HTML page as Markdown: headings, lists, tables and code are kept, navigation is left out.

The article is what trafilatura finds; if that loses too much, Beautiful Soup and markdownify convert the whole page.
They come with the extra ``documents``. Without it, and for a page too large or too deep for them, the tags are cut out.
"""

import logging
from dataclasses import dataclass
from html import unescape
from typing import TYPE_CHECKING, Any, Final

from phronesis.core.documents import ReadDocument
from phronesis.errors import InputError
from phronesis.resources.laws.outline import Heading, first_headings, has_words, sections_of, told_title
from phronesis.resources.readers.markdown import first_title, markdown_headings, without_escapes
from phronesis.resources.readers.port import RawDocument, stem, text_of

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

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


class HtmlReader:
    """Reads pages into Markdown."""

    version = "html/3"

    def read(self, raw: RawDocument) -> ReadDocument:
        """Return the article, or the text of the whole page, with its sections."""
        html = text_of(raw)
        page = page_of(html)
        text, headings, made_by = _extract_article(html, page) or (page.text, page.headings, self.version)
        title = told_title(page.title) or first_title(headings, "") or stem(raw.name)
        return ReadDocument(title, raw.media_type or "text/html", text, sections_of(text, headings), made_by)


@dataclass(frozen=True, slots=True)
class Page:
    """The content of a page: its text in Markdown, its title, and whether it was made a tree."""

    text: str
    title: str
    parsed: bool

    @property
    def headings(self) -> list[Heading]:
        """The headings of the text."""
        return first_headings(markdown_headings(self.text))


def page_of(html: str) -> Page:
    """Return the content of a page; input that is not HTML is text. InputError for too many tags."""
    tags = html.count("<")
    if tags > MAX_TAGS:
        raise InputError(f"document: a page of over {MAX_TAGS:,} tags; split it", field="document")
    try:
        from bs4 import BeautifulSoup  # noqa: PLC0415 - optional
    except ImportError:
        return _strip_tags(html)
    # The line break keeps Beautiful Soup from taking the page for XML, or for a file name.
    soup = BeautifulSoup(f"\n{html}", "lxml") if tags <= MAX_PARSED else None
    if soup is None or _is_deep(soup):
        return _strip_tags(html)
    told = soup.select_one('meta[property="og:title"][content]')
    title = str(told["content"]) if told else soup.title.get_text() if soup.title else ""
    return Page(_convert_page(soup), title, parsed=True)


def _extract_article(html: str, page: Page) -> tuple[str, list[Heading], str] | None:
    """Return the article found by trafilatura, and its version; None without it or if it leaves out too much."""
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
    found = without_escapes(found)
    headings = first_headings(markdown_headings(found))
    if len(headings) < _KEPT * len(page.headings):
        return None
    return found, headings, f"{HtmlReader.version} trafilatura {trafilatura.__version__}"


def _is_deep(soup: "BeautifulSoup") -> bool:
    level: list[Tag] = [soup]
    for _ in range(MAX_DEPTH):
        level = [child for tag in level for child in tag.find_all(recursive=False)]
    return bool(level)


def _convert_page(soup: "BeautifulSoup") -> str:
    """Return a page in Markdown; the tree is changed."""
    from markdownify import MarkdownConverter  # noqa: PLC0415 - optional

    for tag in soup.select(_DROPPED):
        tag.decompose()
    for tag in soup(["a", *_HEADINGS]):
        if not has_words(tag.get_text()):  # a heading's link to itself, or an empty heading
            tag.decompose()
    region = _region(soup)
    arranged = [cell for table in soup.select(_LAYOUT) for cell in [table, *table(_CELLS)]]
    for tag in [*soup(_BLOCKS), *arranged]:
        tag.name = "div"
    converter = MarkdownConverter(**_STYLE)
    return converter.convert_soup(region).replace("\xa0", " ").strip()


def _region(soup: "BeautifulSoup") -> "Tag":
    """Return the only ``main`` or ``article`` if it has text; else the page."""
    for name in ("main, [role=main]", "article"):
        found = soup.select(name)
        if len(found) == 1 and has_words(found[0].get_text()):
            return found[0]
    return soup


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
