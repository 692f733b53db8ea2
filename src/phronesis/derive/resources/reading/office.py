"""Word and PowerPoint files, by markitdown (extra ``documents``) to Markdown, which is then read as such."""

import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from importlib import metadata
from io import BytesIO
from typing import Any, Final
from xml.parsers.expat import ExpatError

from phronesis.core.resources.outlining import first_headings, sections_of
from phronesis.core.resources.records import ReadDocument
from phronesis.derive.resources.reading.markdown import first_title, markdown_headings
from phronesis.derive.resources.reading.marking import without_escapes
from phronesis.derive.resources.reading.media_types import PPTX
from phronesis.derive.resources.reading.port import MAX_CHARACTERS, REMEDY, RawDocument, data_of
from phronesis.derive.resources.reading.zipped import check_office_file
from phronesis.errors import InputError, MissingExtra

BROKEN: Final = (
    ArithmeticError, AssertionError, AttributeError, ExpatError, LookupError, MemoryError, NotImplementedError, OSError,
    RecursionError, RuntimeError, SyntaxError, TypeError, ValueError, struct.error, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What readers of Office files raise where a file is not what it says; lxml's errors are syntax errors."""

_SLIDE: Final = re.compile(r"<!-- Slide number: (\d{1,5}) -->\n?")
_TITLE: Final = re.compile(r"^# [^\n]*\n?", re.MULTILINE)
_PICTURE: Final = re.compile(r"!\[([^\[\]\n]{0,500})\]\([^()\n]{0,500}\)")


class OfficeReader:
    """Reads .docx and .pptx; the text is Markdown made of them."""

    version = "office/1"

    def read(self, raw: RawDocument) -> ReadDocument:
        """Give the text, and the sections of its headings; slides are sections, named as their titles are."""
        data = data_of(raw)
        check_office_file(data)
        text = without_escapes(_PICTURE.sub(r"\1", _converted(data, raw.media_type or "")))
        if raw.media_type == PPTX:
            text = "\n\n".join(_slides(text))
        if len(text) > MAX_CHARACTERS:
            raise InputError(f"document: more than {MAX_CHARACTERS:,} characters. Split it", field="document")
        headings = first_headings(markdown_headings(text))
        made_by = f"{self.version} markitdown {metadata.version('markitdown')}"
        title = first_title(headings, raw.name)
        return ReadDocument(title, raw.media_type or "", text, sections_of(text, headings), made_by)


def _converted(data: bytes, form: str) -> str:
    try:
        from markitdown import StreamInfo  # noqa: PLC0415 - two seconds, optional
        from markitdown.converters import DocxConverter, PptxConverter  # noqa: PLC0415 - the same
    except ImportError as error:
        raise MissingExtra(f"document: Office files are read with markitdown; {REMEDY}", field="document") from error
    # The one that is meant: choosing by content, as MarkItDown itself does, loads a model for it.
    converter: Any = PptxConverter if form == PPTX else DocxConverter  # their constructors have no types
    try:
        return str(converter().convert(BytesIO(data), StreamInfo(mimetype=form)).markdown)
    except BROKEN as error:
        raise InputError(
            f"document: it cannot be read as {form} ({type(error).__name__}); save it anew", field="document"
        ) from error


def _slides(text: str) -> Iterator[str]:
    """Give the slides with their titles first: shapes come in the order in which they stand, titles where they are."""
    before, *slides = _SLIDE.split(text)
    if before.strip():
        yield before.strip()
    for number, words in zip(slides[::2], slides[1::2], strict=True):
        title = _TITLE.search(words)
        head = title[0].strip() if title else f"# p. {number}"
        rest = (words[: title.start()] + words[title.end() :] if title else words).strip()
        yield f"{head}\n\n{rest}" if rest else head
