"""The verb ``resource``: a document becomes sections; a new version of it takes the place of the one before (SB-08).

The raw document is what the log keeps. What a reader made of it stands in an outcome, so that a better one may read it
again (``rederive``). A section never changes: other words under the same headings are another section, which supersedes
it. So a citation means for ever what it meant when it was made.

Which version holds is told by since when each does (``occurred_at``), never by which came last: one that is older than
what is held enters as history (``derive/resources/history``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import Entry, is_erased
from phronesis.core.ids import item_id
from phronesis.core.items import DEFAULT_IMPORTANCE, Item
from phronesis.core.relations import EvidenceRow
from phronesis.core.resources.records import DOCUMENT
from phronesis.core.resources.versions import Difference, Words, difference
from phronesis.derive.guarding import suspected
from phronesis.derive.handler import Handler, Outcomes, Prepare
from phronesis.derive.resources.history import DESCRIBED, History, described, stated_at
from phronesis.derive.resources.version import Version, trust_of, uri_of
from phronesis.storage.lane_view import LaneView

RESOURCE: Final = "resource"

READ: Final = "read"
"""The role of the outcome that says what a reader made of a document."""

_ENDED: Final = "the document has it no more"
_REPLACED: Final = "another version of the document"
_MOVED: Final = "it stands elsewhere in the document"


def apply_resource(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    """Make a document and its sections, or what differs from the version that is held."""
    found = outcomes.get(READ)
    if is_erased(entry.payload) or not found:
        return Changes()
    document = view.document(uri_of(entry))
    if document is not None and document.ended is not None:
        document = None  # it was said to be wrong: what comes under its address now is another one
    version = Version.of(entry, found[0])
    if document is not None and version.listed and document.data.get("sections"):
        return Changes(evidence=version.evidence([document]))  # a list of documents says nothing of their words
    if document is not None and entry.payload.get("occurred_at") is not None:
        stated = stated_at(view, document)
        if version.at < max(stated.values()):
            return History(view, version, document, stated, outcomes).changes()
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
        """Give what the version changes: of what says what the one before said, how it is described alone."""
        made = self._made()
        ids = [made[n].id if n in made else self.diff.kept[n] for n in range(len(self.version.sections))]
        evidence = self._evidence()
        if self.document is not None and self._the_same(ids):
            return Changes(patches=described(self.version, self.document, self.held), evidence=evidence)
        number = 1 + max((one.number for one in self.view.document_versions(self._document_id)), default=0)
        fields = self._data(ids, number)
        edges = [self.version.edge("parent_of", self._document_id, one.id) for one in made.values()]
        edges += [self.version.edge("supersedes", made[n].id, old) for n, old in self.diff.replaced.items()]
        item, patch = self._document(fields)
        return Changes(
            items=[*item, *made.values()], patches=[*patch, *self._ended(made), *self._moved()], edges=edges,
            evidence=evidence, resources=self.version.rows(self._document_id, number, ids, fields["type"]),
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
            "title": version.title, "media_type": version.media_type,
            "type": version.described(self.document)["source_type"], "number": number,
            "characters": len(version.text), "sections": list(ids),
        }  # fmt: skip

    def _document(self, data: Mapping[str, Any]) -> tuple[list[Item], list[Patch]]:
        version, entry = self.version, self.version.entry
        if self.document is not None:
            fields: dict[str, Any] = {f"data.{name}": value for name, value in data.items()}
            fields |= {"content": version.title, "status": "active", **version.said}
            return [], [Patch(self.document.id, fields, f"version {data['number']}")]
        made = Item(
            id=self._document_id, kind=DOCUMENT, content=version.title, entry_id=entry.id,
            recorded_at=entry.recorded_at, updated_at=entry.recorded_at, importance=DEFAULT_IMPORTANCE[DOCUMENT],
            trust=trust_of(entry), source_ref=version.uri, agent_id=entry.payload.get("agent_id"),
            occurred_at=version.at, valid_from=version.at, data=data, **version.described(None),
            **self.view.scope_fields(),
        )  # fmt: skip
        return [made], []

    def _made(self) -> dict[int, Item]:
        """Give the sections that are new, by their places."""
        suspects, fields = suspected(self.outcomes), self.version.described(self.document) | self.view.scope_fields()
        return {
            n: suspects.held(n, self.version.section(n, self._document_id, fields))
            for n in range(len(self.version.words)) if n not in self.diff.kept
        }  # fmt: skip

    def _moved(self) -> list[Patch]:
        """Give the sections that stayed, and stand elsewhere now, under other headings or described otherwise."""
        by_id, version = {one.id: one for one in self.held}, self.version
        out = []
        for n, one in self.diff.kept.items():
            item = by_id[one]
            placed = {"path": list(version.sections[n].path), "title": version.title, **version.place(n)}
            fields: dict[str, Any] = {
                f"data.{name}": value for name, value in placed.items() if item.data.get(name) != value
            }
            if item.source_ref != version.source_ref(n):
                fields["source_ref"] = version.source_ref(n)
            if item.status != "active":
                fields["status"] = "active"
            reason = _MOVED if fields else DESCRIBED
            fields |= version.otherwise(item)
            if fields:
                out.append(Patch(one, fields, reason))
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

    def _evidence(self) -> list[EvidenceRow]:
        stayed = [one for one in self.held if one.id in set(self.diff.kept.values())]
        return self.version.evidence([*stayed, *([self.document] if self.document is not None else [])])


def handlers(read: Prepare | None) -> tuple[Handler, ...]:
    """Give the handler of documents, read so."""
    return (Handler(verb=RESOURCE, apply=apply_resource, prepare=read),)
