"""Step 9: what a reflection leaves of itself, an item of kind cycle (requirements NM-03, NM-14).

The last one that was completed is the watermark: the next reflection looks at what was learned since. Taking a
reflection back takes its cycle along, and with it the watermark.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from phronesis.core.entries import Entry
from phronesis.core.ids import item_id
from phronesis.core.items import Item
from phronesis.core.traits.records import COUNTED, CYCLE, RefusedWish

COMPLETED: Final = "completed"
FAILED: Final = "failed"

MAX_TOLD: Final = 100
"""Refused wishes that a cycle lists."""


def make_cycle(
    entry: Entry,
    scope: Mapping[str, Any],
    trigger: Mapping[str, Any],
    *,
    counts: Mapping[str, int],
    refused: Sequence[RefusedWish] = (),
    error: str | None = None,
    **told: Any,
) -> Item:
    """Give the item of a reflection that ran; with ``error`` of a round that was skipped."""
    data = {
        "status": COMPLETED if error is None else FAILED, "trigger_type": trigger["reason"],
        "trigger_value": trigger.get("value"), "memories_scanned": trigger["new_memories"],
        **{name: counts[name] for name in COUNTED if counts.get(name)},
        "refused": [asdict(one) for one in refused[:MAX_TOLD]] or None, "error": error, **told,
    }  # fmt: skip
    return Item(
        id=item_id(entry.id, CYCLE, ""),
        kind=CYCLE,
        content="",
        entry_id=entry.id,
        recorded_at=entry.recorded_at,
        updated_at=entry.recorded_at,
        importance=1,
        source_type="reflection",
        occurred_at=entry.recorded_at,
        valid_from=entry.recorded_at,
        data={name: value for name, value in data.items() if value is not None},
        **scope,
    )
