"""Lists of plain words in TOML, and where a text contains them.

A text becomes units: English words by their stem, function words as they are, and each Chinese character alone. A
listed word or phrase is found where its units stand side by side.
"""

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any, Final

from phronesis.core.lazy_loading import load_once
from phronesis.index.tokens import tokenize

MAX_UNITS: Final = 6
"""Units of the longest phrase that a list may hold."""

_UNITS: Final = re.compile(r"[\u4e00-\u9fff]|[a-z0-9]+(?:'[a-z]+)?|[^\W\d_a-z\u4e00-\u9fff]+")
_HAN: Final = re.compile("[\u4e00-\u9fff]")

Words = frozenset[str]
"""Words and phrases, each as its units joined by spaces."""


class UnitText:
    """A text as units, in small letters."""

    def __init__(self, text: str) -> None:
        plain = text.replace("’", "'")
        low = plain.lower()
        self.text = plain if len(low) == len(plain) else low  # a few capitals are longer in small letters
        matches = list(_UNITS.finditer(low))
        self.spans = [match.span() for match in matches]
        self.units = [_unit(match[0]) for match in matches]

    @cached_property
    def _places(self) -> Mapping[str, Sequence[tuple[int, int]]]:
        out: dict[str, list[tuple[int, int]]] = {}
        for start in range(len(self.units)):
            for end in range(start + 1, min(start + MAX_UNITS, len(self.units)) + 1):
                out.setdefault(" ".join(self.units[start:end]), []).append((start, end))
        return out

    def words(self) -> Collection[str]:
        """Return all words and phrases that may be looked up."""
        return self._places.keys()

    def first(self, word: str, at: int = 0) -> tuple[int, int] | None:
        """Return the first range of units, from a unit on, at which a word stands."""
        return next((place for place in self._places.get(word, ()) if place[0] >= at), None)

    def within(self, words: Words) -> set[int]:
        """Return the units that belong to any of the words."""
        return {n for start, end in self.places(words) for n in range(start, end)}

    def places(self, words: Words) -> list[tuple[int, int]]:
        """Return the ranges of units at which any of the words stands, in order."""
        return sorted(place for word in words & self._places.keys() for place in self._places[word])

    def has(self, words: Words) -> bool:
        """Return whether it contains any of the words."""
        return not words.isdisjoint(self._places.keys())

    def surface(self, unit: int) -> str:
        """Return a unit as it is written."""
        start, end = self.spans[unit]
        return self.text[start:end]


def is_chinese(text: str) -> bool:
    """Return whether a text has a Chinese character."""
    return _HAN.search(text) is not None


def parse_words(text: str) -> Words:
    """Return the words of a list separated by commas."""
    return frozenset(filter(None, (" ".join(UnitText(one).units) for one in text.split(","))))


def load_lists(file: str) -> dict[str, Any]:
    """Return the tables of a file of word lists beside this module."""
    return tomllib.loads((files(__package__) / file).read_text("utf-8"))


def _unit(word: str) -> str:
    if not word.isascii():
        return word
    bare = word.removesuffix("'s")
    return next(iter(tokenize(bare)), bare) if "'" not in bare else bare


@dataclass(frozen=True, slots=True)
class Relatives:
    """Words for those close to the user, by the key that holds their names, and what says "my" before one.

    The key is ``other`` for those whose names are held under none.
    """

    keys: Mapping[str, str]
    words: Words
    own: Words


@load_once
def load_relatives() -> Relatives:
    """Return the words that are installed with the package, read at their first use."""
    lists = load_lists("relatives.toml")
    keys = {word: key for key, words in lists["relatives"].items() for word in parse_words(words)}
    return Relatives(keys, frozenset(keys), parse_words(lists["words"]["own"]))
