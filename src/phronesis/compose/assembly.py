"""Building a context for a session and a message: load, plan, retrieve, mask secrets, compose, in that order."""

import dataclasses
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, tzinfo
from typing import Any, Final

from phronesis.compose.composer import cited_core_memory, compose
from phronesis.compose.core_memory import (
    CoreMemory,
    CorePolicy,
    core_memory,
    has_procedures,
    outweighed_items,
    pair_disputed,
    relevant_procedures,
)
from phronesis.compose.evidence_selection import CoreMemoryWords, RelevanceFloor, choose_evidence
from phronesis.compose.session_history import RecentTurns, SummaryPolicy, WorkingSummary, recent_turns, working_summary
from phronesis.core.context import Block, Budget, Candidates, ContextPackage
from phronesis.core.data_delimiters import session_seed
from phronesis.core.evidence_pack import EvidencePack
from phronesis.core.ids import Scope
from phronesis.core.redaction import mask, mask_value
from phronesis.core.results import Degraded, Evidence
from phronesis.core.retrieval_plan import RetrievalPlan, Store
from phronesis.core.text import replace_unstorable
from phronesis.core.timestamps import optional_moment
from phronesis.models.token_counter import TokenCounter
from phronesis.recall.as_of import visible_lanes
from phronesis.recall.browse import Browser
from phronesis.recall.hits import origins_at
from phronesis.recall.plan_queries import STATE_FIELDS
from phronesis.recall.planner import Planner, PlanRequest
from phronesis.recall.query import Encodings, Query, Search, SearchOptions
from phronesis.recall.retrievers import MEMORY, PlanExecutor
from phronesis.store.conversations import has_documents
from phronesis.store.database import Unit
from phronesis.store.eligible import ReadConditions
from phronesis.store.lanes import Lane, find_secret
from phronesis.uuid7 import new_id

# The arguments of ``compose_context``, validated.


@dataclass(frozen=True, slots=True)
class Request:
    """A validated call of ``compose_context``; ``now`` determines what is due, ``plan`` is the caller's own, if any.

    ``now`` is in the user's time zone.
    """

    session_id: str
    message: str
    scope: Scope
    budget: Budget
    agent_state: Mapping[str, Any]
    wanted: ReadConditions
    now: datetime
    plan: RetrievalPlan | None = None

    @property
    def zone(self) -> tzinfo:
        """Return the user's time zone."""
        return self.now.tzinfo or UTC

    @property
    def searched_text(self) -> str:
        """The message used for planning and search; the caller gets the original back."""
        return replace_unstorable(self.message)


# Planning and retrieval for a context.

RECENT: Final = 2
"""Number of previous turns in which a plan resolves "it"."""


@dataclass(frozen=True, slots=True)
class PlannedEvidence:
    """The result of a plan. ``first`` holds relevant procedures, which precede the evidence of the pack."""

    pack: EvidencePack
    first: Sequence[Evidence] = ()

    @property
    def evidence(self) -> list[Evidence]:
        """All evidence, each item once."""
        named = {one.item.id for one in self.first}
        return [*self.first, *(one for one in self.pack if one.item.id not in named)]

    @property
    def abstaining(self) -> Collection[Store]:
        """The stores in which nothing supports an answer."""
        told: Mapping[str, Any] = self.pack.explain.get("retrievers", {})
        stores: dict[str, Store] = {name: "memory" if name == MEMORY else "resources" for name in told}
        return set(stores.values()) - {stores[name] for name, one in told.items() if not one["abstained"]}


# Masking secrets and personal numbers in a context's candidates.


def mask_secrets(candidates: Candidates) -> Candidates:
    """Replace each secret and personal number in the candidates by a marker; the user's own message is unchanged."""
    return replace(
        candidates,
        system_blocks=_blocks(candidates.system_blocks),
        working_summary=_blocks(candidates.working_summary),
        recent_turns=_blocks(candidates.recent_turns),
        evidence=[_evidence(one) for one in candidates.evidence],
    )


def _blocks(blocks: Sequence[Block]) -> list[Block]:
    return [replace(block, text=mask(block.text)) for block in blocks]


def _evidence(one: Evidence) -> Evidence:
    item = one.item
    hidden = replace(
        item,
        content=mask(item.content),
        value=mask_value(item.value, item.key or ""),
        data=mask_value(item.data),
        metadata=mask_value(item.metadata),
    )
    matched = tuple(replace(match, snippet=mask(match.snippet)) for match in one.matched)
    sources = tuple(replace(source, quote=source.quote and mask(source.quote)) for source in one.sources)
    return replace(one, item=hidden, matched=matched, sources=sources)


