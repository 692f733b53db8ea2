"""Office files before they unfold: an Office file is a ZIP of XML by an open standard (ECMA-376).

What would become too large is refused, and so is a document type definition, which the standard forbids (part 2, 8.4)
and which entities that multiply need. Every part is unfolded here once, a little at a time: a directory may lie.
"""

import zipfile
import zlib
from io import BytesIO
from typing import Final

from phronesis.errors import InputError

MAX_PARTS: Final = 10_000
"""Files in the ZIP; a presentation of 500 slides has some 2,000."""

MAX_XML: Final = 40_000_000
"""Bytes of XML that may unfold, which take some 20 times as much memory. A novel in Word has 5,000,000."""

MAX_UNFOLDED: Final = 256 << 20
"""Bytes of everything, pictures and films included."""

_XML: Final = (".xml", ".rels", ".vml")
_PIECE: Final = 1 << 16
_FORBIDDEN: Final = tuple(
    mark.encode(code) for mark in ("<!DOCTYPE", "<!ENTITY") for code in ("utf-8", "utf-16-le", "utf-16-be")
)
_LONGEST_MARK: Final = max(map(len, _FORBIDDEN))


def check_office_file(data: bytes) -> None:
    """Raise InputError for what is no Office file, would unfold to too much, or defines a document type."""
    try:
        with zipfile.ZipFile(BytesIO(data)) as archive:
            parts = archive.infolist()
            if len(parts) > MAX_PARTS:
                raise InputError(f"document: {len(parts):,} parts; at most {MAX_PARTS:,} are read", field="document")
            room, room_of_xml = MAX_UNFOLDED, MAX_XML
            for part in parts:
                is_xml = part.filename.lower().endswith(_XML)
                size = _checked(archive, part, min(room, room_of_xml) if is_xml else room, is_xml=is_xml)
                room -= size
                room_of_xml -= size if is_xml else 0
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"document: it is no Office file, or a damaged one ({type(error).__name__}); save it anew", field="document"
        ) from error


def _checked(archive: zipfile.ZipFile, part: zipfile.ZipInfo, room: int, *, is_xml: bool) -> int:
    """Unfold a part and give its size; InputError when it has more than ``room`` bytes."""
    size, end = 0, b""
    with archive.open(part) as unfolding:
        while piece := unfolding.read(_PIECE):
            size += len(piece)
            if size > room:
                raise InputError(
                    f"document: it unfolds to over {MAX_XML:,} bytes of text, or {MAX_UNFOLDED:,} in all; split it",
                    field="document",
                )
            if is_xml and any(mark in end + piece for mark in _FORBIDDEN):
                raise InputError("document: it defines a document type, which no Office file does", field="document")
            end = piece[-_LONGEST_MARK:]
    return size
