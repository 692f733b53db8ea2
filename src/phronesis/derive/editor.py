"""Edits of items by id: find the lane, record the entry, say what came of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from phronesis.core.changes import Delta, Fold
from phronesis.core.instants import to_micros
from phronesis.core.items import Item
from phronesis.core.results import EditResult
from phronesis.core.scope import LaneName
from phronesis.derive.edits import UPDATE
from phronesis.derive.erasure_plan import ERASE
from phronesis.derive.rollback import find_undo
from phronesis.derive.writer import Writer, Written
from phronesis.errors import InputError, NotFound, RollbackConflict, VersionConflict
from phronesis.recall.browse import Browser, find_item
from phronesis.storage.database import Database
from phronesis.storage.deltas import deltas_of_entry, find_delta
from phronesis.storage.eligible import Wanted
from phronesis.storage.lane_view import LaneView
from phronesis.storage.lanes import Lane, find_lane, get_lane
from phronesis.storage.log import find_entry


@dataclass(frozen=True, slots=True)
class Call:
    """How a caller wants a write done: by whom, under which key, and whether to wait for its interpretation."""

    tenant: str
    actor: str = "agent"
    idempotency_key: str | None = None
    wait: bool = True


@dataclass(frozen=True, slots=True)
class Form:
    """How an item takes new words where they are no free text.

    An update of them is recorded under ``verb``, with what ``read`` made of them in place of ``content``; what may not
    be stored raises InputError there.
    """

    verb: str
    read: Callable[[str], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Editor:
    """Carries out edits and rollbacks. ``forms`` are those of the kinds whose words have one."""

    database: Database
    writer: Writer
    browser: Browser
    folds: Mapping[str, Fold]
    forms: Mapping[str, Form]

    def edit(self, call: Call, item_id: str, verb: str, payload: Mapping[str, Any]) -> EditResult:
        """Record an edit of one item; NotFound when there is none, VersionConflict when it moved on."""
        with self.database.transaction(call.tenant, "read") as unit:
            lane, item = find_item(unit, item_id)
        expected = payload.get("expected_version")
        if expected is not None and expected != item.version and call.idempotency_key is None:
            raise moved_on(item, expected)
        form = self.forms.get(item.kind)
        if form is not None and verb == UPDATE and "content" in payload:
            others = {name: value for name, value in payload.items() if name != "content"}
            verb, payload = form.verb, {**form.read(payload["content"]), **others}
        written = self._write(call, lane.lane_id, verb, {"item_id": item_id, **payload})
        if written.pending:
            return EditResult(written.entry.id, pending=True)
        result = EditResult(written.entry.id, tuple(self.browser.made_by(call.tenant, written.entry)))
        if expected is not None and not result.items:  # nothing changed: it was so already, or it had moved on
            then = Wanted(as_of=to_micros(written.entry.recorded_at))
            item = self.browser.get(call.tenant, item_id, then)
            if item.version != expected:
                raise moved_on(item, expected)
        return result

    def archive_all(self, call: Call, name: LaneName, attributes: Mapping[str, str]) -> EditResult:
        """Archive what a lane holds under the named attributes; nothing is recorded for a lane that is not there."""
        with self.database.transaction(call.tenant, "read") as unit:
            lane = find_lane(unit, name)
        if lane is None:
            raise NotFound(f"nothing was ever stored for {name}", field="scope")
        written = self._write(call, lane.lane_id, "archive_all", {"attributes": dict(attributes)})
        items = () if written.pending else tuple(self.browser.made_by(call.tenant, written.entry))
        return EditResult(written.entry.id, items, pending=written.pending)

    def rollback(self, call: Call, target_id: str, *, cascade: bool) -> EditResult:
        """Take back a delta or an entry; RollbackConflict lists the later deltas that stand on it."""
        with self.database.transaction(call.tenant, "read") as unit:
            lane = self._lane_of_change(unit, target_id)
            undo = find_undo(LaneView(unit, lane), target_id, cascade=cascade, folds=self.folds)
        if undo is None:
            raise NotFound(f"entry {target_id} changed nothing that could be rolled back", field="id")
        if undo.blockers and call.idempotency_key is None:
            raise _blocked(target_id, undo.blockers)  # with a key, it may be the same call again: the log decides
        written = self._write(call, lane.lane_id, "rollback", {"target_id": target_id, "cascade": cascade})
        if written.pending:
            return EditResult(written.entry.id, pending=True)
        with self.database.transaction(call.tenant, "read") as unit:
            # No change may be right: what is taken back was taken back before, and stands as it would.
            changed = bool(deltas_of_entry(unit, lane.lane_id, written.entry.id))
            undo = find_undo(LaneView(unit, lane), target_id, cascade=cascade, folds=self.folds)
        if not changed and undo is not None and undo.blockers:
            raise _blocked(target_id, undo.blockers)
        return EditResult(written.entry.id, tuple(self.browser.made_by(call.tenant, written.entry)))

    def _write(self, call: Call, lane_id: int, verb: str, payload: Mapping[str, Any]) -> Written:
        return self.writer.write(
            call.tenant, lane_id, verb=verb, payload=payload, actor=call.actor,
            idempotency_key=call.idempotency_key, wait=call.wait,
        )  # fmt: skip

    def _lane_of_change(self, unit: Any, target_id: str) -> Lane:
        delta = find_delta(unit, target_id)
        entry = find_entry(unit, target_id if delta is None else delta[1].entry_id)
        if entry is None:
            raise NotFound(f"there is no delta or entry {target_id} in this tenant", field="id")
        if entry.verb == ERASE:
            raise InputError(
                f"{target_id} is an erasure: what it removed is gone, and cannot be taken back", field="id"
            )
        return get_lane(unit, entry.lane_id)


def moved_on(item: Item, expected: int) -> VersionConflict:
    """Give the error for an item that is at another version than the caller saw."""
    return VersionConflict(
        f"expected_version {expected}, but the item is at version {item.version}; read it again and decide",
        field="expected_version",
        details={"item_id": item.id, "version": item.version},
    )


def _blocked(target_id: str, blockers: Any) -> RollbackConflict:
    later: list[Delta] = list(blockers)
    return RollbackConflict(
        f"{len(later)} later changes stand on {target_id}; roll them back first, or use cascade=True to take them too",
        field="id",
        details={"later": [delta.id for delta in later]},
    )
