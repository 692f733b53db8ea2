"""Parse Excel (openpyxl), Word and PowerPoint files (markitdown) into sections; extra ``documents``.

Excel: each sheet is a section with a Markdown table of the values last computed, not formulas. Empty rows and columns
are left out, and the number of cells is limited, since a small file may name a cell in row 1,048,576.
"""

import re
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, time
from importlib import metadata
from io import BytesIO
from typing import Any, Final
from xml.parsers.expat import ExpatError

from phronesis.core.entries import ReadDocument
from phronesis.errors import InputError, MissingExtra
from phronesis.resources.laws import Heading, first_headings, plain_title, sections_of
from phronesis.resources.readers.decoding import unreadable
from phronesis.resources.readers.markup import first_title, markdown_headings, strip_escapes
from phronesis.resources.readers.port import MAX_CHARACTERS, PPTX, REMEDY, RawDocument, data_of, stem

# Checks before an Office file is unpacked: it is a ZIP of XML by an open standard (ECMA-376).

MAX_PARTS: Final = 10_000
"""Files in the ZIP; a presentation of 500 slides has some 2,000."""

MAX_XML: Final = 40_000_000
"""Bytes of decompressed XML, which take some 20 times as much memory. A novel in Word has 5,000,000."""

MAX_UNFOLDED: Final = 256 << 20
"""Decompressed bytes of all parts, including pictures and films."""

_XML: Final = (".xml", ".rels", ".vml")
_PIECE: Final = 1 << 16
_FORBIDDEN: Final = tuple(
    mark.encode(code) for mark in ("<!DOCTYPE", "<!ENTITY") for code in ("utf-8", "utf-16-le", "utf-16-be")
)
_LONGEST_MARK: Final = max(map(len, _FORBIDDEN))


def check_office_file(data: bytes) -> None:
    """Raise InputError for a file that is no Office file, is too large decompressed, or has a document type."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            parts = archive.infolist()
            if len(parts) > MAX_PARTS:
                raise unreadable(f"{len(parts):,} parts; at most {MAX_PARTS:,} are read")
            room, room_of_xml = MAX_UNFOLDED, MAX_XML
            for part in parts:
                is_xml = part.filename.lower().endswith(_XML)
                size = _check_part(archive, part, min(room, room_of_xml) if is_xml else room, is_xml=is_xml)
                room -= size
                room_of_xml -= size if is_xml else 0
    except InputError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError) as error:
        raise unreadable(f"it is no Office file, or a damaged one ({type(error).__name__}); save it anew") from error


def _check_part(archive: zipfile.ZipFile, part: zipfile.ZipInfo, room: int, *, is_xml: bool) -> int:
    """Decompress a part and return its size; InputError if it has more than ``room`` bytes."""
    size, end = 0, b""
    with archive.open(part) as unfolding:
        while piece := unfolding.read(_PIECE):
            size += len(piece)
            if size > room:
                raise unreadable(f"it unfolds to over {MAX_XML:,} bytes of text, or {MAX_UNFOLDED:,} in all; split it")
            if is_xml and any(mark in end + piece for mark in _FORBIDDEN):
                raise unreadable("it defines a document type, which no Office file does")
            end = piece[-_LONGEST_MARK:]
    return size


# Word and PowerPoint files, converted by markitdown (extra ``documents``) to Markdown.

BROKEN: Final = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    ExpatError,
    LookupError,
    MemoryError,
    NotImplementedError,
    OSError,
    RecursionError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)
"""Exceptions that the libraries raise for invalid Office files; lxml's errors are syntax errors."""

_SLIDE: Final = re.compile(r"<!-- Slide number: (\d{1,5}) -->\n?")
_TITLE: Final = re.compile(r"^# [^\n]*\n?", re.MULTILINE)
_PICTURE: Final = re.compile(r"!\[([^\[\]\n]{0,500})\]\([^()\n]{0,500}\)")


