"""HTML: what an article says, without menus, scripts and advertisements.

Where trafilatura (extra ``documents``) is installed, it finds the article in a page; without it, or where it finds
little, the own reader keeps the page's text under its headings. Neither runs scripts or loads anything.
"""

import logging
from typing import Final

from phronesis.core.resources.outlining import first_headings, has_words, sections_of, told_title
from phronesis.core.resources.records import ReadDocument
from phronesis.derive.resources.reading.html_text import Page, page_of
from phronesis.derive.resources.reading.markdown import first_title, markdown_headings
from phronesis.derive.resources.reading.marking import without_escapes
from phronesis.derive.resources.reading.port import RawDocument, stem, text_of

MAX_EXTRACTED: Final = 2_000_000
MAX_TAGS: Final = 20_000
MAX_DEPTH: Final = 200
"""Characters and tags of a page that trafilatura is given, and elements within each other (libxml2 drops those deeper
than 256). It took 5 s for 67,000 tags; articles have some thousand, and what has more is a book, without menus."""

_QUIET: Final = logging.NullHandler()
_KEPT: Final = 0.5
"""Share of the own reader's text (menus left out) that an extract must have: below it, it left out what was meant."""


class HtmlReader:
    """Reads pages; the text is what is left of them."""

    version = "html/2"

    def read(self, raw: RawDocument) -> ReadDocument:
        """Give the article's text in Markdown, or the page's as it stands, with its sections."""
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
    """Give the article that trafilatura finds, and by what; None without it, or when it leaves out too much."""
    if len(html) > MAX_EXTRACTED or page.tags > MAX_TAGS or page.depth > MAX_DEPTH:
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
