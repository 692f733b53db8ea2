"""Handler of the verb ``resource``: sections, newer versions, and older versions that are added as history (SB-08).

Versions are ordered by the time from which they are valid. An older version is valid until the next one begins, so its
sections are created with an end. Sections of the version before it that it does not contain end when it begins.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import DOCUMENT, DocumentRow, Entry, is_erased, payload_of
from phronesis.core.ids import item_id
from phronesis.core.items import DEFAULT_IMPORTANCE, Item
from phronesis.engine.content_guards import suspected_texts
from phronesis.engine.handler import Handler, Outcomes, Prepare
from phronesis.resources.documents import ResourcePayload, Version, trust_of, uri_of
from phronesis.resources.laws import Difference, SectionText, difference
from phronesis.store.lane_view import LaneView

# Sections follow their document when it is archived, restored, or marked as wrong.


def add_section_changes(view: LaneView, _entry: Entry, changes: Changes, held: Mapping[str, Item]) -> Changes:
    """Return the changes with those of the sections of documents that are archived or restored."""
    taken = {patch.item_id for patch in changes.patches}
    patches: list[Patch] = []
    for patch in changes.patches:
        item = held.get(patch.item_id)
        if item is None or item.kind != DOCUMENT or "data.sections" in patch.fields:
            continue  # another version says itself what becomes of its sections
        if any(name in patch.fields and patch.fields[name] != getattr(item, name) for name in ("status", "ended")):
            patches += [one for one in _section_changes(view, item, patch.fields) if one.item_id not in taken]
    return replace(changes, patches=(*changes.patches, *patches)) if patches else changes


def _section_changes(view: LaneView, document: Item, fields: Mapping[str, Any]) -> Iterator[Patch]:
    """Yield the changes of a document's present sections; a section that ended for another reason is unchanged."""
    sections = view.items(document.data.get("sections", ()))
    for item in sections.values():
        now: dict[str, Any] = {}
        if "status" in fields and item.status == document.status:
            now["status"] = fields["status"]
        if "ended" in fields and (item.ended, item.ended_by) == (document.ended, document.ended_by):
            now |= {"ended": fields["ended"], "ended_by": fields.get("ended_by")}
            now |= {"valid_to": fields["valid_to"]} if "valid_to" in fields else {}
        if now:
            yield Patch(item.id, now, "as its document")


DESCRIBED: Final = "the document is described otherwise"

_EARLIER: Final = "an older version of the document has it too"
_SHORTER: Final = "an older version of the document came in between"
_OVER: Final = ("superseded", "retired")


def validity_starts(view: LaneView, document: Item) -> dict[str, datetime]:
    """Return the time from which each version of a document is valid, by its entry; without rolled-back versions."""
    stated = {document.entry_id: document.occurred_at or document.recorded_at}
    for row in view.evidence([document.id]).get(document.id, ()):
        if row.polarity == "source" and row.source_entry_id is not None and row.occurred_at is not None:
            stated[row.source_entry_id] = row.occurred_at
    return stated


def metadata_patches(version: Version, document: Item, sections: Sequence[Item]) -> list[Patch]:
    """Return updates of the type and metadata of a document and its sections for a version with the same text."""
    fields = version.changed_fields(document)
    if "source_type" in fields:
        fields["data.type"] = fields["source_type"]
    patches = [Patch(document.id, fields, DESCRIBED)] if fields else []
    return patches + [Patch(one.id, other, DESCRIBED) for one in sections if (other := version.changed_fields(one))]


def _words_of(items: Iterable[Item]) -> dict[str, SectionText]:
    return {one.id: SectionText(tuple(one.data["path"]), one.content) for one in items}


@dataclass(frozen=True, slots=True)
class _AdjacentVersion:
    """An adjacent version: its row (None: the present document), its sections in order, and their text."""

    row: DocumentRow | None
    words: Mapping[str, SectionText]
    items: Mapping[str, Item]

    def has_same_sections(self, version: Version, ids: Sequence[str]) -> bool:
        """Return whether it consists of these sections under the same title."""
        return self.row is not None and list(self.words) == list(ids) and self.row.title == version.title


