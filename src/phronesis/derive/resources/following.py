"""Sections follow their document: into the archive and out of it, and when it is said to be wrong."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import Entry
from phronesis.core.items import Item
from phronesis.core.resources.records import DOCUMENT
from phronesis.storage.lane_view import LaneView


def with_sections(view: LaneView, _entry: Entry, changes: Changes, held: Mapping[str, Item]) -> Changes:
    """Give the changes with what they mean for the sections of documents that leave ordinary reads or come back."""
    moved = [(held[patch.item_id], patch) for patch in changes.patches if _moves(patch, held)]
    if not moved:
        return changes
    taken = {patch.item_id for patch in changes.patches}
    patches = [
        one for document, patch in moved for one in _followed(view, document, patch.fields)
        if one.item_id not in taken
    ]  # fmt: skip
    return replace(changes, patches=(*changes.patches, *patches))


def _moves(patch: Patch, held: Mapping[str, Item]) -> bool:
    item = held.get(patch.item_id)
    if item is None or item.kind != DOCUMENT or "data.sections" in patch.fields:
        return False  # another version says itself what becomes of its sections
    return any(name in patch.fields and patch.fields[name] != getattr(item, name) for name in ("status", "ended"))


def _followed(view: LaneView, document: Item, fields: Mapping[str, Any]) -> Iterator[Patch]:
    """Give what becomes of a document's present sections; what had another end of its own keeps it."""
    sections = view.items(document.data.get("sections", ()))
    for item in sections.values():
        now: dict[str, Any] = {}
        if "status" in fields and item.status == document.status:
            now["status"] = fields["status"]
        if "ended" in fields and (item.ended, item.ended_by) == (document.ended, document.ended_by):
            now |= {"ended": fields["ended"], "ended_by": fields.get("ended_by")}
            now |= {"valid_to": fields["valid_to"]} if "valid_to" in fields else {}
        if now:
            yield Patch(item.id, now, "as its document")
