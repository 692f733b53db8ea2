"""Events by what their situation and goal are called, to the letter: a task's name finds what was tried at it.

Kept in memory beside a lane's index and caught up before it is asked. It holds hashes and ids, no words.
"""

from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final

from phronesis.core.experience.records import L1
from phronesis.core.items import Item
from phronesis.core.text import MAX_ID_LENGTH
from phronesis.index.experience import view_part
from phronesis.storage.database import Unit
from phronesis.storage.experience import changed_views, of_episode
from phronesis.storage.lanes import Lane

NAMING: Final = ("situation", "goal")
"""The views that may be a task's name."""

MOST: Final = 256
"""Events of one name that are looked at, the last ones: a name with thousands stands for no one task."""

_PARTS: Final = tuple(map(view_part, NAMING))
_EDGES: Final = " \t.,;:!?。，；：！？"


def called(text: str) -> str:
    """Give a text as it is compared as a name: without case, the same spaces, no stop at its end."""
    return " ".join(text.casefold().split()).strip(_EDGES)


def is_called(item: Item, name: str) -> bool:
    """Tell whether an event's situation, goal or episode is called so."""
    return name in (
        called(item.data.get("situation", "")),
        called(item.data.get("goal", "")),
        called(item.run_id or ""),
    )


def _number(name: str) -> int:
    return int.from_bytes(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


@dataclass(slots=True)
class _Names:
    epoch: int
    seen_seq: int = 0
    ids: dict[int, str | list[str]] = field(default_factory=dict)
    """Most names stand for one event: a list for each would be a hundred thousand more for the garbage collector."""

    def add(self, number: int, item_id: str) -> None:
        """Note that an event is called so."""
        held = self.ids.setdefault(number, item_id)
        if isinstance(held, list):
            held.append(item_id)
        elif held != item_id:
            self.ids[number] = [held, item_id]

    def named(self, number: int) -> Sequence[str]:
        """Give the events that may be called so."""
        held = self.ids.get(number, [])
        return [held] if isinstance(held, str) else held


@dataclass(slots=True)
class TaskNames:
    """The names of the last few lanes. Not thread-safe: used under the lock of the lanes' indexes."""

    limit: int = 8
    _kept: "OrderedDict[tuple[str, int], _Names]" = field(default_factory=OrderedDict)

    def events(self, unit: Unit, lane: Lane, name: str) -> list[str]:
        """Give the ids of the events that may be called so, newest first; `is_called` is sure."""
        known = self._of(unit, lane).named(_number(name))
        episode = of_episode(unit, lane.lane_id, L1, name, limit=MOST) if len(name) <= MAX_ID_LENGTH else []
        return sorted({*known, *episode}, reverse=True)[:MOST]

    def _of(self, unit: Unit, lane: Lane) -> _Names:
        key = (unit.tenant, lane.lane_id)
        names = self._kept.pop(key, None)
        if names is None or names.epoch != lane.epoch:
            names = _Names(lane.epoch)
        if names.seen_seq < lane.documents_seq:
            for item_id, text in changed_views(unit, lane.lane_id, L1, _PARTS, after=names.seen_seq):
                names.add(_number(called(text)), item_id)
            names.seen_seq = lane.documents_seq
        self._kept[key] = names
        while len(self._kept) > self.limit:
            self._kept.popitem(last=False)
        return names
