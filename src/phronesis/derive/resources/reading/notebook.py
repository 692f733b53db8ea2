"""Jupyter notebooks (nbformat 3 and 4): the cells as Markdown, code fenced, what it printed below it."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from phronesis.core.resources.outlining import first_headings, sections_of
from phronesis.core.resources.records import ReadDocument
from phronesis.derive.resources.reading.markdown import first_title, markdown_headings
from phronesis.derive.resources.reading.port import RawDocument, text_of
from phronesis.errors import InputError

MAX_OUTPUT: Final = 2_000
"""Characters of what one cell printed; pictures and pages are left out."""


class NotebookReader:
    """Reads notebooks."""

    version = "notebook/1"

    def read(self, raw: RawDocument) -> ReadDocument:
        """Give the cells in order, and the sections of their headings."""
        try:
            notebook = json.loads(text_of(raw))
        except (ValueError, RecursionError) as error:
            raise InputError("document: it is no notebook, which is JSON; save it again", field="document") from error
        text = "\n\n".join(
            part for cell in _cells(notebook) for part in _written(cell, _language(notebook)) if part.strip()
        )
        headings = first_headings(markdown_headings(text))
        title = first_title(headings, raw.name)
        return ReadDocument(title, raw.media_type or "", text, sections_of(text, headings), self.version)


def _cells(notebook: Any) -> Iterator[Mapping[str, Any]]:
    top = notebook if isinstance(notebook, dict) else {}
    sheets = top["worksheets"] if isinstance(top.get("worksheets"), list) else [top]
    for sheet in sheets:
        cells = sheet.get("cells") if isinstance(sheet, dict) else None
        yield from (cell for cell in (cells if isinstance(cells, list) else ()) if isinstance(cell, dict))


def _language(notebook: Any) -> str:
    metadata = notebook.get("metadata") if isinstance(notebook, dict) else None
    told = metadata.get("language_info") if isinstance(metadata, dict) else None
    name = told.get("name") if isinstance(told, dict) else None
    return name if isinstance(name, str) and name.isalnum() else "python"


def _written(cell: Mapping[str, Any], language: str) -> Iterator[str]:
    source = _joined(cell.get("source", cell.get("input")))
    if cell.get("cell_type") != "code":
        yield source
        return
    if source.strip():
        yield _fenced(source, language)
    outputs = cell.get("outputs")
    for output in outputs if isinstance(outputs, list) else ():
        data = output.get("data") if isinstance(output, dict) else None
        told = _joined(output.get("text")) if isinstance(output, dict) else ""
        told = told or _joined(data.get("text/plain") if isinstance(data, dict) else None)
        if told.strip():
            yield _fenced(told[:MAX_OUTPUT], "text")


def _fenced(words: str, language: str) -> str:
    fence = "~~~~" if "```" in words else "```"
    return f"{fence}{language}\n{words.rstrip()}\n{fence}"


def _joined(lines: Any) -> str:
    if isinstance(lines, list):
        return "".join(line for line in lines if isinstance(line, str))
    return lines if isinstance(lines, str) else ""
