"""The handler of ``learn``: judge the bank's claims by a run, in one entry that can be rolled back (RB-17 to RB-20).

prepare assembles FACTS, selects candidates, optionally asks a model, filters proposals and judges claims; all of it is
recorded in outcomes, so that a replay calls no model. apply adds an evidence row for each claim that the run supports
or contradicts, at most one per run; the fold computes counts and statuses. A demoted conclusion gains a limitation; a
claim refuted by at least two runs is deleted from its block.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final, NamedTuple, TypedDict

from phronesis.core.changes import Changes
from phronesis.core.entries import Entry, Outcome, is_erased, item_timestamps, payload_of
from phronesis.core.items import DEFAULT_IMPORTANCE, Item, Trust
from phronesis.core.relations import Edge
from phronesis.engine.handler import (
    Decisions,
    Handler,
    Outcomes,
    Prepare,
    PrepareContext,
    evidence_before,
    items_before,
)
from phronesis.errors import InputError
from phronesis.models.decision import Decider
from phronesis.models.structured_client import StructuredClient
from phronesis.reasoning.claim_effects import (
    BY_RULE,
    EDGE_OF,
    ClaimJudge,
    ItemEffects,
    contradicting_runs,
    limitation_for,
    may_fall,
)
from phronesis.reasoning.handlers import RUN, feedback_of, find_run, run_of
from phronesis.reasoning.laws.claim_status import WRITTEN, current_block, stated_of, written_block
from phronesis.reasoning.laws.records import REASONING, Feedback, ReasoningBlock, Run
from phronesis.reasoning.learn_candidates import RULES, Candidates, RunFacts, propose_by_rules, used_ids
from phronesis.reasoning.llm_verdicts import (
    Classes,
    ModelVerdicts,
    Question,
    ask_about_run,
    classes_of,
    decide_classes,
    may_go,
    unknown_model_result,
)
from phronesis.reasoning.proposal_filter import AcceptedProposal, ProposalFilter
from phronesis.store.lane_view import LaneView


class LearnPayload(TypedDict, total=False):
    """The verb ``learn``: the run, what it had read by then, and a model for this call."""

    item_id: str
    run_id: str
    model: str
    read: list[Any]


# Cache of values per lane: runs as tests evaluate them, and tests parsed from claims' text.

MAX_LANES: Final = 8
"""Maximum lanes in the cache, the most recently used."""

MAX_KEPT: Final = 50_000
"""Maximum cached values per lane, about a kilobyte each; beyond it the lane's cache is cleared."""


def lane_caches() -> Callable[[str, int, int], dict[Any, Any]]:
    """Return the function that gives the cache of a lane, by tenant, lane and epoch: an erasure or rebuild clears it.

    Within an epoch a value must depend on its key alone.
    """

    @lru_cache(MAX_LANES)
    def by_epoch(_tenant: str, _lane_id: int) -> dict[int, dict[Any, Any]]:
        return {}

    def cache_of(tenant: str, lane_id: int, epoch: int) -> dict[Any, Any]:
        held = by_epoch(tenant, lane_id)
        values = held.get(epoch, {})
        if len(values) > MAX_KEPT:
            values = {}  # another thread may still read the old ones
        held.clear()
        held[epoch] = values
        return values

    return cache_of


LEARN: Final = "learn"

FACTS: Final = "facts"
CANDIDATES: Final = "candidates"
VERDICTS: Final = "verdicts"
PROPOSED: Final = "proposed"
DROPPED: Final = "dropped"
REFUSED: Final = "refused"
"""Roles of a learn's outcomes: one of FACTS, one of candidates, and one for each item, proposal or refused class.

The roles of a model's answers are in `llm_verdicts`.
"""


