"""The watermark item that marks how far a lane was aggregated; archived from the start. A rollback restores it."""

from typing import Final

from phronesis.core.changes import Patch
from phronesis.core.entries import Entry
from phronesis.core.ids import item_id
from phronesis.core.items import DEFAULT_IMPORTANCE, Item
from phronesis.log.payloads import load_listed
from phronesis.store.lane_view import LaneView
from phronesis.store.log import entries_of_verb

KIND: Final = "mark"
"""The kind of a watermark item."""

MARK: Final = "up_to"
"""The member of a watermark's data with the seq of the last entry that it covers."""

FEEDBACK: Final = "feedback"
"""The verb of judgements on events and patterns."""

SPOKEN: Final = "regroups"
"""The member of its payload with the events to regroup."""

MERGE: Final = "merge"
"""The kind of feedback that merges patterns, its ``value``, into another."""

ROLLBACK: Final = "rollback"

AGGREGATED: Final = "aggregate"
"""The item key of a watermark."""


def _mark(view: LaneView) -> Item | None:
    found = view.find(kinds=(KIND,), live=False)
    return next((item for item in reversed(found) if item.key == AGGREGATED and item.ended is None), None)


def last_processed(view: LaneView) -> int:
    """Return the seq of the last entry that was processed; 0 before the first time."""
    mark = _mark(view)
    return 0 if mark is None else int(mark.data[MARK])


def mark(view: LaneView, entry: Entry) -> tuple[list[Item], list[Patch]]:
    """Return the watermark that an entry sets: a new item, or a change of the existing one."""
    before = _mark(view)
    if before is not None:
        return [], [Patch(before.id, {f"data.{MARK}": entry.seq}, "looked at")]
    item = Item(
        id=item_id(entry.id, KIND, AGGREGATED),
        kind=KIND,
        key=AGGREGATED,
        content=AGGREGATED,
        entry_id=entry.id,
        recorded_at=entry.recorded_at,
        updated_at=entry.recorded_at,
        importance=DEFAULT_IMPORTANCE[KIND],
        status="archived",
        data={MARK: entry.seq},
        **view.scope_fields(),
    )
    return [item], []


def spoken_of(view: LaneView, seq: int) -> set[str]:
    """Return the events to regroup because of feedback given or taken back after entry ``seq``."""
    given, back = _feedback_since(view, seq)
    return {one for entry in (*given, *back) for one in entry.payload.get(SPOKEN) or ()}


def unmerged_patterns(view: LaneView, seq: int) -> list[str]:
    """Return the patterns whose merge was taken back after entry ``seq``."""
    _, back = _feedback_since(view, seq)
    return sorted({one for entry in back if entry.payload.get("kind") == MERGE for one in entry.payload["value"]})


def _feedback_since(view: LaneView, seq: int) -> tuple[list[Entry], list[Entry]]:
    """Return the feedback after an entry, and all feedback that a later entry took back."""
    log = view.log or view.unit
    rows = [row for verb in (FEEDBACK, ROLLBACK) for row in entries_of_verb(log, view.lane_id, verb, after=seq)]
    found = load_listed(log, view.lane, [row.entry_id for row in rows]) if rows else {}
    given = [entry for entry in found.values() if entry.verb == FEEDBACK]
    back, waiting = list[Entry](), [entry for entry in found.values() if entry.verb == ROLLBACK]
    while waiting:  # a rollback may be of a rollback
        targets = {_entry_of(view, entry.payload.get("target_id")) for entry in waiting}
        taken = load_listed(log, view.lane, sorted(one for one in targets if one is not None))
        back += [entry for entry in taken.values() if entry.verb == FEEDBACK]
        waiting = [entry for entry in taken.values() if entry.verb == ROLLBACK]
    return given, back


def _entry_of(view: LaneView, target: str | None) -> str | None:
    """Return the entry that a rollback takes back wholly or in part."""
    delta = None if target is None else view.delta(target)
    return target if delta is None else delta.entry_id
