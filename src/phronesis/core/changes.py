"""The changes that ``apply`` asks for, the versions and deltas that result, and their rollback."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal, TypeVar

from phronesis.core.entries import ConversationRows, ResourceRows
from phronesis.core.ids import delta_id
from phronesis.core.items import BOOKKEEPING, Item, flat_row, nested_row
from phronesis.core.relations import Edge, Entity, EvidenceRow, Mention
from phronesis.errors import PhronesisError

RECORDED: Final = "recorded"
"""The default reason of a creation."""


@dataclass(frozen=True, slots=True)
class Patch:
    """New values for some fields of one item, with a reason."""

    item_id: str
    fields: Mapping[str, Any]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ChildEntry:
    """A child entry that ``apply`` appends to the same lane; its id is derived, so that a replay creates the same."""

    verb: str
    payload: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """The changes that a handler's ``apply`` requests. Order within a list is kept; creations come before patches."""

    items: Sequence[Item] = ()
    patches: Sequence[Patch] = ()
    edges: Sequence[Edge] = ()
    dropped_edges: Sequence[Edge] = ()
    evidence: Sequence[EvidenceRow] = ()
    dropped_evidence: Sequence[EvidenceRow] = ()
    entities: Sequence[Entity] = ()
    mentions: Sequence[Mention] = ()
    dropped_entities: Sequence[str] = ()
    dropped_mentions: Sequence[Mention] = ()
    conversation: ConversationRows | None = None
    resources: ResourceRows | None = None
    children: Sequence[ChildEntry] = ()

    @property
    def touched(self) -> tuple[str, ...]:
        """The ids of existing items whose state is needed to settle these changes, without repeats."""
        if not (self.patches or self.evidence or self.dropped_evidence or self.edges or self.dropped_edges):
            return ()
        rows = (*self.evidence, *self.dropped_evidence)
        edges = (*self.edges, *self.dropped_edges)
        ids = [patch.item_id for patch in self.patches] + [row.item_id for row in rows]
        ids += [edge.from_id for edge in edges if edge.from_kind == "item"]
        return tuple(dict.fromkeys(ids))


@dataclass(frozen=True, slots=True, kw_only=True)
class Delta:
    """One change of one item by one entry: the unit of history.

    ``op`` is create or update. ``patch`` maps a field to [before, after] in stored form; a creation has none, since
    the created item follows from the item and its later deltas. Added and removed evidence and edges are listed as
    stored rows. ``version`` is the item's version afterwards. A creation has the item's id: an item is created once.
    """

    id: str
    entry_id: str
    item_id: str
    n: int
    op: str
    patch: Mapping[str, Sequence[Any]]
    actor: str
    reason: str
    recorded_at: datetime
    version: int
    evidence_added: Sequence[Mapping[str, Any]] = ()
    evidence_removed: Sequence[Mapping[str, Any]] = ()
    edges_added: Sequence[Mapping[str, Any]] = ()
    edges_removed: Sequence[Mapping[str, Any]] = ()

    @property
    def plain(self) -> bool:
        """Return whether it only says that its entry created the item."""
        rows = self.evidence_added or self.evidence_removed or self.edges_added or self.edges_removed
        return self.op == "create" and self.reason == RECORDED and self.version == 1 and not rows and not self.patch


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedChanges:
    """Changes with their consequences applied: complete items and their deltas."""

    created: Sequence[Item] = ()
    updated: Sequence[Item] = ()
    deltas: Sequence[Delta] = ()
    changes: Changes = field(default_factory=Changes)


def field_patch(before: Item, after: Item) -> dict[str, list[Any]]:
    """Return field → [before, after] in stored form for changed fields, without bookkeeping.

    A member of ``data`` is a field of its own, ``data.<name>``: engines store several values there, and a change of
    one does not conflict with a rollback of another.
    """
    old, new = flat_row(before.to_row()), flat_row(after.to_row())
    names = [name for name in {**old, **new} if name not in BOOKKEEPING]
    return {name: [old.get(name), new.get(name)] for name in names if old.get(name) != new.get(name)}


