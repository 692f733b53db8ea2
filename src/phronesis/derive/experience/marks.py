"""Up to where a lane's experience was aggregated, or abstracted: an item, so that a rollback takes it back.

It is archived from the start: no ordinary read is about it.
"""

from typing import Final

from phronesis.core.changes import Patch
from phronesis.core.entries import Entry
from phronesis.core.ids import item_id
from phronesis.core.items import DEFAULT_IMPORTANCE, Item
from phronesis.storage.lane_view import LaneView
from phronesis.storage.log import entries_of_verb
from phronesis.truth.reader import load_listed

KIND: Final = "mark"
"""The kind of item that a mark is."""

MARK: Final = "up_to"
"""The member of a mark's data: the seq of the last entry that it stands for."""

FEEDBACK: Final = "feedback"
"""The verb by which people speak of events and patterns."""

SPOKEN: Final = "events"
"""The member of its payload that names the events whose grouping it changes."""

AGGREGATED: Final = "aggregate"
ABSTRACTED: Final = "abstract"


def _mark(view: LaneView, key: str) -> Item | None:
    found = view.find(kinds=(KIND,), live=False)
    return next((item for item in reversed(found) if item.key == key and item.ended is None), None)


def marked(view: LaneView, key: str = AGGREGATED) -> int:
    """Give the seq up to which everything was looked at; 0 before the first time."""
    mark = _mark(view, key)
    return 0 if mark is None else int(mark.data[MARK])


def mark(view: LaneView, entry: Entry, key: str = AGGREGATED) -> tuple[list[Item], list[Patch]]:
    """Give the mark that an entry sets: a new item, or a change of the one there is."""
    before = _mark(view, key)
    if before is not None:
        return [], [Patch(before.id, {f"data.{MARK}": entry.seq}, f"{key}d")]
    item = Item(
        id=item_id(entry.id, KIND, key), kind=KIND, key=key, content=key, entry_id=entry.id,
        recorded_at=entry.recorded_at, updated_at=entry.recorded_at, importance=DEFAULT_IMPORTANCE[KIND],
        status="archived", data={MARK: entry.seq}, **view.scope_fields(),
    )  # fmt: skip
    return [item], []


def spoken_of(view: LaneView, seq: int) -> set[str]:
    """Give the events that feedback after entry ``seq`` groups anew."""
    rows = entries_of_verb(view.log or view.unit, view.lane_id, FEEDBACK, after=seq)
    if not rows:
        return set()
    said = load_listed(view.log or view.unit, view.lane, [row.entry_id for row in rows])
    return {one for entry in said.values() for one in entry.payload.get(SPOKEN) or ()}
