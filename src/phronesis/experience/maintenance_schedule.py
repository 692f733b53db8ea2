"""Handlers of principles, what learns from experience, and the schedule: when to aggregate and when to abstract."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import Entry, is_erased
from phronesis.core.ids import LaneName
from phronesis.core.items import Trust
from phronesis.core.relations import EvidenceRow
from phronesis.core.timestamps import from_micros
from phronesis.engine.handler import FAILED_ROLE, Handler, Outcomes, Prepare
from phronesis.engine.plugin import OpenEngine, Platform
from phronesis.engine.writer import Writer
from phronesis.experience import event_handlers, feedback, pattern_handlers
from phronesis.experience.abstraction import ABSTRACT, OWN, PRINCIPLES, AbstractionPreparer, put_away
from phronesis.experience.aggregation import AGGREGATE, AggregationPreparer
from phronesis.experience.event_views import item_edge
from phronesis.experience.laws.records import L1, PATTERN, PRINCIPLE, REFINES, SUPPORTS, UNCONFIRMED
from phronesis.experience.laws.topics import PrincipleThresholds
from phronesis.experience.pattern_handlers import LearnedChanges
from phronesis.experience.policy_section import ExperiencePolicy
from phronesis.experience.sources.port import SOURCES
from phronesis.experience.watermarks import last_processed, spoken_of
from phronesis.index.projections import ALIKE
from phronesis.store.database import Database
from phronesis.store.experience import changed_parts
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import Lane

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
    work = _AbstractionChanges(view, entry, said.body)
    for one in said.body["principles"]:
        work.place(one)
    for one in said.body["principles"]:
        work.refine(one)
    for principle, why in said.body["ended"]:
        work.dissolve(principle, why)
    return work.changes()


class _AbstractionChanges(LearnedChanges):
    """Collects the changes of one abstraction, principle by principle."""

    def __init__(self, view: LaneView, entry: Entry, body: Mapping[str, Any]) -> None:
        super().__init__(view, entry, SUPPORTS)
        named = [one[name] for one in body["principles"] for name in ("continues", "broader") if one[name]]
        named += [one for one, _ in body["ended"]]
        self._principles = {one: item for one, item in view.items(named).items() if item.kind == PRINCIPLE}
        evidence = view.evidence(self._principles)
        self._before = {
            one: [row for row in evidence.get(one, ()) if _is_own_evidence(row)] for one in self._principles
        }
        known = sorted(self._principles)
        self._refining = [*view.edges_from(known, REFINES), *view.edges_to(known, REFINES)]
        sources = view.items(source for one in body["principles"] for source, _, _ in one["evidence"])
        self._sources = {one: item for one, item in sources.items() if item.kind in (PATTERN, L1) and item.live}
        self._made: dict[int, str] = {}

    def place(self, one: Mapping[str, Any]) -> None:
        """Create or update a principle; without a live pattern there is none."""
        rows = [(source, polarity, weight) for source, polarity, weight in one["evidence"] if source in self._sources]
        support = [source for source, polarity, _ in rows if polarity == "support"]
        if not support:
            return
        known = self._principles.get(one["continues"] or "")
        if known is None or not (known.live or put_away(known)):
            principle = self.create(PRINCIPLE, support, _fields(one))
        else:
            principle = known.id
            self.patches.append(Patch(principle, _fields(one), SAID_ANEW))
        self._made[one["n"]] = principle
        before = {row.identity: row for row in self._before.get(principle, ())}
        for source, polarity, weight in rows:
            row = self.row(principle, polarity, self._sources[source], weight)
            old = before.pop(row.identity, None)
            if old is None or old.weight != weight:
                self.support(row, old)
        self.drop([*before.values()])

    def refine(self, one: Mapping[str, Any]) -> None:
        """Link a narrower principle to its broader one, and to no other."""
        principle = self._made.get(one["n"])
        if principle is None:
            return
        broader = None if one["refines"] is None else self._made.get(one["refines"], one["broader"])
        self.dropped_edges += [edge for edge in self._refining if edge.from_id == principle and edge.to_id != broader]
        if broader is not None:
            self.edges.append(item_edge(REFINES, principle, broader, self._entry.id))

    def dissolve(self, principle: str, why: str) -> None:
        """End a principle, if it is live."""
        item = self._principles.get(principle)
        if item is not None and item.live:
            self.end(principle, "dissolved", why, self._before[principle])
            self.dropped_edges += [edge for edge in self._refining if principle in (edge.from_id, edge.to_id)]

    def edge_weight(self, row: EvidenceRow) -> float:
        """Return the weight of a row's edge: patterns weigh the number of their sources."""
        return round(row.weight / (row.weight + 1.0), 4)


