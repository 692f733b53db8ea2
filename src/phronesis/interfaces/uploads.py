"""Temporary names for uploaded files."""

import re
from pathlib import PurePath
from typing import Final

_ENDING: Final = re.compile(r"\.[A-Za-z0-9]{1,16}")
"""A file extension that may select a reader. Any other is dropped; a long one would exceed the name limit of most file
systems, which is in bytes.
"""


def stored_name(given: str) -> str:
    """Return a temporary name for a file called ``given``: its extension, if it has one."""
    ending = PurePath(given).suffix
    return f"upload{ending if _ENDING.fullmatch(ending) else ''}"
