"""Sections of documents as search documents: chunks of their text, each under its headings (SB-08)."""

from typing import Final

from phronesis.core.items import Item
from phronesis.core.resources.chunking import Chunk, chunks_of
from phronesis.index.projections import CHUNK, Part

UNDER: Final = " › "
"""What stands between a document's title and its headings: it is no word, and no index term."""

MAX_HEADING: Final = 300
"""Characters of titles and headings before each chunk: they name what it is about, and must not outweigh it."""


def project_section(item: Item) -> list[Part]:
    """Project a section as the chunks of its text, ``chunk:<start>``, under the document's title and the headings.

    A chunk seldom names what it is about; its headings do. A section of headings alone is searched by them. No calendar
    is asked: "yesterday" in a document is not the day before it was kept.
    """
    heading, text = heading_of(item), item.content
    return [
        Part(f"{CHUNK}{one.start}", f"{heading}\n{text[one.start : one.end]}", dated=False)
        for one in chunks_of(text) or [Chunk(0, len(text))]
    ]


def heading_of(item: Item) -> str:
    """Give a section's headings in one line, the document's title first; a title that is a heading too stands once."""
    named = [item.data.get("title") or "", *(item.data.get("path") or ())]
    told = dict.fromkeys(" ".join(str(one).split()) for one in named)
    return UNDER.join(one for one in told if one)[:MAX_HEADING]
