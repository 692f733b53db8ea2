"""Words of a text, and the terms of a table that stand in it: the longest term at each place.

English is compared word by word, by the form a dictionary has; Chinese character by character. In a term "~" lets a
few words (characters) stand between its parts, "!" says that what is found means nothing, "?" that it is said of much
else too.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from Stemmer import Stemmer

WEAK: Final = 0.5
"""How surely a term with "?" means what it stands for; two of them say it for sure."""

MAX_READ: Final = 600
"""Characters of a memory that are read: it is a sentence, and what it is about stands at its beginning."""

GAP_WORDS: Final = 3
GAP_CHARACTERS: Final = 6
"""How much may stand where a term has "~"."""

_WORD: Final = re.compile(r"[a-z0-9]+(?:'[a-z]+)?")
_VOWEL: Final = re.compile("[aeiouy]")
_SILENT: Final = re.compile(
    "(?:[^aeiou][aeiou][kpmtnrlsdbg]|[cvzu]|dg|[aeo]ng|rs|ns|[ao][iu]s|[aeiou]th|pl|tl|bl|dl|gl|kl)$"
)
_SOUNDED: Final = re.compile("(?:[^aeiou][aeiou][^aeiou]+(?:en|er|on|it|et|al|el|in|or|op|om|ot|ow|ic)|[aeo]nting)$")
"""Whether a stem has lost an "e": "bak" has, "visit" has not."""
_CLITIC: Final = re.compile(r"'(?:s|m|re|ll|d|ve)$")


_Means = tuple[str, float]
"""What a term stands for, and how surely: not at all, where it stands for nothing."""


@dataclass(frozen=True, slots=True)
class Word:
    """A word of an English text: how a dictionary has it, its stem, and how it is written.

    Terms are compared by the first, for a stem is too short: those of "experience" and "experiment" are one.
    """

    base: str
    stem: str
    written: str


@dataclass(frozen=True, slots=True)
class TermMatches:
    """Terms found in a text: what they stand for and how surely, which words and characters they cover."""

    names: Mapping[str, float]
    words: frozenset[int]
    characters: frozenset[int]


@lru_cache(maxsize=1 << 12)
def _stemmed(word: str) -> str:
    return str(Stemmer("english", 0).stemWord(word))


def plain(text: str) -> str:
    """Return the beginning of a text in small letters, without accents and typographic apostrophes."""
    low = text[:MAX_READ].casefold().replace("’", "'").replace("‘", "'")
    if low.isascii():
        return low
    return unicodedata.normalize(
        "NFC", "".join(one for one in unicodedata.normalize("NFKD", low) if not "\u0300" <= one <= "\u036f")
    )


def words_of(text: str, irregular: Mapping[str, str]) -> list[Word]:
    """Return the words of a plain text: "didn't" is two, "Anna's" is Anna."""
    found = []
    for match in _WORD.finditer(text):
        word = match[0]
        if word.endswith("n't"):
            lead = irregular.get(word, word.removesuffix("n't"))
            found.append(_word(lead, irregular))
            word = "not"
        found.append(_word(_CLITIC.sub("", word), irregular))
    return found


def _word(word: str, irregular: Mapping[str, str]) -> Word:
    known = irregular.get(word)
    return Word(known or base_of(word), _stemmed(known or word), word)


def base_of(word: str) -> str:
    """Return the form of an English word that a dictionary has, by the rules of its endings: "baked" is "bake"."""
    if len(word) < 4 or word.endswith(("ss", "us", "is")):  # noqa: PLR2004 - "bus", "this", "ran"
        return word
    if word.endswith("s"):
        if word.endswith("ies"):
            return f"{word[:-3]}y" if len(word) > 4 else word[:-1]  # noqa: PLR2004 - "ties"
        return word[:-2] if word.endswith(("sses", "shes", "ches", "xes", "zzes", "oes")) else word[:-1]
    if word.endswith("ied"):
        return f"{word[:-3]}y"
    ending = "ed" if word.endswith("ed") else "ing" if word.endswith("ing") else ""
    stem = word[: len(word) - len(ending)]
    if not ending or not _VOWEL.search(stem) or len(stem) < 3 or stem.endswith("e"):  # noqa: PLR2004 - "bed", "need"
        return word
    if stem[-1] == stem[-2] and stem[-1] not in "lsfz":
        return stem[:-1]
    return f"{stem}e" if _SILENT.search(stem) and not _SOUNDED.search(stem) else stem


@dataclass(slots=True)
class Terms:
    """The terms of a table, by what they begin with."""

    irregular: Mapping[str, str]
    _english: dict[str, list[tuple[tuple[tuple[str, ...], ...], _Means]]] = field(default_factory=dict)
    _chinese: dict[str, list[tuple[tuple[str, ...], _Means]]] = field(default_factory=dict)

    def add_english(self, terms: Iterable[str], name: str) -> None:
        """Add English terms; one with "!" stands for nothing."""
        for term in terms:
            means = _means(term, name)
            parts = tuple(
                tuple(word.base for word in words_of(plain(part), self.irregular))
                for part in term.lstrip("!?").split("~")
            )
            kept = tuple(part for part in parts if part)
            if kept:
                self._english.setdefault(kept[0][0], []).append((kept, means))

    def add_chinese(self, terms: Iterable[str], name: str) -> None:
        """Add Chinese terms; one with "!" stands for nothing."""
        for term in terms:
            means = _means(term, name)
            parts = tuple(part for part in term.lstrip("!?").lower().split("~") if part)
            self._chinese.setdefault(parts[0][0], []).append((parts, means))

    def found(self, text: str, words: Sequence[Word]) -> TermMatches:
        """Return the terms in a plain text and its words; what a longer one covers is no beginning of another."""
        names: dict[str, float] = {}
        covered: set[int] = set()
        for at, word in enumerate(words):
            if at not in covered:
                here = [
                    (places, means)
                    for parts, means in self._english.get(word.base, ())
                    if (places := _english_places(words, at, parts))
                ]
                _take(here, names, covered)
        characters: set[int] = set()
        for at, character in enumerate("" if text.isascii() else text):
            if at not in characters and character in self._chinese:
                spots = [
                    (places, means)
                    for parts, means in self._chinese[character]
                    if (places := _chinese_places(text, at, parts))
                ]
                _take(spots, names, characters)
        return TermMatches(names, frozenset(covered), frozenset(characters))


def _means(term: str, name: str) -> _Means:
    return (name, 0.0 if term.startswith("!") else WEAK if term.startswith("?") else 1.0)


def _take(here: Sequence[tuple[tuple[int, ...], _Means]], names: dict[str, float], covered: set[int]) -> None:
    """Add what the longest terms at a place stand for; "card" and "cards" are found at once, and count once."""
    longest = max((len(places) for places, _ in here), default=0)
    found: dict[str, float] = {}
    for places, (name, surely) in here:
        if len(places) == longest:
            covered.update(places)
            found[name] = max(surely, found.get(name, 0.0))
    for name, surely in found.items():
        if surely:
            names[name] = min(1.0, names.get(name, 0.0) + surely)


def _english_places(words: Sequence[Word], at: int, parts: Sequence[tuple[str, ...]]) -> tuple[int, ...]:
    """Return the numbers of the words that the parts of a term are; none where it does not stand there."""
    places: list[int] = []
    first = last = at
    for part in parts:
        start = next((n for n in range(first, last + 1) if _stands(words, n, part)), None)
        if start is None:
            return ()
        places += range(start, start + len(part))
        first = start + len(part)
        last = first + GAP_WORDS
    return tuple(places)


def _stands(words: Sequence[Word], at: int, part: Sequence[str]) -> bool:
    return at + len(part) <= len(words) and all(words[at + n].base == base for n, base in enumerate(part))


def _chinese_places(text: str, at: int, parts: Sequence[str]) -> tuple[int, ...]:
    """Return the places of the characters that the parts of a term are; none where it does not stand there."""
    if not text.startswith(parts[0], at):
        return ()
    places = list(range(at, at + len(parts[0])))
    for part in parts[1:]:
        start = text.find(part, places[-1] + 1, places[-1] + 1 + GAP_CHARACTERS + len(part))
        if start < 0:
            return ()
        places += range(start, start + len(part))
    return tuple(places)
