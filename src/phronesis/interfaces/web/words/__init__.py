"""Text of the pages in English and Chinese: one table per language, with the same names in both."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

LANGUAGES: Final[Mapping[str, str]] = {"en": "English", "zh": "中文"}
"""The languages of the pages, each with the name it has for itself."""

DEFAULT: Final = "en"


@dataclass(frozen=True, slots=True)
class Words:
    """The words of one language: ``words("nav.home")``, with values where the words have places for them."""

    language: str
    table: Mapping[str, str]

    def __call__(self, name: str, /, **values: Any) -> str:
        """Return the words of a name; KeyError where there are none, for a page that says nothing is a bug."""
        return self.table[name].format(**values) if values else self.table[name]

    def of(self, group: str, name: object) -> str:
        """Return the words of a value of a group, such as a kind; the value itself where the group does not know it."""
        return self.table.get(f"{group}.{name}", str(name))


@cache
def words_of(language: str) -> Words:
    """Return the words of a language, English where there are none of it."""
    known = language if language in LANGUAGES else DEFAULT
    text = files(__package__).joinpath(f"{known}.toml").read_text("utf-8")
    return Words(known, _flat(tomllib.loads(text)))


def preferred(accepted: str) -> str:
    """Return the language of an ``Accept-Language`` header that the pages have, by its order; else English."""
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
