"""The port of document readers, the detection of a document's format, and the choice of its reader.

The format follows from the declared type, the name or the first bytes.
"""

import re
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from io import BytesIO
from pathlib import PurePosixPath
from typing import Final, Protocol, cast

from phronesis.core.entries import ReadDocument
from phronesis.errors import InputError
from phronesis.resources.laws import has_words, plain_title
from phronesis.resources.readers.decoding import decoded

# The port of a reader: a raw document in, its text and sections out.

REMEDY: Final = 'pip install "phronesis[documents]"'
"""The command that installs the packages for reading documents."""
MAX_CHARACTERS: Final = 16_000_000
"""Characters of a document's text (our choice): three times the King James Bible, and below the limit of an entry."""
MAX_BYTES: Final = 64 << 20
"""Bytes of an incoming document (our choice), pictures included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RawDocument:
    """A document as received: its text or its bytes, its name, and its declared type.

    ``name`` is a file name, a path or a URL (``guide.md``, ``https://example.org/a.pdf``): its extension determines the
    format if ``media_type`` does not, and its last part is the title if the document has none. ``media_type`` may
    include a charset (``text/html; charset=gbk``).
    """

    name: str = ""
    media_type: str | None = None
    text: str | None = None
    data: bytes | None = None


class Reader(Protocol):
    """The port of a reader of one format. Pure: the result depends on the document and the installed packages only.

    Time and memory must be linear in the document's size, whatever its content.
    """

    version: str
    """The value of ``made_by``, such as ``markdown/2``; changes when the same document would give other sections."""

    def read(self, raw: RawDocument) -> ReadDocument:
        """Return the text and sections. ``media_type`` is set, and so is ``text`` for text formats.

        InputError for a document that is not of the format, or has no text; MissingExtra if a package is missing.
        """
        ...


def text_of(raw: RawDocument) -> str:
    """Return the text of a document in a text format, which the registry has decoded."""
    if raw.text is None:
        raise InputError("document: its form is text; give text, or bytes in a known encoding", field="document")
    return raw.text


def data_of(raw: RawDocument) -> bytes:
    """Return the bytes of a document in a binary format."""
    if raw.data is None:
        raise InputError(f"document: {raw.media_type} is no text; give its bytes", field="document")
    return raw.data


def stem(name: str) -> str:
    """Return the default title of a document: the last part of its name, without its extension."""
    last = name.partition("?")[0].partition("#")[0].replace("\\", "/").rstrip("/").rpartition("/")[2]
    before, dot, ending = last.rpartition(".")
    return before if dot and before and ending.isalnum() else last


PLAIN: Final = "text/plain"
MARKDOWN: Final = "text/markdown"
RST: Final = "text/x-rst"
HTML: Final = "text/html"
METADATA: Final = "text/x-python-metadata"
NOTEBOOK: Final = "application/x-ipynb+json"
PDF: Final = "application/pdf"
_OFFICE: Final = "application/vnd.openxmlformats-officedocument."
DOCX: Final = f"{_OFFICE}wordprocessingml.document"
PPTX: Final = f"{_OFFICE}presentationml.presentation"
XLSX: Final = f"{_OFFICE}spreadsheetml.sheet"
_ENDINGS: Final = {
    MARKDOWN: "md markdown mdown mkd mdx qmd rmd",
    RST: "rst rest",
    HTML: "html htm xhtml",
    NOTEBOOK: "ipynb",
    PDF: "pdf",
    DOCX: "docx docm dotx",
    PPTX: "pptx pptm ppsx",
    XLSX: "xlsx xlsm",
    PLAIN: "txt text log",
    "text/csv": "csv",
    "text/tab-separated-values": "tsv",
    "application/json": "json jsonl",
    "application/yaml": "yaml yml",
    "application/toml": "toml",
    "application/xml": "xml xsd svg",
    "text/x-ini": "ini cfg conf properties",
    "text/x-python": "py pyi pyw",
    "text/javascript": "js mjs cjs jsx",
    "text/x-typescript": "ts tsx mts",
    "text/x-java": "java",
    "text/x-kotlin": "kt kts",
    "text/x-scala": "scala",
    "text/x-csharp": "cs",
    "text/x-c": "c h",
    "text/x-c++": "cc cpp cxx hh hpp hxx",
    "text/x-go": "go",
    "text/x-rust": "rs",
    "text/x-ruby": "rb",
    "text/x-php": "php",
    "text/x-swift": "swift",
    "text/x-lua": "lua",
    "text/x-sql": "sql",
    "text/x-shellscript": "sh bash zsh",
    "text/x-r": "r",
    "text/x-julia": "jl",
    "text/x-perl": "pl pm",
    "text/x-lean": "lean",
    "text/x-tex": "tex",
    "text/css": "css scss less",
}
_BY_ENDING: Final = {ending: form for form, endings in _ENDINGS.items() for ending in endings.split()}
_BY_NAME: Final = {"metadata": METADATA, "pkg-info": METADATA, "makefile": PLAIN, "dockerfile": PLAIN}
_SAME: Final = {
    "text/x-markdown": MARKDOWN,
    "text/prs.fallenstein.rst": RST,
    "text/restructuredtext": RST,
    "application/xhtml+xml": HTML,
    "application/x-pdf": PDF,
    "text/json": "application/json",
    "application/x-yaml": "application/yaml",
    "text/yaml": "application/yaml",
    "text/xml": "application/xml",
    "application/javascript": "text/javascript",
    "application/x-python": "text/x-python",
    "text/x-script.python": "text/x-python",
    "application/x-sh": "text/x-shellscript",
    "application/sql": "text/x-sql",
    "application/x-httpd-php": "text/x-php",
}
"""Aliases of media types (IANA's registry, and what servers send)."""
_VAGUE: Final = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/zip", PLAIN})
"""Uninformative media types, for which the name or the content is examined."""
_IN_ZIP: Final = {"word/": DOCX, "ppt/": PPTX, "xl/": XLSX}
_HEAD: Final = 4_096
_HTML_HEAD: Final = re.compile(
    r"\s{0,100}(?:<\?xml[^>]{0,200}>\s{0,100})?(?:<!--[^>]{0,400}-->\s{0,100})?<(?:!doctype\s{1,10}html|html[\s>])",
    re.IGNORECASE,
)
_MARKDOWN_SIGNS: Final = re.compile(
    r"^\ufeff?(?:#{1,6} \S|```|\[[^\]\n]{1,100}\]: |[^\n]{0,200}\]\(https?://)", re.MULTILINE
)
_RST_SIGNS: Final = re.compile(r"^(?:\.\. (?:_[^\n]{1,100}:|[a-z][a-z:-]{1,40}::)|:[a-z-]{1,20}:`)", re.MULTILINE)
_PDF_MARK: Final = b"%PDF-"
_OLD_OFFICE: Final = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


def split_type(written: str | None) -> tuple[str, str | None]:
    """Return the canonical media type, and the charset: ``text/html; charset=gbk`` has both."""
    form, *parameters = (written or "").split(";")
    form = form.strip().lower()
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and value.strip(" \t\"'"):
            return _SAME.get(form, form), value.strip(" \t\"'")
    return _SAME.get(form, form), None


def guessed_type(raw: RawDocument) -> str:
    """Return the media type of a document, as registered with IANA or else in common use; "" if unknown."""
    said, _ = split_type(raw.media_type)
    if said not in _VAGUE:
        return said
    begun = _sniff_format(raw.data) if raw.data is not None else ""
    return begun or _by_name(raw.name) or (said if said == PLAIN and raw.name else "")


def _by_name(name: str) -> str:
    path = PurePosixPath(name.partition("?")[0].partition("#")[0].replace("\\", "/"))
    return _BY_NAME.get(path.name.lower()) or _BY_ENDING.get(path.suffix[1:].lower(), "")


def _sniff_format(data: bytes) -> str:
    """Return the format of binary data by its first bytes."""
    if _PDF_MARK in data[:1024]:  # its readers allow for so much before it
        return PDF
    if data.startswith(_OLD_OFFICE):
        raise InputError(
            "document: an old Office file, or one with a password; save it as .docx, .pptx or .xlsx without one",
            field="document",
        )
    if not data.startswith(b"PK\x03\x04"):
        return ""
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, ValueError, OSError):
        return ""
    return next((form for folder, form in _IN_ZIP.items() if any(name.startswith(folder) for name in names)), "")


def form_of_text(text: str) -> str:
    """Return the detected format of a text: HTML, package metadata, Markdown, reStructuredText, or plain."""
    head = text[:_HEAD]
    if _HTML_HEAD.match(head):
        return HTML
    if head.startswith("Metadata-Version:"):
        return METADATA
    if len(_RST_SIGNS.findall(head)) > len(_MARKDOWN_SIGNS.findall(head)):
        return RST
    return MARKDOWN if _MARKDOWN_SIGNS.search(head) else PLAIN


_READERS: Final[Mapping[str, str]] = {
    PLAIN: "plain_text:PlainReader",
    MARKDOWN: "markup:MarkdownReader",
    RST: "plain_text:RstReader",
    METADATA: "plain_text:MetadataReader",
    HTML: "markup:HtmlReader",
    NOTEBOOK: "markup:NotebookReader",
    "text/x-python": "source_code:PythonReader",
    "text/x-tex": "source_code:CodeReader",
    PDF: "pdf:PdfReader",
    DOCX: "office:OfficeReader",
    PPTX: "office:OfficeReader",
    XLSX: "office:SheetReader",
}
"""Module and class by format. Other text formats are code or data: see ``_reader_of``."""
_BINARY: Final = frozenset({PDF, DOCX, PPTX, XLSX})
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
    form = guessed_type(raw)
    if form in _BINARY:
        return replace(raw, media_type=form)
    text = raw.text
    if raw.data is not None:
        text = decoded(raw.data, split_type(raw.media_type)[1])
    elif text is not None and "\0" in text[:_TITLE]:
        raise InputError("document: its text holds NUL, so it is no text; take a file in by its path", field="document")
    if not (text or "").strip():
        raise InputError("document: it is empty; it needs some words", field="document")
    text = text or ""
    if len(text) > MAX_CHARACTERS:
        raise InputError(
            f"document: {len(text):,} characters; at most {MAX_CHARACTERS:,} are read. Split it", field="document"
        )
    return replace(raw, media_type=form or form_of_text(text), text=text, data=None)


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
