"""Which form a document has: what it is said to be, what its name ends in, what it begins with."""

import re
import zipfile
from io import BytesIO
from pathlib import PurePosixPath
from typing import Final

from phronesis.derive.resources.reading.port import RawDocument
from phronesis.errors import InputError

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
    MARKDOWN: "md markdown mdown mkd mdx qmd rmd", RST: "rst rest", HTML: "html htm xhtml", NOTEBOOK: "ipynb",
    PDF: "pdf", DOCX: "docx docm dotx", PPTX: "pptx pptm ppsx", XLSX: "xlsx xlsm",
    PLAIN: "txt text log", "text/csv": "csv", "text/tab-separated-values": "tsv", "application/json": "json jsonl",
    "application/yaml": "yaml yml", "application/toml": "toml", "application/xml": "xml xsd svg",
    "text/x-ini": "ini cfg conf properties",
    "text/x-python": "py pyi pyw", "text/javascript": "js mjs cjs jsx", "text/x-typescript": "ts tsx mts",
    "text/x-java": "java", "text/x-kotlin": "kt kts", "text/x-scala": "scala", "text/x-csharp": "cs",
    "text/x-c": "c h", "text/x-c++": "cc cpp cxx hh hpp hxx", "text/x-go": "go", "text/x-rust": "rs",
    "text/x-ruby": "rb", "text/x-php": "php", "text/x-swift": "swift", "text/x-lua": "lua", "text/x-sql": "sql",
    "text/x-shellscript": "sh bash zsh", "text/x-r": "r", "text/x-julia": "jl", "text/x-perl": "pl pm",
    "text/x-lean": "lean",
    "text/x-tex": "tex", "text/css": "css scss less",
}  # fmt: skip
_BY_ENDING: Final = {ending: form for form, endings in _ENDINGS.items() for ending in endings.split()}
_BY_NAME: Final = {"metadata": METADATA, "pkg-info": METADATA, "makefile": PLAIN, "dockerfile": PLAIN}
_SAME: Final = {
    "text/x-markdown": MARKDOWN, "text/prs.fallenstein.rst": RST, "text/restructuredtext": RST,
    "application/xhtml+xml": HTML, "application/x-pdf": PDF, "text/json": "application/json",
    "application/x-yaml": "application/yaml", "text/yaml": "application/yaml", "text/xml": "application/xml",
    "application/javascript": "text/javascript", "application/x-python": "text/x-python",
    "text/x-script.python": "text/x-python", "application/x-sh": "text/x-shellscript",
    "application/sql": "text/x-sql", "application/x-httpd-php": "text/x-php",
}  # fmt: skip
"""Other names of a form (IANA's registry, and what servers say)."""

_VAGUE: Final = frozenset({"", "application/octet-stream", "binary/octet-stream", "application/zip", PLAIN})
"""What says little: the name, or the beginning, may know more."""

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
    """Give a media type in its usual name, and its charset: ``text/html; charset=gbk`` has both."""
    form, *parameters = (written or "").split(";")
    form = form.strip().lower()
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and value.strip(" \t\"'"):
            return _SAME.get(form, form), value.strip(" \t\"'")
    return _SAME.get(form, form), None


def guessed_type(raw: RawDocument) -> str:
    """Give the form of a document in IANA's words, or in the usual ones where it has none; "" when nothing tells it."""
    said, _ = split_type(raw.media_type)
    if said not in _VAGUE:
        return said
    begun = _by_beginning(raw.data) if raw.data is not None else ""
    return begun or _by_name(raw.name) or (said if said == PLAIN and raw.name else "")


def _by_name(name: str) -> str:
    path = PurePosixPath(name.partition("?")[0].partition("#")[0].replace("\\", "/"))
    return _BY_NAME.get(path.name.lower()) or _BY_ENDING.get(path.suffix[1:].lower(), "")


def _by_beginning(data: bytes) -> str:
    """Give the form of bytes that are no text, by their first ones."""
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
    """Give the form of a text that nobody named: HTML, a package's metadata, Markdown, reStructuredText, or plain."""
    head = text[:_HEAD]
    if _HTML_HEAD.match(head):
        return HTML
    if head.startswith("Metadata-Version:"):
        return METADATA
    if len(_RST_SIGNS.findall(head)) > len(_MARKDOWN_SIGNS.findall(head)):
        return RST
    return MARKDOWN if _MARKDOWN_SIGNS.search(head) else PLAIN
