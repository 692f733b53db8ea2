"""From a session and a message to a context: load, plan, retrieve, fuse, compose, in that fixed order."""

import dataclasses
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final

from phronesis.compose.composer import compose, shown_core
from phronesis.compose.core_memory import CoreMemory, CorePolicy, core_memory
from phronesis.compose.disputes import outweighed, side_by_side
from phronesis.compose.evidence_choice import InCoreMemory, choose_evidence
from phronesis.compose.finding import Finding, Found
from phronesis.compose.masking import masked
from phronesis.compose.procedures import has_procedures
from phronesis.compose.requests import Request
from phronesis.compose.summary import SummaryPolicy, WorkingSummary, working_summary
from phronesis.compose.turns import RecentTurns, recent_turns
from phronesis.core.context import Budget, Candidates, ContextPackage
from phronesis.core.fences import session_seed
from phronesis.models.token_counter import TokenCounter
from phronesis.recall.browse import Browser
from phronesis.recall.lanes import visible_lanes
from phronesis.recall.once import origins_at
from phronesis.recall.planning.entities import candidates, names_held
from phronesis.storage.database import Unit
from phronesis.storage.lanes import Lane, find_secret
from phronesis.storage.resources import has_documents
from phronesis.uuid7 import new_id

CHARACTERS_PER_TOKEN: Final = 4
"""Of English text, about (OpenAI's rule of thumb): tells whether turns may be too long for their slot."""


@dataclass(frozen=True, slots=True)
class _Loaded:
    """What is there before anything is searched."""

    core: CoreMemory
    turns: RecentTurns
    summary: WorkingSummary
    procedures: bool
    resources: bool
    names: Collection[str]
    held: bool
    seed: str | None


