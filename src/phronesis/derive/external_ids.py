"""A caller's own names for items: one item of a lane that is neither archived nor ended has an external id.

This is decided while an entry is applied, under the lane's lock: whoever comes second makes no item.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import Entry
from phronesis.core.items import Item
from phronesis.derive.replacement import SUPERSEDES
from phronesis.errors import Conflict
from phronesis.storage.lane_view import LaneView
from phronesis.truth.inputs import EXTERNAL_ID

NAMED_SINCE: Final = 2
"""The version of entries with messages in which a message's ``external_id`` is its item's name."""


def name_taken(item: Item) -> Conflict:
    """Give the error of a call that gives the name of one item to another."""
    return Conflict(
        f"external_id {item.external_id!r:.80} is that of item {item.id}, which says something else: change that item"
        " with update, replace it with supersedes, or delete it first",
        field=EXTERNAL_ID, details={"id": item.id},
    )  # fmt: skip


def renamed(view: LaneView, item: Item, payload: Mapping[str, Any]) -> dict[str, str]:
    """Give the field of an update that names an item; {} where another has the name."""
    external_id = payload.get(EXTERNAL_ID)
    held = None if external_id is None else view.named(external_id)
    return {} if external_id is None or (held is not None and held.id != item.id) else {EXTERNAL_ID: external_id}


def is_taken(view: LaneView, entry: Entry, external_id: str) -> bool:
    """Tell whether a name is another item's, and the entry does not replace that item."""
    held = view.named(external_id)
    replaced: Sequence[str] = entry.payload.get(SUPERSEDES, ())
    return held is not None and held.id not in replaced


def with_name(view: LaneView, external_id: str | None, changes: Changes) -> Changes:
    """Give the changes of a stated item with its name on the item that was held already, if that has none."""
    if external_id is None or any(item.external_id == external_id for item in changes.items):
        return changes
    said_again = [row.item_id for row in changes.evidence if row.polarity == "support"]
    held = view.item(said_again[0]) if said_again else None
    if held is None or held.external_id is not None:
        return changes
    own = next((one for one in changes.patches if one.item_id == held.id), Patch(held.id, {}, "named"))
    named = replace(own, fields={**own.fields, EXTERNAL_ID: external_id})
    return replace(changes, patches=[*(one for one in changes.patches if one.item_id != held.id), named])


def without_second_names(view: LaneView, _entry: Entry, changes: Changes, held: Mapping[str, Item]) -> Changes:
    """Give changes in which an item that comes back has no name that another got meanwhile."""
    if all(item.external_id is None for item in held.values()) and all(
        one.fields.get(EXTERNAL_ID) is None for one in changes.patches
    ):
        return changes
    after = {one.item_id: held[one.item_id].with_fields(one.fields) for one in changes.patches if one.item_id in held}
    back = {one.id: one for one in after.values() if one.keeps_name and not held[one.id].keeps_name}
    lost: list[str] = []
    for one in back.values():
        other = view.named(str(one.external_id))
        if other is not None and after.get(other.id, other).keeps_name:
            lost.append(one.id)
    if not lost:
        return changes
    gone: Mapping[str, Any] = {EXTERNAL_ID: None}
    patches = [replace(one, fields={**one.fields, **gone}) if one.item_id in lost else one for one in changes.patches]
    return replace(changes, patches=patches)
