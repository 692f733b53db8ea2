"""Experience: what was tried becomes an L1 event, and events that are alike become an L2 pattern that names them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from phronesis.core.canonical import plain
from phronesis.core.changes import Changes, Patch
from phronesis.core.clustering import cohesion, components, match_by_overlap, similar_pairs
from phronesis.core.entries import Entry, Outcome, is_erased
from phronesis.core.ids import item_id
from phronesis.core.instants import isoformat, parse_moment, parse_past
from phronesis.core.items import DEFAULT_IMPORTANCE, Item, Trust
from phronesis.core.relations import Edge, EvidenceRow
from phronesis.core.scope import LaneName
from phronesis.core.text import check_id, check_text
from phronesis.derive.editor import Call
from phronesis.derive.handler import Bench, Handler, Outcomes
from phronesis.derive.writer import Writer, Written
from phronesis.errors import InputError
from phronesis.index.tokens import tokenize
from phronesis.storage.lane_view import LaneView

L1: Final = "l1"
PATTERN: Final = "pattern"
MEMBER_OF: Final = "member_of"
LABELS: Final = ("success", "failure", "unknown")
VIEWS: Final = ("situation", "goal", "attempt", "result", "reflection")
"""The texts of an event (EMB-01), in the order a reader wants them."""

MACHINE: Final = "jaccard-components/1"
CLUSTERED_BY: Final = ("attempt", "situation")
THRESHOLD: Final = 0.5
"""Events are alike when at least half of all their words are shared. Unmeasured: the clustering issue sets it."""

MIN_MEMBERS: Final = 2
"""One event is no pattern."""

WEIGHT_DIGITS: Final = 4


def experience_payload(given: Mapping[str, Any], *, now: datetime) -> dict[str, Any]:
    """Check an experience (EMB-01, EMB-02) and make it a payload; ``attempt`` and ``source_ref`` are required."""
    known = {*VIEWS, "label", "source_type", "source_ref", "observations", "occurred_at"}
    unknown = sorted(set(given) - known)
    if unknown:
        raise InputError(f"{unknown[0]!s:.60} is no field of an experience; it has {', '.join(sorted(known))}",
                         field=str(unknown[0]))  # fmt: skip
    given = {name: value for name, value in given.items() if value is not None}
    for name in ("attempt", "source_ref"):
        if name not in given:
            raise InputError(f"{name} is missing: an experience says what was tried and where that can be looked up",
                             field=name)  # fmt: skip
    payload: dict[str, Any] = {
        name: check_text(given[name], field=name) for name in (*VIEWS, "source_ref") if name in given
    }
    payload["label"] = given.get("label", "unknown")
    if payload["label"] not in LABELS:
        raise InputError(f"label must be one of {', '.join(LABELS)}; got {payload['label']!r:.40}", field="label")
    payload["source_type"] = check_id(given.get("source_type", "manual"), field="source_type")
    if "observations" in given:
        payload["observations"] = plain(given["observations"], field="observations")
    if "occurred_at" in given:
        payload["occurred_at"] = isoformat(parse_past(given["occurred_at"], field="occurred_at", now=now))
    return payload


def record_experience(writer: Writer, call: Call, lane: LaneName | int, given: Mapping[str, Any]) -> Written:
    """Record one experience."""
    payload = experience_payload(given, now=writer.recorder.clock())
    return writer.write(
        call.tenant, lane, verb="experience", payload=payload, actor=call.actor, wait=call.wait,
        idempotency_key=call.idempotency_key,
    )  # fmt: skip


def record_aggregate(writer: Writer, call: Call, lane: LaneName | int) -> Written:
    """Record a request to cluster a lane's events."""
    return writer.write(
        call.tenant, lane, verb="aggregate", payload={}, actor=call.actor, idempotency_key=call.idempotency_key,
        wait=call.wait,
    )  # fmt: skip


