"""What a context needs to know: a plan for the message, and the evidence that carrying it out gives."""

import dataclasses
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

from phronesis.compose.procedures import bearing_procedures
from phronesis.compose.requests import Request
from phronesis.core.context import Block, Budget
from phronesis.core.instants import optional_moment
from phronesis.core.packs import EvidencePack
from phronesis.core.plan import RetrievalPlan, Store
from phronesis.core.results import Evidence
from phronesis.recall.manner import Encodings, Manner
from phronesis.recall.planning.planner import Planner, PlanRequest
from phronesis.recall.planning.querying import STATE_FIELDS
from phronesis.recall.reranking import Search
from phronesis.recall.retrieving.local import MEMORY
from phronesis.recall.retrieving.retrieving import Retrieving
from phronesis.recall.search import Query

RECENT: Final = 2
"""Turns of the session in which a plan looks for what "it" means."""


@dataclass(frozen=True, slots=True)
class Found:
    """A plan carried out. ``first`` is what comes before the evidence of the pack: procedures that bear on it."""

    pack: EvidencePack
    first: Sequence[Evidence] = ()

    @property
    def evidence(self) -> list[Evidence]:
        """Give all of it, each item once."""
        named = {one.item.id for one in self.first}
        return [*self.first, *(one for one in self.pack if one.item.id not in named)]

    @property
    def abstaining(self) -> Collection[Store]:
        """Give the stores in which nothing supports an answer."""
        told = self.pack.explain.get("retrievers", {})
        answering = {_store(name) for name, one in told.items() if not one["abstained"]}
        return {_store(name) for name in told} - answering

    @property
    def asked_filters(self) -> bool:
        """Whether the plan names what it is after by filters of its own."""
        plan = self.pack.plan
        return any(
            one is not None for one in (plan.filters, *(sub and sub.filters for sub in (plan.memory, plan.resources)))
        )


@dataclass(frozen=True, slots=True)
class Finding:
    """Plans, and finds. It never writes."""

    planner: Planner
    retrieving: Retrieving
    searcher: Search

    def plan(
        self, tenant: str, request: Request, turns: Sequence[Block], *, resources: bool, names: Collection[str]
    ) -> RetrievalPlan:
        """Give the caller's plan, in the scope and of the times of this call, or a new one.

        ``turns`` are the recent ones; ``resources`` says whether the scope has any documents, ``names`` what of the
        message are names there.
        """
        scope = dataclasses.replace(request.scope, session_id=None)
        as_of, valid_at = optional_moment(request.wanted.as_of), optional_moment(request.wanted.valid_at)
        if request.plan is not None:
            return dataclasses.replace(request.plan, scope=scope, as_of=as_of, valid_at=valid_at)
        recent = tuple(block.text for block in turns if not block.fenced)[-RECENT:]
        asked = PlanRequest(
            message=request.asked, scope=scope, now=request.now, recent=recent, agent_state=request.agent_state,
            resources=resources or self.retrieving.remote, limit=limit_of(request.budget),
            as_of=as_of, valid_at=valid_at, names=names,
        )  # fmt: skip
        return self.planner.plan(tenant, asked)

    def find(self, tenant: str, request: Request, plan: RetrievalPlan, *, procedures: bool) -> Found:
        """Carry a plan out; what the user wants done in this way comes before what was found."""
        encodings = Encodings()
        pack = self.retrieving.retrieve(tenant, plan, encodings)
        if not procedures:
            return Found(pack)
        asked = Query(_said(request), plan.scope, request.wanted, limit_of(request.budget), explain=True,
                      manner=Manner(encodings=encodings))  # fmt: skip
        return Found(pack, bearing_procedures(self.searcher, tenant, asked))


def _store(retriever: str) -> Store:
    return "memory" if retriever == MEMORY else "resources"


def _said(request: Request) -> str:
    """Give the message with what the agent is about."""
    state = [request.agent_state.get(name) for name in STATE_FIELDS]
    return " ".join([request.asked, *(text for text in state if isinstance(text, str) and text.strip())])


def limit_of(budget: Budget) -> int:
    """Give how much evidence is asked for: some of it stands in recent turns already."""
    return budget.evidence_count + 2 * budget.recent_turn_count
