"""Read tables in TOML, with long strings folded over several lines.

TOML cannot break a literal string, so a line that begins with a space continues the previous one: the line break and
the spaces after it are removed from every string. A word list starts its lines at the margin and is unchanged.
"""

import re
import tomllib
from typing import Any, Final

from phronesis.errors import PhronesisError

_FOLD: Final = re.compile(r"\n +")


def parse_folded(file: str, source: str) -> dict[str, Any]:
    """Return the tables of a TOML text, with strings unfolded. PhronesisError names an invalid file."""
    try:
        unfolded: dict[str, Any] = _unfold_lines(tomllib.loads(source))
    except tomllib.TOMLDecodeError as error:
        raise PhronesisError(f"{file} is no TOML: {error}") from error
    return unfolded


def _unfold_lines(value: Any) -> Any:
    if isinstance(value, str):
        return _FOLD.sub("", value)
    if isinstance(value, list):
        return [_unfold_lines(one) for one in value]
    if isinstance(value, dict):
        return {name: _unfold_lines(one) for name, one in value.items()}
    return value
