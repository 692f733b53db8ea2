"""Verbs of retrieval: plan builds a query plan from a message, retrieve executes it."""

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from phronesis.core.ids import Scope, make_scope
from phronesis.core.lazy_loading import lazy_module
from phronesis.core.text import check_id, check_text, replace_unstorable
from phronesis.core.timestamps import Moment, optional_moment
from phronesis.log import inputs
from phronesis.log.inputs import share
from phronesis.memory.reading import note_found
from phronesis.memory.runtime import Verbs
from phronesis.store.eligible import ReadConditions
from phronesis.telemetry import traced

if TYPE_CHECKING:
    from phronesis.compose import assembly, session_history
    from phronesis.core import evidence_pack, retrieval_plan
    from phronesis.log import payloads
    from phronesis.recall import as_of as held
    from phronesis.recall import entities, planner
    from phronesis.recall.scoring import weights
else:
    assembly = lazy_module("phronesis.compose.assembly")
    evidence_pack = lazy_module("phronesis.core.evidence_pack")
    held = lazy_module("phronesis.recall.as_of")
    planner = lazy_module("phronesis.recall.planner")
    entities = lazy_module("phronesis.recall.entities")
    payloads = lazy_module("phronesis.log.payloads")
    retrieval_plan = lazy_module("phronesis.core.retrieval_plan")
    session_history = lazy_module("phronesis.compose.session_history")
    weights = lazy_module("phronesis.recall.scoring.weights")

MAX_EVIDENCE: Final = 1_000
"""Maximum pieces of evidence of one plan."""


class RetrievalVerbs(Verbs):
    """The verbs plan and retrieve."""

    def plan(
        self,
        message: str,
        *,
        session_id: str | None = None,
        user_id: str | None = None,
        agent_id: str | None = None,
        namespace: str | None = None,
        agent_state: Mapping[str, Any] | None = None,
        as_of: Moment | None = None,
        valid_at: Moment | None = None,
        limit: int | None = None,
        time_zone: str | None = None,
    ) -> "retrieval_plan.RetrievalPlan":
        """Return the query plan for a message: intent, queries, names, time, and whether resources are needed.

        By rules, or by the model of the role ``plan``. With ``session_id``, "it" and 那个 refer to what that session
        said last; the text under ``goal``, ``task`` and ``topic`` of ``agent_state`` becomes a query. "Yesterday"
        counts from ``valid_at``, else ``as_of``, else the clock, in ``time_zone`` (an IANA name; default: the
        policy's). ``limit`` is the total number of pieces of evidence; default: the policy's.
        ``RetrievalPlan.from_dict`` reads a caller's own plan. Nothing is stored.

        InputError names a wrong field.
        """
        text = replace_unstorable(check_text(message, field="message"))
        scope = make_scope(user_id=user_id, namespace=namespace, agent_id=agent_id)
        session = None if session_id is None else check_id(session_id, field="session_id")
        wanted = self._runtime.read_conditions(as_of=as_of, valid_at=valid_at)
        components = self._components
        asked = planner.PlanRequest(
            message=text,
            scope=scope,
            recent=self._recent_texts(scope, session, wanted),
            agent_state=payloads.fit(inputs.metadata(agent_state, field="agent_state")),
            limit=None if limit is None else inputs.limit(limit, most=MAX_EVIDENCE),
            as_of=optional_moment(wanted.as_of),
            valid_at=optional_moment(wanted.valid_at),
            now=entities.reference_time(wanted, components.clock()).astimezone(self._runtime.zone(time_zone)),
        )
        return components.planner.plan(self._tenant, asked)

    def _recent_texts(self, scope: Scope, session_id: str | None, wanted: ReadConditions) -> tuple[str, ...]:
        """Return the last texts of a session, oldest first."""
        if session_id is None:
            return ()
        with self._reading() as unit:
            lanes = held.visible_lanes(unit, scope)
            turns = session_history.recent_turns(unit, lanes, session_id, last=assembly.RECENT, as_of=wanted.as_of)
        return tuple(block.text for block in turns.blocks if not block.fenced)

    @traced("search_memory", "evidence")
    def retrieve(
        self, plan: "retrieval_plan.RetrievalPlan | Mapping[str, Any]", *, min_score: float | None = None
    ) -> "evidence_pack.EvidencePack":
        """Execute a plan: return evidence of conversation memory and of resources as one list, best first.

        ``plan`` is a result of ``plan``, perhaps changed, or the same as a mapping; its ``scope`` says whose memory is
        read. Each result's ``score`` is its relevance from 0 to 1, or the reranker's score, and ``why`` holds its
        signals by name. ``ignored_fields`` lists the plan fields that a retriever could not use, ``explain`` the fate
        of every candidate, ``degraded`` the model or server that was unavailable. It abstains if no retriever found
        support; the best score is then below the pack's ``threshold``. ``min_score`` drops lower scores.

        InputError names the wrong field of the plan.
        """
        checked = retrieval_plan.plan_of(plan)
        least = None if min_score is None else share(min_score, field="min_score")
        pack = self._components.plan_executor.retrieve(self._tenant, checked)
        if least is not None:
            kept = weights.at_least(pack.evidence, least)
            pack = replace(pack, evidence=kept, abstained=pack.abstained or not kept)
        note_found(self._runtime, checked.scope, [one.item for one in pack])
        return pack
