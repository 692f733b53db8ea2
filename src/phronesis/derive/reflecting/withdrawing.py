"""What a person takes back no longer speaks for or against a trait, whatever verb took it back.

A memory that was retracted, or deleted by hand, leaves the evidence of traits; a trait that nothing supports any more
dissolves. What was merely superseded, or was put away because nobody asked for it, happened all the same and stays.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import Entry
from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.core.traits.seen import MEMORY_KINDS
from phronesis.core.traits.strength import TRAIT
from phronesis.storage.lane_view import LaneView

_BY_HAND: Final = frozenset({"archive", "archive_all"})
_COUNTED: Final = frozenset({"support", "contra"})


def without_withdrawn(view: LaneView, entry: Entry, changes: Changes, held: Mapping[str, Item]) -> Changes:
    """Give the changes with the evidence of traits that goes with them. ``held`` are the items that they touch."""
    gone = {patch.item_id for patch in changes.patches if _withdraws(entry, patch, held.get(patch.item_id))}
    if not gone:
        return changes
    rows = [row for row in view.evidence_from(sorted(gone)) if row.source_key in gone and row.polarity in _COUNTED]
    traits = {item.id: item for item in view.items(row.item_id for row in rows).values() if item.kind == TRAIT}
    going = [row for row in rows if row.item_id in traits]
    if not going:
        return changes
    ended = [Patch(trait.id, _dissolved(entry), "what supported it was taken back")
             for trait in _bare(view, traits, going) if trait.ended is None]  # fmt: skip
    return replace(
        changes, dropped_evidence=(*changes.dropped_evidence, *going), patches=(*changes.patches, *ended)
    )  # fmt: skip


def _withdraws(entry: Entry, patch: Patch, item: Item | None) -> bool:
    if item is None or item.kind not in MEMORY_KINDS:
        return False
    archived = patch.fields.get("status") == "archived" and entry.verb in _BY_HAND
    return archived or patch.fields.get("ended") == "retracted"


def _bare(view: LaneView, traits: Mapping[str, Item], going: Iterable[EvidenceRow]) -> list[Item]:
    """Give the traits that nothing supports without what goes."""
    dropped = {row.identity for row in going}
    left = view.evidence(traits)
    return [
        trait for trait in traits.values()
        if not any(row.polarity == "support" and row.identity not in dropped for row in left.get(trait.id, ()))
    ]  # fmt: skip


def _dissolved(entry: Entry) -> dict[str, object]:
    return {"ended": "dissolved", "ended_by": entry.id, "valid_to": entry.recorded_at}