@dataclass(frozen=True, slots=True)
class Fold:
    """How fields of a kind are computed from its evidence: counts, confidence, status.

    ``compute`` gets the item and all its evidence in the order it was learned, and returns exactly ``fields`` (those
    of an item, or ``data.<name>``). It runs whenever the item or its evidence changes, also by a rollback: so a
    rollback restores no folded field, and two learnings that added different evidence never conflict.
    """

    fields: frozenset[str]
    compute: Callable[[Item, Sequence[EvidenceRow]], Mapping[str, Any]]

    def __call__(self, item: Item, evidence: Sequence[EvidenceRow]) -> Item:
        """Return the item with its computed fields; an error when ``compute`` returns other fields than declared."""
        found = self.compute(item, evidence)
        if found.keys() != self.fields:
            raise PhronesisError(f"the fold of kind '{item.kind}' gave {sorted(found)}, not {sorted(self.fields)}")
        return item.with_fields(found)


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrentState:
    """The present state of what some changes touch: items, and their evidence and edges."""

    items: Mapping[str, Item] = field(default_factory=dict)
    evidence: Sequence[EvidenceRow] = ()
    edges: Sequence[Edge] = ()


def settle(
    changes: Changes,
    existing: CurrentState,
    *,
    entry_id: str,
    actor: str,
    at: datetime,
    folds: Mapping[str, Fold] | None = None,
) -> ResolvedChanges:
    """Compute new versions and deltas from the requested changes.

    ``existing`` is the lane's state of ``changes.touched``. Changes of items that it does not hold are dropped, since
    an erased or never created item has no state; so is the creation of an existing item. It must have all the evidence
    of an item whose kind is in ``folds``, which computes fields from evidence by kind. ``entry_id`` is the entry being
    applied, ``actor`` its author, ``at`` its ``recorded_at``.

    A patch that changes nothing gives no delta. Existing evidence is not counted again, an edge equal to the existing
    one is no change, and neither can be dropped when it is missing. What is dropped and requested at once is replaced.
    Deltas keep the order of the requests, creations first: they are numbered, and the row order of a database must not
    decide that.
    """
    created = {item.id: item for item in changes.items if item.id not in existing.items}
    changes = _effective(changes, existing, set(created) | set(existing.items))
    touched = [existing.items[item_id] for item_id in changes.touched if item_id in existing.items]
    wishes = _RequestedChanges(changes, {"entry_id": entry_id, "actor": actor, "recorded_at": at})
    deltas: list[Delta] = []
    updated: list[Item] = []
    evidence = _evidence_after(existing, changes) if folds else {}
    for item in (*created.values(), *touched):
        after = item.with_fields(wishes.fields.get(item.id, {}))
        fold = (folds or {}).get(item.kind)
        if fold is not None:
            after = fold(after, evidence.get(item.id, ()))
        if item.id in created:
            created[item.id] = after
            deltas.append(wishes.delta(after, len(deltas), op="create", patch={}))
            continue
        patch = field_patch(item, after)
        if patch or any(item.id in rows for rows in wishes.rows.values()):
            updated.append(after.changed({}, at=at))
            deltas.append(wishes.delta(updated[-1], len(deltas), op="update", patch=patch))
    return ResolvedChanges(
        created=tuple(created.values()), updated=tuple(updated), deltas=tuple(deltas), changes=changes
    )


class _RequestedChanges:
    """Effective changes by item, and what deltas share. The first patch of an item gives the reason of its delta."""

    def __init__(self, changes: Changes, shared: Mapping[str, Any]) -> None:
        self._shared = shared
        self.fields: dict[str, dict[str, Any]] = {}
        self._reasons: dict[str, str] = {}
        for patch in changes.patches:
            self.fields.setdefault(patch.item_id, {}).update(patch.fields)
            self._reasons.setdefault(patch.item_id, patch.reason)
        rows: dict[str, Sequence[EvidenceRow | Edge]] = {
            "evidence_added": changes.evidence,
            "evidence_removed": changes.dropped_evidence,
            "edges_added": changes.edges,
            "edges_removed": changes.dropped_edges,
        }
        self.rows = {name: _by_owner(given) for name, given in rows.items() if given}

    def delta(
        self, item: Item, n: int, *, op: Literal["create", "update"], patch: Mapping[str, Sequence[Any]]
    ) -> Delta:
        reason = self._reasons.get(item.id, RECORDED if op == "create" else "evidence")
        related: dict[str, Any] = {name: tuple(rows.get(item.id, ())) for name, rows in self.rows.items()}
        return Delta(
            id=item.id if op == "create" else delta_id(self._shared["entry_id"], item.id),
            item_id=item.id,
            n=n,
            op=op,
            patch=patch,
            reason=reason,
            version=item.version,
            **self._shared,
            **related,
        )


