"""Names for items: external ids, which a write assigns, and the beginning or end of an id."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from phronesis.core.ids import LaneName, id_part
from phronesis.core.items import Item
from phronesis.core.lazy_loading import lazy_module
from phronesis.errors import InputError, NotFound
from phronesis.log.inputs import EXTERNAL_ID
from phronesis.log.payloads import message_text
from phronesis.memory.runtime import Components
from phronesis.recall.as_of import known_at, was_valid_at
from phronesis.store.database import Database
from phronesis.store.eligible import ReadConditions
from phronesis.store.items import read_named
from phronesis.store.lanes import find_lane
from phronesis.store.named_items import find_ids

if TYPE_CHECKING:
    from phronesis.engine import entry_applier
else:
    entry_applier = lazy_module("phronesis.engine.entry_applier")


def name_messages(messages: list[dict[str, Any]], external_id: str | None) -> list[dict[str, Any]]:
    """Return the messages of a call with its name on the only one; InputError where there are several."""
    if external_id is None:
        return messages
    if len(messages) != 1:
        raise InputError(
            f"external_id names one item, and content has {len(messages)} messages: give each message an external_id"
            " of its own, or add them one by one",
            field=EXTERNAL_ID,
        )
    return [{**messages[0], EXTERNAL_ID: external_id}]


@dataclass(frozen=True, slots=True)
class Names:
    """The external ids that one write assigns, and the lane that it writes to."""

    components: Components
    tenant: str
    lane: LaneName
    payload: Mapping[str, Any]

    @property
    def texts(self) -> dict[str, str]:
        """The recorded text of each external id."""
        if not self._has_ids():
            return {}
        payload = self.components.writer.redactor.cleaned(self.payload)
        if EXTERNAL_ID in payload:
            return {payload[EXTERNAL_ID]: payload["content"]}
        return {one[EXTERNAL_ID]: message_text(one) for one in payload["messages"] if one.get(EXTERNAL_ID) is not None}

    def items_named(self, *, without: Iterable[str] = ()) -> list[Item]:
        """Return the items that have these ids already; Conflict for one with other text, unless it is replaced."""
        texts = {name: text for name, text in self.texts.items() if name not in set(without)}
        if not texts:
            return []
        kind = self.payload.get("kind", "message")
        found: list[Item] = []
        with self.components.database.transaction(self.tenant, "read") as unit:
            lane = find_lane(unit, self.lane)
            if lane is not None:
                found = [item for name in texts for item in read_named(unit, lane, name) if item.keeps_name]
        for item in found:
            replaced = item.id in self.payload.get(entry_applier.SUPERSEDES, ())
            if not replaced and (item.kind, item.content) != (kind, texts[str(item.external_id)]):
                raise entry_applier.name_taken(item)
        return [item for item in found if item.id not in self.payload.get(entry_applier.SUPERSEDES, ())]

    def _has_ids(self) -> bool:
        messages = self.payload.get("messages") or ()
        return self.payload.get(EXTERNAL_ID) is not None or any(one.get(EXTERNAL_ID) is not None for one in messages)


def item_named(components: Components, tenant: str, lane: LaneName, external_id: str, wanted: ReadConditions) -> Item:
    """Return the item that has an external id in a lane, or had it at the requested times; NotFound if none."""
    with components.database.transaction(tenant, "read") as unit:
        there = find_lane(unit, lane)
        found = [] if there is None else read_named(unit, there, external_id)
        if there is not None and found and wanted.as_of is not None:
            found = known_at(unit, there.lane_id, found, wanted.as_of)
    found = [item for item in found if item.keeps_name]
    if wanted.valid_at is not None:
        found = [item for item in found if was_valid_at(item, wanted.valid_at)]
    if not found:
        raise NotFound(
            f"no item has the external_id {external_id!r:.80} in {lane}; one that was archived or ended is read by its"
            " id, or found by filters on external_id and status",
            field=EXTERNAL_ID,
        )
    return found[-1]


MAX_CANDIDATES: Final = 10
"""Ids of an ambiguous part that the error names."""


@dataclass(frozen=True, slots=True)
class IdFinder:
    """The ids of one tenant: of items, entries, changes, entities and keys."""

    database: Database
    tenant: str

    def complete(self, text: str, *, field: str = "id") -> str:
        """Return the whole id of which ``text`` is the beginning or the end, from four digits on.

        A text that is no part of an id is returned as it is. NotFound if no id has this part; InputError if several
        have: ``details["candidates"]`` holds ``(id, kind, words)`` of the first ten.
        """
        part = id_part(text)
        if part is None:
            return text
        with self.database.transaction(self.tenant, "read") as unit:
            found = find_ids(unit, beginning=part[0], end=part[1], limit=MAX_CANDIDATES + 1)
        if not found:
            raise NotFound(f"no id here begins or ends with {text}", field=field)
        if len(found) > 1:
            many = f"more than {MAX_CANDIDATES}" if len(found) > MAX_CANDIDATES else len(found)
            raise InputError(
                f"{text} is the beginning or the end of {many} ids; give more of it",
                field=field,
                details={"candidates": [tuple(one) for one in found[:MAX_CANDIDATES]]},
            )
        return found[0].id
