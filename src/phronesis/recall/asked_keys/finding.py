"""Reading which key a question asks for, and of whom: "How old am I?" asks for ``age``, of the user."""

import dataclasses
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from phronesis.core.items import Item
from phronesis.core.proposals import USER
from phronesis.core.relations import normal_name
from phronesis.core.values import FAMILY, KEYS, plain_relative
from phronesis.recall.asked_keys.tables import Table, load_table
from phronesis.recall.browse import items_of
from phronesis.recall.entity_signals import named_in
from phronesis.recall.user_aliases import is_about, told_names
from phronesis.store.database import Unit
from phronesis.store.eligible import ReadConditions
from phronesis.store.lanes import Lane

MAX_READ: Final = 600
"""Characters of a question that are looked at; what follows is what it is asked about."""

MAX_CLAUSE: Final = 120
"""Characters of a clause that may ask for a key: a longer one asks for more than that."""

_POSSESSIVE: Final = re.compile(r"(?:’s|(?<=s)’)$")

_FRAMES: Final = 4
"""Frames that may stand inside one another: "hey, do you remember …"."""

_CHINESE: Final = re.compile("[一-鿿]")

_OF_ANYTHING: Final = ("decision",)
"""Keys that are asked for without saying of whom: what was decided is said of the thing."""

_ENDS: Final = re.compile(r"[.?!;。？！；\n]+|(?<=[一-鿿])[，,]")


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
    for clause in _clauses(text):
        found = _read(clause, load_table("zh" if _CHINESE.search(clause) is not None else "en"))
        if found is not None:
            return found
    return None


def _clauses(text: str) -> Iterator[str]:
    """Return the clauses of a question, the last one first: what is asked mostly stands at the end."""
    for part in reversed(_ENDS.split(text[:MAX_READ].replace("'", "’"))):
        clause = " ".join(part.split()).strip(' ,，:：“”"-–—…~～')
        if 0 < len(clause) <= MAX_CLAUSE:
            yield clause


def _read(clause: str, table: Table) -> KeyAsked | None:
    for bare in _bared(clause, table):
        for keys, pattern in table.asks:
            match = pattern.fullmatch(bare)
            whom = None if match is None else next((group for group in match.groups() if group), "")
            found = None if whom is None else _about(keys, whom, table)
            if found is not None:
                return found
    return None


def _bared(clause: str, table: Table) -> Iterator[str]:
    """Return a clause, and what is left of it without the frames around it."""
    for short, long in table.contractions:
        clause = short.sub(long, clause)
    yield clause
    for _ in range(_FRAMES):
        before = clause
        if (match := table.before.match(clause)) is not None and match.end() < len(clause):
            clause = clause[match.end() :]
        if (ending := table.after.search(clause)) is not None and ending.start():
            clause = clause[: ending.start()]
        if clause == before:
            return
        yield clause


def _about(keys: tuple[str, ...], whom: str, table: Table) -> KeyAsked | None:
    """Return what is asked of whom; None where that is nobody: "my car", 服务器."""
    said = _POSSESSIVE.sub("", whom.casefold().strip())
    if not said or said in table.user or keys[0] in _OF_ANYTHING:
        return KeyAsked(keys, None if keys[0] in _OF_ANYTHING else USER)
    bare = table.own.sub("", said)
    relation = table.relation_in(bare, owned=bare != said)
    if relation is None:
        named = bare == said and table.person.fullmatch(whom) is not None
        return KeyAsked(keys, said) if named else None
    word, key = relation
    # What a relation is called is kept as that relation of the user.
    if keys[0] == "name" and key in KEYS:
        return KeyAsked((key,), USER)
    return KeyAsked(keys, word, key if key in KEYS else None)


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
    return {item.id for item in found if (is_about(item, names) if mine else _is_of(item, names))}


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
        names |= {normal_name(item.value) for item in told if isinstance(item.value, str)}
    return names | {name for one in named_in(unit, lane.lane_id, names) for name in one.names}


def _is_of(item: Item, names: set[str]) -> bool:
    return item.subject is not None and normal_name(item.subject) in names
