"""Edits of items by id: update, archive, pin, retract, rollback, and release or rejection of quarantined items."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from phronesis.core.changes import Changes, Delta, Fold, Patch
from phronesis.core.entries import ArchiveAllPayload, EditPayload, Entry, is_erased, payload_of
from phronesis.core.ids import LaneName
from phronesis.core.items import Item
from phronesis.core.results import EditResult
from phronesis.core.serialization import decode
from phronesis.core.statements import STATED
from phronesis.core.timestamps import isoformat, parse_moment, to_micros
from phronesis.engine.entry_applier import field_for_new_name, name_taken
from phronesis.engine.handler import ERASE, Handler, Outcomes
from phronesis.engine.rollback import ROLLBACK, find_undo
from phronesis.engine.writer import Writer, WriteResult
from phronesis.errors import InputError, NotFound, RollbackConflict, VersionConflict
from phronesis.log.inputs import EXTERNAL_ID
from phronesis.recall.browse import Browser, find_item
from phronesis.store.database import Database
from phronesis.store.deltas import deltas_of_entry, find_delta
from phronesis.store.eligible import ReadConditions
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import Lane, find_lane, get_lane
from phronesis.store.log import find_entry, read_outcomes

# Edits by hand. Each is an entry, so the item's history keeps the earlier values.

UPDATE: Final = "update"
"""The edit that takes new content; kinds with a form of their own use another verb."""

SIMPLE: Final[Mapping[str, Mapping[str, Any]]] = {
    "archive": {"status": "archived"},
    "unarchive": {"status": "active"},
    "pin": {"pinned": True},
    "unpin": {"pinned": False},
}
"""Edits that set fixed fields, whatever the item."""


_SAID: Final = {"retract": "retracted"}

DECIDED_ROLE: Final = "decided"
"""The role of the outcome that records whether the item was at the version the caller expected. Erasures write it: the
remaining items count fewer versions afterwards, and the decision must stand."""


def apply_edit(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    """Set the fields of a simple edit."""
    return _patch_item(view, entry, outcomes, SIMPLE[entry.verb])


def apply_retract(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    """End an item because it was wrong. It stays readable by id and in history."""
    fields = {"ended": "retracted", "ended_by": entry.id, "valid_to": entry.recorded_at}
    return _patch_item(view, entry, outcomes, fields)


def apply_update(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    """Take new content with its key and value, metadata (merged; None removes a key) or an end of validity."""
    payload = payload_of(entry, EditPayload)
    if is_erased(payload):
        return Changes()
    item = view.item(payload["item_id"])
    if item is None or is_stale(item, payload, outcomes):
        return Changes()
    fields = edited_fields(item, payload) | field_for_new_name(view, item, payload)
    if payload.get("content") not in (None, item.content):
        fields["content"] = payload["content"]
    if "value" in payload:
        fields["value"] = payload["value"]
    return Changes(patches=[Patch(item.id, fields, payload.get("reason") or "updated")])


def edited_fields(item: Item, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields that any update may change, whatever the item's form: metadata and the end of validity."""
    fields: dict[str, Any] = {}
    if payload.get("metadata") is not None:
        merged = {**item.metadata, **payload["metadata"]}
        fields["metadata"] = {key: value for key, value in merged.items() if value is not None}
    if payload.get("valid_to") is not None:
        fields["valid_to"] = parse_moment(payload["valid_to"], field="valid_to")
    return fields


