"""Excel files, by openpyxl (extra ``documents``): each sheet a section, its rows those of a Markdown table.

Values are those that Excel last worked out, not formulas. Empty rows and columns are left out, and no more cells are
looked at than a person could: a file of few bytes may name a cell in row 1,048,576.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, time
from io import BytesIO
from typing import Any, Final

from phronesis.core.resources.outlining import Heading, plain_title, sections_of
from phronesis.core.resources.records import ReadDocument
from phronesis.derive.resources.reading.office import BROKEN
from phronesis.derive.resources.reading.port import MAX_CHARACTERS, REMEDY, RawDocument, data_of, stem
from phronesis.derive.resources.reading.zipped import check_office_file
from phronesis.errors import InputError, MissingExtra

MAX_CELLS: Final = 2_000_000
"""Cells that are looked at, empty ones between others too: openpyxl reads about 50,000 full ones in a second."""

MAX_CELL: Final = 2_000
"""Characters of a cell that are kept; Excel allows 32,767."""


class SheetReader:
    """Reads .xlsx; the text is a table for each sheet."""

    version = "sheets/1"

    def read(self, raw: RawDocument) -> ReadDocument:
        """Give the sheets in order, each a section under its name."""
        data = data_of(raw)
        check_office_file(data)
        try:
            import openpyxl  # noqa: PLC0415 - optional
        except ImportError as error:
            raise MissingExtra(f"document: Excel files are read with openpyxl; {REMEDY}", field="document") from error
        try:
            book = openpyxl.load_workbook(BytesIO(data), read_only=True, data_only=True, keep_links=False)
            text, headings = _written(book.worksheets)
        except InputError:
            raise
        except BROKEN as error:
            raise InputError(
                f"document: it cannot be read as a workbook ({type(error).__name__}); save it anew", field="document"
            ) from error
        made_by = f"{self.version} openpyxl {openpyxl.__version__}"
        return ReadDocument(stem(raw.name), raw.media_type or "", text, sections_of(text, headings), made_by)


def _written(sheets: Iterable[Any]) -> tuple[str, list[Heading]]:
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
                raise InputError(f"document: over {MAX_CELLS:,} cells; give the part that matters", field="document")
            if any(value is not None for value in row):
                rows.append([_told(value) for value in row])
        head = f"## {title}\n\n"
        body = "\n".join(_table(rows)) + "\n\n"
        headings.append(Heading(1, title, length, length + len(head)))
        parts += (head, body)
        length += len(head) + len(body)
        if length > MAX_CHARACTERS:
            raise InputError(f"document: more than {MAX_CHARACTERS:,} characters. Split it", field="document")
    return "".join(parts), headings


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Give the lines of a table; columns without a value are left out."""
    used = sorted({n for row in rows for n, value in enumerate(row) if value})
    for number, row in enumerate(rows):
        yield "| " + " | ".join(row[n] if n < len(row) else "" for n in used) + " |"
        if number == 0:
            yield "|" + " --- |" * len(used)


def _told(value: Any) -> str:
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
