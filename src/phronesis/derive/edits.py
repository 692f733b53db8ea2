"""Edits by hand: new words, archive, pin, retract. Each is an entry, and history keeps what was before."""

from collections.abc import Mapping
from typing import Any, Final

from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import Entry, is_erased
from phronesis.core.instants import parse_moment
from phronesis.core.items import Item
from phronesis.derive.external_ids import renamed
from phronesis.derive.handler import Handler, Outcomes
from phronesis.derive.rereading import corrected, reread
from phronesis.storage.lane_view import LaneView

UPDATE: Final = "update"
"""The edit that takes new words; what it takes them as is a matter of the item's form."""

SIMPLE: Final[Mapping[str, Mapping[str, Any]]] = {
    "archive": {"status": "archived"},
    "unarchive": {"status": "active"},
    "pin": {"pinned": True},
    "unpin": {"pinned": False},
}
"""Edits that set fixed fields, whatever the item."""


_SAID: Final = {"retract": "retracted"}

DECIDED_ROLE: Final = "decided"
"""The outcome that says whether the item was at the version that the caller expected. Erasures write it: without what
they take, items count fewer versions, and what was decided stands."""


def apply_edit(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    """Set the fields of a simple edit."""
    return _patched(view, entry, outcomes, SIMPLE[entry.verb])


def apply_retract(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    """End an item: it was said to be wrong. It stays readable by id and in history."""
    fields = {"ended": "retracted", "ended_by": entry.id, "valid_to": entry.recorded_at}
    return _patched(view, entry, outcomes, fields)


def apply_update(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    """Take new words with what they state, a value, metadata (merged; None removes a key) or an end of validity."""
    payload = entry.payload
    if is_erased(payload):
        return Changes()
    item = view.item(payload["item_id"])
    if item is None or is_stale(item, payload, outcomes):
        return Changes()
    fields = edited_fields(item, payload) | renamed(view, item, payload) | corrected(item, entry, outcomes)
    return Changes(patches=[Patch(item.id, fields, payload.get("reason") or "updated")])


def edited_fields(item: Item, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Give the fields that any update may change, whatever the form of the item's words: metadata, end of validity."""
    fields: dict[str, Any] = {}
    if payload.get("metadata") is not None:
        merged = {**item.metadata, **payload["metadata"]}
        fields["metadata"] = {key: value for key, value in merged.items() if value is not None}
    if payload.get("valid_to") is not None:
        fields["valid_to"] = parse_moment(payload["valid_to"], field="valid_to")
    return fields


def apply_archive_all(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
    """Archive the lane's items that carry all the named attributes, those in quarantine too."""
    if is_erased(entry.payload):
        return Changes()
    wanted = entry.payload.get("attributes") or {}
    found = view.find(session_id=wanted.get("session_id"), live=False)
    matching = [
        item for item in found
        if item.status == "active" and item.ended is None
        and all(getattr(item, name) == value for name, value in wanted.items())
    ]  # fmt: skip
    reason = entry.payload.get("reason") or "deleted with its scope"
    return Changes(patches=[Patch(item.id, {"status": "archived"}, reason) for item in matching])


def _patched(view: LaneView, entry: Entry, outcomes: Outcomes, fields: Mapping[str, Any]) -> Changes:
    if is_erased(entry.payload):
        return Changes()
    item = view.item(entry.payload["item_id"])
    if item is None or is_stale(item, entry.payload, outcomes):
        return Changes()
    reason = entry.payload.get("reason") or _SAID.get(entry.verb, entry.verb)
    return Changes(patches=[Patch(item.id, fields, reason)])


def is_stale(item: Item, payload: Mapping[str, Any], outcomes: Outcomes) -> bool:
    """Tell whether the caller saw another version; checked here because only here nobody else can write."""
    for outcome in outcomes.get(DECIDED_ROLE, ()):
        return not outcome.body["met"]
    expected = payload.get("expected_version")
    return expected is not None and expected != item.version


HANDLERS: Final = (
    *(Handler(verb=verb, apply=apply_edit) for verb in SIMPLE),
    Handler(verb="retract", apply=apply_retract),
    Handler(verb=UPDATE, apply=apply_update, prepare=reread, quick=True),
    Handler(verb="archive_all", apply=apply_archive_all),
)
