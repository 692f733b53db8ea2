"""Letting go of what is in quarantine, or ending it: entries like other edits, so that a person's word is in the log.

A release holds whatever the rules find later: when a lane is derived anew, the release is applied after the message
again.
"""

from collections.abc import Mapping
from typing import Any, Final

from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import Entry, is_erased
from phronesis.core.items import Item
from phronesis.derive.handler import Handler, Outcomes
from phronesis.storage.lane_view import LaneView

RELEASE: Final = "release"
REJECT: Final = "reject"


def in_quarantine(item: Item) -> bool:
    """Tell whether an item waits for somebody's word."""
    return item.quarantine is not None and item.status == "active" and item.ended is None


def apply_release(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
    """Give an item to ordinary reads. Nothing is learned from it by that."""
    return _decided(view, entry, {"quarantine": None})


def apply_reject(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
    """End an item for good: archived, retracted, and in quarantine still, so that neither edit alone brings it back."""
    fields = {"status": "archived", "ended": "retracted", "ended_by": entry.id, "valid_to": entry.recorded_at}
    return _decided(view, entry, fields)


def _decided(view: LaneView, entry: Entry, fields: Mapping[str, Any]) -> Changes:
    item = None if is_erased(entry.payload) else view.item(entry.payload["item_id"])
    if item is None or not in_quarantine(item):
        return Changes()
    return Changes(patches=[Patch(item.id, fields, entry.payload.get("reason") or entry.verb)])


HANDLERS: Final = (Handler(verb=RELEASE, apply=apply_release), Handler(verb=REJECT, apply=apply_reject))
