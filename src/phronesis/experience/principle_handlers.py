"""Handler that applies an abstraction: principles are created, updated, or ended (EMB-10).

Evidence for a principle are its patterns, weighted by sources; against it, patterns and single events.
"""

from collections.abc import Mapping
from typing import Any, Final

from phronesis.core.changes import Changes, Patch
from phronesis.core.entries import Entry, is_erased
from phronesis.core.items import Trust
from phronesis.core.relations import EvidenceRow
from phronesis.engine.handler import Handler, Outcomes, Prepare
from phronesis.experience.abstraction import ABSTRACT, OWN, PRINCIPLES, put_away
from phronesis.experience.event_views import item_edge
from phronesis.experience.laws.records import L1, PATTERN, PRINCIPLE, REFINES, SUPPORTS, UNCONFIRMED
from phronesis.experience.pattern_handlers import LearnedChanges
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