CHARACTERS_PER_TOKEN: Final = 4
"""Approximate for English text (OpenAI's rule of thumb); used to estimate whether turns exceed their slot."""


@dataclass(frozen=True, slots=True)
class _LoadedContent:
    """The content that is loaded before any search."""

    core: CoreMemory
    turns: RecentTurns
    summary: WorkingSummary
    procedures: bool
    resources: bool
    held: bool
    seed: str | None


@dataclass(frozen=True, slots=True)
class Assembler:
    """Gathers the parts of a context and composes it. It never writes.

    ``masks``: replace secrets and personal numbers by markers, also those that an older version stored or the policy
    keeps.
    """

    browser: Browser
    planner: Planner
    plan_executor: PlanExecutor
    searcher: Search
    counter: Callable[[], TokenCounter]
    core: CorePolicy = CorePolicy()  # noqa: RUF009 - frozen
    summing: SummaryPolicy = SummaryPolicy()  # noqa: RUF009 - frozen
    masks: bool = True
    floor: RelevanceFloor | None = None

    def assemble(self, tenant: str, request: Request) -> tuple[ContextPackage, int]:
        """Return the package for a session's message, and the last entry of the scope's own lane at that time.

        BudgetTooSmall if the message alone does not fit.
        """
        with self.browser.database.transaction(tenant, "read") as unit:
            lanes = visible_lanes(unit, request.scope)
            loaded = self._load_content(unit, lanes, request)
        found = self._find(tenant, request, loaded)
        pack, evidence = found.pack, found.evidence
        candidates, reasons = self._candidates(tenant, request, loaded, found)
        explain = {
            "steps": ["load", "plan", "retrieve", "fuse", "compose"],
            "plan": pack.plan.to_dict(),
            "retrieved": {
                **pack.explain,
                "found": len(evidence),
                "abstained": pack.abstained,
                "ignored_fields": {name: list(fields) for name, fields in pack.ignored_fields.items()},
                **reasons,
                "why": {e.item.citation: dict(e.why or {}) for e in candidates.evidence},
            },
            "summary": {"made_by": loaded.summary.made_by, "lines": len(loaded.summary.blocks)},
        }
        package = compose(
            self._mask_candidates(candidates),
            budget=request.budget,
            counter=self.counter(),
            context_id=new_id(),
            explain=explain,
            seed=loaded.seed,
        )
        own = request.scope.write_lane
        return package, next((lane.head_seq for lane in lanes if (lane.kind, lane.name) == (own.kind, own.name)), 0)

    def _load_content(self, unit: Unit, lanes: Sequence[Lane], request: Request) -> _LoadedContent:
        budget, wanted = request.budget, request.wanted
        turns = recent_turns(unit, lanes, request.session_id, last=budget.recent_turn_count, as_of=wanted.as_of)
        # A session that is shown whole needs no summary. The budget counts messages; a turn has several.
        whole = turns.count < budget.recent_turn_count and len(turns.blocks) <= budget.recent_turn_count
        whole = whole and turns.characters <= CHARACTERS_PER_TOKEN * budget.recent_turns
        core = core_memory(unit, lanes, self.core, wanted, now=request.now)
        summary = WorkingSummary()
        if turns.lane is not None and not whole:
            summary = working_summary(
                unit,
                turns.lane,
                request.session_id,
                wanted,
                apart=core.words.keys(),
                policy=self.summing,
                zone=request.zone,
            )
        resources = has_documents(unit, [lane.lane_id for lane in lanes])
        secret, own = find_secret(unit), request.scope.write_lane
        return _LoadedContent(
            core,
            turns,
            summary,
            has_procedures(unit, lanes, wanted),
            resources,
            held=any(lane.head_seq for lane in lanes),
            seed=None if secret is None else session_seed(secret, own.kind, own.name, request.session_id),
        )

    def _plan(self, tenant: str, request: Request, loaded: _LoadedContent) -> RetrievalPlan:
        """Return the caller's plan with this call's scope and times, or a new plan."""
        scope = dataclasses.replace(request.scope, session_id=None)
        as_of, valid_at = optional_moment(request.wanted.as_of), optional_moment(request.wanted.valid_at)
        if request.plan is not None:
            return dataclasses.replace(request.plan, scope=scope, as_of=as_of, valid_at=valid_at)
        asked = PlanRequest(
            message=request.searched_text,
            scope=scope,
            now=request.now,
            recent=tuple(block.text for block in loaded.turns.blocks if not block.fenced)[-RECENT:],
            agent_state=request.agent_state,
            resources=loaded.resources or self.plan_executor.remote is not None,
            limit=_limit_of(request.budget),
            as_of=as_of,
            valid_at=valid_at,
        )
        return self.planner.plan(tenant, asked)

    def _find(self, tenant: str, request: Request, loaded: _LoadedContent) -> PlannedEvidence:
        """Execute a plan; relevant procedures come before the evidence."""
        plan, encodings = self._plan(tenant, request, loaded), Encodings()
        pack = self.plan_executor.retrieve(tenant, plan, encodings)
        if not loaded.procedures:
            return PlannedEvidence(pack)
        state = [request.agent_state.get(name) for name in STATE_FIELDS]
        asked = Query(
            " ".join([request.searched_text, *(text for text in state if isinstance(text, str) and text.strip())]),
            plan.scope,
            request.wanted,
            _limit_of(request.budget),
            explain=True,
            manner=SearchOptions(encodings=encodings),
        )
        return PlannedEvidence(pack, relevant_procedures(self.searcher, tenant, asked))

    def _candidates(
        self, tenant: str, request: Request, loaded: _LoadedContent, found: PlannedEvidence
    ) -> tuple[Candidates, dict[str, Any]]:
        """Return the candidates (evidence with its disputes), and the reasons for leaving out the other results."""
        standing = self._mask_candidates(
            Candidates(
                user_message=request.message,
                system_blocks=loaded.core.blocks,
                working_summary=loaded.summary.blocks,
                recent_turns=loaded.turns.blocks,
                held=loaded.held,
                zone=request.zone,
            )
        )
        # Core memory that a small budget cuts may be shown as evidence.
        every = dataclasses.replace(standing, evidence=found.evidence)
        shown = cited_core_memory(every, budget=request.budget, counter=self.counter())
        apart = frozenset(item_id for item_id in loaded.core.words if f"mem:{item_id}" in shown)
        evidence = [one for one in found.evidence if one.item.id not in apart]
        origins: dict[str, list[str]] = {}
        if loaded.summary.noted or any(one.item.kind != "message" for one in evidence):
            with self.browser.database.transaction(tenant, "read") as unit:
                lanes = visible_lanes(unit, request.scope)
                evidence = pair_disputed(unit, lanes, evidence, request.wanted, apart=apart)
                if not self.core.shows_disputes(request.wanted):
                    weaker = outweighed_items(unit, lanes, [one.item.id for one in evidence], request.wanted)
                    evidence = [dataclasses.replace(one, conflicts=()) for one in evidence if one.item.id not in weaker]
                taken = [*(one.item.id for one in evidence if one.item.kind != "message"), *loaded.summary.noted]
                for lane in lanes:
                    origins |= origins_at(unit, lane.lane_id, taken, request.wanted.as_of)
        first = sum(one.item.id in {lead.item.id for lead in found.first} for one in evidence)
        plan = found.pack.plan
        filters = [plan.filters, *(sub and sub.filters for sub in (plan.memory, plan.resources))]
        chosen = choose_evidence(
            evidence,
            asked=request.message,
            abstaining=found.abstaining,
            origins=origins,
            core=CoreMemoryWords(
                [words for item_id, words in loaded.core.words.items() if item_id in apart],
                [one for one in found.evidence if one.item.id in apart],
            ),
            first=first,
            tools=any(one is not None for one in filters),
            documents=plan.resources_needed,
        )
        degraded: tuple[Degraded, ...] = ()
        if self.floor is not None:
            chosen, degraded = self.floor.keep_relevant(tenant, plan.message, chosen, first=first, seed=plan.id)
        taken_from = {f"mem:{key}": tuple(f"mem:{one}" for one in named) for key, named in origins.items()}
        named = {one.item.id for one in chosen.shown} | apart
        left_out = dict(chosen.left_out)
        others = [one.item.citation for one in found.evidence if one.item.id not in named]
        reasons = {
            "degraded": [one.to_dict() for one in (*plan.degraded, *found.pack.degraded, *degraded)],
            "outweighed": [citation for citation in others if citation not in left_out],
            "left_out": [{"citation": one, "reason": reason} for one, reason in left_out.items()],
        }
        return dataclasses.replace(standing, evidence=chosen.shown, taken_from=taken_from), reasons

    def _mask_candidates(self, candidates: Candidates) -> Candidates:
        return mask_secrets(candidates) if self.masks else candidates


def _limit_of(budget: Budget) -> int:
    """Return how much evidence to request: more than is shown, since recent turns contain some of it."""
    return budget.evidence_count + 2 * budget.recent_turn_count


def scale_budget(budget: Budget, total: int) -> Budget:
    """Return a budget of another total, with its token slots in the same proportions."""
    share = total / budget.total
    slots = ("system_blocks", "working_summary", "recent_turns", "evidence")
    return dataclasses.replace(budget, total=total, **{name: int(getattr(budget, name) * share) for name in slots})
