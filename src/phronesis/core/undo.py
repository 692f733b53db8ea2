"""Law 11: taking back changes.

The newest change of an item is restored exactly; an older one is subtracted where later changes touch other fields or
evidence; else the later ones are in the way.
"""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from phronesis.core.changes import Delta
from phronesis.core.items import Item, flat_row, nested_row


@dataclass(frozen=True, slots=True)
class Undo:
    """What would be undone: the deltas, newest first, and the later deltas that stand in the way."""

    deltas: Sequence[Delta]
    blockers: Sequence[Delta]


def plan_undo(
    targets: Sequence[Delta],
    histories: Mapping[str, Sequence[Delta]],
    *,
    folded: Mapping[str, AbstractSet[str]],
    cascade: bool,
) -> Undo:
    """Say what undoing ``targets`` takes.

    Args:
        targets: the deltas to be undone.
        histories: for each item they touch, all its deltas, oldest first.
        folded: by item, its kind's fields that follow from evidence: they are computed anew and conflict with nothing.
        cascade: take later deltas that are in the way along, and what is in theirs.
    """
    wanted = {delta.id for delta in targets}
    blockers: dict[str, Delta] = {}
    order = {delta.id: (item, n) for item, deltas in histories.items() for n, delta in enumerate(deltas)}
    pending = list(targets)
    while pending:
        target = pending.pop()
        item, place = order[target.id]
        for later in histories[item][place + 1 :]:
            if later.id not in wanted and _overlap(target, later, folded.get(item, frozenset())):
                if cascade:
                    wanted.add(later.id)
                    pending.append(later)
                else:
                    blockers[later.id] = later
    chosen = [delta for deltas in histories.values() for delta in deltas if delta.id in wanted]

    def newest_first(delta: Delta) -> tuple[Any, ...]:
        return (delta.recorded_at, delta.n, order[delta.id][1])

    return Undo(
        deltas=tuple(sorted(chosen, key=newest_first, reverse=True)),
        blockers=tuple(sorted(blockers.values(), key=newest_first, reverse=True)),
    )


def _overlap(earlier: Delta, later: Delta, folded: AbstractSet[str]) -> bool:
    """Whether ``later`` stands on what ``earlier`` did."""
    if earlier.op == "create":
        return True
    if (set(earlier.patch) & set(later.patch)) - folded:
        return True
    return bool(_touched_rows(earlier) & _touched_rows(later))


def _touched_rows(delta: Delta) -> set[tuple[Any, ...]]:
    evidence = [
        ("evidence", row["item_id"], row["part"], row["polarity"], row["source_key"])
        for row in (*delta.evidence_added, *delta.evidence_removed)
    ]
    edges = [
        ("edge", row["type"], row["from_id"], row["to_kind"], row["to_id"])
        for row in (*delta.edges_added, *delta.edges_removed)
    ]
    return {*evidence, *edges}


def restored_fields(item: Item, deltas: Sequence[Delta], *, folded: AbstractSet[str]) -> dict[str, Any]:
    """Give the values that fields of ``item`` take when ``deltas`` (its own, newest first) are undone.

    ``folded`` are its kind's fields that follow from evidence: those are left to the fold.
    """
    flat = flat_row(item.to_row())
    before = {name: old for delta in deltas for name, (old, _new) in delta.patch.items() if name not in folded}
    older = Item.from_row(nested_row(flat | before))
    return {
        name: getattr(older, name) if name in Item.__dataclass_fields__ else before[name] for name in sorted(before)
    }


def as_of(item: Item, deltas: Sequence[Delta]) -> Item:
    """Give the version of ``item`` before ``deltas`` (its own later ones, newest first): what we knew then."""
    if not deltas:
        return item
    flat = flat_row(item.to_row())
    flat |= {name: old for delta in deltas for name, (old, _new) in delta.patch.items()}
    flat |= {"version": deltas[-1].version - 1, "metadata": flat["metadata"] or {}}
    return Item.from_row(nested_row(flat), user_id=item.user_id, namespace=item.namespace)
