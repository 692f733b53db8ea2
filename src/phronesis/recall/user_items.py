"""Items about the user: names and aliases, people close to the user, and open intentions and tasks that are due."""

import dataclasses
from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime, timedelta
from typing import Final

from phronesis.core.items import PROSPECTIVE, Item, surfaces, urgency
from phronesis.core.proposals import USER
from phronesis.core.relations import normal_name
from phronesis.core.timestamps import from_micros, to_micros
from phronesis.recall.browse import items_of
from phronesis.recall.word_lists import UnitText, is_chinese, load_words
from phronesis.store.database import Unit
from phronesis.store.eligible import ReadConditions
from phronesis.store.lanes import Lane

NAMES: Final = ("name", "alias", "address_as")
"""Keys whose values are names of the user."""

_MAX_NAMES: Final = 60
_MAX_NEAR: Final = 200


def names_of_user(items: Iterable[Item], lanes: Sequence[Lane]) -> set[str]:
    """Return the normal names by which memories refer to the user; ``items`` may add further ones."""
    names = {USER, *(normal_name(lane.user_id) for lane in lanes if lane.user_id is not None)}
    told = [item for item in items if item.key in NAMES and is_about(item, names)]
    return names | {normal_name(item.value if isinstance(item.value, str) else item.content) for item in told}


def told_names(unit: Unit, lanes: Sequence[Lane], wanted: ReadConditions) -> set[str]:
    """Return the normal names by which the lanes' memories refer to the user, at the requested times.

    Names from all agents count: attributes narrow what is shown, not who the user is.
    """
    told = dataclasses.replace(
        wanted, filters={"key": {"in": list(NAMES)}}, kinds=("profile", "preference"), attributes={}
    )
    return names_of_user(items_of(unit, lanes, told, limit=_MAX_NAMES, weightiest=True), lanes)


def is_about(item: Item, names: AbstractSet[str]) -> bool:
    """Return whether an item is about a person with one of these names, or about nobody."""
    return item.subject is None or normal_name(item.subject) in names


def near_user(
    unit: Unit, lanes: Sequence[Lane], items: Sequence[Item], names: AbstractSet[str], wanted: ReadConditions
) -> set[str]:
    """Return the ids of the items whose subject is close to the user of ``names``.

    The subject is stored as a relative, friend, colleague or pet of the user, is named by the relation (``mother``,
    妈妈, ``sister Anna``), or the item's text states it ("my neighbour Tim"). Items that a caller stated explicitly
    with a subject count as well.
    """
    items = [item for item in items if not is_about(item, names)]
    if not items:
        return set()
    keys = sorted(set(load_words().relatives.values()))
    told = dataclasses.replace(wanted, filters={"key": {"in": keys}}, kinds=("profile", "preference"), attributes={})
    held = [one for one in items_of(unit, lanes, told, limit=_MAX_NEAR, weightiest=True) if is_about(one, names)]
    near = {normal_name(one.value) for one in held if isinstance(one.value, str)}
    return {
        item.id
        for item in items
        if item.subject is not None
        and (item.source_type != "chat" or normal_name(item.subject) in near or _names_relation(item.subject, item))
    }


def _names_relation(subject: str, item: Item) -> bool:
    """Return whether a subject, or the text of its item before it, names a relation of the user."""
    words = load_words()
    if any(start == 0 for start, _ in UnitText(subject).places(words.relations)):
        return True
    before = UnitText(item.content.casefold().partition(subject.casefold())[0])
    relations = before.places(words.relations)
    if is_chinese(before.text):  # 我大儿子小明: it stands right before the name
        relations = [place for place in relations if place[1] == len(before.units)]
    return bool(relations) and any(start == 0 for start, _ in before.places(words.lists["own"]))


MAX_OPEN: Final = 1_000
"""Maximum due items read of each lane, the most important first."""

_LAST: Final = datetime.max.replace(tzinfo=UTC) - timedelta(seconds=1)


def asked_at(wanted: ReadConditions, now: datetime) -> datetime:
    """Return the reference time of due items: the requested time, else ``now``."""
    moment = wanted.as_of if wanted.valid_at is None else wanted.valid_at
    return now if moment is None else from_micros(moment)


def due_items(
    unit: Unit, lanes: Sequence[Lane], wanted: ReadConditions, now: datetime, within: timedelta
) -> list[Item]:
    """Return the lanes' open intentions and tasks that are due by ``now`` plus ``within``, most urgent first.

    Only items about the user or about nobody, and none that are expired, ended, archived or in quarantine.
    """
    latest = max(now, now.replace(tzinfo=UTC))  # a day begins earlier in the east
    horizon = latest + min(within, _LAST - latest)
    asked = dataclasses.replace(wanted, kinds=PROSPECTIVE, due_by=to_micros(horizon))
    found = [
        item for item in items_of(unit, lanes, asked, limit=MAX_OPEN, weightiest=True) if surfaces(item, now, within)
    ]
    names = names_of_user((), lanes)
    if not all(is_about(item, names) for item in found):  # about somebody else, or about the user under another name
        names = told_names(unit, lanes, wanted)
    return sorted((item for item in found if is_about(item, names)), key=urgency)
