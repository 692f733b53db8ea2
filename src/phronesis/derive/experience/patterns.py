"""Applying an aggregation: patterns are made, go on with other members, or retire (EMB-09).

A pattern keeps its id while a group shares most members with it (`core.clustering.match_by_overlap`), never across
success and failure, and patterns of one view for themselves. Membership is evidence, each event with its weight; events
of the other outcome that are like the members are evidence against it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from phronesis.core.changes import Changes, Patch
from phronesis.core.clustering import match_by_overlap
from phronesis.core.entries import Entry, is_erased
from phronesis.core.experience.records import CONTRADICTS, L1, MEMBER_OF, PATTERN
from phronesis.core.ids import item_id
from phronesis.core.items import DEFAULT_IMPORTANCE, Item
from phronesis.core.relations import Edge, EvidenceRow, Polarity
from phronesis.derive.experience.aggregating import AGGREGATE, CLUSTERS, MIN_MEMBERS
from phronesis.derive.experience.marks import mark
from phronesis.derive.experience.resembling import drawn_anew
from phronesis.derive.handler import Handler, Outcomes, Prepare
from phronesis.storage.lane_view import LaneView

MOVED: Final = 0.05
"""A member's weight is written anew when it moved by more: each new member moves all of them a little."""

RETIRED: Final = "no group left"
AGGREGATED: Final = "aggregated"


@dataclass(frozen=True, slots=True)
class Group:
    """A group whose members are all there: what was said of it, and its events with their weights."""

    body: Mapping[str, Any]
    members: Mapping[str, Item]
    weights: Mapping[str, float]
    counter: Mapping[str, Item]
    against: Mapping[str, float]
    number: int
    """Its place among the groups of the outcome."""

    @property
    def kind(self) -> tuple[bool, str]:
        """Whether it is of successes (failures and what nobody knows are together), and how it was made."""
        return (self.body["outcome"] == "success", self.body["method"])


