"""The planner: from a message to a retrieval plan, by rules, or by a model with the rules in its stead (SB-06)."""

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from phronesis.core.plan import RetrievalPlan
from phronesis.core.scope import Scope
from phronesis.recall.planning.asking import PlanAsker, Shown, planned_by_model
from phronesis.recall.planning.deciding import decide
from phronesis.recall.planning.entities import KnownNames, candidates, entities_in
from phronesis.recall.planning.querying import sub_plan, word_queries
from phronesis.recall.planning.reading import language_of, read_message
from phronesis.recall.planning.windowing import window_of

SHARE: Final = 0.4
"""The part of the evidence that is memory where resources are asked too (source: the plan of SmartBrain, 7.4)."""

LIMIT: Final = 12
"""Pieces of evidence of one plan (ours: those of a context's default budget)."""

_log = logging.getLogger("phronesis.plan")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """A checked call of ``plan``.

    ``recent`` are texts that were said before, oldest first: what "it" means is sought in them. ``resources`` says
    whether the scope has any, None where that is not known. ``now`` is the time that the message's words count from.
    ``names`` are what of the message are names in the scope, None where nobody has looked yet.
    """

    message: str
    scope: Scope = field(default_factory=Scope)
    now: datetime | None = None
    recent: Sequence[str] = ()
    agent_state: Mapping[str, Any] = field(default_factory=dict)
    resources: bool | None = None
    limit: int | None = None
    as_of: datetime | None = None
    valid_at: datetime | None = None
    names: Collection[str] | None = None


@dataclass(frozen=True, slots=True)
class Planner:
    """Makes plans. ``asker`` is the model of the role ``plan``; None: rules. Thread-safe; it never writes."""

    clock: Callable[[], datetime]
    asker: PlanAsker | None = None
    known: KnownNames | None = None
    limit: int = LIMIT
    share: float = SHARE

    def plan(self, tenant: str, asked: PlanRequest) -> RetrievalPlan:
        """Give the plan for a message. It raises nothing that a text or a model causes."""
        now = asked.now or asked.valid_at or asked.as_of or self.clock()
        plan = self._by_rules(tenant, asked, now)
        if self.asker is not None:
            shown = Shown(asked.message, now, asked.recent, asked.agent_state, asked.resources)
            plan = planned_by_model(self.asker, tenant, plan, shown)
        plan = plan.named()
        _log.debug(
            "plan %s: intent %s, resources %s, %d queries, by %s",
            plan.id, plan.intent, plan.resources_needed, len(plan.queries), plan.made_by,
        )  # fmt: skip
        return plan

    def _names(self, tenant: str, asked: PlanRequest) -> Collection[str]:
        if asked.names is not None:
            return asked.names
        return () if self.known is None else self.known(tenant, asked.scope, candidates(asked.message))

    def _by_rules(self, tenant: str, asked: PlanRequest, now: datetime) -> RetrievalPlan:
        message = read_message(asked.message)
        decided = decide(message)
        entities = entities_in(asked.message, self._names(tenant, asked))
        window = window_of(decided, now)
        wordings = word_queries(
            message, decided, whole=asked.message, entities=entities, recent=asked.recent, state=asked.agent_state
        )
        limit = asked.limit or self.limit
        library = decided.needs and asked.resources is not False
        reasons = [*decided.reasons]
        if decided.needs and not library:
            reasons.append("there are no resources in this scope: memory alone is asked")
        if window is not None:
            reasons.append(f"the time is that of {window.words!r}")
        if any(query.origin == "expansion" for query in wordings.every):
            reasons.append("it goes on with what was said before")
        return RetrievalPlan(
            id="",
            message=asked.message,
            intent=decided.intent,
            language=language_of(asked.message),
            queries=wordings.every,
            entities=entities,
            time=window,
            resources_needed=decided.needs,
            memory=sub_plan("memory", wordings.memory, limit, self.share if library else 1.0),
            resources=sub_plan("resources", wordings.resources, limit, 1 - self.share) if library else None,
            limit=limit,
            share=self.share,
            scope=asked.scope,
            as_of=asked.as_of,
            valid_at=asked.valid_at,
            reasons=tuple(reasons),
        )
