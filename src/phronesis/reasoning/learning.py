"""The handler of ``learn``: judge the bank's claims by a run, in one entry that can be rolled back (RB-17 to RB-20).

prepare assembles FACTS, selects candidates, optionally asks a model, filters proposals and judges claims; all of it is
recorded in outcomes, so that a replay calls no model. apply adds an evidence row for each claim that the run supports
or contradicts, at most one per run; the fold computes counts and statuses. A demoted conclusion gains a limitation; a
claim refuted by at least two runs is deleted from its block.
"""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple, TypedDict

from phronesis.core.changes import Changes
from phronesis.core.entries import Entry, Outcome, is_erased, payload_of
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
from phronesis.errors import InputError, Violation
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
from phronesis.reasoning.laws.claim_status import WRITTEN, current_block, written_block, written_of
from phronesis.reasoning.laws.records import REASONING, Claim, Feedback, ReasoningBlock, Run
from phronesis.reasoning.learn_candidates import RULES, Candidates, Proposal, RunFacts, propose_by_rules, used_ids
from phronesis.reasoning.llm_verdicts import (
    Classes,
    ModelVerdicts,
    Question,
    classes_of,
    decide_classes,
    may_go,
    teach,
    unknown_model,
)
from phronesis.reasoning.proposal_filter import AcceptedProposal, ProposalFilter, Rewrite, by_form
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


