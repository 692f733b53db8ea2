"""Records of documents: results of the verbs, one version with its items and rows, held ones as read and searched."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypedDict

from phronesis.core.entries import (
    DOCUMENT,
    REF_TYPES,
    SECTION,
    DocumentRow,
    Entry,
    Outcome,
    ResourceRows,
    Section,
    SectionRow,
    payload_of,
)
from phronesis.core.ids import item_id
from phronesis.core.items import DEFAULT_IMPORTANCE, Item, Trust
from phronesis.core.proposals import Gated
from phronesis.core.relations import Edge, EvidenceRow
from phronesis.core.serialization import EntryResult, Record
from phronesis.core.timestamps import parse_moment
from phronesis.errors import NotFound
from phronesis.index.projections import CHUNK, Part
from phronesis.recall.as_of import known_at
from phronesis.recall.browse import find_item
from phronesis.resources.laws import Chunk, Lines, SectionText, chunks_of
from phronesis.store.conversations import versions_of
from phronesis.store.database import Database, Unit
from phronesis.store.eligible import ReadConditions
from phronesis.store.items import read_items
from phronesis.store.lanes import Lane

# What the verbs take and return.


class ResourcePayload(TypedDict, total=False):
    """The verb ``resource``: a document by its text, its bytes, or its address and how to read it."""

    uri: str
    title: str
    text: str
    data: str
    name: str
    media_type: str
    mode: str
    type: str
    made_by: str
    agent_id: str
    occurred_at: str
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class IngestedResource(EntryResult):
    """The result of ``resources.ingest``.

    ``document`` is the item of the document, ``number`` that of its present version; an ingested version that is older
    is another one, and its sections are ended. ``sections`` are those that this version added, ``superseded`` those
    that it replaced or removed, ``unchanged`` the number of unchanged sections. ``gated`` names the sections in
    quarantine, and the secrets and personal data that were removed before storing. ``pending``: recorded, not parsed
    yet.
    """

    entry_id: str
    document: Item | None = None
    number: int = 0
    sections: Sequence[Item] = ()
    superseded: Sequence[Item] = ()
    unchanged: int = 0
    gated: Sequence[Gated] = ()
    pending: bool = False


@dataclass(frozen=True, slots=True)
class Resource(Record):
    """A document with its versions in order of arrival, and the sections of the present one in reading order."""

    document: Item
    versions: Sequence[DocumentRow] = ()
    sections: Sequence[Item] = ()


# One version, from its entry and outcome.

LISTED: Final = "metadata"
"""The mode in which a reference is only listed: its text is not read, and nothing is said about it."""


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a document, from its entry and its outcome, with its storage location.

    ``said`` are the item fields that the caller gave: ``source_type`` and ``metadata``. Fields left out are unchanged.
    """

    entry: Entry
    uri: str
    title: str
    said: Mapping[str, Any]
    media_type: str
    text: str
    sections: tuple[Section, ...]
    words: tuple[SectionText, ...]
    lines: tuple[tuple[int, int], ...]
    lined: bool

    @classmethod
    def of(cls, entry: Entry, outcome: Outcome) -> "Version":
        """Return the version in an entry and its outcome."""
        payload, body = payload_of(entry, ResourcePayload), outcome.body
        text: str = body["text"] if "text" in body else payload["text"]
        sections = tuple(Section(tuple(path), start, end) for path, start, end in body["sections"])
        lines = Lines.of(text)
        return cls(
            entry=entry,
            uri=uri_of(entry),
            title=payload.get("title") or body["title"],
            said=_given_fields(payload),
            media_type=body["media_type"],
            text=text,
            sections=sections,
            words=tuple(SectionText(one.path, text[one.start : one.end].strip()) for one in sections),
            lines=tuple(lines.between(one.start, one.end) for one in sections),
            lined=body.get("lined", "text" not in body),
        )

    @property
    def at(self) -> datetime:
        """The time from which it is valid: given by the caller, else when it was recorded."""
        given = payload_of(self.entry, ResourcePayload).get("occurred_at")
        return self.entry.recorded_at if given is None else parse_moment(given, field="occurred_at")

    @property
    def listed(self) -> bool:
        """Return whether it only lists a document whose text was not read."""
        return payload_of(self.entry, ResourcePayload).get("mode") == LISTED

    def type_and_metadata(self, document: Item | None) -> dict[str, Any]:
        """Return the type and metadata of its items: its own, else those of ``document``."""
        type_ = payload_of(self.entry, ResourcePayload).get("type") or DOCUMENT
        if document is None:
            return {"source_type": type_, "metadata": {}, **self.said}
        return {"source_type": document.source_type or type_, "metadata": document.metadata, **self.said}

    def changed_fields(self, item: Item) -> dict[str, Any]:
        """Return the described fields that differ from an item's."""
        return {name: value for name, value in self.said.items() if getattr(item, name) != value}

    def section(self, n: int, document_id: str, fields: Mapping[str, Any]) -> Item:
        """Return the item of its ``n``-th section; ``fields`` are those of its owner and description."""
        entry, words = self.entry, self.words[n]
        return Item(
            id=item_id(entry.id, SECTION, f"{self.uri}#{n}"),
            kind=SECTION,
            content=words.text,
            entry_id=entry.id,
            recorded_at=entry.recorded_at,
            updated_at=entry.recorded_at,
            importance=DEFAULT_IMPORTANCE[SECTION],
            trust=trust_of(entry),
            agent_id=payload_of(entry, ResourcePayload).get("agent_id"),
            occurred_at=self.at,
            valid_from=self.at,
            source_ref=self.source_ref(n),
            data={
                "document_id": document_id,
                "uri": self.uri,
                "title": self.title,
                "path": list(words.path),
                **self.place(n),
            },
            **fields,
        )

    def place(self, n: int) -> dict[str, Any]:
        """Return the place of its ``n``-th section in the parsed text."""
        one = self.sections[n]
        return {"start": one.start, "end": one.end, "lines": list(self.lines[n])}

    def source_ref(self, n: int) -> str:
        """Return the reference of a section: its lines if the text is the document's own, else its heading."""
        if self.lined:
            first, last = self.lines[n]
            return f"{self.uri}#L{first}" + (f"-L{last}" if last > first else "")
        path = self.sections[n].path
        if not path:
            return self.uri
        # The heading as a URL fragment: letters and digits of any script, joined by hyphens.
        words = "".join(sign if sign.isalnum() else " " for sign in path[-1].casefold()).split()
        return f"{self.uri}#{'-'.join(words)}"

    def rows(self, document_id: str, number: int, ids: Sequence[str], type_: str) -> ResourceRows:
        """Return the version as rows; its sections are the items ``ids``."""
        document = DocumentRow(
            document_id=document_id,
            number=number,
            entry_id=self.entry.id,
            uri=self.uri,
            title=self.title,
            media_type=self.media_type,
            type=type_,
            characters=len(self.text),
            recorded_at=self.entry.recorded_at,
        )
        sections = tuple(
            SectionRow(
                document_id=document_id, number=number, n=n, item_id=ids[n], path=one.path, start=one.start, end=one.end
            )
            for n, one in enumerate(self.sections)
        )
        return ResourceRows(documents=(document,), sections=sections)

    def evidence(self, items: Sequence[Item]) -> list[EvidenceRow]:
        """Return rows that link items to this entry too, so that erasing it finds every text that contains it."""
        return [
            EvidenceRow(
                item_id=item.id,
                polarity="source",
                source_key=named,
                entry_id=self.entry.id,
                recorded_at=self.entry.recorded_at,
                source_entry_id=named,
                source_ref=item.source_ref,
                occurred_at=at,
            )
            for item in items
            for named, at in ((item.entry_id, item.occurred_at), (self.entry.id, self.at))
        ]

    def edge(self, type_: str, start: str, end: str) -> Edge:
        """Return an edge between two items with this entry as evidence."""
        return Edge(type=type_, from_kind="item", from_id=start, to_kind="item", to_id=end, entry_id=self.entry.id)