def apply_aggregate(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    """Carry an aggregation out on the lane as it is."""
    said = next(iter(outcomes.get(CLUSTERS, ())), None)
    if is_erased(entry.payload) or said is None or not said.body["looked_at"]:
        return Changes()
    patterns = {one: item for one, item in view.items(said.body["touched"]).items() if item.live}
    groups = _groups(view, said.body["clusters"])
    evidence = view.evidence(patterns)
    ids = _continued(groups, patterns, evidence)
    marks, moved = mark(view, entry)
    work = _Work(view, entry, evidence)
    for n, group in enumerate(groups):
        work.place(ids.get(n), group)
    work.retire([one for one in patterns if one not in set(ids.values())])
    drawn, undrawn = drawn_anew(view, entry, sorted({*patterns, *work.placed.values()}), work.resembling(groups))
    return Changes(
        items=[*work.items, *marks], patches=[*work.patches, *moved], edges=[*work.edges, *drawn],
        dropped_edges=[*work.dropped_edges, *undrawn], evidence=work.evidence, dropped_evidence=work.dropped_evidence,
    )  # fmt: skip


def _groups(view: LaneView, clusters: Sequence[Mapping[str, Any]]) -> list[Group]:
    """Give the groups as far as their events are still there and live; one that is too small by then falls away."""
    named = [one for body in clusters for one, _ in (*body["members"], *body["counter"])]
    events = {one: item for one, item in view.items(named).items() if item.kind == L1 and item.live}
    out = []
    for number, body in enumerate(clusters):
        weights = {one: weight for one, weight in body["members"] if one in events}
        against = {one: weight for one, weight in body["counter"] if one in events}
        if len(weights) >= MIN_MEMBERS:
            out.append(Group(body, {one: events[one] for one in weights}, weights,
                             {one: events[one] for one in against}, against, number))  # fmt: skip
    return out


def _continued(
    groups: Sequence[Group], patterns: Mapping[str, Item], evidence: Mapping[str, Sequence[EvidenceRow]]
) -> dict[int, str]:
    """Give which pattern each group continues: never one of the other outcome, or that was made in another way."""
    out: dict[int, str] = {}
    for kind in sorted({group.kind for group in groups}):
        places = [n for n, group in enumerate(groups) if group.kind == kind]
        members = {
            one: {row.source_key for row in evidence.get(one, ()) if row.polarity == "support"}
            for one, item in patterns.items() if _kind(item) == kind
        }  # fmt: skip
        matched = match_by_overlap([groups[n].members.keys() for n in places], members)
        out |= {places[n]: one for n, one in matched.items()}
    return out


def _kind(item: Item) -> tuple[bool, str]:
    return (item.label == "success", item.data["cluster_info"]["method"])


class _Work:
    """The changes of one aggregation, gathered group by group."""

    def __init__(self, view: LaneView, entry: Entry, evidence: Mapping[str, Sequence[EvidenceRow]]) -> None:
        self.items: list[Item] = []
        self.patches: list[Patch] = []
        self.edges: list[Edge] = []
        self.dropped_edges: list[Edge] = []
        self.evidence: list[EvidenceRow] = []
        self.dropped_evidence: list[EvidenceRow] = []
        self.placed: dict[int, str] = {}
        self._scope = view.scope_fields()
        self._entry = entry
        self._before = evidence

    def place(self, pattern: str | None, group: Group) -> None:
        """Make a pattern of a group, or let one go on with it."""
        fields = _described(group)
        if pattern is None:
            item = self._pattern(group, fields)
            self.items.append(item)
            pattern = item.id
        else:
            self.patches.append(Patch(pattern, fields, AGGREGATED))
        self.placed[group.number] = pattern
        known = {row.identity: row for row in self._before.get(pattern, ())}
        wished = [*self._rows(pattern, group.members, group.weights, "support"),
                  *self._rows(pattern, group.counter, group.against, "contra")]  # fmt: skip
        for row in wished:
            old = known.pop(row.identity, None)
            if old is None or abs(old.weight - row.weight) > MOVED:
                self.evidence.append(row)
                self.edges.append(self._edge(row))
                if old is not None:
                    self.dropped_evidence.append(old)
        self._drop(known.values())

    def resembling(self, groups: Sequence[Group]) -> dict[tuple[str, str], float]:
        """Give the pairs of patterns that the outcome says are like each other, the smaller id first."""
        out = {}
        for group in groups:
            for other, weight in group.body["similar"]:
                if other in self.placed:
                    first, second = sorted((self.placed[group.number], self.placed[other]))
                    out[first, second] = weight
        return out

    def retire(self, patterns: Sequence[str]) -> None:
        """End patterns of which no group is left; what they were is in their history."""
        for pattern in patterns:
            ended = {"ended": "retired", "ended_by": self._entry.id, "valid_to": self._entry.recorded_at}
            self.patches.append(Patch(pattern, ended, RETIRED))
            self._drop_edges(self._before.get(pattern, ()))

    def _drop(self, rows: Any) -> None:
        self.dropped_evidence += rows
        self._drop_edges(rows)

    def _drop_edges(self, rows: Any) -> None:
        self.dropped_edges += [self._edge(row) for row in rows if row.polarity in ("support", "contra")]

    def _pattern(self, group: Group, fields: Mapping[str, Any]) -> Item:
        item = Item(
            id=item_id(self._entry.id, PATTERN, "\n".join(sorted(group.members))),
            kind=PATTERN,
            content="",
            entry_id=self._entry.id,
            recorded_at=self._entry.recorded_at,
            updated_at=self._entry.recorded_at,
            importance=DEFAULT_IMPORTANCE[PATTERN],
            source_type="aggregation",
            occurred_at=self._entry.recorded_at,
            valid_from=self._entry.recorded_at,
            **self._scope,
        )
        return item.with_fields(fields)

    def _rows(
        self, pattern: str, events: Mapping[str, Item], weights: Mapping[str, float], polarity: Polarity
    ) -> list[EvidenceRow]:
        return [
            EvidenceRow(
                item_id=pattern, polarity=polarity, source_key=one, entry_id=self._entry.id,
                recorded_at=self._entry.recorded_at, source_entry_id=item.entry_id, source_item_id=one,
                source_ref=item.source_ref, weight=weights[one], occurred_at=item.occurred_at,
            )
            for one, item in events.items()
        ]  # fmt: skip

    def _edge(self, row: EvidenceRow) -> Edge:
        return Edge(
            type=MEMBER_OF if row.polarity == "support" else CONTRADICTS, from_kind="item", from_id=row.source_key,
            to_kind="item", to_id=row.item_id, entry_id=self._entry.id, weight=row.weight,
        )  # fmt: skip


def _described(group: Group) -> dict[str, Any]:
    """Give the fields of a pattern that follow from its group."""
    body = group.body
    counter = [{"id": one, "source_ref": item.source_ref, "attempt": item.data.get("attempt", "")[:240],
                "weight": group.against[one]} for one, item in group.counter.items()]  # fmt: skip
    return {
        "content": body["content"],
        "label": body["outcome"],
        "trust": min(item.trust for item in group.members.values()),
        "confidence": round(len(group.members) / (len(group.members) + 1), 4),
        "data.view": body["view"],
        "data.cluster_info": {
            "size": len(group.members), "centre": next(iter(group.members)), "method": body["method"],
            "cohesion": body["cohesion"],
        },
        "data.summary": body["summary"],
        "data.signature": body["signature"],
        "data.recommendation": body["recommendation"],
        "data.counterexamples": counter,
        "data.success_rate": body["success_rate"],
    }  # fmt: skip


def handlers(prepare: Prepare | None) -> tuple[Handler, ...]:
    """Give the handler of ``aggregate``, prepared so."""
    return (Handler(verb=AGGREGATE, apply=apply_aggregate, prepare=prepare),)