def read_office(raw: RawDocument) -> ReadDocument:
    """Return the text with the sections of its headings; each slide is a section with its title."""
    data = data_of(raw)
    check_office_file(data)
    text = strip_escapes(_PICTURE.sub(r"\1", _convert_document(data, raw.media_type or "")))
    if raw.media_type == PPTX:
        text = "\n\n".join(_slides(text))
    if len(text) > MAX_CHARACTERS:
        raise unreadable(f"more than {MAX_CHARACTERS:,} characters. Split it")
    headings = first_headings(markdown_headings(text))
    made_by = f"office/2 markitdown {metadata.version('markitdown')}"
    title = first_title(headings, raw.name)
    return ReadDocument(title, raw.media_type or "", text, sections_of(text, headings), made_by)


def _convert_document(data: bytes, form: str) -> str:
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
        raise unreadable(f"it cannot be read as {form} ({type(error).__name__}); save it anew") from error


def _slides(text: str) -> Iterator[str]:
    """Yield the slides with their titles first, since shapes come in order of position."""
    before, *slides = _SLIDE.split(text)
    if before.strip():
        yield before.strip()
    for number, words in zip(slides[::2], slides[1::2], strict=True):
        title = _TITLE.search(words)
        head = title[0].strip() if title else f"# p. {number}"
        rest = (words[: title.start()] + words[title.end() :] if title else words).strip()
        yield f"{head}\n\n{rest}" if rest else head


MAX_CELLS: Final = 2_000_000
"""Cells that are examined, including empty ones: openpyxl reads about 50,000 full ones per second."""

MAX_CELL: Final = 2_000
"""Characters of a cell that are kept; Excel allows 32,767."""


def read_sheets(raw: RawDocument) -> ReadDocument:
    """Return the sheets in order, each a section under its name."""
    data = data_of(raw)
    check_office_file(data)
    try:
        import openpyxl  # noqa: PLC0415 - optional
    except ImportError as error:
        raise MissingExtra(f"document: Excel files are read with openpyxl; {REMEDY}", field="document") from error
    try:
        book = openpyxl.load_workbook(BytesIO(data), read_only=True, data_only=True, keep_links=False)
        text, headings = _sheets_text(book.worksheets)
    except InputError:
        raise
    except BROKEN as error:
        raise unreadable(f"it cannot be read as a workbook ({type(error).__name__}); save it anew") from error
    made_by = f"sheets/1 openpyxl {openpyxl.__version__}"
    return ReadDocument(stem(raw.name), raw.media_type or "", text, sections_of(text, headings), made_by)


def _sheets_text(sheets: Iterable[Any]) -> tuple[str, list[Heading]]:
    parts: list[str] = []
    headings: list[Heading] = []
    length, room = 0, MAX_CELLS
    for sheet in sheets:
        title = plain_title(sheet.title)
        sheet.reset_dimensions()  # what the file says of its size may be wrong, and cells would be missing
        rows = []
        for row in sheet.iter_rows(values_only=True):
            room -= len(row) + 1
            if room < 0:
                raise unreadable(f"over {MAX_CELLS:,} cells; give the part that matters")
            if any(value is not None for value in row):
                rows.append([_cell_text(value) for value in row])
        head = f"## {title}\n\n"
        body = "\n".join(_table(rows)) + "\n\n"
        headings.append(Heading(1, title, length, length + len(head)))
        parts += (head, body)
        length += len(head) + len(body)
        if length > MAX_CHARACTERS:
            raise unreadable(f"more than {MAX_CHARACTERS:,} characters. Split it")
    return "".join(parts), headings


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield the lines of a table without empty columns."""
    used = sorted({n for row in rows for n, value in enumerate(row) if value})
    for number, row in enumerate(rows):
        yield "| " + " | ".join(row[n] if n < len(row) else "" for n in used) + " |"
        if number == 0:
            yield "|" + " --- |" * len(used)


def _cell_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime) and value.time() == time():
        value = value.date()
    words = (
        value.isoformat()
        if isinstance(value, date | time)
        else f"{value:.15g}"
        if isinstance(value, float)
        else str(value)
    )
    return " ".join(words[:MAX_CELL].split()).replace("|", "\\|")
