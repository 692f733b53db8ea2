"""Who is the user, of those that memories speak of: under which names, and whether an item is about them."""

import dataclasses
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from typing import Final

from phronesis.core.entities import normal_name
from phronesis.core.items import Item
from phronesis.core.proposals import USER
from phronesis.recall.browse import items_of
from phronesis.storage.database import Unit
from phronesis.storage.eligible import Wanted
from phronesis.storage.lanes import Lane

NAMES: Final = ("name", "alias", "address_as")
"""Keys whose values are names of the user: what is about one of them is about the user."""

_MAX_NAMES: Final = 60


def names_of_user(items: Iterable[Item], lanes: Sequence[Lane]) -> set[str]:
    """Give the normal names under which memories speak of the user; ``items`` may say further ones."""
    names = {USER, *(normal_name(lane.user_id) for lane in lanes if lane.user_id is not None)}
    told = [item for item in items if item.key in NAMES and is_about(item, names)]
    return names | {normal_name(item.value if isinstance(item.value, str) else item.content) for item in told}


def told_names(unit: Unit, lanes: Sequence[Lane], wanted: Wanted) -> set[str]:
    """Give the normal names under which the lanes' memories speak of the user, at the times asked for.

    Whichever agent was told: attributes narrow what is shown, and not who the user is.
    """
    told = dataclasses.replace(wanted, filters={"key": {"in": list(NAMES)}}, kinds=("profile", "preference"),
                               attributes={})  # fmt: skip
    return names_of_user(items_of(unit, lanes, told, limit=_MAX_NAMES, weightiest=True), lanes)


def is_about(item: Item, names: AbstractSet[str]) -> bool:
    """Whether an item is about the one of these names, or about nobody."""
    return item.subject is None or normal_name(item.subject) in names