def apply_archive_all(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
    """Archive the lane's items that carry all the named attributes, including quarantined ones."""
    payload = payload_of(entry, ArchiveAllPayload)
    if is_erased(entry.payload):
        return Changes()
    wanted = payload.get("attributes") or {}
    found = view.find(session_id=wanted.get("session_id"), live=False)
    matching = [
        item
        for item in found
        if item.status == "active"
        and item.ended is None
        and all(getattr(item, name) == value for name, value in wanted.items())
    ]
    reason = payload.get("reason") or "deleted with its scope"
    return Changes(patches=[Patch(item.id, {"status": "archived"}, reason) for item in matching])


def _patch_item(view: LaneView, entry: Entry, outcomes: Outcomes, fields: Mapping[str, Any]) -> Changes:
    payload = payload_of(entry, EditPayload)
    if is_erased(entry.payload):
        return Changes()
    item = view.item(payload["item_id"])
    if item is None or is_stale(item, payload, outcomes):
        return Changes()
    reason = payload.get("reason") or _SAID.get(entry.verb, entry.verb)
    return Changes(patches=[Patch(item.id, fields, reason)])


def is_stale(item: Item, payload: Mapping[str, Any], outcomes: Outcomes) -> bool:
    """Return whether the caller saw another version. Only here is the check free of races."""
    for outcome in outcomes.get(DECIDED_ROLE, ()):
        return not outcome.body["met"]
    expected = payload.get("expected_version")
    return expected is not None and expected != item.version


EDIT_HANDLERS: Final = (
    *(Handler(verb=verb, apply=apply_edit) for verb in SIMPLE),
    Handler(verb="retract", apply=apply_retract),
    Handler(verb=UPDATE, apply=apply_update),
    Handler(verb="archive_all", apply=apply_archive_all),
)


@dataclass(frozen=True, slots=True)
class Call:
    """The options of a write: actor, idempotency key, and whether to wait for its interpretation."""

    tenant: str
    actor: str = "agent"
    idempotency_key: str | None = None
    wait: bool = True


@dataclass(frozen=True, slots=True)
class Form:
    """The update rule of kinds whose content is not free text.

    An update is recorded under ``verb`` with the result of ``read`` in place of ``content``; ``read`` raises InputError
    for content that may not be stored.
    """

    verb: str
    read: Callable[[str], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class ItemEditor:
    """Carries out edits and rollbacks. ``forms`` are the update rules of kinds whose content is not free text."""

    database: Database
    writer: Writer
    browser: Browser
    folds: Mapping[str, Fold]
    forms: Mapping[str, Form]

    def edit(self, call: Call, item_id: str, verb: str, payload: Mapping[str, Any]) -> EditResult:
        """Record an edit of one item.

        NotFound without such an item, VersionConflict when its version changed, InputError when the new values cannot
        hold for the item.
        """
        with self.database.transaction(call.tenant, "read") as unit:
            lane, item = find_item(unit, item_id)
            named = LaneView(unit, lane).named(payload[EXTERNAL_ID]) if EXTERNAL_ID in payload else None
        if named is not None and named.id != item_id and call.idempotency_key is None:
            raise name_taken(named)
        _check_change(item, payload)
        expected = payload.get("expected_version")
        if expected is not None and expected != item.version and call.idempotency_key is None:
            raise version_conflict(item, expected)
        form = self.forms.get(item.kind)
        if form is not None and verb == UPDATE and "content" in payload:
            if EXTERNAL_ID in payload:
                reason = f"give an item of kind {item.kind} its name and its words in two calls"
                raise InputError(reason, field=EXTERNAL_ID)
            others = {name: value for name, value in payload.items() if name != "content"}
            verb, payload = form.verb, {**form.read(payload["content"]), **others}
        written = self._write(call, lane.lane_id, verb, {"item_id": item_id, **payload})
        if written.pending:
            return EditResult(written.entry.id, pending=True, gated=written.redacted)
        items = tuple(self.browser.made_by(call.tenant, written.entry))
        result = EditResult(written.entry.id, items, gated=written.redacted)
        if expected is not None and not result.items:  # nothing changed: it was so already, or it had moved on
            then = ReadConditions(as_of=to_micros(written.entry.recorded_at))
            item = self.browser.get(call.tenant, item_id, then)
            if item.version != expected or self._had_no_effect(call.tenant, written.entry.id):
                raise version_conflict(item, expected)
        return result

    def archive_all(self, call: Call, name: LaneName, attributes: Mapping[str, str]) -> EditResult:
        """Archive a lane's items that carry the named attributes; a missing lane records nothing."""
        with self.database.transaction(call.tenant, "read") as unit:
            lane = find_lane(unit, name)
        if lane is None:
            raise NotFound(f"nothing was ever stored for {name}", field="scope")
        written = self._write(call, lane.lane_id, "archive_all", {"attributes": dict(attributes)})
        items = () if written.pending else tuple(self.browser.made_by(call.tenant, written.entry))
        return EditResult(written.entry.id, items, pending=written.pending)

    def rollback(self, call: Call, target_id: str, *, cascade: bool, owner: str | None = None) -> EditResult:
        """Roll back a delta or an entry; RollbackConflict lists the later deltas that depend on it.

        NotFound for a change in the lane of another user than ``owner``, as for one that does not exist.
        """
        with self.database.transaction(call.tenant, "read") as unit:
            lane = self._lane_of_change(unit, target_id, owner)
            undo = find_undo(LaneView(unit, lane), target_id, cascade=cascade, folds=self.folds)
        if undo is None:
            raise NotFound(f"entry {target_id} changed nothing that could be rolled back", field="id")
        if undo.blockers and call.idempotency_key is None:
            raise _blocked_error(target_id, undo.blockers)  # with a key, it may be the same call again: the log decides
        written = self._write(call, lane.lane_id, ROLLBACK, {"target_id": target_id, "cascade": cascade})
        if written.pending:
            return EditResult(written.entry.id, pending=True)
        with self.database.transaction(call.tenant, "read") as unit:
            # No change may be right: what is taken back was taken back before, and stands as it would.
            changed = bool(deltas_of_entry(unit, lane.lane_id, written.entry.id))
            undo = find_undo(LaneView(unit, lane), target_id, cascade=cascade, folds=self.folds)
        if not changed and undo is not None and undo.blockers:
            raise _blocked_error(target_id, undo.blockers)
        return EditResult(written.entry.id, tuple(self.browser.made_by(call.tenant, written.entry)))

    def _had_no_effect(self, tenant: str, entry_id: str) -> bool:
        """Return whether an erasure recorded that an edit had changed nothing; versions count differently since."""
        with self.database.transaction(tenant, "read") as unit:
            rows = read_outcomes(unit, [entry_id])[entry_id]
            return any(row["role"] == DECIDED_ROLE and not decode(row["body"])["met"] for row in rows)

    def _write(self, call: Call, lane_id: int, verb: str, payload: Mapping[str, Any]) -> WriteResult:
        return self.writer.write(
            call.tenant,
            lane_id,
            verb=verb,
            payload=payload,
            actor=call.actor,
            idempotency_key=call.idempotency_key,
            wait=call.wait,
        )

    def _lane_of_change(self, unit: Any, target_id: str, owner: str | None) -> Lane:
        delta = find_delta(unit, target_id)
        entry = find_entry(unit, target_id if delta is None else delta[1].entry_id)
        if entry is None or get_lane(unit, entry.lane_id).is_foreign_to(owner):
            raise NotFound(f"there is no delta or entry {target_id} in this tenant", field="id")
        if entry.verb == ERASE:
            raise InputError(
                f"{target_id} is an erasure: what it removed is gone, and cannot be taken back", field="id"
            )
        return get_lane(unit, entry.lane_id)


def _check_change(item: Item, payload: Mapping[str, Any]) -> None:
    if "value" in payload and item.kind not in STATED:
        raise InputError(f"value belongs to what is stated; an item of kind {item.kind} has none", field="value")
    if item.valid_from is not None and payload.get("valid_to") is not None:
        end = parse_moment(payload["valid_to"], field="valid_to")
        if end.date() < item.valid_from.date():  # an end is often told by its day, or by its second
            raise InputError(
                f"valid_to ({isoformat(end)}) lies before the item's valid_from ({isoformat(item.valid_from)}): it"
                " would hold at no time; give a later one, or retract the item if it never held",
                field="valid_to",
            )


def version_conflict(item: Item, expected: int) -> VersionConflict:
    """Return the error for an item at another version than the caller saw."""
    found = f"the item is at version {item.version}"
    if item.version == expected:
        found = "the item was at another version then, by a count that an erasure has changed since"
    return VersionConflict(
        f"expected_version {expected}, but {found}; read it again and decide",
        field="expected_version",
        details={"item_id": item.id, "version": item.version},
    )


def _blocked_error(target_id: str, blockers: Any) -> RollbackConflict:
    later: list[Delta] = list(blockers)
    return RollbackConflict(
        f"{len(later)} later changes stand on {target_id}; roll them back first, or use cascade=True to take them too",
        field="id",
        details={"later": [delta.id for delta in later]},
    )


# Release and rejection of quarantined items.

RELEASE: Final = "release"
REJECT: Final = "reject"


def in_quarantine(item: Item) -> bool:
    """Return whether an item is in quarantine."""
    return item.quarantine is not None and item.status == "active" and item.ended is None


def apply_release(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
    """Make an item visible to ordinary reads. Nothing is learned from it by that."""
    return _decide_quarantine(view, entry, {"quarantine": None})


def apply_reject(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
    """End a quarantined item for good: archived, retracted and quarantined, so that no single edit restores it."""
    fields = {"status": "archived", "ended": "retracted", "ended_by": entry.id, "valid_to": entry.recorded_at}
    return _decide_quarantine(view, entry, fields)


def _decide_quarantine(view: LaneView, entry: Entry, fields: Mapping[str, Any]) -> Changes:
    payload = payload_of(entry, EditPayload)
    item = None if is_erased(entry.payload) else view.item(payload["item_id"])
    if item is None or not in_quarantine(item):
        return Changes()
    return Changes(patches=[Patch(item.id, fields, payload.get("reason") or entry.verb)])


QUARANTINE_HANDLERS: Final = (Handler(verb=RELEASE, apply=apply_release), Handler(verb=REJECT, apply=apply_reject))