_NOTHING: Final = _AdjacentVersion(None, {}, {})


@dataclass(frozen=True, slots=True)
class History:
    """Adds an older version to the lane; ``stated`` gives the time from which each of the others is valid."""

    view: LaneView
    version: Version
    document: Item
    stated: Mapping[str, datetime]
    outcomes: Outcomes

    def changes(self) -> Changes:
        """Return the changes; sections shared with the next or the last version become valid earlier."""
        version, document = self.version, self.document
        before, after = self._neighbours()
        later = difference(after.words, version.words)
        rest = [n for n in range(len(version.words)) if n not in later.kept]
        own = {one: words for one, words in before.words.items() if one not in after.words}
        earlier = difference(own, [version.words[n] for n in rest])
        kept = {**later.kept, **{rest[n]: one for n, one in earlier.kept.items()}}
        replaced = {rest[n]: one for n, one in earlier.replaced.items()}
        made = self._make_sections([n for n in rest if n not in kept], later.replaced, after)
        ids = [kept[n] if n in kept else made[n].id for n in range(len(version.words))]
        stayed = [{**before.items, **after.items}[one] for one in kept.values()]
        evidence = version.evidence([*stayed, document])
        at = version.at
        since = [
            Patch(one.id, {"valid_from": at}, _EARLIER)
            for one in (*(after.items[one] for one in later.kept.values()), document)
            if one.valid_from is not None and one.valid_from > at
        ]
        if before.has_same_sections(version, ids):
            return Changes(evidence=evidence)
        if after.has_same_sections(version, ids):
            return Changes(patches=self._with_description(since, after), evidence=evidence)
        number = 1 + max(row.number for row in self.view.document_versions(document.id))
        edges = [version.edge("parent_of", document.id, one.id) for one in made.values()]
        edges += [version.edge("supersedes", later.replaced[n], made[n].id) for n in made if n in later.replaced]
        edges += [version.edge("supersedes", made[n].id, old) for n, old in replaced.items()]
        by = {old: made[n] for n, old in replaced.items()}
        shorter = self._ended_before(before, own.keys() - set(kept.values()), by)
        type_ = version.type_and_metadata(document)["source_type"]
        return Changes(
            items=[*made.values()],
            patches=[*since, *shorter],
            edges=edges,
            evidence=evidence,
            resources=version.rows(document.id, number, ids, type_),
        )

    def _neighbours(self) -> tuple[_AdjacentVersion, _AdjacentVersion]:
        """Return the versions before and after it. Of two valid from the same time the later entry counts."""
        rows = [row for row in self.view.document_versions(self.document.id) if row.entry_id in self.stated]
        at = {row.number: self.stated[row.entry_id] for row in rows}
        before = [row for row in rows if at[row.number] <= self.version.at]
        after = [row for row in rows if at[row.number] > self.version.at]
        last = max(before, key=lambda row: (at[row.number], row.number), default=None)
        following = min(after, key=lambda row: (at[row.number], -row.number), default=None)
        return (_NOTHING if last is None else self._adjacent_version(last)), self._adjacent_version(following)

    def _adjacent_version(self, row: DocumentRow | None) -> _AdjacentVersion:
        """Return a version with its sections; None stands for the present state, restated after all versions."""
        if row is None or row.number == self.document.data["number"]:
            items = self.view.items(self.document.data.get("sections", ()))
            return _AdjacentVersion(row, _words_of(items.values()), items)
        sections = self.view.sections(self.document.id, row.number)
        items = self.view.items([one.item_id for one in sections])
        kept = [one for one in sections if one.item_id in items]
        words = {one.item_id: SectionText(one.path, items[one.item_id].content) for one in kept}
        return _AdjacentVersion(row, words, items)

    def _make_sections(
        self, places: Sequence[int], replaced: Mapping[int, str], after: _AdjacentVersion
    ) -> dict[int, Item]:
        """Return the sections that only this version has, ended at the beginning of the next one."""
        until, by = min((at, entry_id) for entry_id, at in self.stated.items() if at > self.version.at)
        suspects = suspected_texts(self.outcomes)
        fields = self.version.type_and_metadata(self.document) | self.view.scope_fields() | {"valid_to": until}
        out = {}
        for n in places:
            over: dict[str, Any] = {"ended": "retired", "ended_by": by if after.row is None else after.row.entry_id}
            if n in replaced:
                over = {"ended": "superseded", "ended_by": replaced[n]}
            out[n] = suspects.quarantined_if_suspected(n, self.version.section(n, self.document.id, fields | over))
        return out

    def _ended_before(self, before: _AdjacentVersion, gone: Collection[str], by: Mapping[str, Item]) -> Iterator[Patch]:
        """Yield the sections of the version before that this one does not contain: they end when it begins."""
        for one in before.items.values():
            if one.id in gone and one.ended in _OVER and (one.valid_to or self.version.at) > self.version.at:
                over = {"ended": "retired", "ended_by": self.version.entry.id}
                if one.id in by:
                    over = {"ended": "superseded", "ended_by": by[one.id].id}
                yield Patch(one.id, {**over, "valid_to": self.version.at}, _SHORTER)

    def _with_description(self, since: Sequence[Patch], after: _AdjacentVersion) -> list[Patch]:
        """Merge the updates of validity with those of type and metadata, if it describes what is held."""
        if after.row is None or after.row.number != self.document.data["number"]:
            return list(since)
        fields: dict[str, dict[str, Any]] = {}
        reasons: dict[str, str] = {}
        for patch in (*since, *metadata_patches(self.version, self.document, list(after.items.values()))):
            fields.setdefault(patch.item_id, {}).update(patch.fields)
            reasons.setdefault(patch.item_id, patch.reason)
        return [Patch(one, found, reasons[one]) for one, found in fields.items()]