def apply_experience(view: LaneView, entry: Entry, _outcomes: Outcomes) -> Changes:
    """Make the event; what a machine reported is trusted as a tool's answer."""
    payload = entry.payload
    if is_erased(payload):
        return Changes()
    given = payload.get("occurred_at")
    at = entry.recorded_at if given is None else parse_moment(given, field="occurred_at")
    item = Item(
        id=item_id(entry.id, L1, ""),
        kind=L1,
        content="\n".join(f"{name}: {payload[name]}" for name in VIEWS if name in payload),
        entry_id=entry.id,
        recorded_at=entry.recorded_at,
        updated_at=entry.recorded_at,
        importance=DEFAULT_IMPORTANCE[L1],
        trust=Trust.USER if payload["source_type"] == "manual" else Trust.TOOL,
        label=payload["label"],
        source_type=payload["source_type"],
        source_ref=payload["source_ref"],
        occurred_at=at,
        valid_from=at,
        data={name: payload[name] for name in (*VIEWS, "observations") if name in payload},
        **view.scope_fields(),
    )
    return Changes(items=[item])


def prepare_aggregate(bench: Bench, entry: Entry) -> Sequence[Outcome]:
    """Cluster the lane's events, successes apart from the rest (EMB-08); the outcome holds ids and weights alone.

    Those of its time: an older entry that is prepared again must not see what came later.
    """
    with bench.view() as view:
        events = [event for event in view.find(kinds=(L1,)) if event.recorded_at < entry.recorded_at]
    clusters: list[dict[str, Any]] = []
    for success in (True, False):
        group = {event.id: event for event in events if (event.label == "success") == success}
        tokens = {event.id: _tokens(event) for event in group.values()}
        pairs = similar_pairs(tokens, threshold=THRESHOLD)
        for members in components(group, pairs):
            if len(members) >= MIN_MEMBERS:
                weights = cohesion(members, pairs)
                clusters.append({"members": [[member, round(weights[member], WEIGHT_DIGITS)] for member in members]})
    body = {"clusters": clusters, "clustered_by": list(CLUSTERED_BY), "threshold": THRESHOLD}
    return [Outcome(role="clusters", made_by=MACHINE, body=body)]


@dataclass(frozen=True, slots=True)
class _Cluster:
    """A cluster whose members are all there, each with its weight."""

    members: Mapping[str, Item]
    weights: Mapping[str, float]

    @property
    def outcome(self) -> str:
        """Success, or failure where at least one failed, or unknown."""
        labels = {member.label for member in self.members.values()}
        return next(label for label in ("failure", "success", "unknown") if label in labels)

    @property
    def centre(self) -> Item:
        """The member most like the others; ties by id."""
        return self.members[min(self.weights, key=lambda member: (-self.weights[member], member))]