@dataclass(frozen=True, slots=True)
class Assembler:
    """Gathers what a context is made of, and composes it. It never writes.

    ``masks``: what is shown has markers in place of secrets and personal numbers, also of those that an older version
    stored or the policy keeps.
    """

    browser: Browser
    finding: Finding
    counter: Callable[[], TokenCounter]
    core: CorePolicy = CorePolicy()  # noqa: RUF009 - frozen
    summing: SummaryPolicy = SummaryPolicy()  # noqa: RUF009 - frozen
    masks: bool = True

    def assemble(self, tenant: str, request: Request) -> tuple[ContextPackage, int]:
        """Give the package for a message of a session, and the last entry that the scope's own lane held before it.

        BudgetTooSmall when the message alone does not fit.
        """
        with self.browser.database.transaction(tenant, "read") as unit:
            lanes = visible_lanes(unit, request.scope)
            loaded = self._loaded(unit, lanes, request)
        plan = self.finding.plan(tenant, request, loaded.turns.blocks, resources=loaded.resources, names=loaded.names)
        found = self.finding.find(tenant, request, plan, procedures=loaded.procedures)
        pack, evidence = found.pack, found.evidence
        candidates, reasons = self._candidates(tenant, request, loaded, found)
        explain = {
            "steps": ["load", "plan", "retrieve", "fuse", "compose"],
            "plan": pack.plan.to_dict(),
            "retrieved": {**pack.explain, "found": len(evidence), "abstained": pack.abstained,
                          "degraded": [one.to_dict() for one in (*plan.degraded, *pack.degraded)],
                          "ignored_fields": {name: list(fields) for name, fields in pack.ignored_fields.items()},
                          **reasons,
                          "why": {e.item.citation: dict(e.why or {}) for e in candidates.evidence}},
            "summary": {"made_by": loaded.summary.made_by, "lines": len(loaded.summary.blocks)},
        }  # fmt: skip
        package = compose(
            self._masked(candidates),
            budget=request.budget,
            counter=self.counter(),
            context_id=new_id(),
            explain=explain,
            seed=loaded.seed,
        )
        own = request.scope.write_lane
        return package, next((lane.head_seq for lane in lanes if (lane.kind, lane.name) == (own.kind, own.name)), 0)

    def _loaded(self, unit: Unit, lanes: Sequence[Lane], request: Request) -> _Loaded:
        budget, wanted = request.budget, request.wanted
        turns = recent_turns(unit, lanes, request.session_id, last=budget.recent_turn_count, as_of=wanted.as_of)
        # A session that is shown whole has nothing left to sum up. The budget counts messages; a turn has several.
        whole = turns.count < budget.recent_turn_count and len(turns.blocks) <= budget.recent_turn_count
        whole = whole and turns.characters <= CHARACTERS_PER_TOKEN * budget.recent_turns
        core = core_memory(unit, lanes, self.core, wanted, now=request.now)
        summary = WorkingSummary()
        if turns.lane is not None and not whole:
            summary = working_summary(unit, turns.lane, request.session_id, wanted, apart=core.words.keys(),
                                      policy=self.summing, zone=request.zone)  # fmt: skip
        resources = has_documents(unit, [lane.lane_id for lane in lanes])
        names = names_held(unit, lanes, candidates(request.asked)) if request.plan is None else ()
        secret, own = find_secret(unit), request.scope.write_lane
        return _Loaded(
            core, turns, summary, has_procedures(unit, lanes, wanted), resources, names,
            held=any(lane.head_seq for lane in lanes),
            seed=None if secret is None else session_seed(secret, own.kind, own.name, request.session_id),
        )  # fmt: skip

    def _candidates(
        self, tenant: str, request: Request, loaded: _Loaded, found: Found
    ) -> tuple[Candidates, dict[str, Any]]:
        """Return what may be shown (evidence with what disputes it), and why what was found is not among it."""
        standing = self._masked(Candidates(
            user_message=request.message,
            system_blocks=loaded.core.blocks,
            working_summary=loaded.summary.blocks,
            recent_turns=loaded.turns.blocks,
            held=loaded.held,
            zone=request.zone,
        ))  # fmt: skip
        # What a small budget cuts from core memory may be evidence.
        shown = shown_core(
            dataclasses.replace(standing, evidence=found.evidence), budget=request.budget, counter=self.counter()
        )
        apart = frozenset(item_id for item_id in loaded.core.words if f"mem:{item_id}" in shown)
        evidence = [one for one in found.evidence if one.item.id not in apart]
        origins: dict[str, list[str]] = {}
        if loaded.summary.noted or any(one.item.kind != "message" for one in evidence):
            with self.browser.database.transaction(tenant, "read") as unit:
                lanes = visible_lanes(unit, request.scope)
                evidence = side_by_side(unit, lanes, evidence, request.wanted, apart=apart)
                if not self.core.shows_disputes(request.wanted):
                    weaker = outweighed(unit, lanes, [one.item.id for one in evidence], request.wanted)
                    evidence = [dataclasses.replace(one, conflicts=()) for one in evidence if one.item.id not in weaker]
                derived = [one.item.id for one in evidence if one.item.kind != "message"]
                for lane in lanes:
                    taken = [*derived, *loaded.summary.noted]
                    origins |= origins_at(unit, lane.lane_id, taken, request.wanted.as_of)
        leading = {one.item.id for one in found.first}
        chosen = choose_evidence(
            evidence, asked=request.message, abstaining=found.abstaining, origins=origins,
            core=InCoreMemory([words for item_id, words in loaded.core.words.items() if item_id in apart],
                              [one for one in found.evidence if one.item.id in apart]),
            first=sum(one.item.id in leading for one in evidence), tools=found.asked_filters,
            documents=found.pack.plan.resources_needed,
        )  # fmt: skip
        candidates = dataclasses.replace(
            standing,
            evidence=chosen.shown,
            taken_from={f"mem:{key}": tuple(f"mem:{one}" for one in named) for key, named in origins.items()},
        )
        named = {one.item.id for one in chosen.shown} | apart
        left_out = dict(chosen.left_out)
        reasons = {
            "outweighed": [one.item.citation for one in found.evidence
                           if one.item.id not in named and one.item.citation not in left_out],
            "left_out": [{"citation": one, "reason": reason} for one, reason in left_out.items()],
        }  # fmt: skip
        return candidates, reasons

    def _masked(self, candidates: Candidates) -> Candidates:
        return masked(candidates) if self.masks else candidates


def scaled(budget: Budget, total: int) -> Budget:
    """Give a budget of another total, its token slots in the same proportions."""
    share = total / budget.total
    slots = ("system_blocks", "working_summary", "recent_turns", "evidence")
    return dataclasses.replace(budget, total=total, **{name: int(getattr(budget, name) * share) for name in slots})
