"""From a session and a message to a context: load, plan, retrieve, fuse, compose, in that fixed order."""

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, Final

import uuid_utils

from phronesis.compose.composer import compose
from phronesis.core.context import Block, Budget, Candidates, ContextPackage
from phronesis.core.entries import is_erased
from phronesis.core.ids import item_id
from phronesis.core.items import Item, Trust
from phronesis.core.results import SearchResult, Turn
from phronesis.core.scope import Scope
from phronesis.models.token_counter import TokenCounter
from phronesis.recall.browse import Browser, items_of, turns_of
from phronesis.recall.lanes import visible_lanes
from phronesis.recall.reranking import Search
from phronesis.recall.search import Query
from phronesis.storage.database import Unit
from phronesis.storage.eligible import Wanted, quarantined_ids
from phronesis.storage.lanes import Lane

CORE_KINDS: Final = ("profile", "preference")
"""What a person is and prefers: in every context of theirs, before anything is searched."""

MAX_CORE: Final = 60
"""Core items considered; the slot's budget decides how many are shown."""

MAX_SUMMARISED: Final = 24
"""Earlier messages of the session that the summary draws on."""

OPENING_CHARACTERS: Final = 160
"""Characters of an earlier message that the summary quotes: its first sentence, or this much of it."""

STATE_FIELDS: Final = ("goal", "task", "topic")
"""Fields of ``agent_state`` whose words join the question: what the agent is about."""

_SENTENCE: Final = re.compile(r"[^.!?。！？\n]*[.!?。！？]?")


@dataclass(frozen=True, slots=True)
class Request:
    """A checked call of ``compose_context``."""

    session_id: str
    message: str
    scope: Scope
    budget: Budget
    agent_state: Mapping[str, Any]
    wanted: Wanted


@dataclass(frozen=True, slots=True)
class Assembler:
    """Gathers what a context is made of, and composes it. It never writes."""

    browser: Browser
    searcher: Search
    counter: Callable[[], TokenCounter]

    def assemble(self, tenant: str, request: Request) -> ContextPackage:
        """Give the package for a message of a session; BudgetTooSmall when the message alone does not fit."""
        budget, as_of = request.budget, request.wanted.as_of
        with self.browser.database.transaction(tenant, "read") as unit:
            lanes = visible_lanes(unit, request.scope)
            recent = turns_of(unit, lanes, request.session_id, last=budget.recent_turn_count, as_of=as_of)
            shown = {turn.entry_id for turn in recent}
            held = quarantined_ids(unit, [lane.lane_id for lane in lanes]) if recent else frozenset()
            core = _core(unit, lanes, request.wanted)
            # A session that is shown whole has nothing left to sum up.
            summary = _summary(unit, lanes, request, shown) if len(recent) >= budget.recent_turn_count else []
        query = _question(request)
        found = self._evidence(tenant, request, query)
        kept = [e for e in found if e.item.entry_id not in shown and e.item.id not in {item.id for item in core}]
        candidates = Candidates(
            user_message=request.message,
            system_blocks=[_core_block(item) for item in core],
            working_summary=summary,
            recent_turns=[block for turn in recent for block in _turn_blocks(turn, held)],
            evidence=kept[: 2 * request.budget.evidence_count],
        )
        explain = {
            "steps": ["load", "plan", "retrieve", "fuse", "compose"],
            "plan": {"query": query, "kinds": request.wanted.kinds, "limit": len(found)},
            "retrieved": {**dict(found.explain or {}), "found": len(found), "abstained": found.abstained,
                          "degraded": [one.to_dict() for one in found.degraded],
                          "why": {e.item.citation: dict(e.why or {}) for e in kept[: request.budget.evidence_count]}},
        }  # fmt: skip
        return compose(
            candidates,
            budget=request.budget,
            counter=self.counter(),
            context_id=str(uuid_utils.uuid7()),
            explain=explain,
        )

    def _evidence(self, tenant: str, request: Request, query: str) -> SearchResult:
        scope = dataclasses.replace(request.scope, session_id=None)
        limit = request.budget.evidence_count + 2 * request.budget.recent_turn_count
        return self.searcher.search(tenant, Query(query, scope, request.wanted, limit, explain=True))


def _core(unit: Unit, lanes: Sequence[Lane], wanted: Wanted) -> list[Item]:
    """The scope's profile and preferences and whatever is pinned, most important first."""
    items = items_of(unit, lanes, dataclasses.replace(wanted, filters={"pinned": True}), limit=MAX_CORE)
    items += items_of(unit, lanes, dataclasses.replace(wanted, kinds=CORE_KINDS), limit=MAX_CORE)
    distinct = {item.id: item for item in items}
    return sorted(distinct.values(), key=lambda item: (not item.pinned, -item.importance))


def _summary(unit: Unit, lanes: Sequence[Lane], request: Request, shown: set[str]) -> list[Block]:
    """The openings of what the user said earlier in this session, oldest first: the summary without a model."""
    attributes = {"session_id": request.session_id, "role": "user"}
    wanted = dataclasses.replace(request.wanted, kinds=("message",), attributes=attributes)
    items = items_of(unit, lanes, wanted, limit=request.budget.recent_turn_count + MAX_SUMMARISED)
    earlier = [item for item in reversed(items) if item.entry_id not in shown]
    return [
        Block(text=_opening(item.content), citations=(item.citation,), role="user", fenced=True)
        for item in earlier[-MAX_SUMMARISED:]
    ]


def scaled(budget: Budget, total: int) -> Budget:
    """Give a budget of another total, its token slots in the same proportions."""
    share = total / budget.total
    slots = ("system_blocks", "working_summary", "recent_turns", "evidence")
    return dataclasses.replace(budget, total=total, **{name: int(getattr(budget, name) * share) for name in slots})


def _question(request: Request) -> str:
    state = [request.agent_state.get(name) for name in STATE_FIELDS]
    return " ".join([request.message, *(text for text in state if isinstance(text, str) and text.strip())])


def _core_block(item: Item) -> Block:
    return Block(text=item.content, citations=(item.citation,), fenced=item.trust < Trust.USER)


def _turn_blocks(turn: Turn, held: AbstractSet[str]) -> Sequence[Block]:
    """Give what was said; what is in quarantine is data, whoever said it."""
    blocks: list[Block] = []
    for n, message in enumerate(turn.messages):
        if is_erased(message):
            continue
        text = _words(message.get("content"))
        if text.strip():
            role = str(message.get("role", "user"))
            fenced = role not in ("user", "assistant") or item_id(turn.entry_id, "message", str(n)) in held
            blocks.append(Block(text=text, role=role, name=message.get("name"), fenced=fenced))
    return blocks


def _words(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "\n".join(part["text"] for part in parts if isinstance(part, dict) and isinstance(part.get("text"), str))


def _opening(text: str) -> str:
    flat = " ".join(text.split())
    found = _SENTENCE.match(flat)
    first = found[0].strip() if found is not None and found[0].strip() else flat
    return first if len(first) <= OPENING_CHARACTERS else first[: OPENING_CHARACTERS - 1].rstrip() + "…"
