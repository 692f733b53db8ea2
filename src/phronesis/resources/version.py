"""One version of a document, read from its entry and outcome, with the sections and rows made from it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

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
from phronesis.core.relations import Edge, EvidenceRow
from phronesis.core.timestamps import parse_moment
from phronesis.resources.laws.outline import Lines
from phronesis.resources.laws.records import ResourcePayload, SectionText

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

    def described(self, document: Item | None) -> dict[str, Any]:
        """Return the type and metadata of its items: its own, else those of ``document``."""
        type_ = payload_of(self.entry, ResourcePayload).get("type") or DOCUMENT
        if document is None:
            return {"source_type": type_, "metadata": {}, **self.said}
        return {"source_type": document.source_type or type_, "metadata": document.metadata, **self.said}

    def otherwise(self, item: Item) -> dict[str, Any]:
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
        return f"{self.uri}#{slug(path[-1])}" if path else self.uri

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
        sections = [
            SectionRow(
                document_id=document_id, number=number, n=n, item_id=ids[n], path=one.path, start=one.start, end=one.end
            )
            for n, one in enumerate(self.sections)
        ]
        return ResourceRows(documents=(document,), sections=tuple(sections))

    def evidence(self, items: Sequence[Item]) -> list[EvidenceRow]:
        """Return rows that link items to this entry too, so that erasing it finds every text that contains it."""
        out = []
        for item in items:
            out += [
                _source(item, item.entry_id, self.entry, item.occurred_at),
                _source(item, self.entry.id, self.entry, self.at),
            ]
        return out

    def edge(self, type_: str, start: str, end: str) -> Edge:
        """Return an edge between two items with this entry as evidence."""
        return Edge(type=type_, from_kind="item", from_id=start, to_kind="item", to_id=end, entry_id=self.entry.id)


def uri_of(entry: Entry) -> str:
    """Return the URI of the document that an entry holds a version of."""
    return payload_of(entry, ResourcePayload).get("uri") or f"entry:{entry.id}"


def trust_of(entry: Entry) -> Trust:
    """Return the trust level of a document: its author is unknown, and an agent's text is the agent's."""
    return Trust.ASSISTANT if payload_of(entry, ResourcePayload).get("made_by") == "assistant" else Trust.EXTERNAL


def slug(heading: str) -> str:
    """Return a heading as a URL fragment: letters and digits of any script, joined by hyphens."""
    return "-".join("".join(sign if sign.isalnum() else " " for sign in heading.casefold()).split())


def _given_fields(payload: ResourcePayload) -> dict[str, Any]:
    type_ = payload.get("type")
    if "mode" in payload and type_ in REF_TYPES:
        type_ = None  # a reference that names no type has that of references, which says nothing of the document
    said = {"source_type": type_, "metadata": payload.get("metadata")}
    return {name: value for name, value in said.items() if value}


def _source(item: Item, named: str, entry: Entry, at: datetime | None) -> EvidenceRow:
    return EvidenceRow(
        item_id=item.id,
        polarity="source",
        source_key=named,
        entry_id=entry.id,
        recorded_at=entry.recorded_at,
        source_entry_id=named,
        source_ref=item.source_ref,
        occurred_at=at,
    )
