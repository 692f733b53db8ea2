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
from phronesis.experience.aggregation import AGGREGATE, CLUSTERS, MIN_MEMBERS, STAYS
from phronesis.experience.event_views import SIMILAR, TOGETHER
from phronesis.experience.laws.feedback_weights import echoes
from phronesis.experience.laws.records import CONTRADICTS, CROSSED, L1, MEMBER_OF, PATTERN
from phronesis.experience.pattern_similarity import drawn_anew
from phronesis.experience.watermarks import mark
from phronesis.forgetting.laws import is_forgotten
from phronesis.store.lane_view import LaneView

MOVED: Final = 0.05
"""Change of a member's weight from which it is written again: each new member changes all of them a little."""

RETIRED: Final = "no group left"
AGGREGATED: Final = "aggregated"

_RETURNS: Final = {"ended": None, "ended_by": None, "valid_to": None}


@dataclass(frozen=True, slots=True)
class Group:
    """A group whose members are all present: its description, and its events with their weights."""

    body: Mapping[str, Any]
    members: Mapping[str, Item]
    weights: Mapping[str, float]
    counter: Mapping[str, Item]
    against: Mapping[str, float]
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
    evidence = view.evidence(patterns)
    ids = _continued(groups, _memberships(view, patterns, evidence), patterns)
    marks, moved = mark(view, entry)
    work = _AggregationChanges(view, entry, evidence, view.evidence(one for group in groups for one in group.events))
    work.placed |= _staying(view, clusters)
    for n, group in enumerate(groups):
        work.place(ids.get(n), group)
    work.retire([one for one, item in patterns.items() if item.live and one not in set(ids.values())])
    resembling = _resembling(clusters, work.placed)
    drawn, undrawn = drawn_anew(view, entry, sorted({*patterns, *work.placed.values()}), resembling)
    return Changes(
        items=[*work.items, *marks],
        patches=[*work.patches, *moved],
        edges=[*work.edges, *drawn],
        dropped_edges=[*work.dropped_edges, *undrawn],
        evidence=work.evidence,
        dropped_evidence=work.dropped_evidence,
    )


def _groups(view: LaneView, clusters: Sequence[Mapping[str, Any]]) -> list[Group]:
    """Return the groups whose events are still present and live; groups that became too small are dropped."""
    named = [one for body in clusters if STAYS not in body for one, _ in (*body["members"], *body["counter"])]
    events = {one: item for one, item in view.items(named).items() if item.kind == L1 and item.live}
    out = []
    for number, body in enumerate(clusters):
        if STAYS in body:
            continue
        weights = {one: weight for one, weight in body["members"] if one in events}
        against = {one: weight for one, weight in body["counter"] if one in events}
        if len(weights) >= MIN_MEMBERS:
            out.append(
                Group(
                    body,
                    {one: events[one] for one in weights},
                    weights,
                    {one: events[one] for one in against},
                    against,
                    number,
                )
            )
    return out


def _staying(view: LaneView, clusters: Sequence[Mapping[str, Any]]) -> dict[int, str]:
    """Return the unchanged patterns, by their places among the groups."""
    named = {number: body[STAYS] for number, body in enumerate(clusters) if STAYS in body}
    live = {one for one, item in view.items(named.values()).items() if item.live}
    return {number: one for number, one in named.items() if one in live}


def _resembling(clusters: Sequence[Mapping[str, Any]], placed: Mapping[int, str]) -> dict[tuple[str, str], float]:
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


def _continued(
    groups: Sequence[Group], members: Mapping[str, AbstractSet[str]], patterns: Mapping[str, Item]
) -> dict[int, str]:
    """Return the pattern that each group continues, of the same outcome and method."""
    out: dict[int, str] = {}
    for kind in sorted({group.kind for group in groups}):
        places = [n for n, group in enumerate(groups) if group.kind == kind]
        held = {one: members[one] for one, item in patterns.items() if _kind(item) == kind}
        matched = match_by_overlap([groups[n].members.keys() for n in places], held)
        out |= {places[n]: one for n, one in matched.items()}
    return out


def membership(evidence: Iterable[EvidenceRow]) -> list[EvidenceRow]:
    """Return the rows of members and counterexamples, without judgements."""
    return [row for row in evidence if row.part == "" and row.polarity in ("support", "contra")]


def _kind(item: Item) -> tuple[bool, str]:
    return (item.label == "success", item.data["cluster_info"]["method"])


