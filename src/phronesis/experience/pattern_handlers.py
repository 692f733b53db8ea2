"""Handler that applies an aggregation: patterns are created, updated with other members, or retired (EMB-09).

A pattern keeps its id while a group of its outcome and view shares most members with it. Membership is evidence, one
weighted row per event; similar events of the other outcome are contradicting evidence.
"""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any, Final

from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import Entry, is_erased
from phronesis.core.ids import item_id
from phronesis.core.items import DEFAULT_IMPORTANCE, Item
from phronesis.core.relations import Edge, EvidenceRow, Polarity
from phronesis.core.vectors import match_by_overlap
from phronesis.engine.handler import Handler, Outcomes, Prepare
from phronesis.experience.aggregation import CLUSTERS, MIN_MEMBERS, STAYS
from phronesis.experience.event_views import item_edge
from phronesis.experience.laws.evidence_fold import membership, pattern_judgements
from phronesis.experience.laws.records import AGGREGATE, CONTRADICTS, CROSSED, L1, MEMBER_OF, PATTERN, SIMILAR, TOGETHER
from phronesis.experience.maintenance_schedule import mark
from phronesis.experience.pattern_relations import similarity_edge_changes
from phronesis.forgetting.laws import is_forgotten
from phronesis.store.lane_view import LaneView

MOVED: Final = 0.05
"""Change of a member's weight from which it is written again: each new member changes all of them a little."""

RETIRED: Final = "no group left"
AGGREGATED: Final = "aggregated"

_SIDES: Final = ("members", "counter")
_RETURNS: Final = {"ended": None, "ended_by": None, "valid_to": None}


class LearnedChanges:
    """Collects the changes that an aggregation or an abstraction makes to what was learned."""

    def __init__(self, view: LaneView, entry: Entry, supports: str) -> None:
        """Begin without changes; ``supports`` is the type of the edges from supporting evidence."""
        self.items: list[Item] = []
        self.patches: list[Patch] = []
        self.edges: list[Edge] = []
        self.dropped_edges: list[Edge] = []
        self.evidence: list[EvidenceRow] = []
        self.dropped_evidence: list[EvidenceRow] = []
        self._view = view
        self._entry = entry
        self._supports = supports

    def changes(self) -> Changes:
        """Return what was collected."""
        names = ("items", "patches", "edges", "dropped_edges", "evidence", "dropped_evidence")
        return Changes(**{name: getattr(self, name) for name in names})

    def create(self, kind: str, support: Iterable[str], fields: Mapping[str, Any]) -> str:
        """Create a pattern or a principle from the ids of its support; return its id."""
        at = self._entry.recorded_at
        item = Item(
            id=item_id(self._entry.id, kind, "\n".join(sorted(support))),
            kind=kind,
            content="",
            entry_id=self._entry.id,
            recorded_at=at,
            updated_at=at,
            importance=DEFAULT_IMPORTANCE[kind],
            source_type="aggregation" if kind == PATTERN else "abstraction",
            occurred_at=at,
            valid_from=at,
            **self._view.scope_fields(),
        )
        self.items.append(item.with_fields(fields))
        return item.id

    def end(self, learned: str, how: str, why: str, evidence: Sequence[EvidenceRow]) -> None:
        """End a pattern or a principle; its evidence is kept as history."""
        self.patches.append(
            Patch(learned, {"ended": how, "ended_by": self._entry.id, "valid_to": self._entry.recorded_at}, why)
        )
        self.dropped_edges += map(self._edge, evidence)

    def support(self, row: EvidenceRow, before: EvidenceRow | None) -> None:
        """Add a row of evidence, which may replace one, with its edge."""
        self.evidence.append(row)
        self.edges.append(self._edge(row))
        if before is not None:
            self.dropped_evidence.append(before)

    def drop(self, rows: Sequence[EvidenceRow]) -> None:
        """Remove rows of evidence with their edges."""
        self.dropped_evidence += rows
        self.dropped_edges += map(self._edge, rows)

    def row(
        self, learned: str, polarity: Polarity, source: Item, weight: float, *, grade: str | None = None
    ) -> EvidenceRow:
        """Return the row of evidence that an item is for or against what was learned."""
        return EvidenceRow(
            item_id=learned,
            polarity=polarity,
            source_key=source.id,
            entry_id=self._entry.id,
            recorded_at=self._entry.recorded_at,
            source_entry_id=source.entry_id,
            source_item_id=source.id,
            source_ref=source.source_ref,
            grade=grade,
            weight=weight,
            occurred_at=source.occurred_at,
        )

    def _edge(self, row: EvidenceRow) -> Edge:
        kind = self._supports if row.polarity == "support" else CONTRADICTS
        return item_edge(kind, row.source_key, row.item_id, self._entry.id, weight=self.edge_weight(row))

    def edge_weight(self, row: EvidenceRow) -> float:
        """Return the weight of a row's edge, in [0, 1]."""
        return row.weight