@dataclass(frozen=True, slots=True)
class LearnPreparer:
    """Prepares learns, by rules or with the model that ``asker`` gives for a reference (None: that of the role).

    Where neither the call nor the role names one, ``decider`` is asked about the claims that no test decides.
    """

    telling: RunFacts
    candidates: Candidates
    asker: Callable[[str | None], StructuredClient | None] = lambda _reference: None
    decider: Decider | None = None
    kept: Callable[[str, int, int], dict[Any, Any]] = field(default_factory=lane_caches)

    def __call__(self, bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        """Return the outcomes: FACTS, candidates, accepted and dropped proposals, and a verdict on every claim."""
        payload = payload_of(entry, LearnPayload)
        with bench.view() as view:
            lane, item = view.lane, view.item(payload["item_id"])
            if item is None or item.kind != RUN:
                return ()
            [run] = items_before(view, [item], entry)
            made = [edge.from_id for edge in view.edges_to([run.id], "derived_from") if edge.from_kind == "item"]
            used = [*used_ids(run_of(run), payload.get("read", ())), *sorted(made)]
            seen = self.candidates.chosen(view, used, (), entry=entry)
        # Items the run used come first; if they suffice, no search is made.
        if len(seen) < self.candidates.cap:
            found = self.candidates.most_similar(bench.tenant, lane, self.telling.summary(run))
            with bench.view() as view:
                seen = self.candidates.chosen(view, used, found, entry=entry)
        known = {item_id: current_block(item) for item_id, (item, _) in seen.items()}
        question = Question(entry=entry, run_id=run.run_id or "", facts=self.telling.facts(run), known=known)
        taught = self._ask_model(bench, run, question)
        lesson = taught if taught is not None and taught.answered else None
        classes, asked = Classes(), [] if taught is None else taught.outcomes
        if lesson is not None:
            classes = classes_of(lesson, question.facts, known)
        elif taught is None and self.decider is not None and feedback_of(run) is not None and not payload.get("model"):
            decisions = Decisions(self.decider, bench.tenant, RULES)
            classes, asked = decide_classes(decisions, question), decisions.outcomes
        with bench.view() as view:
            return [*self._outcomes(view, run, seen, question, lesson=lesson, classes=classes), *asked]

    def _ask_model(self, bench: PrepareContext, run: Item, question: Question) -> ModelVerdicts | None:
        """Ask the model, if one is configured. A run without feedback gives no verdicts, so nothing is asked."""
        if feedback_of(run) is None:
            return None
        reference = question.entry.payload.get("model")
        try:
            asker = self.asker(reference)
        except InputError:  # the policy changed since
            return unknown_model_result(str(reference))
        if asker is None:
            return None
        with bench.view() as view:
            evidence = evidence_before(view, question.known, question.entry)
        used = {item_id: frozenset(row.part for row in rows) for item_id, rows in evidence.items()}
        return ask_about_run(asker, bench.tenant, replace(question, used=used))

    def _outcomes(
        self,
        view: LaneView,
        run: Item,
        seen: Mapping[str, tuple[Item, str]],
        question: Question,
        *,
        lesson: ModelVerdicts | None,
        classes: Classes,
    ) -> list[Outcome]:
        feedback, told, known = feedback_of(run), self.telling.view(run), question.known
        kept = self.kept(view.unit.tenant, view.lane_id, view.lane.epoch)
        scales = ClaimJudge(told, feedback is not None, lambda: self.telling.earlier(view, run, kept), kept)
        bearing = {
            item_id: [classes.row(scales, item_id, claim) for claim in block.claims] for item_id, block in known.items()
        }
        sieve = ProposalFilter(
            entry_id=question.entry.id,
            facts=question.facts,
            candidates={item_id: item for item_id, (item, _) in seen.items()},
            agree=lambda claim: scales.weigh(claim) != "contra",
            rewrites={} if lesson is None else lesson.rewrites,
            may_go=lambda item_id, claim: may_go(claim, bearing[item_id], told.run_id),
        )
        if lesson is not None:
            proposals = lesson.proposals
        else:
            claims = [claim for block in known.values() for claim in block.claims]
            proposals = [] if feedback is None else propose_by_rules(feedback, told, claims)
        taken, dropped = sieve.sift(proposals)
        blocks = {**known, **{one.item_id: one.block for one in taken}}
        classes.spare_reworded(bearing, known, blocks)
        rows = []
        for item_id, block in blocks.items():
            verdicts = [*bearing.get(item_id, ()), *_new(scales, block, known.get(item_id))]
            if item_id in seen:
                self._limit(view, scales, seen[item_id][0], block, verdicts)
            rows.append({"item_id": item_id, "claims": verdicts})
        made_by = RULES if lesson is None else lesson.made_by
        bodies: list[tuple[str, str, Sequence[Mapping[str, Any]]]] = [
            (FACTS, RULES, [{"facts": question.facts}]),
            (CANDIDATES, RULES, [{"items": [{"item_id": one, "by": way} for one, (_, way) in seen.items()]}]),
            (PROPOSED, made_by, [_accepted_row(one) for one in taken]),
            (DROPPED, made_by, [one.to_json() for one in dropped]),
            (VERDICTS, made_by, rows),
            (REFUSED, made_by, classes.refused),
        ]
        return [
            Outcome(role=role, made_by=by, body=body, n=n)
            for role, by, listed in bodies
            for n, body in enumerate(listed)
        ]

    def _limit(
        self, view: LaneView, scales: ClaimJudge, item: Item, block: ReasoningBlock, rows: Sequence[dict[str, Any]]
    ) -> None:
        """Add to each claim that the run contradicts and may demote the limitation that it then gains."""
        claims = {claim.claim_id: claim for claim in block.claims}
        for row in rows:
            claim = claims.get(row["claim_id"])
            if claim is None or row["verdict"] != "contra" or not may_fall(item, claim.claim_id, scales.run.run_id):
                continue
            runs = contradicting_runs(item, claim.claim_id, scales.run.run_id)
            earlier = [found for one in runs[:-1] if (found := find_run(view, one)) is not None]
            views = [*map(self.telling.view, earlier), scales.run]
            row["limitation"] = limitation_for(claim, views, scales.test_of(claim))


def _new(scales: ClaimJudge, block: ReasoningBlock, before: ReasoningBlock | None) -> list[dict[str, Any]]:
    """Judge the new claims of a proposal. Existing claims are judged as they are."""
    there = {claim.claim_id for claim in before.claims} if before is not None else set()
    new = [claim for claim in block.claims if claim.claim_id not in there]
    return [{"claim_id": claim.claim_id, "verdict": scales.weigh(claim), "by": BY_RULE} for claim in new]


def _accepted_row(one: AcceptedProposal) -> dict[str, Any]:
    proposal, written = one.proposal, stated_of(one.block)
    return {"action": proposal.action, "item_id": one.item_id, "written": written, "made_by": proposal.made_by}


def apply_learn(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    """Store accepted proposals, add evidence, and add limitations to demoted claims."""
    payload = payload_of(entry, LearnPayload)
    run = None if is_erased(payload) else view.item(payload["item_id"])
    if run is None or run.kind != RUN or run.run_id is None:
        return Changes()
    judged = {outcome.body["item_id"]: outcome.body["claims"] for outcome in outcomes.get(VERDICTS, ())}
    taken = {outcome.body["item_id"]: outcome.body for outcome in outcomes.get(PROPOSED, ())}
    present = view.items(judged)
    evidence = view.evidence(present)
    edges = {(edge.from_id, edge.type): edge for edge in view.edges_to([run.id], *EDGE_OF.values())}
    learned = Edge(
        type="derived_from", from_kind="entry", from_id=entry.id, to_kind="item", to_id=run.id, entry_id=entry.id
    )
    parts = [Changes(edges=[learned])]
    for item_id, claims in judged.items():
        proposed = taken.get(item_id)
        item = present.get(item_id)
        if item is not None and item.live and item.kind == REASONING:
            block = written_block(proposed["written"]) if proposed is not None else None
            parts.append(ItemEffects(entry, run, item, claims, edges).on_held(block, evidence.get(item_id, ())))
        elif item is None and proposed is not None and proposed["action"] == "add":
            made = _make_item(view, entry, run, proposed)
            parts.append(ItemEffects(entry, run, made, claims, edges).on_new())
    return Changes(
        items=[item for part in parts for item in part.items],
        patches=[patch for part in parts for patch in part.patches],
        edges=[edge for part in parts for edge in part.edges],
        evidence=[row for part in parts for row in part.evidence],
    )


def _make_item(view: LaneView, entry: Entry, run: Item, proposed: Mapping[str, Any]) -> Item:
    written = proposed["written"]
    return Item(
        id=proposed["item_id"],
        kind=REASONING,
        content="",
        importance=DEFAULT_IMPORTANCE[REASONING],
        trust=Trust.USER if proposed["made_by"] == RULES else Trust.ASSISTANT,
        source_type=RUN,
        source_ref=run.run_id,
        data={**{name: written[name] for name in WRITTEN if name in written}, "made_by": proposed["made_by"]},
        **item_timestamps(entry),
        **view.scope_fields(),
    )


def handlers(prepare: Prepare | None) -> tuple[Handler, ...]:
    """Return the handler of ``learn`` with this prepare."""
    return (Handler(verb=LEARN, apply=apply_learn, prepare=prepare),)


# Dry run: what a learn would propose for a run that is not recorded yet.


class LearnForecast(NamedTuple):
    """Numbers of the rules' proposals that would pass the gate and that would not."""

    added: int
    dropped: int


def forecast_learning(telling: RunFacts, run: Run, feedback: Feedback) -> LearnForecast:
    """Count the proposals of rules for a run's feedback, filtered by the gate and the run's own FACTS.

    The bank is not read, and no model is asked.
    """
    view = telling.builder.view(run, feedback)
    scales = ClaimJudge(view, has_feedback=True, read_earlier=tuple)
    sieve = ProposalFilter(
        entry_id="",
        facts=telling.facts_of(run, feedback),
        candidates={},
        agree=lambda claim: scales.weigh(claim) != "contra",
    )
    taken, dropped = sieve.sift(propose_by_rules(feedback, view, ()))
    return LearnForecast(len(taken), len(dropped))
