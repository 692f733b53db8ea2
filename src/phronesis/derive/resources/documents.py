"""The verb ``resource``: a document becomes sections; a new version of it takes the place of the one before (SB-08).

The raw document is what the log keeps. What a reader made of it stands in an outcome, so that a better one may read it
again (``rederive``). A section never changes: other words under the same headings are another section, which supersedes
it. So a citation means for ever what it meant when it was made.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import Entry, Outcome, is_erased
from phronesis.core.ids import item_id
from phronesis.core.instants import parse_moment
from phronesis.core.items import DEFAULT_IMPORTANCE, Item, Trust
from phronesis.core.relations import Edge, EvidenceRow
from phronesis.core.resources.lines import Lines
from phronesis.core.resources.records import DOCUMENT, SECTION, DocumentRow, ResourceRows, Section, SectionRow
from phronesis.core.resources.versions import Difference, Words, difference
from phronesis.derive.guarding import suspected
from phronesis.derive.handler import Handler, Outcomes, Prepare
from phronesis.storage.lane_view import LaneView

RESOURCE: Final = "resource"

READ: Final = "read"
"""The role of the outcome that says what a reader made of a document."""

_ENDED: Final = "the document has it no more"
_REPLACED: Final = "another version of the document"


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a document as its entry and its outcome tell it, with where it is kept."""

    entry: Entry
    uri: str
    title: str
    type: str
    media_type: str
    text: str
    sections: tuple[Section, ...]
    words: tuple[Words, ...]
    lines: tuple[tuple[int, int], ...]
    lined: bool

    @classmethod
    def of(cls, entry: Entry, outcome: Outcome) -> "Version":
        """Read an entry and what a reader made of it."""
        payload, body = entry.payload, outcome.body
        text: str = body["text"] if "text" in body else payload["text"]
        sections = tuple(Section(tuple(path), start, end) for path, start, end in body["sections"])
        lines = Lines.of(text)
        return cls(
            entry=entry, uri=payload.get("uri") or f"entry:{entry.id}", title=payload.get("title") or body["title"],
            type=payload.get("type") or DOCUMENT, media_type=body["media_type"], text=text, sections=sections,
            words=tuple(Words(one.path, text[one.start : one.end].strip()) for one in sections),
            lines=tuple(lines.between(one.start, one.end) for one in sections),
            lined=body.get("lined", "text" not in body),
        )  # fmt: skip

    @property
    def at(self) -> datetime:
        """Since when it holds: as the caller says, else since it was recorded."""
        given = self.entry.payload.get("occurred_at")
        return self.entry.recorded_at if given is None else parse_moment(given, field="occurred_at")