@dataclass(frozen=True, slots=True)
class Group:
    """A group whose members are all present: its description, and its events with their weights."""

    body: Mapping[str, Any]
    members: Mapping[str, Item]
    weights: Mapping[str, float]
    counter: Mapping[str, Item]
    number: int
    """Its place among the groups of the outcome."""

    @property
    def events(self) -> tuple[str, ...]:
        """The ids of its events and of its counterexamples."""
        return (*self.members, *self.counter)

    @property
    def kind(self) -> tuple[bool, str]:
        """Return whether it is of successes (failures and unknowns are together), and its method."""
        return (self.body["outcome"] == "success", self.body["method"])

    @property
    def fields(self) -> dict[str, Any]:
        """The fields of a pattern that follow from the group."""
        body = self.body
        return {
            "content": body["content"],
            "label": body["outcome"],
            "trust": min(item.trust for item in self.members.values()),
            "data.view": body["view"],
            "data.cluster_info": {
                "size": len(self.members),
                "centre": next(iter(self.members)),
                "method": body["method"],
                "cohesion": body["cohesion"],
                **({CROSSED: body[CROSSED]} if body.get(CROSSED) else {}),
            },
            "data.summary": body["summary"],
            "data.signature": body["signature"],
            "data.recommendation": body["recommendation"],
        }


