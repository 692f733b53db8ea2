"""A document as it is held: its versions, and its sections in reading order."""

from dataclasses import dataclass

from phronesis.core.items import Item
from phronesis.core.resources.records import DOCUMENT
from phronesis.core.resources.results import Resource
from phronesis.errors import NotFound
from phronesis.recall.browse import find_item
from phronesis.recall.past import known_at
from phronesis.storage.database import Database, Unit
from phronesis.storage.eligible import Wanted
from phronesis.storage.items import read_items
from phronesis.storage.lanes import Lane
from phronesis.storage.resources import versions_of


@dataclass(frozen=True, slots=True)
class ResourceBook:
    """Reads documents. It never writes."""

    database: Database

    def resource(self, tenant: str, document_id: str, wanted: Wanted) -> Resource:
        """Give a document, as it was ``as_of`` a time; NotFound where there is none of that id, or was none then."""
        with self.database.transaction(tenant, "read") as unit:
            lane, item = find_item(unit, document_id)
            found = _then(unit, lane, [item], wanted)
            if not found or found[0].kind != DOCUMENT:
                raise NotFound(f"there is no document {document_id}; 'get' gives items of other kinds", field="id")
            document = found[0]
            listed = document.data.get("sections", ())
            held = read_items(unit, lane, listed)
            sections = {one.id: one for one in _then(unit, lane, list(held.values()), wanted)}
            versions = versions_of(unit, lane.lane_id, document.id, as_of=wanted.as_of)
        return Resource(
            document, tuple(versions),
            tuple(sections[one] for one in listed if one in sections and sections[one].quarantine is None),
        )  # fmt: skip


def _then(unit: Unit, lane: Lane, items: list[Item], wanted: Wanted) -> list[Item]:
    return items if wanted.as_of is None else known_at(unit, lane.lane_id, items, wanted.as_of)
