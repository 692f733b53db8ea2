"""The registry of readers by format; a reader's module is imported when its format is first used."""

import re
from collections.abc import Mapping
from dataclasses import replace
from importlib import import_module
from typing import Final, cast

from phronesis.core.documents import ReadDocument
from phronesis.errors import InputError
from phronesis.resources.laws.outline import has_words, plain_title
from phronesis.resources.readers import port
from phronesis.resources.readers.decoding import decoded
from phronesis.resources.readers.port import MAX_BYTES, MAX_CHARACTERS, RawDocument, Reader

_READERS: Final[Mapping[str, str]] = {
    port.PLAIN: "plain_text:PlainReader",
    port.MARKDOWN: "markdown:MarkdownReader",
    port.RST: "plain_text:RstReader",
    port.METADATA: "plain_text:MetadataReader",
    port.HTML: "html:HtmlReader",
    port.NOTEBOOK: "markdown:NotebookReader",
    "text/x-python": "source_code:PythonReader",
    "text/x-tex": "source_code:CodeReader",
    port.PDF: "pdf:PdfReader",
    port.DOCX: "office:OfficeReader",
    port.PPTX: "office:OfficeReader",
    port.XLSX: "office:SheetReader",
}
"""Module and class by format. Other text formats are code or data: see ``_reader_of``."""

_BINARY: Final = frozenset({port.PDF, port.DOCX, port.PPTX, port.XLSX})
_DATA: Final = frozenset(
    {
        "text/csv",
        "text/tab-separated-values",
        "text/css",
        "text/x-ini",
        "application/json",
        "application/yaml",
        "application/toml",
        "application/xml",
    }
)
_WORDS: Final = re.compile(r"[^\W_][^\n]*")
_TITLE: Final = 80
"""Characters of a title that is taken from a text without one."""


def read_document(raw: RawDocument) -> ReadDocument:
    """Return the text of a document and its sections.

    InputError: empty, too large, encrypted, invalid, or of an unsupported format. MissingExtra: the format needs the
    extra ``documents``.
    """
    if (raw.text is None) == (raw.data is None):
        raise InputError("document: give either its text or its bytes", field="document")
    if raw.data is not None and len(raw.data) > MAX_BYTES:
        raise InputError(
            f"document: {len(raw.data):,} bytes; at most {MAX_BYTES:,} are read. Split it", field="document"
        )
    known = _detect_format(raw)
    read = _reader_of(known.media_type or "").read(known)
    if not has_words(read.text) or not read.sections:
        raise InputError("document: there is no word in it; a scan has to go through OCR first", field="document")
    return replace(read, title=plain_title(read.title) or _opening_text(read.text))


def _detect_format(raw: RawDocument) -> RawDocument:
    """Return a document with its format, and decoded if that is text."""
    form = port.guessed_type(raw)
    if form in _BINARY:
        return replace(raw, media_type=form)
    text = raw.text
    if raw.data is not None:
        text = decoded(raw.data, port.split_type(raw.media_type)[1])
    elif text is not None and "\0" in text[:_TITLE]:
        raise InputError("document: its text holds NUL, so it is no text; take a file in by its path", field="document")
    if not (text or "").strip():
        raise InputError("document: it is empty; it needs some words", field="document")
    text = text or ""
    if len(text) > MAX_CHARACTERS:
        raise InputError(
            f"document: {len(text):,} characters; at most {MAX_CHARACTERS:,} are read. Split it", field="document"
        )
    return replace(raw, media_type=form or port.form_of_text(text), text=text, data=None)


def _reader_of(form: str) -> Reader:
    named = _READERS.get(form)
    if named is None and (form in _DATA or form.endswith(("+json", "+xml"))):
        named = "plain_text:TextReader"
    elif named is None and form.startswith("text/"):
        named = (
            "source_code:CodeReader" if form.startswith(("text/x-", "text/javascript")) else "plain_text:PlainReader"
        )
    if named is None:
        raise InputError(
            f"media_type: nothing here reads {form}; give text, Markdown, HTML, PDF, .docx, .pptx, .xlsx or code",
            field="media_type",
        )
    module, _, name = named.partition(":")
    reader = getattr(import_module(f"phronesis.resources.readers.{module}"), name)
    return cast("Reader", reader())


def _opening_text(text: str) -> str:
    """Return the beginning of a text without title and name."""
    found = _WORDS.search(text)
    line = plain_title(found[0]) if found else ""
    return line if len(line) <= _TITLE else line[: _TITLE - 1].rstrip() + "…"
