"""Text of the pages in English and Chinese: one table per language, with the same names in both."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

LANGUAGES: Final[Mapping[str, str]] = {"en": "English", "zh": "中文"}
"""Languages of the pages, each with its own name."""

DEFAULT: Final = "en"


@dataclass(frozen=True, slots=True)
class Words:
    """Texts of one language: ``words("nav.home")``, with values for the placeholders of a text."""

    language: str
    table: Mapping[str, str]

    def __call__(self, name: str, /, **values: Any) -> str:
        """Return the text of a name; KeyError if there is none, since a page without text is a bug."""
        return self.table[name].format(**values) if values else self.table[name]

    def of(self, group: str, name: object) -> str:
        """Return the text for a value of a group, such as a kind; the value itself if the group does not have it."""
        return self.table.get(f"{group}.{name}", str(name))


@cache
def words_of(language: str) -> Words:
    """Return the texts of a language, or English."""
    known = language if language in LANGUAGES else DEFAULT
    text = files(__package__).joinpath(f"{known}.toml").read_text("utf-8")
    return Words(known, _flat(tomllib.loads(text)))


def preferred_language(accepted: str) -> str:
    """Return the first available language of an ``Accept-Language`` header, or English."""
    for part in accepted.split(","):
        language = part.partition(";")[0].strip().lower().partition("-")[0]
        if language in LANGUAGES:
            return language
    return DEFAULT


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, str]:
    out: dict[str, str] = {}
    for name, value in table.items():
        out |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return out
