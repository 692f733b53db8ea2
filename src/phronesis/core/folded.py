"""Tables of patterns in TOML, with long patterns folded over several lines.

A regular expression of a thousand characters can be read and compared only when it is broken up, and TOML has no way to
break a literal string. So a line that begins with a space continues the one before: the line break and the spaces after
it are left out of every string. A list of words begins its lines at the margin, and stays as it is.
"""

import re
import tomllib
from typing import Any, Final

_FOLD: Final = re.compile(r"\n +")


def parse_folded(source: str) -> dict[str, Any]:
    """Give the tables of a TOML text, its strings unfolded. ``tomllib.TOMLDecodeError`` when it is none."""
    unfolded: dict[str, Any] = _unfolded(tomllib.loads(source))
    return unfolded


def _unfolded(value: Any) -> Any:
    if isinstance(value, str):
        return _FOLD.sub("", value)
    if isinstance(value, list):
        return [_unfolded(one) for one in value]
    if isinstance(value, dict):
        return {name: _unfolded(one) for name, one in value.items()}
    return value
