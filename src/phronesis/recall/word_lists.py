"""Lists of plain words in TOML, where a text contains them, and the key that a question asks for by such words.

A text becomes units: English words by their stem, function words as they are, and each Chinese character alone. A
listed word or phrase is found where its units stand side by side. "How old am I?" asks for ``age``, of the user: a
question asks for a key where listed words of the key, of a person and of asking are all that it consists of.
"""

import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import Any, Final

from phronesis.core.lazy_loading import load_once
from phronesis.core.proposals import USER
from phronesis.core.values import KEYS
from phronesis.errors import PhronesisError
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


def load_lists(package: str, file: str) -> dict[str, Any]:
    """Return the tables of a file of word lists; PhronesisError if it is no TOML."""
    try:
        return tomllib.loads((files(package) / file).read_text("utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise PhronesisError(f"{file} is no TOML: {error}") from error


def _unit(word: str) -> str:
    if not word.isascii():
        return word
    bare = word.removesuffix("'s")
    return next(iter(tokenize(bare)), bare) if "'" not in bare else bare


FILE: Final = "asked_keys.toml"

Cue = tuple[str, ...]
"""The parts of a cue, which must occur in a question in this order."""


@dataclass(frozen=True, slots=True)
class KeyWords:
    """What the file holds.

    ``keys`` are all keys in the file's order, ``cues`` those of each first part with their keys. ``together`` gives
    the keys that may hold the answer too; ``open_keys`` are asked for with a few words of one's own. ``relatives``
    gives the key that holds the names of a relation, or ``other``; ``lists`` are the other lists by name.
    """

    keys: tuple[str, ...]
    cues: Mapping[str, Sequence[tuple[str, Cue]]]
    together: Mapping[str, tuple[str, ...]]
    open_keys: frozenset[str]
    relatives: Mapping[str, str]
    relations: Words
    lists: Mapping[str, Words]


@load_once
def load_words() -> KeyWords:
    """Return the words that are installed with the package, read at the first question."""
    return parse_table(load_lists(__package__, FILE))


def parse_table(given: Mapping[str, Any]) -> KeyWords:
    """Return the words of a file; PhronesisError names a key that memory-types.md lacks."""
    together = {key: tuple(one.strip() for one in more.split(",")) for key, more in given["with"].items()}
    open_keys = frozenset(one.strip() for one in given["open"]["keys"].split(","))
    named = [*given["keys"], *together, *(key for keys in together.values() for key in keys), *open_keys]
    if unknown := [key for key in named if key not in KEYS]:
        raise PhronesisError(f"{FILE}: {unknown[0]!r} is no key of memory-types.md")
    cues: dict[str, list[tuple[str, Cue]]] = {}
    for key, text in given["keys"].items():
        for cue in map(_cue, filter(str.strip, text.split(","))):
            cues.setdefault(cue[0], []).append((key, cue))
    relatives = {word: key for key, words in given["relatives"].items() for word in parse_words(words)}
    return KeyWords(
        keys=tuple(given["keys"]),
        cues=cues,
        together=together,
        open_keys=open_keys,
        relatives=relatives,
        relations=frozenset(relatives),
        lists={name: parse_words(text) for name, text in given["words"].items()},
    )


def _cue(text: str) -> Cue:
    return tuple(word for part in text.split() for word in parse_words(part))


# Which key a question asks for, and of whom.

MAX_READ: Final = 600
"""Characters of a question that are looked at; what follows is what it is asked about."""

MAX_CLAUSE: Final = 120
"""Characters of a clause that may ask for a key: a longer one asks for more than that."""

MAX_FREE: Final = 3
"""Words of its own that a question for an open key may have; of Chinese characters twice as many."""

MAX_NAME: Final = 3
"""Characters of a Chinese name, and one more than the words of another."""

_OF_ANYTHING: Final = ("decision",)
"""Keys that are asked for without saying of whom: what was decided is said of the thing."""

_ENDS: Final = re.compile(r"[.?!;,。？！；，\n]+")


@dataclass(frozen=True, slots=True)
class KeyAsked:
    """The keys of docs/memory-types.md that hold an answer, the nearest first, and of whom.

    ``about`` is `USER`, a relation of the user ("wife", 妈妈) or a name, in small letters; None: of whatever.
    ``related`` is the key that holds the names of such relations.
    """

    keys: tuple[str, ...]
    about: str | None
    related: str | None = None


def key_asked(text: str) -> KeyAsked | None:
    """Return the key that a question asks for; None where it asks for none, or for more than a key."""
    words = load_words()
    for part in reversed(_ENDS.split(text[:MAX_READ])):  # what is asked mostly stands at the end
        clause = part.strip()
        found = _Clause(clause, words).asked() if 0 < len(clause) <= MAX_CLAUSE else None
        if found is not None:
            return found
    return None


class _Clause:
    """A clause, and which of its units are accounted for by a key, a person or words of asking."""

    def __init__(self, text: str, words: KeyWords) -> None:
        self.read = UnitText(text)
        self.words = words

    def asked(self) -> KeyAsked | None:
        """Return the key that the clause asks for."""
        if not self.read.units or self._tells():
            return None
        key, used = self._key()
        relations, used = self._relations(used)
        named, used = self._rest(used, of_people=key in (None, "name"))
        if named is None:
            return None
        free = len(self.read.units) - len(used)
        if free and (key not in self.words.open_keys or free > self._most_free() or self._barred(used)):
            return None
        return self._of_whom(key, relations, named)

    def _tells(self) -> bool:
        """Return whether it tells something, or asks the assistant about itself."""
        has, lists = self.read.has, self.words.lists
        if is_chinese(self.read.text) and not (has(lists["asks"]) or "的" in self.read.text):
            return True
        recalled = has(lists["recall"])
        return not recalled and (self.read.units[0] in lists["subject"] or has(lists["you"]))

    def _key(self) -> tuple[str | None, set[int]]:
        """Return the key whose cues account for most of the units, and these units."""
        found: dict[str, set[int]] = {}
        for word in self.read.words():
            for key, cue in self.words.cues.get(word, ()):
                found.setdefault(key, set()).update(self._held(cue))
        best = max(
            (key for key in found if found[key]),
            key=lambda key: (len(found[key]), -self.words.keys.index(key)),
            default=None,
        )
        return best, set() if best is None else found[best]

    def _held(self, cue: Cue) -> set[int]:
        """Return the units of a cue, whose parts stand in order; none where one is missing."""
        used: set[int] = set()
        at = 0
        for part in cue:
            place = self.read.first(part, at)
            if place is None:
                return set()
            used |= set(range(*place))
            at = place[1]
        return used

    def _relations(self, used: set[int]) -> tuple[dict[str, str], set[int]]:
        """Return the relations of the user that are named, with their keys, and the units that are used then."""
        out: dict[str, str] = {}
        places = self.read.places(self.words.relations)
        for start, end in sorted(places, key=lambda place: place[0] - place[1]):  # the longest first
            units = set(range(start, end))
            if units.isdisjoint(used):
                used = used | units
                key = self.words.relatives[" ".join(self.read.units[start:end])]
                out[self._said(start, end)] = key
        return out, used

    def _said(self, start: int, end: int) -> str:
        return self.read.text[self.read.spans[start][0] : self.read.spans[end - 1][1]].lower().removesuffix("'s")

    def _rest(self, used: set[int], *, of_people: bool) -> tuple[str | None, set[int]]:
        """Return the name of the other person, empty where none is named, and all units that are used.

        The name is None where there are several.
        """
        read, lists = self.read, self.words.lists
        last = max(used, default=0)
        asking = read.within(lists["user"] | lists["filler"] | lists["recall"] | lists["you"])
        asking |= read.within(lists["who"]) if of_people else set()
        asking |= {n for n in read.within(lists["end"]) if n > last}
        used = used | asking
        groups: list[list[int]] = []
        for n in range(len(read.units)):
            if n in used or not self._may_be_name(n):
                continue
            if groups and groups[-1][-1] == n - 1:
                groups[-1].append(n)
            else:
                groups.append([n])
        names = [group for group in groups if self._is_name(group)]
        if len(names) > 1:
            return None, used
        return (self._said(names[0][0], names[0][-1] + 1), used | set(names[0])) if names else ("", used)

    def _may_be_name(self, unit: int) -> bool:
        surface = self.read.surface(unit)
        # The first word is capitalised in any sentence: "Anna's birthday".
        named = surface[:1].isupper() and (unit > 0 or surface.endswith("'s"))
        return is_chinese(surface) or (named and self.read.units[unit] not in self.words.lists["bar"])

    def _is_name(self, group: Sequence[int]) -> bool:
        text = "".join(self.read.surface(n) for n in group)
        if not is_chinese(text):
            return len(group) < MAX_NAME
        doubled = len(text) == 2 and text[0] == text[1]  # noqa: PLR2004 - 朵朵
        return doubled or (1 < len(text) <= MAX_NAME and text[0] in self.words.lists["surname"])

    def _most_free(self) -> int:
        return 2 * MAX_FREE if is_chinese(self.read.text) else MAX_FREE

    def _barred(self, used: set[int]) -> bool:
        """Return whether a unit that is not used says that something else is asked."""
        asks = not is_chinese(self.read.text) or self.read.has(self.words.lists["asks"])
        return not asks or bool(self.read.within(self.words.lists["bar"]) - used)

    def _of_whom(self, key: str | None, relations: dict[str, str], named: str) -> KeyAsked | None:
        of_user = self.read.has(self.words.lists["user"])
        if len(set(relations.values())) > 1 or (len(relations) > 1 and key is not None):
            return None
        word, related = next(iter(relations.items()), ("", ""))
        if key in (None, "name") and related in KEYS:
            # What a relation is called is kept as that relation.
            return KeyAsked((related,), named or USER) if of_user != bool(named) else None
        if key is None or (word and named and not of_user):  # "Anna's daughter" is none of the user's
            return None
        keys = (key, *self.words.together.get(key, ()))
        if key in _OF_ANYTHING:
            return KeyAsked(keys, None)
        if word:
            return KeyAsked(keys, word, related if related in KEYS else None)
        if named:
            return KeyAsked(keys, named)
        return KeyAsked(keys, USER) if of_user else None
