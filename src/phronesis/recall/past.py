"""Items as they were known at an earlier time."""

from collections.abc import Iterable
from dataclasses import replace

from phronesis.core.instants import to_micros
from phronesis.core.items import Item
from phronesis.core.undo import as_of
from phronesis.storage.database import Unit
from phronesis.storage.deltas import deltas_of_items


def known_at(unit: Unit, lane_id: int, items: Iterable[Item], moment: int) -> list[Item]:
    """Give the items as of ``moment`` (microseconds), leaving out those that nobody knew of yet."""
    present = [item for item in items if to_micros(item.recorded_at) <= moment]
    histories = deltas_of_items(unit, lane_id, [item.id for item in present if to_micros(item.updated_at) > moment])
    out: list[Item] = []
    for item in present:
        deltas = histories.get(item.id, ())
        later = [delta for delta in deltas if to_micros(delta.recorded_at) > moment]
        version = as_of(item, later[::-1])
        if later:  # bookkeeping stands in no patch: the change before says when this version came to be
            earlier = deltas[: len(deltas) - len(later)]
            version = replace(version, updated_at=earlier[-1].recorded_at if earlier else item.recorded_at)
        out.append(version)
    return out


def held_at(item: Item, moment: int) -> bool:
    """Tell whether what an item says held at ``moment``."""
    starts = item.valid_from is None or to_micros(item.valid_from) <= moment
    ends = item.valid_to is not None and to_micros(item.valid_to) <= moment
    return starts and not ends and item.ended not in ("retracted", "dissolved")
