"""Text on a terminal: columns that line up with Chinese in them, and nothing that a memory says moves the cursor."""

import re
import shutil
import sys
import unicodedata
from collections.abc import Sequence
from typing import IO, Final

from phronesis.errors import InputError

_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Escape sequences and overrides of direction: remembered text must not paint on the terminal that shows it."""

_WIDE: Final = frozenset("WF")
_NO_COLUMN: Final = frozenset({"Mn", "Me", "Cf"})
ELLIPSIS: Final = "…"


def clean(text: str) -> str:
    """Give ``text`` with control characters shown as U+FFFD; line ends and tabs stay."""
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))


def on_one_line(text: str) -> str:
    """Give ``text`` cleaned, its white space folded."""
    return " ".join(clean(text).split())


def read_text(file: IO[str]) -> str:
    """Give what a file or standard input holds; InputError when it is no UTF-8."""
    try:
        return file.read()
    except UnicodeDecodeError as error:
        raise InputError(f"the input is not UTF-8 text ({error.reason})", field="content") from error


def columns(text: str) -> int:
    """Give how many columns a terminal takes for ``text``: two for a wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def cut(text: str, limit: int | None) -> str:
    """Give ``text`` in at most ``limit`` columns, with an ellipsis where it was cut; None leaves it whole."""
    if limit is None or columns(text) <= limit:
        return text
    room = max(0, limit - 1)
    for place, character in enumerate(text):
        room -= _columns(character)
        if room < 0:
            return text[:place].rstrip() + ELLIPSIS
    return text


def pad(text: str, size: int) -> str:
    """Give ``text`` with blanks behind it up to ``size`` columns."""
    return text + " " * (size - columns(text))


def table(rows: Sequence[Sequence[object]], *, head: Sequence[str] = (), indent: str = "") -> list[str]:
    """Give rows as lines with aligned columns, two blanks apart; the last column may run on."""
    lines = [[on_one_line(str(cell)) for cell in row] for row in ([head, *rows] if head else rows)]
    sizes = [max(columns(cell) for cell in column) for column in zip(*lines, strict=True)]
    out = []
    for *cells, last in lines:
        padded = [pad(cell, size) for cell, size in zip(cells, sizes, strict=False)]
        out.append(indent + "  ".join([*padded, last]).rstrip())
    return out


def terminal_columns() -> int | None:
    """Give the width of the terminal, or None when the output goes elsewhere and is not to be cut."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def _columns(character: str) -> int:
    if unicodedata.category(character) in _NO_COLUMN:
        return 0
    return 2 if unicodedata.east_asian_width(character) in _WIDE else 1
