"""From a session and a message to a context: load, plan, retrieve, fuse, compose, in that fixed order."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import uuid_utils

from phronesis.compose.composer import compose
from phronesis.compose.core_memory import CoreMemory, CorePolicy, core_memory
from phronesis.compose.disputes import side_by_side
from phronesis.compose.procedures import bearing_procedures, has_procedures
from phronesis.compose.summary import WorkingSummary, working_summary
from phronesis.compose.turns import RecentTurns, recent_turns
from phronesis.core.context import Budget, Candidates, ContextPackage
from phronesis.core.results import SearchResult
from phronesis.core.scope import Scope
from phronesis.models.token_counter import TokenCounter
from phronesis.recall.browse import Browser
from phronesis.recall.lanes import visible_lanes
from phronesis.recall.reranking import Search
from phronesis.recall.search import Query
from phronesis.storage.database import Unit
from phronesis.storage.eligible import Wanted
from phronesis.storage.lanes import Lane
from phronesis.storage.relations import origins_of

STATE_FIELDS: Final = ("goal", "task", "topic")
"""Fields of ``agent_state`` whose words join the question: what the agent is about."""

CHARACTERS_PER_TOKEN: Final = 4
"""Of English text, about (OpenAI's rule of thumb): tells whether turns may be too long for their slot."""


@dataclass(frozen=True, slots=True)
class Request:
    """A checked call of ``compose_context``; ``now`` tells what is due."""

    session_id: str
    message: str
    scope: Scope
    budget: Budget
    agent_state: Mapping[str, Any]
    wanted: Wanted
    now: datetime


@dataclass(frozen=True, slots=True)
class _Loaded:
    """What is there before anything is searched."""

    core: CoreMemory
    turns: RecentTurns
    summary: WorkingSummary
    procedures: bool


@dataclass(frozen=True, slots=True)
class Assembler:
    """Gathers what a context is made of, and composes it. It never writes."""

    browser: Browser
    searcher: Search
    counter: Callable[[], TokenCounter]
    core: CorePolicy = CorePolicy()  # noqa: RUF009 - frozen

    def assemble(self, tenant: str, request: Request) -> ContextPackage:
        """Give the package for a message of a session; BudgetTooSmall when the message alone does not fit."""
        with self.browser.database.transaction(tenant, "read") as unit:
            loaded = self._loaded(unit, visible_lanes(unit, request.scope), request)
        query = _question(request)
        found = self._found(tenant, request, query, procedures=loaded.procedures)
        candidates = self._candidates(tenant, request, loaded, found)
        explain = {
            "steps": ["load", "plan", "retrieve", "fuse", "compose"],
            "plan": {"query": query, "kinds": request.wanted.kinds, "limit": _limit(request.budget)},
            "retrieved": {**dict(found.explain or {}), "found": len(found), "abstained": found.abstained,
                          "degraded": [one.to_dict() for one in found.degraded],
                          "why": {e.item.citation: dict(e.why or {}) for e in candidates.evidence}},
            "summary": {"made_by": loaded.summary.made_by, "lines": len(loaded.summary.blocks)},
        }  # fmt: skip
        return compose(
            candidates,
            budget=request.budget,
            counter=self.counter(),
            context_id=str(uuid_utils.uuid7()),
            explain=explain,
        )

    def _loaded(self, unit: Unit, lanes: Sequence[Lane], request: Request) -> _Loaded:
        budget, wanted = request.budget, request.wanted
        turns = recent_turns(unit, lanes, request.session_id, last=budget.recent_turn_count, as_of=wanted.as_of)
        # A session that is shown whole has nothing left to sum up.
        whole = turns.count < budget.recent_turn_count
        whole = whole and turns.characters <= CHARACTERS_PER_TOKEN * budget.recent_turns
        core = core_memory(unit, lanes, self.core, wanted, now=request.now)
        summary = WorkingSummary()
        if turns.lane is not None and not whole:
            summary = working_summary(unit, turns.lane, request.session_id, wanted, apart=core.item_ids)
        return _Loaded(core, turns, summary, has_procedures(unit, lanes, wanted))

    def _found(self, tenant: str, request: Request, query: str, *, procedures: bool) -> SearchResult:
        """Search; what the user wants done in this way comes before what was found."""
        scope = dataclasses.replace(request.scope, session_id=None)
        limit = _limit(request.budget)
        asked = Query(query, scope, request.wanted, limit, explain=True)
        found = self.searcher.search(tenant, asked)
        if not procedures:
            return found
        first = bearing_procedures(self.searcher, tenant, asked)
        named = {one.item.id for one in first}
        rest = [one for one in found if one.item.id not in named]
        return dataclasses.replace(found, evidence=(*first, *rest))

    def _candidates(self, tenant: str, request: Request, loaded: _Loaded, found: SearchResult) -> Candidates:
        """Put together what may be shown: evidence with what disputes it, and what was taken from which message."""
        apart = loaded.core.item_ids
        evidence = [one for one in found if one.item.id not in apart]
        origins: dict[str, list[str]] = {}
        if loaded.summary.noted or any(one.item.kind != "message" for one in evidence):
            with self.browser.database.transaction(tenant, "read") as unit:
                lanes = visible_lanes(unit, request.scope)
                evidence = side_by_side(unit, lanes, evidence, request.wanted, apart=apart)
                derived = [one.item.id for one in evidence if one.item.kind != "message"]
                for lane in lanes:
                    origins |= origins_of(unit, lane.lane_id, [*derived, *loaded.summary.noted])
        return Candidates(
            user_message=request.message,
            system_blocks=loaded.core.blocks,
            working_summary=loaded.summary.blocks,
            recent_turns=loaded.turns.blocks,
            evidence=evidence,
            taken_from={f"mem:{key}": tuple(f"mem:{one}" for one in named) for key, named in origins.items()},
        )


def scaled(budget: Budget, total: int) -> Budget:
    """Give a budget of another total, its token slots in the same proportions."""
    share = total / budget.total
    slots = ("system_blocks", "working_summary", "recent_turns", "evidence")
    return dataclasses.replace(budget, total=total, **{name: int(getattr(budget, name) * share) for name in slots})


def _limit(budget: Budget) -> int:
    """Give how many memories are searched for: some of them stand in recent turns already."""
    return budget.evidence_count + 2 * budget.recent_turn_count


def _question(request: Request) -> str:
    state = [request.agent_state.get(name) for name in STATE_FIELDS]
    return " ".join([request.message, *(text for text in state if isinstance(text, str) and text.strip())])
