"""Extract the value of an item again when its text is corrected, so that later statements compare with the new value.

Under a key of the memory types, held items are compared by value. When the text changes and no value is given, the
extractor of conversations reads it again; where they find none, or more than one, the item has no value and its text is
compared. A value under a custom key is left as it is.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from phronesis.conversation.consolidation import BY
from phronesis.conversation.entity_resolution import NAMED
from phronesis.conversation.extraction.gate import Gate
from phronesis.conversation.extraction.memory_types import MemoryTypes, comparable_value
from phronesis.conversation.extraction.message_extractor import MessageExtractor
from phronesis.core.changes import Changes
from phronesis.core.entries import EditPayload, Entry, Outcome, is_erased, payload_of
from phronesis.core.items import CORRECTED, MEMBER_PREFIX, Item
from phronesis.core.lazy_loading import load_once
from phronesis.core.proposals import Proposal
from phronesis.core.statements import COMPARED, STATED
from phronesis.engine.handler import Handler, Outcomes, PrepareContext
from phronesis.store.lane_view import LaneView

REREAD: Final = "reread"
"""Role of the outcome with the value of an item's new text: ``{value?, compared?}``."""


@dataclass(frozen=True, slots=True)
class ValueReextraction:
    """Prepares an update by extracting the new text's value. Hedges are ignored, since a person wrote it."""

    extractor: MessageExtractor = field(default_factory=lambda: MessageExtractor(gate=Gate(user=0.0)))

    def __call__(self, bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        """Return the item's new value; nothing where its key does not define how values compare."""
        payload = payload_of(entry, EditPayload)
        if payload.get("content") is None and "value" not in payload:
            return ()
        with bench.view() as view:
            item = view.item(payload["item_id"])
        if item is None or item.kind not in STATED or item.key is None:
            return ()
        body = self._body(item, payload)
        return () if body is None else [Outcome(role=REREAD, made_by=self.extractor.version, body=body)]

    def _body(self, item: Item, payload: EditPayload) -> dict[str, Any] | None:
        types: MemoryTypes = self.extractor.types
        row = types.find(item.key or "", item.kind) or types.find(item.key or "")
        if row is None:
            return None
        if "value" in payload:
            value = payload["value"]
            form = comparable_value(row, value, at=item.occurred_at) if isinstance(value, str) else None
            return {} if form is None else {"compared": form}
        found = self._stated(item, payload["content"])
        body = {} if found is None else {"value": found.value, "compared": found.compared}
        return {name: member for name, member in body.items() if member is not None}

    def _stated(self, item: Item, words: str) -> Proposal | None:
        """Return the single statement in the text on the item's subject under its key, or None."""
        message = {"role": "user", "name": item.data.get(BY)}
        proposals, _ = self.extractor.read(0, message, words, item.occurred_at or item.recorded_at)
        subjects = {str(one).casefold() for one in (item.subject, item.data.get(NAMED)) if one is not None}
        found = [
            one
            for one in proposals
            if one.key == item.key and one.act == "assert" and not one.done and one.subject.casefold() in subjects
        ]
        return found[0] if len(found) == 1 else None


@load_once
def _usual() -> ValueReextraction:
    return ValueReextraction()


def reread(bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
    """Prepare an update of an item's text or value with the default rules."""
    return () if is_erased(entry.payload) else _usual()(bench, entry)


def with_values(update: Handler) -> Handler:
    """Return the handler of updates, extended by the value of an item's new text."""

    def apply(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
        changes = update.apply(view, entry, outcomes)
        if not {"content", "value"} & {name for patch in changes.patches for name in patch.fields}:
            return changes
        held = view.items(patch.item_id for patch in changes.patches)
        patches = [
            replace(patch, fields=_valued(held[patch.item_id], patch.fields, entry, outcomes))
            for patch in changes.patches
        ]
        return replace(changes, patches=patches)

    return replace(update, apply=apply, prepare=reread, quick=True)


def _valued(item: Item, given: Mapping[str, Any], entry: Entry, outcomes: Outcomes) -> dict[str, Any]:
    """Return the fields of an update with those that follow from its new text and value."""
    fields = dict(given)
    if "content" in fields and (item.kind == "message" or item.kind in STATED):
        fields[f"{MEMBER_PREFIX}{CORRECTED}"] = entry.id
    for outcome in outcomes.get(REREAD, ()):
        fields.setdefault("value", outcome.body.get("value"))
        fields[f"{MEMBER_PREFIX}{COMPARED}"] = outcome.body.get("compared")
    return fields