def _is_own_evidence(row: EvidenceRow) -> bool:
    """Return whether a row is evidence by a pattern or an event; a judgement names no item."""
    return row.polarity in OWN and row.source_item_id is not None and row.origin != "human"


def _fields(one: Mapping[str, Any]) -> dict[str, Any]:
    told = {f"data.{name}": one[name] or None for name in _TOLD} | {f"data.{UNCONFIRMED}": one.get(UNCONFIRMED) or None}
    return {"content": one["content"], "label": one["outcome"], "trust": Trust(one["trust"]), **told}


def handlers(prepare: Prepare | None) -> tuple[Handler, ...]:
    """Return the handler of ``abstract``; ``prepare`` prepares it."""
    return (Handler(verb=ABSTRACT, apply=apply_abstract, prepare=prepare),)


ACTOR: Final = "worker"


@dataclass(frozen=True, slots=True)
class MaintenanceScheduler:
    """Runs aggregation and abstraction of a lane when they are due.

    Aggregation is due after a number of new ``events``, or of ``hours`` with any; abstraction after ``abstract_hours``.
    """

    database: Database
    events: int
    hours: float
    abstract_hours: float
    background: bool

    def visit(self, writer: Writer, tenant: str, lane: Lane, now: datetime) -> bool:
        """Do what is due in a lane; return whether anything was."""
        if lane.name is None:
            return False
        name = LaneName(lane.kind, lane.name)
        with self.database.transaction(tenant, "read") as unit:
            view = LaneView(unit, lane)
            grouping = self._news(view, now)
        if grouping:
            writer.write(tenant, name, verb=AGGREGATE, payload={}, actor=ACTOR)
        with self.database.transaction(tenant, "read") as unit:
            drawing = self._has_moved(LaneView(unit, lane), now)
        if drawing:
            writer.write(tenant, name, verb=ABSTRACT, payload={}, actor=ACTOR)
        return grouping or drawing

    def _news(self, view: LaneView, now: datetime) -> bool:
        seq = last_processed(view)
        changed = changed_parts(view.unit, view.lane_id, L1, ALIKE, after=seq)
        events = {row.item_id for row in changed} | spoken_of(view, seq)
        if len(events) >= self.events:
            return True
        since = _last(view, AGGREGATE) or min((from_micros(row.recorded_at) for row in changed), default=now)
        return bool(events) and now - since >= timedelta(hours=self.hours)

    def _has_moved(self, view: LaneView, now: datetime) -> bool:
        last = _last(view, ABSTRACT)
        if last is not None and now - last < timedelta(hours=self.abstract_hours):
            return False
        return any(last is None or one.updated_at > last for one in view.find(kinds=(PATTERN,), live=False))


def _last(view: LaneView, verb: str) -> datetime | None:
    return view.last_recorded(verb, before=view.lane.head_seq + 1, without=FAILED_ROLE)


def open_learning(platform: Platform) -> OpenEngine:
    """Open what learns from experience: its verbs, and what schedules them."""
    embedders, own = platform.embedders, platform.policy.of(ExperiencePolicy).experience
    abstracting = AbstractionPreparer(
        embedders,
        platform.models.asker("abstract"),
        PrincipleThresholds(
            min_members=own.abstract.min_members,
            min_patterns=own.abstract.min_patterns,
            change=own.abstract.change,
        ),
    )
    return OpenEngine(
        handlers=(
            *event_handlers.handlers(event_handlers.SourcePreparer(SOURCES)),
            *pattern_handlers.handlers(AggregationPreparer(embedders)),
            *handlers(abstracting),
            *feedback.HANDLERS,
        ),
        components={
            "keeper": MaintenanceScheduler(
                platform.database, own.aggregate_events, own.aggregate_hours, own.abstract_hours, own.background
            )
        },
    )
