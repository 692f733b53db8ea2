"""Read pattern tables in TOML, with long patterns folded over several lines and named pattern fragments.

TOML cannot break a literal string, so a line that begins with a space continues the previous one: the line break and
the spaces after it are removed from every string. A word list starts its lines at the margin and is unchanged.
"""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from phronesis.errors import PhronesisError

_FOLD: Final = re.compile(r"\n +")
_PIECE: Final = re.compile(r"(?<!\?P)<([a-z_]+)>")


def parse_folded(file: str, source: str) -> dict[str, Any]:
    """Return the tables of a TOML text, with strings unfolded. PhronesisError names an invalid file."""
    try:
        unfolded: dict[str, Any] = _unfolded(tomllib.loads(source))
    except tomllib.TOMLDecodeError as error:
        raise PhronesisError(f"{file} is no TOML: {error}") from error
    return unfolded


@dataclass(frozen=True, slots=True)
class Pieces:
    """Named pattern fragments: ``<name>`` in a pattern, or in a later fragment, is replaced by its text."""

    file: str
    texts: Mapping[str, str]

    @classmethod
    def of(cls, file: str, given: Mapping[str, str]) -> "Pieces":
        """Return the fragments of a file; PhronesisError for an undefined reference."""
        texts: dict[str, str] = {}
        known = cls(file, texts)
        for name, text in given.items():
            texts[name] = known.expanded(text)
        return known

    def expanded(self, text: str) -> str:
        """Return a pattern with fragments expanded; PhronesisError for an undefined one."""

        def put(match: re.Match[str]) -> str:
            if match[1] not in self.texts:
                raise PhronesisError(f"{self.file}: there is no piece <{match[1]}>, in {text!r:.80}")
            return self.texts[match[1]]

        return _PIECE.sub(put, text)

    def compiled(self, name: str, text: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
        """Return a compiled pattern; PhronesisError gives the ``name`` of an invalid one."""
        try:
            return re.compile(self.expanded(text), flags)
        except re.error as error:
            raise PhronesisError(f"{self.file}: a pattern of {name!r} is no regular expression: {error}") from error


def _unfolded(value: Any) -> Any:
    if isinstance(value, str):
        return _FOLD.sub("", value)
    if isinstance(value, list):
        return [_unfolded(one) for one in value]
    if isinstance(value, dict):
        return {name: _unfolded(one) for name, one in value.items()}
    return value
