"""The port of a reader: a document as it came in, its text and sections out."""

from dataclasses import dataclass
from typing import Final, Protocol

from phronesis.core.resources.records import ReadDocument
from phronesis.errors import InputError

REMEDY: Final = 'pip install "phronesis[documents]"'
"""What to do when a package for reading documents is missing."""

MAX_CHARACTERS: Final = 16_000_000
"""Characters of a document's text (our choice): three times the King James Bible, and below what one entry may hold."""

MAX_BYTES: Final = 64 << 20
"""Bytes of a document as it comes in (our choice), pictures included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawDocument:
    """A document as it was handed in: its text or its bytes, what it is called, and what it is said to be.

    ``name`` is a file's name, a path or an address (``guide.md``, ``https://example.org/a.pdf``): its ending tells the
    form where ``media_type`` does not, its last part is the title of what has none. ``media_type`` may bring a charset
    (``text/html; charset=gbk``).
    """

    name: str = ""
    media_type: str | None = None
    text: str | None = None
    data: bytes | None = None


class Reader(Protocol):
    """Reads one form of document. Pure: the same document gives the same sections, with the same packages installed.

    Time and memory go with the size of the document, whoever wrote it.
    """

    version: str
    """What ``made_by`` says: ``markdown/1``. It moves when the same document would give other sections."""

    def read(self, raw: RawDocument) -> ReadDocument:
        """Give the text and sections. ``media_type`` is known, and so is ``text`` for forms that are text.

        InputError for what is not of the form, or holds no text; MissingExtra where a package is needed.
        """
        ...


def text_of(raw: RawDocument) -> str:
    """Give the text of a document whose form is text; the shelf has decoded it."""
    if raw.text is None:
        raise InputError("document: its form is text; give text, or bytes in a known encoding", field="document")
    return raw.text


def data_of(raw: RawDocument) -> bytes:
    """Give the bytes of a document whose form is not text."""
    if raw.data is None:
        raise InputError(f"document: {raw.media_type} is no text; give its bytes", field="document")
    return raw.data


def stem(name: str) -> str:
    """Give what a document is called where it names no title: the last part of its name, without its ending."""
    last = name.partition("?")[0].partition("#")[0].replace("\\", "/").rstrip("/").rpartition("/")[2]
    before, dot, ending = last.rpartition(".")
    return before if dot and before and ending.isalnum() else last
