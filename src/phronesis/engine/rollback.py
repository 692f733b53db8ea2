"""Roll back a delta or an entry, and retry failed entries.

A ``retry`` entry stands at the lane's end and uses the prepare and apply of the original entry's verb. Verbs with an
effect on the log are retried by an entry of the same verb that names the original. Some verbs must be called again
instead: ``rederive`` compares with the lane at the time it runs, and an erasure of text needs a new plan and
certificate.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from phronesis.core.changes import Changes, Delta, Fold, Patch, Undo, plan_undo, restored_fields
from phronesis.core.entries import Entry, Outcome, RollbackPayload, is_erased, payload_of
from phronesis.core.items import Item
from phronesis.core.relations import Edge, EvidenceRow
from phronesis.engine.handler import ERASE, FAILED_ROLE, PREPARE_AGAIN, Handler, Outcomes, PrepareContext, Registry
from phronesis.errors import Conflict, Erased
from phronesis.log.erasure import left_of
from phronesis.log.payloads import fit, load_entry
from phronesis.store.database import Unit
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import get_lane
from phronesis.store.log import entries_of_verb, read_outcomes

# Rollback of a delta or of all deltas of an entry. A rollback is itself an entry that can be rolled back.

ROLLBACK: Final = "rollback"

_EMPTY: Final = Undo(deltas=(), blockers=())


def find_undo(view: LaneView, target_id: str, *, cascade: bool, folds: Mapping[str, Fold]) -> Undo | None:
    """Return the undo of a delta or an entry; None when the lane has no such change."""
    delta = view.delta(target_id)
    targets = [delta] if delta is not None else view.deltas_of_entry(target_id)
    if not targets:
        return None
    histories = view.deltas([target.item_id for target in targets])
    folded = {item.id: _folded_fields(item, folds) for item in view.items(histories).values()}
    return plan_undo(targets, histories, folded=folded, cascade=cascade)


def undo_handler(folds: Mapping[str, Fold]) -> Handler:
    """Return the handler of ``rollback``; ``folds`` compute, by kind, the fields that follow from evidence."""

    def apply(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
        """Undo as far as possible; when later changes depend on it, change nothing."""
        payload = payload_of(entry, RollbackPayload)
        undo = find_undo(view, payload["target_id"], cascade=payload["cascade"], folds=folds) or _EMPTY
        if undo.blockers:
            return Changes()
        return _undone(view, entry, undo, folds)

    return Handler(verb=ROLLBACK, apply=apply)


def is_undone(view: LaneView, item: Item) -> bool:
    """Return whether a rollback undid the creation of an item, as if it had never existed."""
    undone = item.status == "archived" and item.ended == "retracted" and item.ended_by is not None
    return undone and view.verb_of(str(item.ended_by)) == ROLLBACK


def _undone(view: LaneView, entry: Entry, undo: Undo, folds: Mapping[str, Fold]) -> Changes:
    by_item: dict[str, list[Delta]] = {}
    for delta in undo.deltas:
        by_item.setdefault(delta.item_id, []).append(delta)
    present = view.items(by_item)
    patches: list[Patch] = []
    for item_id, deltas in by_item.items():
        if item_id not in present:
            continue
        item = present[item_id]
        fields: dict[str, Any] = restored_fields(item, deltas, folded=_folded_fields(item, folds))
        if deltas[-1].op == "create":
            # What was never there cannot be restored: the item ends, and stays readable by id and in history.
            fields.update(status="archived", ended="retracted", ended_by=entry.id)
        patches.append(Patch(item_id, fields, f"rolled back {payload_of(entry, RollbackPayload)['target_id']}"))
    rows = [(delta.evidence_added, delta.evidence_removed) for delta in undo.deltas]
    evidence, dropped_evidence = _undo_steps(rows, EvidenceRow.from_row)
    rows = [(delta.edges_added, delta.edges_removed) for delta in undo.deltas]
    edges, dropped_edges = _undo_steps(rows, lambda row: Edge(**row))
    return Changes(
        patches=patches, evidence=evidence, dropped_evidence=dropped_evidence, edges=edges, dropped_edges=dropped_edges
    )


def _folded_fields(item: Item, folds: Mapping[str, Fold]) -> frozenset[str]:
    fold = folds.get(item.kind)
    return fold.fields if fold is not None else frozenset()


_Row = TypeVar("_Row", EvidenceRow, Edge)


def _undo_steps(
    steps: Sequence[tuple[Sequence[Any], Sequence[Any]]], read: Callable[[Any], _Row]
) -> tuple[list[_Row], list[_Row]]:
    """Return what is restored and what is removed when (added, removed) of each delta, newest first, are undone.

    Whatever is in a changed place is removed, so that what was replaced is restored exactly.
    """
    touched: dict[Any, _Row] = {}
    there: dict[Any, _Row] = {}
    for added, removed in steps:
        for row in map(read, added):
            touched[row.identity] = row
            there.pop(row.identity, None)
        for row in map(read, removed):
            touched[row.identity] = there[row.identity] = row
    return list(there.values()), list(touched.values())


VERB: Final = "retry"
REDERIVE: Final = "rederive"

REPEATED: Final = frozenset({ERASE, PREPARE_AGAIN})
"""Verbs that have an effect on the log."""

_STANDS_FOR: Final = "entry_id"
"""The payload member that names the entry being retried."""


def find_callable_verb(verb: str, payload: Mapping[str, Any]) -> str | None:
    """Return the verb to call again where a failed entry cannot be retried; None where it can."""
    if verb == REDERIVE:
        return REDERIVE
    return ERASE if verb == ERASE and (payload.get("parts") or payload.get("everything")) else None


def remedy_of(entry: Entry) -> str:
    """Return the call that repeats a failed entry once its cause is fixed."""
    again = find_callable_verb(entry.verb, entry.payload)
    return f"call {again} again" if again is not None else f"call admin.retry('{entry.id}')"


def has_failed(unit: Unit, entry_id: str) -> bool:
    """Return whether an entry was set aside as failed."""
    return any(row["role"] == FAILED_ROLE for row in read_outcomes(unit, [entry_id])[entry_id])


def is_retry(entry: Entry) -> bool:
    """Return whether an entry retries one that failed."""
    return entry.verb == VERB or (entry.verb in REPEATED and _STANDS_FOR in entry.payload)


def retry_of(unit: Unit, original: Entry, *, before: int | None = None) -> str | None:
    """Return the id of the retry of an entry that did not fail (it may be pending), or None.

    ``before`` looks at the lane as it was below that seq.
    """
    verb = original.verb if original.verb in REPEATED else VERB
    for row in entries_of_verb(unit, original.lane_id, verb, after=original.seq, before=before):
        again = load_entry(unit, row.entry_id)
        if again.payload.get(_STANDS_FOR) == original.id and not has_failed(unit, again.id):
            return again.id
    return None


def is_made_good(unit: Unit, original: Entry) -> bool:
    """Return whether the work of a failed entry has been retried, or done otherwise since."""
    match find_callable_verb(original.verb, original.payload):
        case None:
            return retry_of(unit, original) is not None
        case str(verb) if verb == REDERIVE:
            later = entries_of_verb(unit, original.lane_id, REDERIVE, after=original.seq)
            return any(not has_failed(unit, row.entry_id) for row in later)
        case _ if original.payload.get("everything"):
            return get_lane(unit, original.lane_id).name is None
        case _:
            return not left_of(unit, original.payload["parts"])


def original_of_retry(unit: Unit, entry_id: str) -> Entry:
    """Return the original of a retry of ``entry_id``: the entry itself, or the one that it retried.

    NotFound when there is no such entry, Erased when its payload is gone, Conflict when it did not fail or must be
    repeated by another call.
    """
    entry = load_entry(unit, entry_id)
    if not has_failed(unit, entry_id):
        raise Conflict(
            f"entry {entry_id} did not fail: it was interpreted, or still will be (see doctor); there is nothing to"
            " retry",
            field="entry_id",
        )
    again = is_retry(entry) and not is_erased(entry.payload)
    original = load_entry(unit, entry.payload[_STANDS_FOR]) if again else entry
    if is_erased(original.payload):
        raise Erased(f"the words of entry {original.id} were erased; it cannot be interpreted again", field="entry_id")
    if find_callable_verb(original.verb, original.payload) is not None:
        raise _not_retried(original)
    return original


def refuse_second_retry(unit: Unit, original: Entry) -> None:
    """Raise Conflict when the entry has been retried already, since it would count twice."""
    earlier = retry_of(unit, original)
    if earlier is not None:
        raise Conflict(
            f"entry {original.id} was taken up again by entry {earlier}",
            field="entry_id",
            details={"entry_id": earlier},
        )


def retry_payload(original: Entry) -> tuple[str, Mapping[str, Any]]:
    """Return the verb and payload of the entry that retries a failed one."""
    if original.verb in REPEATED:
        return original.verb, {**original.payload, _STANDS_FOR: original.id}
    return VERB, {_STANDS_FOR: original.id}


def retry_handler(originals: Registry) -> Handler:
    """Return the handler of ``retry``, which uses the handler of the original entry's verb.

    A retry of an entry that cannot be retried fails, so that the lane is not blocked. A retry of an unknown verb
    raises HandlerMissing and stays pending, as the original would.
    """

    def prepare(bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        with bench.view() as view:
            original = _original(view, entry)
        if original.verb in {VERB, REDERIVE}:
            raise _not_retried(original)
        delegate = originals[original.verb].prepare
        return delegate(bench, original) if delegate is not None else ()

    def apply(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
        original = _original(view, entry)
        if retry_of(view.log or view.unit, original, before=entry.seq) is not None:
            return Changes()  # two callers asked at the same time
        changes = originals[original.verb].apply_of(original.handler_version)(view, original, outcomes)
        return date_to_original(changes, entry)

    return Handler(verb=VERB, apply=apply, prepare=prepare)


def date_to_original(changes: Changes, entry: Entry) -> Changes:
    """Date what a retried entry yields to the time of ``entry``, since it was not known before (``as_of``)."""
    at = entry.recorded_at
    return dataclasses.replace(
        changes,
        items=[dataclasses.replace(item, recorded_at=at, updated_at=at) for item in changes.items],
        evidence=[dataclasses.replace(row, recorded_at=at) for row in changes.evidence],
    )


def _not_retried(original: Entry) -> Conflict:
    return Conflict(
        f"entry {original.id} ({original.verb}) is not interpreted again as it stands: {remedy_of(original)}",
        field="entry_id",
    )


def _original(view: LaneView, entry: Entry) -> Entry:
    original = load_entry(view.log or view.unit, entry.payload[_STANDS_FOR])
    return dataclasses.replace(original, payload=fit(dict(original.payload)))
