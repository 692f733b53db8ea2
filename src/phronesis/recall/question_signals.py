"""What a question names: people, files and addresses, a speaker, and the key that it asks for.

"How old am I?" asks for ``age``, of the user. A question asks for a key where listed words of the key, of a person and
of asking are all that it consists of.
"""

import dataclasses
import re
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from phronesis.core.items import Item
from phronesis.core.proposals import USER
from phronesis.core.relations import NAME, Entity, normal_name
from phronesis.core.text import UNSPACED, storable
from phronesis.core.values import FAMILY, KEYS, plain_relative
from phronesis.recall.browse import items_of
from phronesis.recall.entities import is_about, told_names
from phronesis.recall.scope_index import LaneIndex, LaneLayout, subject_code
from phronesis.recall.scoring.lane_arrays import FROM_ASSISTANT, FROM_USER, SAID, Floats, Mask
from phronesis.recall.scoring.signals import Voice
from phronesis.recall.word_lists import Cue, KeyWords, UnitText, is_chinese, load_words
from phronesis.store.database import Unit
from phronesis.store.eligible import ReadConditions
from phronesis.store.lanes import Lane
from phronesis.store.relations import find_entities, read_families, read_mentions

MAX_WORDS: Final = 4
"""Maximum words of a name, including titles and double surnames."""

MAX_QUERY_WORDS: Final = 64
"""Number of words of a question that are looked up as names."""

_WORD: Final = re.compile(rf"https?://\S+|(?:[^\W{UNSPACED}]|[@./~+-])+")
_POSSESSIVE: Final = re.compile(r"['’]s\b")


def names_in(text: str) -> set[str]:
    """Return every run of one to four words of a question in normal form, as candidate names.

    For Chinese, which has no spaces, runs of two to four characters are candidates too.
    """
    held = storable(text)  # normalised like stored names; an address may contain characters that no database accepts
    words = [word.strip(".,;:!?-") for word in _WORD.findall(_POSSESSIVE.sub(" ", held))][:MAX_QUERY_WORDS]
    out: set[str] = set()
    for start in range(len(words)):
        for end in range(start + 1, min(start + MAX_WORDS, len(words)) + 1):
            out.add(normal_name(" ".join(words[start:end])))
    for run in re.findall(r"[一-鿿]{2,}", text[:500]):
        out |= {run[i : i + n] for n in range(2, MAX_WORDS + 1) for i in range(len(run) - n + 1)}
    return out - {""}


@dataclass(frozen=True, slots=True)
class NamedEntity:
    """An entity that a question names: its ids, and all its names in normal form."""

    entity_ids: frozenset[str]
    names: frozenset[str]


def named_in(unit: Unit, lane_id: int, names: set[str]) -> list[NamedEntity]:
    """Return the entities that these names denote in a lane, each with all its aliases.

    A bare name denotes all its namesakes, unless one of them is named with the relation: "my sister Anna".
    """
    found = find_entities(unit, lane_id, sorted(names)) if names else []
    own = {entity.normal: entity for entity in found if entity.kind == NAME}
    people = [entity for entity in found if entity.related and entity.normal in own]
    bare = {person.canonical_id for person in people}
    roots = {_root(entity) for entity in found if entity not in people and entity.id not in bare}
    families: dict[str, list[Entity]] = {}
    for entity in read_families(unit, lane_id, sorted(roots)):
        families.setdefault(_root(entity), []).append(entity)
    for person in people:
        families.setdefault(_root(own[person.normal]), []).append(person)
    return [
        NamedEntity(frozenset(entity.id for entity in family), frozenset(entity.normal for entity in family))
        for family in families.values()
    ]


def _root(entity: Entity) -> str:
    return entity.canonical_id or entity.id


def mentioned_items(unit: Unit, lane_id: int, named: Iterable[NamedEntity]) -> set[str]:
    """Return the ids of items that mention any of the named entities, under any of their names."""
    ids = {entity_id for one in named for entity_id in one.entity_ids}
    return {mention.item_id for mention in read_mentions(unit, lane_id, sorted(ids))}


# The speaker signal: marks the places of a lane that the requested speaker said.