def apply_aggregate(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    """Make, continue and retire patterns. A pattern keeps its id while a cluster shares most members with it."""
    if is_erased(entry.payload) or "clusters" not in outcomes:
        return Changes()
    clusters = [cluster for outcome in outcomes["clusters"] for cluster in _clusters(view, outcome.body["clusters"])]
    patterns = {pattern.id: pattern for pattern in view.find(kinds=(PATTERN,))}
    edges = view.edges_to(patterns, MEMBER_OF)
    evidence = [row for rows in view.evidence(patterns).values() for row in rows]
    ids = _continued(clusters, patterns, edges)
    items: list[Item] = []
    patches: list[Patch] = []
    current = {ids[n]: cluster for n, cluster in enumerate(clusters) if n in ids}
    for n, cluster in enumerate(clusters):
        if n in ids:
            patches.append(Patch(ids[n], _described(cluster), "aggregated"))
            continue
        items.append(_pattern(view, entry, cluster))
        current[items[-1].id] = cluster
    patches += [
        Patch(pattern, {"ended": "retired", "ended_by": entry.id, "valid_to": entry.recorded_at}, "no cluster left")
        for pattern in patterns if pattern not in current
    ]  # fmt: skip
    return Changes(
        items=items,
        patches=patches,
        edges=[_edge(entry, event, pattern, cluster.weights[event])
               for pattern, cluster in current.items() for event in cluster.members],
        dropped_edges=[edge for edge in edges if edge.to_id in current
                       and edge.from_id not in current[edge.to_id].members],
        evidence=[_evidence(entry, event, pattern)
                  for pattern, cluster in current.items() for event in cluster.members.values()],
        dropped_evidence=[row for row in evidence if row.item_id in current
                          and row.source_key not in current[row.item_id].members],
    )  # fmt: skip


def _tokens(event: Item) -> frozenset[str]:
    return frozenset(token for name in CLUSTERED_BY for token in tokenize(event.data.get(name, "")))


def _clusters(view: LaneView, found: Sequence[Mapping[str, Any]]) -> list[_Cluster]:
    """The clusters as far as their events are still there and live; one that is too small by then falls away."""
    items = view.items([member for cluster in found for member, _ in cluster["members"]])
    out: list[_Cluster] = []
    for cluster in found:
        weights = {member: weight for member, weight in cluster["members"]
                   if member in items and items[member].kind == L1 and items[member].live}  # fmt: skip
        if len(weights) >= MIN_MEMBERS:
            out.append(_Cluster({member: items[member] for member in weights}, weights))
    return out


def _continued(clusters: Sequence[_Cluster], patterns: Mapping[str, Item], edges: Sequence[Edge]) -> dict[int, str]:
    """Which pattern each cluster continues: never one of the other outcome."""
    out: dict[int, str] = {}
    for success in (True, False):
        places = [n for n, cluster in enumerate(clusters) if (cluster.outcome == "success") == success]
        members: dict[str, set[str]] = {
            pattern.id: set() for pattern in patterns.values() if (pattern.label == "success") == success
        }
        for edge in edges:
            if edge.to_id in members:
                members[edge.to_id].add(edge.from_id)
        matched = match_by_overlap([clusters[n].members.keys() for n in places], members)
        out |= {places[n]: pattern for n, pattern in matched.items()}
    return out


def _described(cluster: _Cluster) -> dict[str, Any]:
    """The fields of a pattern that follow from its members; the words are those of the member in the centre."""
    return {
        "content": cluster.centre.data["attempt"],
        "label": cluster.outcome,
        "trust": min(member.trust for member in cluster.members.values()),
        "data.cluster_info": {
            "size": len(cluster.members), "centre": cluster.centre.id, "clustered_by": list(CLUSTERED_BY),
        },
    }  # fmt: skip


def _pattern(view: LaneView, entry: Entry, cluster: _Cluster) -> Item:
    item = Item(
        id=item_id(entry.id, PATTERN, "\n".join(sorted(cluster.members))),
        kind=PATTERN,
        content="",
        entry_id=entry.id,
        recorded_at=entry.recorded_at,
        updated_at=entry.recorded_at,
        importance=DEFAULT_IMPORTANCE[PATTERN],
        source_type="aggregation",
        occurred_at=entry.recorded_at,
        valid_from=entry.recorded_at,
        data={"derived": "rule"},
        **view.scope_fields(),
    )
    return item.with_fields(_described(cluster))


def _edge(entry: Entry, event: str, pattern: str, weight: float) -> Edge:
    return Edge(type=MEMBER_OF, from_kind="item", from_id=event, to_kind="item", to_id=pattern, entry_id=entry.id,
                weight=weight)  # fmt: skip


def _evidence(entry: Entry, event: Item, pattern: str) -> EvidenceRow:
    return EvidenceRow(
        item_id=pattern, polarity="support", source_key=event.id, entry_id=entry.id, recorded_at=entry.recorded_at,
        source_entry_id=event.entry_id, source_item_id=event.id, source_ref=event.source_ref,
        occurred_at=event.occurred_at,
    )  # fmt: skip


HANDLERS: Final = (
    Handler(verb="experience", apply=apply_experience),
    Handler(verb="aggregate", apply=apply_aggregate, prepare=prepare_aggregate),
)
