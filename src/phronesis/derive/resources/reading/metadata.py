"""METADATA and PKG-INFO of a Python package: fields, then a description in Markdown or reStructuredText.

The form is that of the core metadata specification: fields as in a mail, an empty line, and the description, whose
form ``Description-Content-Type`` names; reStructuredText where nothing does.
"""

import re
from typing import Final

from phronesis.core.resources.outlining import Heading, first_headings, plain_title, sections_of
from phronesis.core.resources.records import ReadDocument
from phronesis.derive.resources.reading.markdown import markdown_headings
from phronesis.derive.resources.reading.plain import plain_headings
from phronesis.derive.resources.reading.port import RawDocument, stem, text_of
from phronesis.derive.resources.reading.rst import rst_headings

_END: Final = re.compile(r"\r?\n(?=\r?\n)")
_FIELD: Final = re.compile(r"^(name|description-content-type):[ \t]*([^\n]{0,300})", re.MULTILINE | re.IGNORECASE)


class MetadataReader:
    """Reads a package's metadata; the text stays as it is."""

    version = "metadata/1"

    def read(self, raw: RawDocument) -> ReadDocument:
        """Give the fields as the section (), and those of the description; the title is the package's name."""
        text = text_of(raw)
        end = _END.search(text)
        begin = len(text) if end is None else end.end()
        fields = {match[1].lower(): match[2].strip() for match in _FIELD.finditer(text, 0, begin)}
        headings = [Heading(0, "", begin, begin), *_headings(text, begin, fields.get("description-content-type", ""))]
        title = plain_title(fields.get("name", "")) or stem(raw.name)
        return ReadDocument(title, raw.media_type or "", text, sections_of(text, headings), self.version)


def _headings(text: str, begin: int, form: str) -> list[Heading]:
    if "markdown" in form.lower():
        return first_headings(markdown_headings(text, begin))
    if "plain" in form.lower():
        return [heading for heading in plain_headings(text) if heading.start >= begin]
    found = [heading for heading in first_headings(rst_headings(text)) if heading.start >= begin]
    if form:
        return found
    # Nobody says what it is: what shows more headings is right.
    return max(found, first_headings(markdown_headings(text, begin)), key=len)
