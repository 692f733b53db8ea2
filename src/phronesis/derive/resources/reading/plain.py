"""Plain text: headings that are underlined, or numbered in a run; else none.

Nothing marks a heading in plain text but where it stands and how it goes on: a short line without a full stop, whose
number is one more than the one before. One line alone proves nothing, and so makes none.
"""

from phronesis.core.resources.outlining import Heading, first_headings, sections_of
from phronesis.core.resources.records import ReadDocument
from phronesis.derive.resources.reading.markdown import first_title
from phronesis.derive.resources.reading.numbering import numbered_headings
from phronesis.derive.resources.reading.port import RawDocument, stem, text_of
from phronesis.derive.resources.reading.rst import rst_headings

_FEW: int = 2
"""Underlined lines that are headings; one may be a table's."""


class PlainReader:
    """Reads plain text; the text stays as it is."""

    version = "plain/1"

    def read(self, raw: RawDocument) -> ReadDocument:
        """Give the sections; the title is that of the only outermost heading, or the name's."""
        text = text_of(raw)
        headings = plain_headings(text)
        underlined = bool(headings) and headings[0].level == 1
        title = first_title(headings, raw.name) if underlined else stem(raw.name)
        return ReadDocument(title, raw.media_type or "text/plain", text, sections_of(text, headings), self.version)


class TextReader:
    """Reads text that has a form of its own, but no headings: data, settings, tables. It stays as it is."""

    version = "text/1"

    def read(self, raw: RawDocument) -> ReadDocument:
        """Give one section, or as many as its length asks for."""
        text = text_of(raw)
        return ReadDocument(stem(raw.name), raw.media_type or "text/plain", text, sections_of(text, ()), self.version)


def plain_headings(text: str) -> list[Heading]:
    """Give the underlined headings of a text; where there are none, the numbered ones."""
    underlined = first_headings(rst_headings(text))
    return underlined if len(underlined) >= _FEW else numbered_headings(text)
