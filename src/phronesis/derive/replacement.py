"""What a caller says that a new item replaces (``add(…, supersedes=id)``): the older items end as superseded by it."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import Entry
from phronesis.core.items import Item
from phronesis.core.relations import Edge
from phronesis.storage.lane_view import LaneView

SUPERSEDES: Final = "supersedes"
"""The member of a payload that lists the ids of what is replaced."""

_REASON: Final = "superseded by what was added"


def with_replaced(view: LaneView, entry: Entry, changes: Changes) -> Changes:
    """Give an entry's changes with the end of the items that it replaces, as far as they are still live.

    What was taken from a message replaces them rather than the message. Nothing ends that the entry itself made or
    ended, or where it made nothing that is shown.
    """
    wanted: Sequence[str] = entry.payload.get(SUPERSEDES, ())
    made = [item for item in changes.items if item.live and item.quarantine is None]
    if not wanted or not made:
        return changes
    by = next((item for item in made if item.kind != "message"), made[0])
    held = view.items(wanted)
    over = {patch.item_id for patch in changes.patches if patch.fields.get("ended")}
    live = [item for one in wanted if (item := held.get(one)) is not None and item.live and one not in over]
    patches = [Patch(item.id, _end(item, by), _REASON) for item in live]
    edges = [Edge(type="supersedes", from_kind="item", from_id=by.id, to_kind="item", to_id=item.id, entry_id=entry.id)
             for item in live]  # fmt: skip
    return replace(changes, patches=[*changes.patches, *patches], edges=[*changes.edges, *edges])


def _end(item: Item, by: Item) -> dict[str, object]:
    """Give the fields of an item that another took the place of: it held until the other began."""
    begins = by.valid_from
    if begins is None or (item.valid_from is not None and begins < item.valid_from):
        begins = item.valid_from
    return {"ended": "superseded", "ended_by": by.entry_id, "valid_to": begins}
