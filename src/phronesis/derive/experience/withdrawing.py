"""A pattern or event that is no longer held supports and contradicts no principle, whatever verb took it away.

A principle that nothing supports any more stays until patterns are abstracted again: its confidence is 0, and it says
that it needs validation.
"""

from collections.abc import Mapping
from dataclasses import replace

from phronesis.core.changes import Changes
from phronesis.core.entries import Entry
from phronesis.core.experience.records import CONTRADICTS, L1, PATTERN, PRINCIPLE, SUPPORTS
from phronesis.core.items import Item
from phronesis.storage.lane_view import LaneView


def without_unheld(view: LaneView, _entry: Entry, changes: Changes, held: Mapping[str, Item]) -> Changes:
    """Give the changes with the evidence of principles that goes with them. ``held`` are the items that they touch."""
    gone = _gone(changes, held)
    if not gone:
        return changes
    rows = [row for row in view.evidence_from(sorted(gone)) if row.source_key in gone]
    found = view.items(row.item_id for row in rows)
    going = [row for row in rows if row.item_id in found and found[row.item_id].kind == PRINCIPLE]
    if not going:
        return changes
    principles = {row.item_id for row in going}
    edges = [edge for edge in view.edges_from(sorted(gone), SUPPORTS, CONTRADICTS) if edge.to_id in principles]
    return replace(
        changes, dropped_evidence=(*changes.dropped_evidence, *going), dropped_edges=(*changes.dropped_edges, *edges)
    )


def _gone(changes: Changes, held: Mapping[str, Item]) -> set[str]:
    """Give the patterns and events that were live, and are not after the changes."""
    fields: dict[str, dict[str, object]] = {}
    for patch in changes.patches:
        fields.setdefault(patch.item_id, {}).update(patch.fields)
    out = set()
    for one, patched in fields.items():
        item = held.get(one)
        if item is not None and item.kind in (PATTERN, L1) and item.live and not item.with_fields(patched).live:
            out.add(one)
    return out
