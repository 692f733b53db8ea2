"""Taking back a delta or all that an entry did: itself an entry, with deltas of its own that can be taken back."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from phronesis.core.changes import Changes, Delta, Fold, Patch
from phronesis.core.entries import Entry
from phronesis.core.items import Item
from phronesis.core.relations import Edge, EvidenceRow
from phronesis.core.undo import Undo, plan_undo, restored_fields
from phronesis.derive.handler import Apply, Handler, Outcomes
from phronesis.storage.lane_view import LaneView

ROLLBACK: Final = "rollback"

_EMPTY: Final = Undo(deltas=(), blockers=())


def find_undo(view: LaneView, target_id: str, *, cascade: bool, folds: Mapping[str, Fold]) -> Undo | None:
    """Say what rolling back a delta or an entry takes; None when the lane has no such change."""
    delta = view.delta(target_id)
    targets = [delta] if delta is not None else view.deltas_of_entry(target_id)
    if not targets:
        return None
    histories = view.deltas([target.item_id for target in targets])
    folded = {item.id: _folded(item, folds) for item in view.items(histories).values()}
    return plan_undo(targets, histories, folded=folded, cascade=cascade)


def undo_handler(folds: Mapping[str, Fold]) -> Handler:
    """Give the handler of ``rollback``; ``folds`` say, by kind, which fields follow from evidence."""

    def apply(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
        """Undo as far as it stands now; when later changes stand in the way, change nothing."""
        payload = entry.payload
        undo = find_undo(view, payload["target_id"], cascade=payload["cascade"], folds=folds) or _EMPTY
        if undo.blockers:
            return Changes()
        return _undone(view, entry, undo, folds)

    checked: Apply = apply
    return Handler(verb=ROLLBACK, apply=checked)


def taken_back(view: LaneView, item: Item) -> bool:
    """Tell whether a rollback undid the making of an item: to its lane it was never there."""
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
        fields: dict[str, Any] = restored_fields(item, deltas, folded=_folded(item, folds))
        if deltas[-1].op == "create":
            # What was never there cannot be restored: the item ends, and stays readable by id and in history.
            fields.update(status="archived", ended="retracted", ended_by=entry.id)
        patches.append(Patch(item_id, fields, f"rolled back {entry.payload['target_id']}"))
    evidence = _before(
        [([EvidenceRow.from_row(row) for row in delta.evidence_added],
          [EvidenceRow.from_row(row) for row in delta.evidence_removed]) for delta in undo.deltas]
    )  # fmt: skip
    edges = _before(
        [([Edge(**row) for row in delta.edges_added], [Edge(**row) for row in delta.edges_removed])
         for delta in undo.deltas]
    )  # fmt: skip
    return Changes(
        patches=patches, evidence=evidence[0], dropped_evidence=evidence[1], edges=edges[0], dropped_edges=edges[1]
    )


def _folded(item: Item, folds: Mapping[str, Fold]) -> frozenset[str]:
    fold = folds.get(item.kind)
    return fold.fields if fold is not None else frozenset()


_Row = TypeVar("_Row", EvidenceRow, Edge)


def _before(steps: Sequence[tuple[Sequence[_Row], Sequence[_Row]]]) -> tuple[list[_Row], list[_Row]]:
    """Give what comes back and what goes when (added, removed) of each delta, newest first, are undone.

    Whatever stands in a touched place goes, so that what was replaced comes back exactly as it was.
    """
    touched: dict[Any, _Row] = {}
    there: dict[Any, _Row] = {}
    for added, removed in steps:
        for row in added:
            touched[row.identity] = row
            there.pop(row.identity, None)
        for row in removed:
            touched[row.identity] = there[row.identity] = row
    return list(there.values()), list(touched.values())
