"""What a lane derived another way holds that this one does not, as rows, by the entry that they come from."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any, Final

from phronesis.core.canonical import plain
from phronesis.core.changes import Fold
from phronesis.core.items import BOOKKEEPING, Item, flat_row
from phronesis.storage.database import Unit
from phronesis.storage.items import read_where
from phronesis.storage.lanes import Lane
from phronesis.storage.relations import lane_edges, lane_entities, lane_evidence, lane_mentions

_LEARNING: Final = BOOKKEEPING | {"id", "recorded_at", "entry_id"}
"""Fields that say when and from what an item was learned: they differ by the way and not by the result."""

Found = dict[str, dict[str, list[Any]]]
"""By entry, by what is to be done: the rows. One outcome for each entry, so that an erasure finds its own."""


def difference(live: Unit, other: Unit, lane: Lane, folds: Mapping[str, Fold]) -> list[dict[str, Any]]:
    """Give what makes the live lane like the other: one body for each entry, in the order of their ids.

    ``created`` items, ``changed`` [id, fields], ``vanished`` ids; edges, evidence, entities and mentions to be added
    or ``dropped_…``. Items that are ended stay so; what belongs to a vanished item is left, as its history.
    """
    found: Found = {}
    before = {item.id: item for item in read_where(live, lane)}
    after = {item.id: item for item in read_where(other, lane)}
    _items(found, before, after, folds)
    for name, records in (("edges", lane_edges), ("evidence", lane_evidence)):
        old = {row.identity: row for row in records(live, lane.lane_id)}
        new = {row.identity: row for row in records(other, lane.lane_id)}
        for key in sorted(new.keys() - old.keys()):
            _note(found, new[key].entry_id, name, new[key].to_row())
        for key in sorted(old.keys() - new.keys()):
            owner = old[key].to_row().get("item_id") or old[key].to_row().get("from_id")
            if owner in after or owner not in before:
                _note(found, old[key].entry_id, f"dropped_{name}", old[key].to_row())
    _names(found, live, other, lane.lane_id)
    return [{"entry_id": entry_id, **found[entry_id]} for entry_id in sorted(found)]


def _items(found: Found, before: Mapping[str, Item], after: Mapping[str, Item], folds: Mapping[str, Fold]) -> None:
    for item in after.values():
        old = before.get(item.id)
        if old is None:
            _note(found, item.entry_id, "created", item.to_row())
            continue
        folded = folds[item.kind].fields if item.kind in folds else frozenset()
        fields = _changed(old, item, _LEARNING | folded)
        if fields:
            _note(found, item.entry_id, "changed", [item.id, fields])
    for item in before.values():
        if item.id not in after and item.ended is None:
            _note(found, item.entry_id, "vanished", item.id)


def _changed(old: Item, new: Item, skipped: Iterable[str]) -> dict[str, Any]:
    was, now = (plain(flat_row(item.to_row()), field="item") for item in (old, new))
    names = sorted((was.keys() | now.keys()) - set(skipped))
    return {name: now.get(name) for name in names if was.get(name) != now.get(name)}


def _names(found: Found, live: Unit, other: Unit, lane_id: int) -> None:
    old = {entity.id: entity for entity in lane_entities(live, lane_id)}
    new = {entity.id: entity for entity in lane_entities(other, lane_id)}
    for key in sorted(new):
        if key not in old or new[key].canonical_id not in (None, old[key].canonical_id):
            _note(found, new[key].entry_id, "entities", dataclasses.asdict(new[key]))
    for key in sorted(old.keys() - new.keys()):
        _note(found, old[key].entry_id, "dropped_entities", key)
    said = {(m.item_id, m.entity_id, m.start): m for m in lane_mentions(live, lane_id)}
    says = {(m.item_id, m.entity_id, m.start): m for m in lane_mentions(other, lane_id)}
    for place in sorted(says.keys() - said.keys()):
        _note(found, says[place].entry_id, "mentions", dataclasses.asdict(says[place]))
    for place in sorted(said.keys() - says.keys()):
        _note(found, said[place].entry_id, "dropped_mentions", dataclasses.asdict(said[place]))


def _note(found: Found, entry_id: str, name: str, row: Any) -> None:
    found.setdefault(entry_id, {}).setdefault(name, []).append(row)