def apply_resource(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    """Make a document and its sections, or what differs from the version that is held."""
    found = outcomes.get(READ)
    if is_erased(entry.payload) or not found:
        return Changes()
    version = Version.of(entry, found[0])
    document = view.document(version.uri)
    if document is not None and document.ended is not None:
        document = None  # it was said to be wrong: what comes under its address now is another one
    held = _held(view, document)
    diff = difference({one.id: Words(tuple(one.data["path"]), one.content) for one in held}, version.words)
    return _Making(view, version, document, held, diff, outcomes).changes()


def _held(view: LaneView, document: Item | None) -> list[Item]:
    """Give the sections of a document that it still has, in reading order."""
    if document is None:
        return []
    found = view.items(document.data.get("sections", ()))
    return [item for item in found.values() if item.ended is None]


@dataclass(frozen=True, slots=True)
class _Making:
    """A version on its way into the lane."""

    view: LaneView
    version: Version
    document: Item | None
    held: Sequence[Item]
    diff: Difference
    outcomes: Outcomes

    @property
    def _document_id(self) -> str:
        if self.document is not None:
            return self.document.id
        return item_id(self.version.entry.id, DOCUMENT, self.version.uri)

    def changes(self) -> Changes:
        """Give what the version changes: evidence alone where it says what the one before said."""
        made = self._made()
        ids = [made[n].id if n in made else self.diff.kept[n] for n in range(len(self.version.sections))]
        evidence = self._evidence(ids)
        if self._the_same(ids):
            return Changes(evidence=evidence)
        number = 1 + max((one.number for one in self.view.document_versions(self._document_id)), default=0)
        fields = self._data(ids, number)
        edges = [_edge(self.version.entry, "parent_of", self._document_id, one.id) for one in made.values()]
        edges += [_edge(self.version.entry, "supersedes", made[n].id, old) for n, old in self.diff.replaced.items()]
        item, patch = self._document(fields)
        return Changes(
            items=[*item, *made.values()], patches=[*patch, *self._ended(made), *self._moved()], edges=edges,
            evidence=evidence, resources=self._rows(ids, number),
        )  # fmt: skip

    def _the_same(self, ids: Sequence[str]) -> bool:
        """Whether the document that is held says all this: sections, their order, its title."""
        document = self.document
        if document is None or list(document.data.get("sections", ())) != list(ids):
            return False
        return document.data.get("title") == self.version.title and document.status == "active"

    def _data(self, ids: Sequence[str], number: int) -> dict[str, Any]:
        version = self.version
        return {
            "title": version.title, "media_type": version.media_type, "type": version.type, "number": number,
            "characters": len(version.text), "sections": list(ids),
        }  # fmt: skip

    def _document(self, data: Mapping[str, Any]) -> tuple[list[Item], list[Patch]]:
        version, entry = self.version, self.version.entry
        if self.document is not None:
            fields: dict[str, Any] = {f"data.{name}": value for name, value in data.items()}
            fields |= {"content": version.title, "status": "active"}
            return [], [Patch(self.document.id, fields, f"version {data['number']}")]
        made = Item(
            id=self._document_id, kind=DOCUMENT, content=version.title, entry_id=entry.id,
            recorded_at=entry.recorded_at, updated_at=entry.recorded_at, importance=DEFAULT_IMPORTANCE[DOCUMENT],
            trust=trust_of(entry), source_type=version.type, source_ref=version.uri,
            metadata=entry.payload.get("metadata") or {}, agent_id=entry.payload.get("agent_id"),
            occurred_at=version.at, valid_from=version.at, data=data, **self.view.scope_fields(),
        )  # fmt: skip
        return [made], []

    def _made(self) -> dict[int, Item]:
        """Give the sections that are new, by their places."""
        suspects = suspected(self.outcomes)
        out = {}
        for n, words in enumerate(self.version.words):
            if n not in self.diff.kept:
                out[n] = suspects.held(n, self._section(n, words))
        return out

    def _section(self, n: int, words: Words) -> Item:
        version, entry = self.version, self.version.entry
        return Item(
            id=item_id(entry.id, SECTION, f"{version.uri}#{n}"), kind=SECTION, content=words.text, entry_id=entry.id,
            recorded_at=entry.recorded_at, updated_at=entry.recorded_at, importance=DEFAULT_IMPORTANCE[SECTION],
            trust=trust_of(entry), source_type=version.type, agent_id=entry.payload.get("agent_id"),
            metadata=entry.payload.get("metadata") or {}, occurred_at=version.at, valid_from=version.at,
            source_ref=self._source_ref(n),
            data={"document_id": self._document_id, "uri": version.uri, "title": version.title,
                  "path": list(words.path), **self._place(n)},
            **self.view.scope_fields(),
        )  # fmt: skip

    def _place(self, n: int) -> dict[str, Any]:
        one = self.version.sections[n]
        return {"start": one.start, "end": one.end, "lines": list(self.version.lines[n])}

    def _source_ref(self, n: int) -> str:
        """Give where a section can be looked up: its lines where the text is the document's own, else its heading."""
        if self.version.lined:
            first, last = self.version.lines[n]
            return f"{self.version.uri}#L{first}" + (f"-L{last}" if last > first else "")
        path = self.version.sections[n].path
        return f"{self.version.uri}#{slug(path[-1])}" if path else self.version.uri

    def _moved(self) -> list[Patch]:
        """Give the sections that stayed, and stand elsewhere now or under other headings."""
        by_id = {one.id: one for one in self.held}
        out = []
        for n, one in self.diff.kept.items():
            item = by_id[one]
            placed = {"path": list(self.version.sections[n].path), "title": self.version.title, **self._place(n)}
            fields: dict[str, Any] = {
                f"data.{name}": value for name, value in placed.items() if item.data.get(name) != value
            }
            if item.source_ref != self._source_ref(n):
                fields["source_ref"] = self._source_ref(n)
            if item.status != "active":
                fields["status"] = "active"
            if fields:
                out.append(Patch(one, fields, "it stands elsewhere in the document"))
        return out

    def _ended(self, made: Mapping[int, Item]) -> list[Patch]:
        """End the sections that others took the place of, and those that the document has no more."""
        version = self.version
        out = [
            Patch(old, {"ended": "superseded", "ended_by": made[n].id, "valid_to": version.at}, _REPLACED)
            for n, old in self.diff.replaced.items()
        ]
        gone = {"ended": "retired", "ended_by": version.entry.id, "valid_to": version.at}
        return out + [Patch(old, gone, _ENDED) for old in self.diff.gone]

    def _evidence(self, ids: Sequence[str]) -> list[EvidenceRow]:
        """Say of what stayed that this entry says it too, so that an erasure of it finds every text that holds it."""
        entry = self.version.entry
        stayed = [one for one in self.held if one.id in set(self.diff.kept.values()) & set(ids)]
        out = []
        for item in [*stayed, *([self.document] if self.document is not None else [])]:
            out += [
                _source(item, item.entry_id, entry, item.occurred_at),
                _source(item, entry.id, entry, self.version.at),
            ]
        return out

    def _rows(self, ids: Sequence[str], number: int) -> ResourceRows:
        version = self.version
        document = DocumentRow(
            document_id=self._document_id, number=number, entry_id=version.entry.id, uri=version.uri,
            title=version.title, media_type=version.media_type, type=version.type, characters=len(version.text),
            recorded_at=version.entry.recorded_at,
        )  # fmt: skip
        sections = [
            SectionRow(document_id=self._document_id, number=number, n=n, item_id=ids[n], path=one.path,
                       start=one.start, end=one.end)
            for n, one in enumerate(version.sections)
        ]  # fmt: skip
        return ResourceRows(documents=(document,), sections=tuple(sections))


def trust_of(entry: Entry) -> Trust:
    """Give how far a document is trusted: anybody may have written it, and what an agent made of it is the agent's."""
    return Trust.ASSISTANT if entry.payload.get("made_by") == "assistant" else Trust.EXTERNAL


def slug(heading: str) -> str:
    """Give a heading as an address names it: letters and digits of any script, joined by hyphens."""
    return "-".join("".join(sign if sign.isalnum() else " " for sign in heading.casefold()).split())


def _source(item: Item, named: str, entry: Entry, at: datetime | None) -> EvidenceRow:
    return EvidenceRow(
        item_id=item.id, polarity="source", source_key=named, entry_id=entry.id, recorded_at=entry.recorded_at,
        source_entry_id=named, source_ref=item.source_ref, occurred_at=at,
    )  # fmt: skip


def _edge(entry: Entry, type_: str, start: str, end: str) -> Edge:
    return Edge(type=type_, from_kind="item", from_id=start, to_kind="item", to_id=end, entry_id=entry.id)


def handlers(read: Prepare | None) -> tuple[Handler, ...]:
    """Give the handler of documents, read so."""
    return (Handler(verb=RESOURCE, apply=apply_resource, prepare=read),)
