"""Versions of a document that are older than the one that holds: they enter as history.

A version's place among the others is told by since when it holds. An older one lasts until the next one begins: its
sections are made ended. Where the one before it had others, those end when it begins.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from phronesis.core.changes import Changes, Patch
from phronesis.core.items import Item
from phronesis.core.resources.records import DocumentRow
from phronesis.core.resources.versions import Words, difference
from phronesis.derive.guarding import suspected
from phronesis.derive.handler import Outcomes
from phronesis.derive.resources.version import Version
from phronesis.storage.lane_view import LaneView

DESCRIBED: Final = "the document is described otherwise"

_EARLIER: Final = "an older version of the document has it too"
_SHORTER: Final = "an older version of the document came in between"
_OVER: Final = ("superseded", "retired")


def stated_at(view: LaneView, document: Item) -> dict[str, datetime]:
    """Give since when each version of a document holds, by its entry; those that were rolled back are none."""
    stated = {document.entry_id: document.occurred_at or document.recorded_at}
    for row in view.evidence([document.id]).get(document.id, ()):
        if row.polarity == "source" and row.source_entry_id is not None and row.occurred_at is not None:
            stated[row.source_entry_id] = row.occurred_at
    return stated


def described(version: Version, document: Item, sections: Sequence[Item]) -> list[Patch]:
    """Give a document and its sections the type and metadata that a version with the same words names, if others."""
    fields = version.otherwise(document)
    if "source_type" in fields:
        fields["data.type"] = fields["source_type"]
    patches = [Patch(document.id, fields, DESCRIBED)] if fields else []
    return patches + [Patch(one.id, other, DESCRIBED) for one in sections if (other := version.otherwise(one))]


@dataclass(frozen=True, slots=True)
class _Beside:
    """A version next to the one that enters: its row (None: the document as it is), sections in order, their words."""

    row: DocumentRow | None
    words: Mapping[str, Words]
    items: Mapping[str, Item]

    def says(self, version: Version, ids: Sequence[str]) -> bool:
        """Tell whether it is made of these sections, under the same title."""
        return self.row is not None and list(self.words) == list(ids) and self.row.title == version.title


_NOTHING: Final = _Beside(None, {}, {})


@dataclass(frozen=True, slots=True)
class History:
    """An older version on its way into the lane; ``stated`` says since when each of the others holds."""

    view: LaneView
    version: Version
    document: Item
    stated: Mapping[str, datetime]
    outcomes: Outcomes

    def changes(self) -> Changes:
        """Give what the version changes: of what says what the next or the last one says, since when that holds."""
        version, document = self.version, self.document
        before, after = self._neighbours()
        later = difference(after.words, version.words)
        rest = [n for n in range(len(version.words)) if n not in later.kept]
        own = {one: words for one, words in before.words.items() if one not in after.words}
        earlier = difference(own, [version.words[n] for n in rest])
        kept = {**later.kept, **{rest[n]: one for n, one in earlier.kept.items()}}
        replaced = {rest[n]: one for n, one in earlier.replaced.items()}
        made = self._made([n for n in rest if n not in kept], later.replaced, after)
        ids = [kept[n] if n in kept else made[n].id for n in range(len(version.words))]
        stayed = [{**before.items, **after.items}[one] for one in kept.values()]
        evidence = version.evidence([*stayed, document])
        since = self._since([*(after.items[one] for one in later.kept.values()), document])
        if before.says(version, ids):
            return Changes(evidence=evidence)
        if after.says(version, ids):
            return Changes(patches=self._with_description(since, after), evidence=evidence)
        number = 1 + max(row.number for row in self.view.document_versions(document.id))
        edges = [version.edge("parent_of", document.id, one.id) for one in made.values()]
        edges += [version.edge("supersedes", later.replaced[n], made[n].id) for n in made if n in later.replaced]
        edges += [version.edge("supersedes", made[n].id, old) for n, old in replaced.items()]
        by = {old: made[n] for n, old in replaced.items()}
        shorter = self._shortened(before, own.keys() - set(kept.values()), by)
        type_ = version.described(document)["source_type"]
        return Changes(
            items=[*made.values()], patches=[*since, *shorter], edges=edges, evidence=evidence,
            resources=version.rows(document.id, number, ids, type_),
        )  # fmt: skip

    @property
    def _next(self) -> tuple[datetime, str]:
        """Since when the next version holds, and the entry that says so."""
        return min((at, entry_id) for entry_id, at in self.stated.items() if at > self.version.at)

    def _neighbours(self) -> tuple[_Beside, _Beside]:
        """Give the version that it follows, and the one that follows it. Of two since one time the last counts."""
        rows = [row for row in self.view.document_versions(self.document.id) if row.entry_id in self.stated]
        at = {row.number: self.stated[row.entry_id] for row in rows}
        before = [row for row in rows if at[row.number] <= self.version.at]
        after = [row for row in rows if at[row.number] > self.version.at]
        last = max(before, key=lambda row: (at[row.number], row.number), default=None)
        following = min(after, key=lambda row: (at[row.number], -row.number), default=None)
        return (_NOTHING if last is None else self._beside(last)), self._beside(following)

    def _beside(self, row: DocumentRow | None) -> _Beside:
        """Give a version with its sections; None: what is held was said again later than any version that came."""
        if row is None or row.number == self.document.data["number"]:
            items = self.view.items(self.document.data.get("sections", ()))
            return _Beside(row, {one.id: Words(tuple(one.data["path"]), one.content) for one in items.values()}, items)
        sections = self.view.sections(self.document.id, row.number)
        items = self.view.items([one.item_id for one in sections])
        words = {one.item_id: Words(one.path, items[one.item_id].content) for one in sections if one.item_id in items}
        return _Beside(row, words, items)

    def _made(self, places: Sequence[int], replaced: Mapping[int, str], after: _Beside) -> dict[int, Item]:
        """Give the sections that only this version has, ended when the next one begins."""
        until, by = self._next
        suspects = suspected(self.outcomes)
        fields = self.version.described(self.document) | self.view.scope_fields() | {"valid_to": until}
        out = {}
        for n in places:
            over: dict[str, Any] = {"ended": "retired", "ended_by": by if after.row is None else after.row.entry_id}
            if n in replaced:
                over = {"ended": "superseded", "ended_by": replaced[n]}
            out[n] = suspects.held(n, self.version.section(n, self.document.id, fields | over))
        return out

    def _since(self, items: Sequence[Item]) -> list[Patch]:
        """Give what holds since this version already."""
        at = self.version.at
        return [Patch(one.id, {"valid_from": at}, _EARLIER) for one in items
                if one.valid_from is not None and one.valid_from > at]  # fmt: skip

    def _shortened(self, before: _Beside, gone: Collection[str], by: Mapping[str, Item]) -> Iterator[Patch]:
        """Give the sections of the version before that this one has no more: they end when it begins."""
        for one in before.items.values():
            if one.id not in gone or one.ended not in _OVER or (one.valid_to or self.version.at) <= self.version.at:
                continue
            over = {"ended": "superseded", "ended_by": by[one.id].id} if one.id in by else {
                "ended": "retired", "ended_by": self.version.entry.id}  # fmt: skip
            yield Patch(one.id, {**over, "valid_to": self.version.at}, _SHORTER)

    def _with_description(self, since: Sequence[Patch], after: _Beside) -> list[Patch]:
        """Join what holds since earlier with how it describes the document, where it says what that holds now."""
        if after.row is None or after.row.number != self.document.data["number"]:
            return list(since)
        fields: dict[str, dict[str, Any]] = {}
        reasons: dict[str, str] = {}
        for patch in (*since, *described(self.version, self.document, list(after.items.values()))):
            fields.setdefault(patch.item_id, {}).update(patch.fields)
            reasons.setdefault(patch.item_id, patch.reason)
        return [Patch(one, found, reasons[one]) for one, found in fields.items()]
