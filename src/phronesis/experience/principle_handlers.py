"""Handler that applies an abstraction: principles are created, updated, or ended (EMB-10).

Evidence for a principle are its patterns, weighted by sources; against it, patterns and single events.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import Entry, is_erased
from phronesis.core.ids import item_id
from phronesis.core.items import DEFAULT_IMPORTANCE, Item, Trust
from phronesis.core.relations import Edge, EvidenceRow
from phronesis.engine.handler import Handler, Outcomes, Prepare
from phronesis.experience.abstraction import ABSTRACT, OWN, PRINCIPLES, put_away
from phronesis.experience.laws.records import CONTRADICTS, L1, PATTERN, PRINCIPLE, REFINES, SUPPORTS, UNCONFIRMED
from phronesis.store.lane_view import LaneView

SAID_ANEW: Final = "abstracted"

_TOLD: Final = tuple(
    """
    condition action because watch_out cost risk support avoid counterexamples slot origin lead
    """.split()
)
"""Members of a principle's data that are copied from the outcome."""


def apply_abstract(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    """Return the changes of an abstraction on the present lane."""
    said = next(iter(outcomes.get(PRINCIPLES, ())), None)
    if is_erased(entry.payload) or said is None:
        return Changes()
    body = said.body
    work = _AbstractionChanges(view, entry, body)
    for one in body["principles"]:
        work.place(one)
    for one in body["principles"]:
        work.refine(one)
    for principle, why in body["ended"]:
        work.end(principle, why)
    return Changes(
        items=work.items,
        patches=work.patches,
        edges=work.edges,
        dropped_edges=work.dropped_edges,
        evidence=work.evidence,
        dropped_evidence=work.dropped_evidence,
    )


class _AbstractionChanges:
    """Collects the changes of one abstraction, principle by principle."""

    def __init__(self, view: LaneView, entry: Entry, body: Mapping[str, Any]) -> None:
        self.items: list[Item] = []
        self.patches: list[Patch] = []
        self.edges: list[Edge] = []
        self.dropped_edges: list[Edge] = []
        self.evidence: list[EvidenceRow] = []
        self.dropped_evidence: list[EvidenceRow] = []
        self._entry = entry
        self._scope = view.scope_fields()
        named = [one[name] for one in body["principles"] for name in ("continues", "broader") if one[name]]
        named += [one for one, _ in body["ended"]]
        self._principles = {one: item for one, item in view.items(named).items() if item.kind == PRINCIPLE}
        self._before = view.evidence(self._principles)
        known = sorted(self._principles)
        self._refining = [*view.edges_from(known, REFINES), *view.edges_to(known, REFINES)]
        sources = view.items(source for one in body["principles"] for source, _, _ in one["evidence"])
        self._sources = {one: item for one, item in sources.items() if item.kind in (PATTERN, L1) and item.live}
        self._made: dict[int, str] = {}

    def place(self, one: Mapping[str, Any]) -> None:
        """Create or update a principle; without a live pattern there is none."""
        rows = [(source, polarity, weight) for source, polarity, weight in one["evidence"] if source in self._sources]
        if not any(polarity == "support" for _, polarity, _ in rows):
            return
        fields = _fields(one)
        known = self._principles.get(one["continues"] or "")
        if known is None or not (known.live or put_away(known)):
            item = self._item([source for source, polarity, _ in rows if polarity == "support"]).with_fields(fields)
            self.items.append(item)
            principle = item.id
        else:
            principle = known.id
            self.patches.append(Patch(principle, fields, SAID_ANEW))
        self._made[one["n"]] = principle
        self._evidence(principle, rows)

    def refine(self, one: Mapping[str, Any]) -> None:
        """Link a narrower principle to its broader one, and to no other."""
        principle = self._made.get(one["n"])
        if principle is None:
            return
        broader = None if one["refines"] is None else self._made.get(one["refines"], one["broader"])
        self.dropped_edges += [edge for edge in self._refining if edge.from_id == principle and edge.to_id != broader]
        if broader is not None:
            self.edges.append(self._edge(REFINES, principle, broader, 1.0))

    def end(self, principle: str, why: str) -> None:
        """End a principle; its evidence is kept."""
        item = self._principles.get(principle)
        if item is None or not item.live:
            return
        fields = {"ended": "dissolved", "ended_by": self._entry.id, "valid_to": self._entry.recorded_at}
        self.patches.append(Patch(principle, fields, why))
        self._drop_edges([row for row in self._before.get(principle, ()) if _own(row)])
        self.dropped_edges += [edge for edge in self._refining if principle in (edge.from_id, edge.to_id)]

    def _evidence(self, principle: str, rows: Sequence[tuple[str, Any, float]]) -> None:
        known = {row.identity: row for row in self._before.get(principle, ()) if _own(row)}
        for source, polarity, weight in rows:
            item = self._sources[source]
            row = EvidenceRow(
                item_id=principle,
                polarity=polarity,
                source_key=source,
                entry_id=self._entry.id,
                recorded_at=self._entry.recorded_at,
                source_entry_id=item.entry_id,
                source_item_id=source,
                source_ref=item.source_ref,
                weight=weight,
                occurred_at=item.occurred_at,
            )
            old = known.pop(row.identity, None)
            if old is not None and old.weight == weight:
                continue
            self.evidence.append(row)
            self.edges.append(self._joining(row))
            if old is not None:
                self.dropped_evidence.append(old)
        self.dropped_evidence += known.values()
        self._drop_edges([*known.values()])

    def _drop_edges(self, rows: Sequence[EvidenceRow]) -> None:
        self.dropped_edges += [self._joining(row) for row in rows]

    def _joining(self, row: EvidenceRow) -> Edge:
        kind = SUPPORTS if row.polarity == "support" else CONTRADICTS
        return self._edge(kind, row.source_key, row.item_id, round(row.weight / (row.weight + 1.0), 4))

    def _edge(self, kind: str, source: str, target: str, weight: float) -> Edge:
        return Edge(
            type=kind,
            from_kind="item",
            from_id=source,
            to_kind="item",
            to_id=target,
            entry_id=self._entry.id,
            weight=weight,
        )

    def _item(self, support: Sequence[str]) -> Item:
        return Item(
            id=item_id(self._entry.id, PRINCIPLE, "\n".join(sorted(support))),
            kind=PRINCIPLE,
            content="",
            entry_id=self._entry.id,
            recorded_at=self._entry.recorded_at,
            updated_at=self._entry.recorded_at,
            importance=DEFAULT_IMPORTANCE[PRINCIPLE],
            source_type="abstraction",
            occurred_at=self._entry.recorded_at,
            valid_from=self._entry.recorded_at,
            **self._scope,
        )


def _own(row: EvidenceRow) -> bool:
    """Return whether a row is evidence by a pattern or an event; a judgement names no item."""
    return row.polarity in OWN and row.source_item_id is not None and row.origin != "human"


def _fields(one: Mapping[str, Any]) -> dict[str, Any]:
    told = {f"data.{name}": one[name] or None for name in _TOLD} | {f"data.{UNCONFIRMED}": one.get(UNCONFIRMED) or None}
    return {"content": one["content"], "label": one["outcome"], "trust": Trust(one["trust"]), **told}


def handlers(prepare: Prepare | None) -> tuple[Handler, ...]:
    """Return the handler of ``abstract``; ``prepare`` prepares it."""
    return (Handler(verb=ABSTRACT, apply=apply_abstract, prepare=prepare),)