@dataclass(slots=True)
class LaneCache:
    """A cache of values by lane, valid for one epoch: an erasure or a rebuild clears it. Thread-safe.

    Within an epoch a value must depend on its key alone.
    """

    lanes: int = MAX_LANES
    limit: int = MAX_KEPT
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _kept: "OrderedDict[tuple[str, int], tuple[int, dict[Any, Any]]]" = field(default_factory=OrderedDict)

    def of(self, view: LaneView) -> dict[Any, Any]:
        """Return the cache of a lane, to read and to extend."""
        name, epoch = (view.unit.tenant, view.lane_id), view.lane.epoch
        with self._lock:
            known = self._kept.pop(name, None)
            values = known[1] if known is not None and known[0] == epoch and len(known[1]) <= self.limit else {}
            self._kept[name] = (epoch, values)
            while len(self._kept) > self.lanes:
                self._kept.popitem(last=False)
        return values


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
class CandidateSet:
    """The candidates of a learn by id, in order, and for each whether it was ``used`` or ``found``."""

    items: Mapping[str, Item]
    ways: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class LearnPreparer:
    """Prepares learns, by rules or with the model that ``asker`` gives for a reference (None: that of the role).

    Where neither the call nor the role names one, ``decider`` is asked about the claims that no test decides.
    """

    telling: RunFacts
    candidates: Candidates
    asker: Callable[[str | None], StructuredClient | None] = lambda _reference: None
    decider: Decider | None = None
    kept: LaneCache = field(default_factory=LaneCache)

    def __call__(self, bench: PrepareContext, entry: Entry) -> Sequence[Outcome]:
        """Return the outcomes: FACTS, candidates, accepted and dropped proposals, and a verdict on every claim."""
        payload = payload_of(entry, LearnPayload)
        with bench.view() as view:
            lane, item = view.lane, view.item(payload["item_id"])
            if item is None or item.kind != RUN:
                return ()
            [run] = items_before(view, [item], entry)
            used = self._used_ids(view, entry, run)
            seen = self._candidate_set(view, entry, used, ())
        # Items the run used come first; if they suffice, no search is made.
        if len(seen.items) < self.candidates.cap:
            found = self.candidates.found(bench.tenant, lane, self.telling.summary(run))
            with bench.view() as view:
                seen = self._candidate_set(view, entry, used, found)
        known = {item.id: current_block(item) for item in seen.items.values()}
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

    def _used_ids(self, view: LaneView, entry: Entry, run: Item) -> list[str]:
        """Return the ids that the run used, and those that an earlier learn of it created."""
        made = [edge.from_id for edge in view.edges_to([run.id], "derived_from") if edge.from_kind == "item"]
        return [*used_ids(run_of(run), payload_of(entry, LearnPayload).get("read", ())), *sorted(made)]

    def _candidate_set(self, view: LaneView, entry: Entry, used: Iterable[str], found: Sequence[str]) -> CandidateSet:
        chosen, ways = self.candidates.chosen(view, used, found, entry=entry)
        return CandidateSet({item.id: item for item in chosen}, ways)

    def _ask_model(self, bench: PrepareContext, run: Item, question: Question) -> ModelVerdicts | None:
        """Ask the model, if one is configured. A run without feedback gives no verdicts, so nothing is asked."""
        if feedback_of(run) is None:
            return None
        reference = question.entry.payload.get("model")
        try:
            asker = self.asker(reference)
        except InputError:  # the policy changed since
            return unknown_model(str(reference))
        if asker is None:
            return None
        with bench.view() as view:
            evidence = evidence_before(view, question.known, question.entry)
        used = {item_id: frozenset(row.part for row in rows) for item_id, rows in evidence.items()}
        return teach(asker, bench.tenant, replace(question, used=used))

    def _outcomes(
        self,
        view: LaneView,
        run: Item,
        seen: CandidateSet,
        question: Question,
        *,
        lesson: ModelVerdicts | None,
        classes: Classes,
    ) -> list[Outcome]:
        feedback, told, known = feedback_of(run), self.telling.view(run), question.known
        kept = self.kept.of(view)
        scales = ClaimJudge(told, feedback is not None, lambda: self.telling.earlier(view, run, kept), kept)
        bearing = {
            item_id: [classes.row(scales, item_id, claim) for claim in block.claims] for item_id, block in known.items()
        }
        sieve = ProposalFilter(
            entry_id=question.entry.id,
            facts=question.facts,
            candidates=seen.items,
            agree=lambda claim: scales.weigh(claim) != "contra",
            rewrite=_rewrite(lesson),
            may_go=lambda item_id, claim: may_go(claim, bearing[item_id], told.run_id),
        )
        proposals = lesson.proposals if lesson is not None else self._proposals(feedback, run, known.values())
        taken, dropped = sieve.sift(proposals)
        blocks = {**known, **{one.item_id: one.block for one in taken}}
        classes.spare_reworded(bearing, known, blocks)
        rows = []
        for item_id, block in blocks.items():
            claims = [*bearing.get(item_id, ()), *_new(scales, block, known.get(item_id))]
            self._limit(view, scales, seen.items.get(item_id), block, claims)
            rows.append({"item_id": item_id, "claims": claims})
        made_by = RULES if lesson is None else lesson.made_by
        bodies: list[tuple[str, str, Sequence[Mapping[str, Any]]]] = [
            (FACTS, RULES, [{"facts": question.facts}]),
            (CANDIDATES, RULES, [{"items": [{"item_id": one, "by": seen.ways[one]} for one in seen.items]}]),
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

    def _proposals(self, feedback: Feedback | None, run: Item, known: Iterable[ReasoningBlock]) -> list[Proposal]:
        if feedback is None:
            return []
        return propose_by_rules(feedback, self.telling.view(run), (claim for block in known for claim in block.claims))

    def _limit(
        self,
        view: LaneView,
        scales: ClaimJudge,
        item: Item | None,
        block: ReasoningBlock,
        rows: Sequence[dict[str, Any]],
    ) -> None:
        """Add to each claim that the run contradicts and may demote the limitation that it then gains."""
        claims = {claim.claim_id: claim for claim in block.claims}
        for row in rows if item is not None else ():
            claim = claims.get(row["claim_id"])
            if claim is None or item is None or row["verdict"] != "contra":
                continue
            if may_fall(item, claim.claim_id, scales.run.run_id):
                row["limitation"] = self._limitation(view, scales, item, claim)

    def _limitation(self, view: LaneView, scales: ClaimJudge, item: Item, claim: Claim) -> str:
        runs = contradicting_runs(item, claim.claim_id, scales.run.run_id)
        earlier = [found for one in runs[:-1] if (found := find_run(view, one)) is not None]
        views = [*(self.telling.view(one) for one in earlier), scales.run]
        return limitation_for(claim, views, scales.test_of(claim))


def _new(scales: ClaimJudge, block: ReasoningBlock, before: ReasoningBlock | None) -> list[dict[str, Any]]:
    """Judge the new claims of a proposal. Existing claims are judged as they are."""
    there = {claim.claim_id for claim in before.claims} if before is not None else set()
    return [
        {"claim_id": claim.claim_id, "verdict": scales.weigh(claim), "by": BY_RULE}
        for claim in block.claims
        if claim.claim_id not in there
    ]


def _rewrite(lesson: ModelVerdicts | None) -> Rewrite:
    """Return the repair of form: the model's where it made one, else that of rules."""
    if lesson is None:
        return by_form

    def rewrite(content: str, violations: Sequence[Violation]) -> str | None:
        return lesson.rewrites.get(content) or by_form(content, violations)

    return rewrite


def _accepted_row(one: AcceptedProposal) -> dict[str, Any]:
    written = {name: value for name, value in written_of(one.block).items() if value is not None}
    return {"action": one.proposal.action, "item_id": one.item_id, "written": written, "made_by": one.proposal.made_by}


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
        entry_id=entry.id,
        recorded_at=entry.recorded_at,
        updated_at=entry.recorded_at,
        importance=DEFAULT_IMPORTANCE[REASONING],
        trust=Trust.USER if proposed["made_by"] == RULES else Trust.ASSISTANT,
        source_type=RUN,
        source_ref=run.run_id,
        occurred_at=entry.recorded_at,
        valid_from=entry.recorded_at,
        data={**{name: written[name] for name in WRITTEN if name in written}, "made_by": proposed["made_by"]},
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


def foretell(telling: RunFacts, run: Run, feedback: Feedback) -> LearnForecast:
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
