"""What a learn looked at, when it is prepared again in a lane that went on: things as they stood before its entry.

A claim that the learn deleted is there again to be judged, and a feedback that was corrected later is the one of then.
"""

from collections.abc import Iterable

from phronesis.core.entries import Entry
from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.core.undo import as_of
from phronesis.storage.lane_view import LaneView
from phronesis.storage.log import seqs_of_entries


def items_before(view: LaneView, items: Iterable[Item], entry: Entry) -> list[Item]:
    """Give items as they stood before an entry; as they are where the lane has not come to it yet."""
    listed = list(items)
    if view.lane.applied_seq < entry.seq:
        return listed
    deltas = view.deltas([item.id for item in listed])
    seqs = seqs_of_entries(view.unit, {delta.entry_id for row in deltas.values() for delta in row})
    later = {item_id: [delta for delta in row if seqs[delta.entry_id] >= entry.seq] for item_id, row in deltas.items()}
    return [as_of(item, later.get(item.id, [])[::-1]) for item in listed]


def evidence_before(view: LaneView, item_ids: Iterable[str], entry: Entry) -> dict[str, list[EvidenceRow]]:
    """Give the evidence of items, without what came with an entry or after it."""
    held = view.evidence(item_ids)
    if view.lane.applied_seq < entry.seq:
        return held
    seqs = seqs_of_entries(view.unit, {row.entry_id for rows in held.values() for row in rows})
    return {item_id: [row for row in rows if seqs[row.entry_id] < entry.seq] for item_id, rows in held.items()}