class _AggregationChanges:
    """Collects the changes of one aggregation, group by group."""

    def __init__(
        self,
        view: LaneView,
        entry: Entry,
        evidence: Mapping[str, Sequence[EvidenceRow]],
        said: Mapping[str, Sequence[EvidenceRow]],
    ) -> None:
        self.items: list[Item] = []
        self.patches: list[Patch] = []
        self.edges: list[Edge] = []
        self.dropped_edges: list[Edge] = []
        self.evidence: list[EvidenceRow] = []
        self.dropped_evidence: list[EvidenceRow] = []
        self._view = view
        self.placed: dict[int, str] = {}
        self._scope = view.scope_fields()
        self._entry = entry
        self._before = evidence
        self._said = said

    def place(self, pattern: str | None, group: Group) -> None:
        """Create a pattern from a group, or update or restore the one it continues unless its events are the same."""
        returns = pattern is not None and not self._view.items([pattern])[pattern].live
        fresh = pattern is None
        if pattern is None:
            self.items.append(self._pattern(group, _described(group)))
            pattern = self.items[-1].id
        self.placed[group.number] = pattern
        before = self._before.get(pattern, ())
        known = {row.identity: row for row in membership(before)}
        wished = [
            *self._rows(pattern, group.members, group.weights, "support"),
            *self._rows(pattern, group.counter, group.against, "contra"),
        ]
        events = [row.source_key for row in wished]
        held = self._view.items(row.source_key for row in known.values())
        named = {row.identity for row in wished}
        gone = [
            row for row in known.values() if row.identity not in named and not is_forgotten(held.get(row.source_key))
        ]
        same = not gone and all(row.identity in known and known[row.identity].grade == row.grade for row in wished)
        if fresh or returns or not same:
            if not fresh:
                self.patches.append(Patch(pattern, {**_described(group), **(_RETURNS if returns else {})}, AGGREGATED))
            self._member(wished, known, returns=returns)
            self._drop(gone)
        self._hear(pattern, events, before)

    def _member(self, wished: Sequence[EvidenceRow], known: Mapping[Any, EvidenceRow], *, returns: bool) -> None:
        for row in wished:
            old = known.get(row.identity)
            if old is None or returns or old.grade != row.grade or abs(old.weight - row.weight) > MOVED:
                self.evidence.append(row)
                self.edges.append(self._edge(row))
                if old is not None:
                    self.dropped_evidence.append(old)

    def _hear(self, pattern: str, events: Sequence[str], before: Sequence[EvidenceRow]) -> None:
        """Copy the earlier judgements on newly joined events to a pattern, and remove withdrawn ones."""
        said = [row for one in events for row in self._said.get(one, ())]
        echoed = {echo.identity: echo for row in said for echo in echoes(row, pattern)}
        held = {row.identity: row for row in before if row.part in set(events)}
        self.evidence += [
            replace(row, entry_id=self._entry.id, recorded_at=self._entry.recorded_at)
            for key, row in echoed.items()
            if not _same_word(held.get(key), row)
        ]
        self.dropped_evidence += [row for key, row in held.items() if not _same_word(row, echoed.get(key))]

    def retire(self, patterns: Sequence[str]) -> None:
        """End patterns that no group continues; their history is kept."""
        for pattern in patterns:
            ended = {"ended": "retired", "ended_by": self._entry.id, "valid_to": self._entry.recorded_at}
            self.patches.append(Patch(pattern, ended, RETIRED))
            self._drop_edges(membership(self._before.get(pattern, ())))

    def _drop(self, rows: Sequence[EvidenceRow]) -> None:
        self.dropped_evidence += rows
        self._drop_edges(rows)

    def _drop_edges(self, rows: Sequence[EvidenceRow]) -> None:
        self.dropped_edges += [self._edge(row) for row in rows]

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
                item_id=pattern,
                polarity=polarity,
                source_key=one,
                entry_id=self._entry.id,
                recorded_at=self._entry.recorded_at,
                source_entry_id=item.entry_id,
                source_item_id=one,
                source_ref=item.source_ref,
                grade=item.label,
                weight=weights[one],
                occurred_at=item.occurred_at,
            )
            for one, item in events.items()
        ]

    def _edge(self, row: EvidenceRow) -> Edge:
        return Edge(
            type=MEMBER_OF if row.polarity == "support" else CONTRADICTS,
            from_kind="item",
            from_id=row.source_key,
            to_kind="item",
            to_id=row.item_id,
            entry_id=self._entry.id,
            weight=row.weight,
        )


def _same_word(one: EvidenceRow | None, other: EvidenceRow | None) -> bool:
    return one is not None and other is not None and (one.grade, one.origin) == (other.grade, other.origin)


def _described(group: Group) -> dict[str, Any]:
    """Return the fields of a pattern that follow from its group."""
    body = group.body
    return {
        "content": body["content"],
        "label": body["outcome"],
        "trust": min(item.trust for item in group.members.values()),
        "data.view": body["view"],
        "data.cluster_info": {
            "size": len(group.members),
            "centre": next(iter(group.members)),
            "method": body["method"],
            "cohesion": body["cohesion"],
            **({CROSSED: body[CROSSED]} if body.get(CROSSED) else {}),
        },
        "data.summary": body["summary"],
        "data.signature": body["signature"],
        "data.recommendation": body["recommendation"],
    }


def handlers(prepare: Prepare | None) -> tuple[Handler, ...]:
    """Return the handler of ``aggregate``; ``prepare`` prepares it."""
    return (Handler(verb=AGGREGATE, apply=apply_aggregate, prepare=prepare),)