SELF: Final = "user"
"""The subject of items about the person whose memory it is (docs/memory-types.md)."""


def speaker_of(
    index: LaneIndex, laid: LaneLayout, named: Sequence[NamedEntity], speaking: Collection[str], voice: Voice | None
) -> tuple[Floats | None, bool]:
    """Return a mask of the requested speaker's places, and whether the question names the speaker.

    If one speaker is named, by any name: that speaker's messages and items about them. If none is: the user's or the
    assistant's, according to the question's "I" and "you". If several are: None.
    """
    families = [one.names for one in named if any(name in index.speakers for name in one.names)]
    known = {name for family in families for name in family}
    families += [frozenset({name}) for name in speaking if name in index.speakers and name not in known]
    if len(families) > 1:
        return None, False
    about = _mask_about(index, laid, [name for one in named for name in one.names])
    if families:
        [names] = families
        said = np.isin(laid.speakers, [index.speakers[name] for name in names if name in index.speakers])
        said &= laid.properties.flags & SAID > 0
        if np.any(laid.properties.flags[said] & FROM_USER):
            about |= _mask_about(index, laid, [SELF])
        return (said | about).astype(np.float32), True
    if speaking:
        return None, False  # a speaker of another lane
    if voice is None:
        return (about.astype(np.float32), True) if about.any() else (None, False)
    said = laid.properties.flags & SAID > 0
    meant = laid.properties.flags & (FROM_ASSISTANT if voice == "assistant" else FROM_USER) > 0
    held = about if voice == "assistant" else np.ones_like(about)
    return np.where(said, meant, held).astype(np.float32), False


def _mask_about(index: LaneIndex, laid: LaneLayout, names: Collection[str]) -> Mask:
    codes = [subject_code(index.subjects[name]) for name in names if name in index.subjects]
    return np.isin(laid.speakers, codes) if codes else np.zeros(len(laid.speakers), dtype=np.bool_)


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


# What a lane holds under the key that a question asks for, of whom it asks.

MOST: Final = 100
"""Items of a lane that are looked at under the keys asked for, the newest: more are no answer but a listing."""


def held_under(unit: Unit, lane: Lane, asked: KeyAsked, wanted: ReadConditions) -> set[str]:
    """Return the ids of a lane's items that hold what is asked for, at the times that ``wanted`` asks for."""
    found = _under(unit, lane, asked.keys, wanted)
    if not found or asked.about is None:
        return {item.id for item in found}
    names = _names(unit, lane, asked, wanted)
    mine = asked.about == USER
    return {
        item.id
        for item in found
        if (is_about(item, names) if mine else item.subject is not None and is_about(item, names))
    }


def _under(unit: Unit, lane: Lane, keys: Iterable[str], wanted: ReadConditions) -> Sequence[Item]:
    whole = [key for key in keys if not key.endswith(FAMILY)]
    ways: list[dict[str, Any]] = [{"key": {"in": whole}}] if whole else []
    ways += [{"key": {"contains": key.removesuffix("*")}} for key in keys if key.endswith(FAMILY)]
    narrowed = dataclasses.replace(wanted, kinds=None, attributes={}, filters={"OR": ways})
    return items_of(unit, [lane], narrowed, limit=MOST)


def _names(unit: Unit, lane: Lane, asked: KeyAsked, wanted: ReadConditions) -> set[str]:
    """Return the normal names under which memories speak of whom a question asks of."""
    about = asked.about or USER
    if about == USER:
        return told_names(unit, [lane], wanted)
    names = {normal_name(about), normal_name(plain_relative(about))}
    if asked.related is not None:
        of_user = told_names(unit, [lane], wanted)
        told = [item for item in _under(unit, lane, (asked.related,), wanted) if is_about(item, of_user)]
        # Of several children each may be meant, unless only one of them is said to be what the question calls them.
        told = [item for item in told if normal_name(about) in normal_name(item.content)] or told
        named = [item.value for item in told if isinstance(item.value, str)]
        # Of namesakes the one in this relation: "sister Anna", 妹妹小芳.
        names |= {normal_name(f"{before}{name}") for name in named for before in ("", about, f"{about} ")}
    return names | {name for one in named_in(unit, lane.lane_id, names) for name in one.names}
