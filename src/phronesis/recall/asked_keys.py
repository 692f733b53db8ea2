"""The key that a question asks for, by lists of plain words: "How old am I?" asks for ``age``, of the user.

A question asks for a key where listed words of the key, of a person and of asking are all that it consists of.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from phronesis.core.lazy_loading import load_once
from phronesis.core.proposals import USER
from phronesis.core.values import KEYS
from phronesis.recall.word_lists import (
    Relatives,
    UnitText,
    Words,
    is_chinese,
    load_lists,
    load_relatives,
    parse_words,
)

FILE: Final = "asked_keys.toml"

Cue = tuple[str, ...]
"""The parts of a cue, which must occur in a question in this order."""


@dataclass(frozen=True, slots=True)
class KeyWords:
    """What the file holds.

    ``keys`` are all keys in the file's order, ``cues`` those of each first part with their keys. ``together`` gives
    the keys that may hold the answer too; ``open_keys`` are asked for with a few words of one's own. ``lists`` are the
    other lists by name.
    """

    keys: tuple[str, ...]
    cues: Mapping[str, Sequence[tuple[str, Cue]]]
    together: Mapping[str, tuple[str, ...]]
    open_keys: frozenset[str]
    relatives: Relatives
    lists: Mapping[str, Words]


@load_once
def load_key_words() -> KeyWords:
    """Return the words that are installed with the package, read at the first question."""
    given = load_lists(FILE)
    together = {key: tuple(one.strip() for one in more.split(",")) for key, more in given["with"].items()}
    open_keys = frozenset(one.strip() for one in given["open"]["keys"].split(","))
    cues: dict[str, list[tuple[str, Cue]]] = {}
    for key, text in given["keys"].items():
        for written in filter(str.strip, text.split(",")):
            cue = tuple(word for part in written.split() for word in parse_words(part))
            cues.setdefault(cue[0], []).append((key, cue))
    return KeyWords(
        keys=tuple(given["keys"]),
        cues=cues,
        together=together,
        open_keys=open_keys,
        relatives=load_relatives(),
        lists={name: parse_words(text) for name, text in given["words"].items()},
    )


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
class AskedKey:
    """The keys of docs/memory-types.md that hold an answer, the nearest first, and of whom.

    ``about`` is `USER`, a relation of the user ("wife", 妈妈) or a name, in small letters; None: of whatever.
    ``related`` is the key that holds the names of such relations.
    """

    keys: tuple[str, ...]
    about: str | None
    related: str | None = None


def find_asked_key(text: str) -> AskedKey | None:
    """Return the key that a question asks for; None where it asks for none, or for more than a key."""
    words = load_key_words()
    for part in reversed(_ENDS.split(text[:MAX_READ])):  # what is asked mostly stands at the end
        clause = part.strip()
        found = _Clause(clause, words).read_key() if 0 < len(clause) <= MAX_CLAUSE else None
        if found is not None:
            return found
    return None


class _Clause:
    """A clause, and which of its units are accounted for by a key, a person or words of asking."""

    def __init__(self, text: str, words: KeyWords) -> None:
        self.read = UnitText(text)
        self.words = words

    def read_key(self) -> AskedKey | None:
        """Return the key that the clause asks for."""
        if not self.read.units or self._tells():
            return None
        key, used = self._key()
        relations, used = self._relations(used)
        named, used = self._rest(used, of_people=key in (None, "name"))
        if named is None:
            return None
        free = len(self.read.units) - len(used)
        most = 2 * MAX_FREE if is_chinese(self.read.text) else MAX_FREE
        if free and (key not in self.words.open_keys or free > most or self._is_barred(used)):
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
        places = self.read.places(self.words.relatives.words)
        for start, end in sorted(places, key=lambda place: place[0] - place[1]):  # the longest first
            units = set(range(start, end))
            if units.isdisjoint(used):
                used = used | units
                key = self.words.relatives.keys[" ".join(self.read.units[start:end])]
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

    def _is_barred(self, used: set[int]) -> bool:
        """Return whether a unit that is not used says that something else is asked."""
        asks = not is_chinese(self.read.text) or self.read.has(self.words.lists["asks"])
        return not asks or bool(self.read.within(self.words.lists["bar"]) - used)

    def _of_whom(self, key: str | None, relations: dict[str, str], named: str) -> AskedKey | None:
        of_user = self.read.has(self.words.lists["user"])
        if len(set(relations.values())) > 1 or (len(relations) > 1 and key is not None):
            return None
        word, related = next(iter(relations.items()), ("", ""))
        if key in (None, "name") and related in KEYS:
            # What a relation is called is kept as that relation.
            return AskedKey((related,), named or USER) if of_user != bool(named) else None
        if key is None or (word and named and not of_user):  # "Anna's daughter" is none of the user's
            return None
        keys = (key, *self.words.together.get(key, ()))
        if key in _OF_ANYTHING:
            return AskedKey(keys, None)
        if word:
            return AskedKey(keys, word, related if related in KEYS else None)
        if named:
            return AskedKey(keys, named)
        return AskedKey(keys, USER) if of_user else None
