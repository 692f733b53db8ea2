"""Read a held document with its versions and sections, and project sections to search documents."""

from dataclasses import dataclass
from typing import Final

from phronesis.core.documents import DOCUMENT
from phronesis.core.items import Item
from phronesis.errors import NotFound
from phronesis.index.projections import CHUNK, Part
from phronesis.recall.as_of import known_at
from phronesis.recall.browse import find_item
from phronesis.resources.laws.outline import Chunk, chunks_of
from phronesis.resources.laws.records import Resource
from phronesis.store.conversations import versions_of
from phronesis.store.database import Database, Unit
from phronesis.store.eligible import ReadConditions
from phronesis.store.items import read_items
from phronesis.store.lanes import Lane

# Sections as search documents: chunks of their text, each under its headings (SB-08).

UNDER: Final = " › "
"""Separator of a document's title and its headings; it is no word, and no index term."""

MAX_HEADING: Final = 300
"""Characters of titles and headings before each chunk, limited so that they do not outweigh it."""


def project_section(item: Item) -> list[Part]:
    """Project a section as the chunks of its text, ``chunk:<start>``, under the document's title and headings.

    A chunk seldom names its topic; its headings do. A section without text is searched by its headings. Relative dates
    are not resolved: "yesterday" in a document is not relative to when it was stored.
    """
    heading, text = heading_of(item), item.content
    return [
        Part(f"{CHUNK}{one.start}", f"{heading}\n{text[one.start : one.end]}", dated=False)
        for one in chunks_of(text) or [Chunk(0, len(text))]
    ]


def heading_of(item: Item) -> str:
    """Return a section's headings in one line, the document's title first.

    A title that is also the first heading is not repeated.
    """
    named = [item.data.get("title") or "", *(item.data.get("path") or ())]
    told = dict.fromkeys(" ".join(str(one).split()) for one in named)
    return UNDER.join(one for one in told if one)[:MAX_HEADING]


@dataclass(frozen=True, slots=True)
class ResourceBook:
    """Reads documents. Read-only."""

    database: Database

    def resource(self, tenant: str, document_id: str, wanted: ReadConditions) -> Resource:
        """Return a document as it was ``as_of`` a time; NotFound if it did not exist then or does not exist."""
        with self.database.transaction(tenant, "read") as unit:
            lane, item = find_item(unit, document_id)
            found = _items_as_of(unit, lane, [item], wanted)
            if not found or found[0].kind != DOCUMENT:
                raise NotFound(f"there is no document {document_id}; 'get' gives items of other kinds", field="id")
            document = found[0]
            listed = document.data.get("sections", ())
            held = read_items(unit, lane, listed)
            sections = {one.id: one for one in _items_as_of(unit, lane, list(held.values()), wanted)}
            versions = versions_of(unit, lane.lane_id, document.id, as_of=wanted.as_of)
        return Resource(
            document,
            tuple(versions),
            tuple(sections[one] for one in listed if one in sections and sections[one].quarantine is None),
        )


def _items_as_of(unit: Unit, lane: Lane, items: list[Item], wanted: ReadConditions) -> list[Item]:
    return items if wanted.as_of is None else known_at(unit, lane.lane_id, items, wanted.as_of)
