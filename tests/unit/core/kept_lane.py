"""A lane in memory: what settling leaves is kept, so that laws of changes and undoing can be tried by the thousand."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import strategies as st

from phronesis.core.changes import Changes, CurrentState, Delta, Fold, Patch, ResolvedChanges, settle
from phronesis.core.items import Item
from phronesis.core.relations import Edge, EvidenceRow
from phronesis.core.serialization import decode, encode

START = datetime(2026, 1, 1, tzinfo=UTC)
IDS = ("i1", "i2", "i3")
COUNTED = "reasoning"


def count(item: Item, evidence: Sequence[EvidenceRow]) -> Mapping[str, Any]:
    keys = [row.source_key for row in evidence]
    return {"stage": f"{len(keys)} pieces", "data.learned": keys or None, "confidence": item.importance / 10}


FOLDS = {COUNTED: Fold(frozenset({"stage", "data.learned", "confidence"}), count)}


def moment(n: int) -> datetime:
    return START + timedelta(days=n)


def item_of(item_id: str, *, kind: str = "fact", at: int = 0, **fields: Any) -> Item:
    return Item(
        id=item_id,
        kind=kind,
        content=f"words of {item_id}",
        entry_id=f"e{at}",
        recorded_at=moment(at),
        updated_at=moment(at),
        **fields,
    )


def piece(item_id: str, source: str = "s", *, at: int = 0, **fields: Any) -> EvidenceRow:
    return EvidenceRow(
        item_id=item_id,
        source_key=source,
        entry_id=f"e{at}",
        recorded_at=moment(at),
        **{"polarity": "support", **fields},
    )


def edge(from_id: str, to_id: str = "i2", *, at: int = 0, **fields: Any) -> Edge:
    return Edge(
        from_id=from_id,
        to_id=to_id,
        entry_id=f"e{at}",
        **{"type": "similar", "from_kind": "item", "to_kind": "item", **fields},
    )


class KeptLane:
    """Items, evidence, edges and deltas of one lane; answers what the handler of rollbacks asks of a view."""

    def __init__(self) -> None:
        self.held: dict[str, Item] = {}
        self.evidence: dict[Any, EvidenceRow] = {}
        self.edges: dict[Any, Edge] = {}
        self.history: list[Delta] = []
        self.n = 0

    def apply(self, changes: Changes, *, backwards: bool = False) -> ResolvedChanges:
        """Settle and keep; ``backwards`` reads what exists in another order, as another database would."""
        self.n += 1
        touched = changes.touched
        order = -1 if backwards else 1
        found = self.items([*touched, *(item.id for item in changes.items)][::order])
        owners = [row.from_id for row in (*changes.edges, *changes.dropped_edges)]
        existing = CurrentState(
            items=found,
            evidence=[row for row in self.evidence.values() if row.item_id in touched][::order],
            edges=[row for row in self.edges.values() if row.from_id in owners][::order],
        )
        settled = settle(changes, existing, entry_id=f"e{self.n}", actor="tester", at=moment(self.n), folds=FOLDS)
        self.held |= {item.id: item for item in (*settled.created, *settled.updated)}
        for row in settled.changes.dropped_evidence:
            del self.evidence[row.identity]
        self.evidence |= {row.identity: row for row in settled.changes.evidence}
        for gone in settled.changes.dropped_edges:
            del self.edges[gone.identity]
        self.edges |= {row.identity: row for row in settled.changes.edges}
        # A delta is read back from JSON: what does not survive that is found here and not in a database.
        self.history += [_reread(delta) for delta in settled.deltas]
        return settled

    def state(self) -> tuple[Any, ...]:
        """Everything held, bookkeeping left out."""
        rows = {item.id: item.to_row() | {"version": 0, "updated_at": 0} for item in self.held.values()}
        return rows, dict(self.evidence), dict(self.edges)

    def copy(self) -> "KeptLane":
        other = KeptLane()
        other.held, other.evidence, other.edges = dict(self.held), dict(self.evidence), dict(self.edges)
        other.history, other.n = list(self.history), self.n
        return other

    def items(self, ids: Iterable[str]) -> dict[str, Item]:
        return {item_id: self.held[item_id] for item_id in ids if item_id in self.held}

    def delta(self, delta_id: str) -> Delta | None:
        return next((delta for delta in self.history if delta.id == delta_id), None)

    def deltas_of_entry(self, entry_id: str) -> list[Delta]:
        return [delta for delta in self.history if delta.entry_id == entry_id]

    def deltas(self, item_ids: Sequence[str]) -> dict[str, list[Delta]]:
        return {found: [d for d in self.history if d.item_id == found] for found in dict.fromkeys(item_ids)}


def _reread(delta: Delta) -> Delta:
    lists = ("evidence_added", "evidence_removed", "edges_added", "edges_removed")
    return replace(delta, patch=decode(encode(delta.patch)), **{n: decode(encode(getattr(delta, n))) for n in lists})


_VALUES = st.sampled_from([None, 1, 2, "x", {"deep": [1, 2]}])
_FIELDS = st.dictionaries(
    st.sampled_from(["subject", "value", "data.a", "data.b", "data.dotted.name"]), _VALUES, max_size=3
).map(lambda fields: {**fields, "subject": str(fields["subject"])} if "subject" in fields else fields)
_PIECES = st.builds(
    piece,
    st.sampled_from(IDS),
    st.sampled_from("pqr"),
    at=st.integers(0, 3),
    grade=st.sampled_from(["A", None]),
    polarity=st.sampled_from(["support", "contra"]),
)
_EDGES = st.builds(
    edge, st.sampled_from(IDS), st.sampled_from(IDS), at=st.integers(0, 3), weight=st.sampled_from([0.5, 1.0])
)
CHANGES = st.builds(
    Changes,
    patches=st.lists(st.builds(Patch, st.sampled_from([*IDS, "missing"]), _FIELDS, st.just("wished")), max_size=2),
    evidence=st.lists(_PIECES, max_size=2),
    dropped_evidence=st.lists(_PIECES, max_size=2),
    edges=st.lists(_EDGES, max_size=2),
    dropped_edges=st.lists(_EDGES, max_size=2),
)
"""Wishes of one entry about items that are there, or are not."""

BIRTH = Changes(
    items=[item_of("i1"), item_of("i2", kind=COUNTED), item_of("i3", kind=COUNTED, data={"a": 0, "born": True})]
)
"""The three items that every drawn history begins with."""