def uri_of(entry: Entry) -> str:
    """Return the URI of the document that an entry holds a version of."""
    return payload_of(entry, ResourcePayload).get("uri") or f"entry:{entry.id}"


def trust_of(entry: Entry) -> Trust:
    """Return the trust level of a document: its author is unknown, and an agent's text is the agent's."""
    return Trust.ASSISTANT if payload_of(entry, ResourcePayload).get("made_by") == "assistant" else Trust.EXTERNAL


def _given_fields(payload: ResourcePayload) -> dict[str, Any]:
    type_ = payload.get("type")
    if "mode" in payload and type_ in REF_TYPES:
        type_ = None  # a reference that names no type has that of references, which says nothing of the document
    said = {"source_type": type_, "metadata": payload.get("metadata")}
    return {name: value for name, value in said.items() if value}


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
    named = [item.data.get("title") or "", *(item.data.get("path") or ())]
    told = dict.fromkeys(" ".join(str(one).split()) for one in named)  # a title that is the first heading too: once
    heading, text = UNDER.join(one for one in told if one)[:MAX_HEADING], item.content
    return [
        Part(f"{CHUNK}{one.start}", f"{heading}\n{text[one.start : one.end]}", dated=False)
        for one in chunks_of(text) or [Chunk(0, len(text))]
    ]


@dataclass(frozen=True, slots=True)
class ResourceReader:
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
