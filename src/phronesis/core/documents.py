"""Records of documents and sections, as parsed and as stored.

A document is an item of kind ``document`` that is not searched: its ``source_ref`` is the uri, its ``data`` holds
``title``, ``media_type``, ``type``, ``number`` (of its present version) and ``sections`` (ids in reading order). A
section is an item of kind ``section``: its content is the section's own text, and its ``data`` holds ``document_id``,
``title`` (the document's), ``path`` (headings, outermost first), ``start`` and ``end`` (characters of the parsed text)
and ``lines``. The sections of each version are stored in rows, as turns are.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

DOCUMENT: Final = "document"
SECTION: Final = "section"


@dataclass(frozen=True, slots=True)
class Section:
    """One section of a text: its headings, outermost first, and the range of its own text, [start, end).

    Subsections are separate: the sections of one text do not overlap, and keep its order.
    """

    path: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ReadDocument:
    """The result of parsing a document: its text and sections.

    ``media_type`` is that of the source (``application/pdf``), ``made_by`` the reader and its version.
    """

    title: str
    media_type: str
    text: str
    sections: Sequence[Section]
    made_by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentRow:
    """One version of a document: the entry that brought it, and its number in the order in which they came, from 1."""

    document_id: str
    number: int
    entry_id: str
    uri: str
    title: str
    media_type: str
    type: str
    characters: int
    recorded_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionRow:
    """One section of a version of a document: its place in reading order, and its item."""

    document_id: str
    number: int
    n: int
    item_id: str
    path: tuple[str, ...]
    start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceRows:
    """What an entry adds to the resources: versions of documents, and their sections."""

    documents: tuple[DocumentRow, ...] = ()
    sections: tuple[SectionRow, ...] = ()