def apply_aggregate(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    """Return the changes of an aggregation on the present lane."""
    said = next(iter(outcomes.get(CLUSTERS, ())), None)
    if is_erased(entry.payload) or said is None or not said.body["looked_at"]:
        return Changes()
    patterns = {one: item for one, item in view.items(said.body["touched"]).items() if item.live}
    back = view.items(said.body.get("returning", ()))
    patterns |= {one: item for one, item in back.items() if item.ended == "retired" and not is_forgotten(item)}
    clusters = said.body["clusters"]
    groups = _groups(view, clusters)
    work = _AggregationChanges(view, entry, view.evidence(patterns))
    ids = _continued_patterns(groups, _memberships(view, patterns, work.before), patterns)
    work.said = view.evidence(one for group in groups for one in group.events)
    work.placed |= _unchanged_patterns(view, clusters)
    for n, group in enumerate(groups):
        work.place(ids.get(n), group)
    for one, item in patterns.items():
        if item.live and one not in set(ids.values()):
            work.end(one, "retired", RETIRED, membership(work.before.get(one, ())))
    resembling = _similar_pairs(clusters, work.placed)
    drawn, undrawn = similarity_edge_changes(view, entry, sorted({*patterns, *work.placed.values()}), resembling)
    marks, moved = mark(view, entry)
    work.items += marks
    work.patches += moved
    work.edges += drawn
    work.dropped_edges += undrawn
    return work.changes()


def _groups(view: LaneView, clusters: Sequence[Mapping[str, Any]]) -> list[Group]:
    """Return the groups whose events are still present and live; groups that became too small are dropped."""
    named = [one for body in clusters if STAYS not in body for one, _ in (*body["members"], *body["counter"])]
    events = {one: item for one, item in view.items(named).items() if item.kind == L1 and item.live}
    out = []
    for number, body in enumerate(clusters):
        if STAYS not in body:
            weights = dict((*body["members"], *body["counter"]))
            members, counter = ({one: events[one] for one, _ in body[side] if one in events} for side in _SIDES)
            out.append(Group(body, members, weights, counter, number))
    return [group for group in out if len(group.members) >= MIN_MEMBERS]


def _unchanged_patterns(view: LaneView, clusters: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """Return the unchanged patterns, by their places among the groups."""
    named = {number: body[STAYS] for number, body in enumerate(clusters) if STAYS in body}
    live = {one for one, item in view.items(named.values()).items() if item.live}
    return {number: one for number, one in named.items() if one in live}


def _similar_pairs(clusters: Sequence[Mapping[str, Any]], placed: Mapping[int, str]) -> dict[tuple[str, str], float]:
    """Return the similarity of the pairs of similar patterns in the outcome, the smaller id first."""
    out = {}
    for number, body in enumerate(clusters):
        for other, weight in body["similar"]:
            if number in placed and other in placed:
                first, second = sorted((placed[number], placed[other]))
                out[first, second] = weight
    return out


def _memberships(
    view: LaneView, patterns: Mapping[str, Item], evidence: Mapping[str, Sequence[EvidenceRow]]
) -> dict[str, set[str]]:
    """Return the events of each pattern; those of one merged into another count as the other's.

    A pattern that is restored takes its former events back.
    """
    drawn = sorted(view.edges_from(patterns, SIMILAR), key=lambda edge: edge.identity)
    into = {edge.from_id: edge.to_id for edge in drawn if edge.grade == TOGETHER and edge.to_id in patterns}
    own = {
        one: {row.source_key for row in membership(evidence.get(one, ())) if row.polarity == "support"}
        for one in patterns
    }
    back = {event for one, item in patterns.items() if not item.live for event in own[one]}
    out: dict[str, set[str]] = {one: set() for one in patterns}
    for one, item in patterns.items():
        home, passed = one, {one}
        while into.get(home) is not None and into[home] not in passed:
            home = into[home]
            passed.add(home)
        out[home] |= own[one] - back if item.live else own[one]
    return out


def _continued_patterns(
    groups: Sequence[Group], members: Mapping[str, AbstractSet[str]], patterns: Mapping[str, Item]
) -> dict[int, str]:
    """Return the pattern that each group continues, of the same outcome and method."""
    out: dict[int, str] = {}
    of_kind: dict[tuple[bool, str], dict[str, AbstractSet[str]]] = {}
    for one, item in patterns.items():
        of_kind.setdefault((item.label == "success", item.data["cluster_info"]["method"]), {})[one] = members[one]
    for kind in sorted({group.kind for group in groups}):
        places = [n for n, group in enumerate(groups) if group.kind == kind]
        matched = match_by_overlap([groups[n].members.keys() for n in places], of_kind.get(kind, {}))
        out |= {places[n]: one for n, one in matched.items()}
    return out


class _AggregationChanges(LearnedChanges):
    """Collects the changes of one aggregation, group by group."""

    def __init__(self, view: LaneView, entry: Entry, before: Mapping[str, Sequence[EvidenceRow]]) -> None:
        super().__init__(view, entry, MEMBER_OF)
        self.before = before
        self.said: Mapping[str, Sequence[EvidenceRow]] = {}
        self.placed: dict[int, str] = {}

    def place(self, pattern: str | None, group: Group) -> None:
        """Create a pattern from a group, or update or restore the one it continues unless its events are the same."""
        returns = pattern is not None and not self._view.items([pattern])[pattern].live
        fresh = pattern is None
        if pattern is None:
            pattern = self.create(PATTERN, group.members, group.fields)
        self.placed[group.number] = pattern
        before = self.before.get(pattern, ())
        known = {row.identity: row for row in membership(before)}
        wished = [*self._rows(pattern, group, "support"), *self._rows(pattern, group, "contra")]
        held = self._view.items(row.source_key for row in known.values())
        left = known.keys() - {row.identity for row in wished}
        gone = [row for one, row in known.items() if one in left and not is_forgotten(held.get(row.source_key))]
        same = not gone and all(row.identity in known and known[row.identity].grade == row.grade for row in wished)
        if fresh or returns or not same:
            if not fresh:
                self.patches.append(Patch(pattern, {**group.fields, **(_RETURNS if returns else {})}, AGGREGATED))
            for row in wished:
                old = known.get(row.identity)
                if old is None or returns or old.grade != row.grade or abs(old.weight - row.weight) > MOVED:
                    self.support(row, old)
            self.drop(gone)
        self._copy_judgements(pattern, group.events, before)

    def _copy_judgements(self, pattern: str, events: Sequence[str], before: Sequence[EvidenceRow]) -> None:
        """Copy the earlier judgements on newly joined events to a pattern, and remove withdrawn ones."""
        said = [row for one in events for row in self.said.get(one, ())]
        echoed = {echo.identity: echo for row in said for echo in pattern_judgements(row, pattern)}
        held = {row.identity: row for row in before if row.part in set(events)}
        self.evidence += [
            replace(row, entry_id=self._entry.id, recorded_at=self._entry.recorded_at)
            for key, row in echoed.items()
            if not _same_word(held.get(key), row)
        ]
        self.dropped_evidence += [row for key, row in held.items() if not _same_word(row, echoed.get(key))]

    def _rows(self, pattern: str, group: Group, polarity: Polarity) -> list[EvidenceRow]:
        events = group.members if polarity == "support" else group.counter
        return [self.row(pattern, polarity, item, group.weights[one], grade=item.label) for one, item in events.items()]


def _same_word(one: EvidenceRow | None, other: EvidenceRow | None) -> bool:
    return one is not None and other is not None and (one.grade, one.origin) == (other.grade, other.origin)


def handlers(prepare: Prepare | None) -> tuple[Handler, ...]:
    """Return the handler of ``aggregate``; ``prepare`` prepares it."""
    return (Handler(verb=AGGREGATE, apply=apply_aggregate, prepare=prepare),)
