"""Temporary names for uploaded files."""

import re
from pathlib import PurePath
from typing import Final

_ENDING: Final = re.compile(r"\.[A-Za-z0-9]{1,16}")
"""An ending that says how a file is read. Any other says nothing, and a long one is no name on most file systems, which
count bytes."""


def stored_name(given: str) -> str:
    """Return the name under which a file that is called ``given`` is kept for a while: its ending, where it has one."""
    ending = PurePath(given).suffix
    return f"upload{ending if _ENDING.fullmatch(ending) else ''}"