# The verb ``resource``: a document becomes sections; a new version supersedes the one before (SB-08).

RESOURCE: Final = "resource"

READ: Final = "read"
"""The role of the outcome that a reader gives for a document."""

_ENDED: Final = "the document has it no more"
_REPLACED: Final = "another version of the document"
_MOVED: Final = "it stands elsewhere in the document"


def apply_resource(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    """Create a document and its sections, or the differences from the version that is held."""
    found = outcomes.get(READ)
    if is_erased(entry.payload) or not found:
        return Changes()
    document = view.document(uri_of(entry))
    if document is not None and document.ended is not None:
        document = None  # it was said to be wrong: what comes under its address now is another one
    version = Version.of(entry, found[0])
    if document is not None and version.listed and document.data.get("sections"):
        return Changes(evidence=version.evidence([document]))  # a list of documents says nothing of their words
    if document is not None and payload_of(entry, ResourcePayload).get("occurred_at") is not None:
        stated = validity_starts(view, document)
        if version.at < max(stated.values()):
            return History(view, version, document, stated, outcomes).changes()
    present = {} if document is None else view.items(document.data.get("sections", ()))
    held = [item for item in present.values() if item.ended is None]
    diff = difference(_words_of(held), version.words)
    return _VersionWriter(view, version, document, held, diff, outcomes).changes()


@dataclass(frozen=True, slots=True)
class _VersionWriter:
    """Adds a version to the lane."""

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
        """Return the changes; if the text is that of the version before, only those of type and metadata."""
        made = self._make_sections()
        ids = [made[n].id if n in made else self.diff.kept[n] for n in range(len(self.version.sections))]
        kept = set(self.diff.kept.values())
        stayed = [one for one in self.held if one.id in kept]
        evidence = self.version.evidence([*stayed, *([] if self.document is None else [self.document])])
        if self.document is not None and self._is_same(ids):
            return Changes(patches=metadata_patches(self.version, self.document, self.held), evidence=evidence)
        number = 1 + max((one.number for one in self.view.document_versions(self._document_id)), default=0)
        version = self.version
        fields = {
            "title": version.title,
            "media_type": version.media_type,
            "type": version.type_and_metadata(self.document)["source_type"],
            "number": number,
            "characters": len(version.text),
            "sections": list(ids),
        }
        edges = [version.edge("parent_of", self._document_id, one.id) for one in made.values()]
        edges += [version.edge("supersedes", made[n].id, old) for n, old in self.diff.replaced.items()]
        item, patch = self._document(fields)
        return Changes(
            items=[*item, *made.values()],
            patches=[*patch, *self._ended_sections(made), *self._moved_sections()],
            edges=edges,
            evidence=evidence,
            resources=version.rows(self._document_id, number, ids, fields["type"]),
        )

    def _is_same(self, ids: Sequence[str]) -> bool:
        """Return whether the held document has these sections in this order and this title."""
        document = self.document
        if document is None or list(document.data.get("sections", ())) != list(ids):
            return False
        return document.data.get("title") == self.version.title and document.status == "active"

    def _document(self, data: Mapping[str, Any]) -> tuple[list[Item], list[Patch]]:
        version, entry = self.version, self.version.entry
        if self.document is not None:
            fields: dict[str, Any] = {f"data.{name}": value for name, value in data.items()}
            fields |= {"content": version.title, "status": "active", **version.said}
            return [], [Patch(self.document.id, fields, f"version {data['number']}")]
        made = Item(
            id=self._document_id,
            kind=DOCUMENT,
            content=version.title,
            entry_id=entry.id,
            recorded_at=entry.recorded_at,
            updated_at=entry.recorded_at,
            importance=DEFAULT_IMPORTANCE[DOCUMENT],
            trust=trust_of(entry),
            source_ref=version.uri,
            agent_id=payload_of(entry, ResourcePayload).get("agent_id"),
            occurred_at=version.at,
            valid_from=version.at,
            data=data,
            **version.type_and_metadata(None),
            **self.view.scope_fields(),
        )
        return [made], []

    def _make_sections(self) -> dict[int, Item]:
        """Return the new sections, by place."""
        suspects = suspected_texts(self.outcomes)
        fields = self.version.type_and_metadata(self.document) | self.view.scope_fields()
        return {
            n: suspects.quarantined_if_suspected(n, self.version.section(n, self._document_id, fields))
            for n in range(len(self.version.words))
            if n not in self.diff.kept
        }

    def _moved_sections(self) -> list[Patch]:
        """Return updates of the kept sections whose place, headings or description changed."""
        by_id, version = {one.id: one for one in self.held}, self.version
        out = []
        for n, one in self.diff.kept.items():
            item = by_id[one]
            placed = {"path": list(version.sections[n].path), "title": version.title, **version.place(n)}
            changed = {name: value for name, value in placed.items() if item.data.get(name) != value}
            fields: dict[str, Any] = {f"data.{name}": value for name, value in changed.items()}
            if item.source_ref != version.source_ref(n):
                fields["source_ref"] = version.source_ref(n)
            if item.status != "active":
                fields["status"] = "active"
            reason = _MOVED if fields else DESCRIBED
            fields |= version.changed_fields(item)
            if fields:
                out.append(Patch(one, fields, reason))
        return out

    def _ended_sections(self, made: Mapping[int, Item]) -> list[Patch]:
        """Return updates that end the sections that were superseded or removed."""
        version = self.version
        out = [
            Patch(old, {"ended": "superseded", "ended_by": made[n].id, "valid_to": version.at}, _REPLACED)
            for n, old in self.diff.replaced.items()
        ]
        gone = {"ended": "retired", "ended_by": version.entry.id, "valid_to": version.at}
        return out + [Patch(old, gone, _ENDED) for old in self.diff.gone]


def handlers(read: Prepare | None) -> tuple[Handler, ...]:
    """Return the handler of documents; ``read`` prepares them."""
    return (Handler(verb=RESOURCE, apply=apply_resource, prepare=read),)