def _by_owner(rows: Iterable[EvidenceRow | Edge]) -> dict[str, list[dict[str, Any]]]:
    out: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        owner = row.item_id if isinstance(row, EvidenceRow) else row.from_id
        out.setdefault(owner, []).append(row.to_row())
    return out


def _effective(changes: Changes, existing: CurrentState, known: set[str]) -> Changes:
    """Leave out changes without effect, and those of missing items."""
    if not (changes.evidence or changes.dropped_evidence or changes.edges or changes.dropped_edges):
        return changes
    evidence, dropped_evidence = _exchanged(
        [row for row in changes.evidence if row.item_id in known], changes.dropped_evidence, existing.evidence
    )
    edges, dropped_edges = _exchanged(
        [edge for edge in changes.edges if edge.from_kind != "item" or edge.from_id in known],
        changes.dropped_edges,
        existing.edges,
    )
    return dataclasses.replace(
        changes, evidence=evidence, dropped_evidence=dropped_evidence, edges=edges, dropped_edges=dropped_edges
    )


_Row = TypeVar("_Row", EvidenceRow, Edge)


def _exchanged(
    wished: Iterable[_Row], unwanted: Iterable[_Row], existing: Iterable[_Row]
) -> tuple[tuple[_Row, ...], tuple[_Row, ...]]:
    """Return additions and removals. Removals keep their previous form, so that a rollback restores them exactly."""
    present = {row.identity: row for row in existing}
    going = {row.identity: present[row.identity] for row in unwanted if row.identity in present}
    coming: dict[Any, _Row] = {}
    for row in wished:
        if row.identity in coming:
            continue  # the same evidence twice in one entry is one piece
        before = present.get(row.identity)
        if before is not None and row.identity not in going:
            if row.adds_nothing_to(before):
                continue
            going[row.identity] = before
        coming[row.identity] = row
    same = {key for key, row in coming.items() if going.get(key) == row}
    return (
        tuple(row for key, row in coming.items() if key not in same),
        tuple(row for key, row in going.items() if key not in same),
    )


def _evidence_after(existing: CurrentState, changes: Changes) -> dict[str, list[EvidenceRow]]:
    """Return the resulting evidence by item, in the order in which it was learned."""
    rows = {row.identity: row for row in existing.evidence}
    for row in changes.dropped_evidence:
        rows.pop(row.identity, None)
    rows.update({row.identity: row for row in changes.evidence})
    out: dict[str, list[EvidenceRow]] = {}
    for row in sorted(rows.values(), key=lambda row: (row.recorded_at, row.identity)):
        out.setdefault(row.item_id, []).append(row)
    return out


# Rollback of changes (law 11).


@dataclass(frozen=True, slots=True)
class Undo:
    """The deltas to undo, newest first, and the later deltas that conflict."""

    deltas: Sequence[Delta]
    blockers: Sequence[Delta]


def plan_undo(
    targets: Sequence[Delta],
    histories: Mapping[str, Sequence[Delta]],
    *,
    folded: Mapping[str, AbstractSet[str]],
    cascade: bool,
) -> Undo:
    """Plan the undo of ``targets``.

    ``histories`` has all deltas of each touched item, oldest first; ``folded`` by item its kind's computed fields,
    which conflict with nothing; ``cascade`` includes conflicting later deltas, transitively.
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
    """Return whether ``later`` depends on what ``earlier`` did."""
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
    """Return the field values of ``item`` after ``deltas`` (its own, newest first) are undone.

    ``folded`` are its kind's computed fields, which are left to the fold.
    """
    flat = flat_row(item.to_row())
    before = {name: old for delta in deltas for name, (old, _new) in delta.patch.items() if name not in folded}
    older = Item.from_row(nested_row(flat | before))
    return {
        name: getattr(older, name) if name in Item.__dataclass_fields__ else before[name] for name in sorted(before)
    }


def as_of(item: Item, deltas: Sequence[Delta]) -> Item:
    """Return the version of ``item`` before ``deltas`` (its own later ones, newest first)."""
    if not deltas:
        return item
    flat = flat_row(item.to_row())
    flat |= {name: old for delta in deltas for name, (old, _new) in delta.patch.items()}
    flat |= {"version": deltas[-1].version - 1, "metadata": flat["metadata"] or {}}
    return Item.from_row(nested_row(flat), user_id=item.user_id, namespace=item.namespace)
