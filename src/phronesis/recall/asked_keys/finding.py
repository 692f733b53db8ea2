"""What a lane holds under the key that a question asks for, of whom it asks."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, Final

from phronesis.core.entities import normal_name
from phronesis.core.items import Item
from phronesis.core.kinship import plain_relative
from phronesis.core.memory_keys import FAMILY
from phronesis.core.proposals import USER
from phronesis.recall.about_user import is_about, told_names
from phronesis.recall.asked_keys.reading import KeyAsked
from phronesis.recall.browse import items_of
from phronesis.recall.relational import named_in
from phronesis.storage.database import Unit
from phronesis.storage.eligible import Wanted
from phronesis.storage.lanes import Lane

MOST: Final = 100
"""Items of a lane that are looked at under the keys asked for, the newest: more are no answer but a listing."""


def held_under(unit: Unit, lane: Lane, asked: KeyAsked, wanted: Wanted) -> set[str]:
    """Give the ids of a lane's items that hold what is asked for, at the times that ``wanted`` asks for."""
    found = _under(unit, lane, asked.keys, wanted)
    if not found or asked.about is None:
        return {item.id for item in found}
    names = _names(unit, lane, asked, wanted)
    mine = asked.about == USER
    return {item.id for item in found if (is_about(item, names) if mine else _is_of(item, names))}


def _under(unit: Unit, lane: Lane, keys: Iterable[str], wanted: Wanted) -> Sequence[Item]:
    whole = [key for key in keys if not key.endswith(FAMILY)]
    ways: list[dict[str, Any]] = [{"key": {"in": whole}}] if whole else []
    ways += [{"key": {"contains": key.removesuffix("*")}} for key in keys if key.endswith(FAMILY)]
    narrowed = dataclasses.replace(wanted, kinds=None, attributes={}, filters={"OR": ways})
    return items_of(unit, [lane], narrowed, limit=MOST)


def _names(unit: Unit, lane: Lane, asked: KeyAsked, wanted: Wanted) -> set[str]:
    """Give the normal names under which memories speak of whom a question asks of."""
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
