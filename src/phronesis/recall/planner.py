"""The query planner: plans by rules, and plans by a model whose fields are validated against the rules' plan.

The rules plan first, and the model's answer changes their plan: an invalid field is dropped with a reason and the
rules' value stays. The message is always the first query. A time found by the rules is kept, because models are
unreliable at calendar arithmetic.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time
from typing import Annotated, Any, Final

import pydantic

from phronesis.core.data_delimiters import choose_boundary
from phronesis.core.ids import Scope
from phronesis.core.items import KINDS
from phronesis.core.results import Degraded
from phronesis.core.retrieval_plan import INTENTS, MAX_QUERIES, STORES, Intent, RetrievalPlan, SubQuery, TimeWindow
from phronesis.models.structured_client import StructuredClient, Task, drop_invalid, prompt
from phronesis.recall.intent import decide, excerpt, language_of, read_message
from phronesis.recall.plan_queries import distinct, entities_in, known_names, sub_plan, window_of, word_queries
from phronesis.store.database import Database

ROLE: Final = "plan"
PROMPT_VERSION: Final = "plan/2"
RULES_VERSION: Final = "plan-rules/2"

MAX_MESSAGE: Final = 4_000
MAX_RECENT: Final = 4
MAX_TURN: Final = 500
"""Maximum characters of the message shown, number of recent turns, and characters of each."""

MAX_TEXT: Final = 400
"""Maximum characters of a query, an entity or a reason."""

SAID: Final = "message"
"""The kind that is always included: a narrow choice must not hide the answer."""


def _all_required(schema: dict[str, Any]) -> None:
    """Mark every field as required, as servers' strict mode demands; answers may still lack some."""
    schema["required"] = list(schema["properties"])
    schema["additionalProperties"] = False
    for member in schema["properties"].values():
        member.pop("default", None)


_WIDE: Final = pydantic.ConfigDict(extra="ignore", json_schema_extra=_all_required)


def _words(words: Sequence[str]) -> pydantic.WithJsonSchema:
    return pydantic.WithJsonSchema({"type": "string", "enum": list(words)})


class ProposedQuery(pydantic.BaseModel):
    """A wording as a model gives it."""

    model_config = _WIDE

    text: Annotated[str, pydantic.Field(max_length=20_000)]
    weight: float = 0.8
    store: Annotated[str, _words([*STORES, "both"])] = "both"


class ProposedTime(pydantic.BaseModel):
    """A time as a model gives it."""

    model_config = _WIDE

    since: Annotated[str, pydantic.Field(max_length=40)] = ""
    until: Annotated[str, pydantic.Field(max_length=40)] = ""
    words: Annotated[str, pydantic.Field(max_length=2_000)] = ""


class ProposedPlan(pydantic.BaseModel):
    """The answer asked for. Its fields are wide: each is looked at on its own, and what does not hold is dropped."""

    model_config = _WIDE

    intent: Annotated[str, _words(INTENTS)] = ""
    resources_needed: bool
    reason: Annotated[str, pydantic.Field(max_length=20_000)] = ""
    queries: Annotated[list[ProposedQuery], drop_invalid(ProposedQuery), pydantic.Field(max_length=64)] = []
    entities: Annotated[list[str], pydantic.Field(max_length=256)] = []
    time: ProposedTime | None = None
    kinds: Annotated[list[str], pydantic.Field(max_length=64)] = []


SHARE: Final = 0.4
"""Share of memory in the evidence if resources are searched too (source: the plan of SmartBrain, 7.4)."""

LIMIT: Final = 12
"""Pieces of evidence of one plan (our choice: as in a context's default budget)."""

_log = logging.getLogger("phronesis.plan")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """A validated call of ``plan``.

    ``recent`` are earlier texts, oldest first, in which "it" is resolved. ``resources`` says whether the scope has any,
    None if unknown. ``now`` is the reference time of the message's relative times.
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


def _planned_by_model(
    asker: StructuredClient, tenant: str, rules: RetrievalPlan, asked: PlanRequest, now: datetime
) -> RetrievalPlan:
    """Return the rules' plan changed by the model's answer or, without one, unchanged with ``degraded``."""
    wanted = prompt(ROLE).replace("{max_queries}", str(MAX_QUERIES - 2)).replace("{kinds}", ", ".join(KINDS[:11]))
    answer = asker.ask(tenant, Task(wanted, _fenced(rules.id, asked, now), ProposedPlan))
    if answer.value is None:
        return replace(rules, degraded=(Degraded(ROLE, answer.reason, RULES_VERSION, asker.name),))
    return _merged(rules, answer.value, asked, made_by=f"{asker.name} {PROMPT_VERSION}")


def _fenced(plan_id: str, shown: PlanRequest, now: datetime) -> str:
    recent = [excerpt(text, MAX_TURN) for text in shown.recent[-MAX_RECENT:]]
    state = "\n".join(
        f"{name}: {value}"[:MAX_TEXT] for name, value in shown.agent_state.items() if isinstance(value, str)
    )
    message = excerpt(shown.message, MAX_MESSAGE)
    boundary = choose_boundary(plan_id, [*recent, state, message])
    lines = [f"now: {now:%Y-%m-%d, %A}"]
    lines += [boundary.turn('part="recent"', text) for text in recent]
    lines += [boundary.turn('part="state"', state)] if state else []
    return "\n".join([*lines, boundary.turn('part="message"', message)])


def _merged(rules: RetrievalPlan, said: ProposedPlan, shown: PlanRequest, *, made_by: str) -> RetrievalPlan:
    dropped: list[str] = []
    intent: Intent = next((one for one in INTENTS if one == said.intent), rules.intent)
    if intent != said.intent:
        dropped.append("the model's intent is none of those there are; the rules' stands")
    window = rules.time or _window(said.time, shown.message, dropped)
    kinds = _kinds(said.kinds, dropped)
    queries = _queries(said.queries, dropped)
    first, *others = rules.queries
    rest = [one for one in others if one.origin == "state"] if queries else others

    def queries_for(store: str) -> tuple[SubQuery, ...]:
        return distinct([first, *(one for one, of in queries if of in (store, "both")), *rest])

    needs = said.resources_needed
    share = rules.share if needs and shown.resources is not False else 1.0
    memory = replace(sub_plan("memory", queries_for("memory"), rules.limit, share), kinds=kinds)
    library = sub_plan("resources", queries_for("resources"), rules.limit, 1 - rules.share)
    reason = " ".join(said.reason.split())[:MAX_TEXT] or "the model says so"
    return replace(
        rules,
        intent=intent,
        queries=distinct([first, *(one for one, _ in queries), *rest]),
        kinds=kinds,
        time=window,
        entities=_entities(said.entities, rules, shown.message, dropped),
        resources_needed=needs,
        memory=memory,
        resources=library if needs and shown.resources is not False else None,
        reasons=(reason, *dropped),
        made_by=made_by,
    )


def _queries(given: Sequence[ProposedQuery], dropped: list[str]) -> list[tuple[SubQuery, str]]:
    out: list[tuple[SubQuery, str]] = []
    for one in given:
        text = " ".join(one.text.split())[:MAX_TEXT]
        if not text:
            dropped.append("a query of the model says nothing; it is dropped")
            continue
        weight = one.weight if 0 < one.weight <= 1 else 1.0 if one.weight > 1 else 0.1
        if weight != one.weight:
            dropped.append("a query's weight is not above 0 and up to 1; it is clipped")
        out.append((SubQuery(text, weight, "model"), one.store if one.store in STORES else "both"))
    if len(out) > MAX_QUERIES - 1:
        dropped.append(f"the model gave {len(out)} queries; the first {MAX_QUERIES - 1} are kept")
    return out[: MAX_QUERIES - 1]


def _window(given: ProposedTime | None, message: str, dropped: list[str]) -> TimeWindow | None:
    if given is None:
        return None
    if not given.words.strip() or given.words.casefold().strip() not in message.casefold():
        dropped.append("the model's time is named by no words of the message; it is dropped")
        return None
    try:
        since, until = (date.fromisoformat(text.strip()[:10]) for text in (given.since, given.until))
    except ValueError:
        dropped.append("the model's time is no date; it is dropped")
        return None
    if since >= until:
        dropped.append("the model's time ends before it begins; it is dropped")
        return None
    return TimeWindow(
        datetime.combine(since, time(), UTC), datetime.combine(until, time(), UTC), given.words.strip()[:MAX_TEXT]
    )


def _kinds(given: Sequence[str], dropped: list[str]) -> tuple[str, ...] | None:
    known = [kind for kind in KINDS if kind in given]
    if len(known) < len(set(given)):
        dropped.append("the model names kinds that there are not; they are dropped")
    return tuple(dict.fromkeys([*known, SAID])) if known else None


def _entities(given: Sequence[str], rules: RetrievalPlan, message: str, dropped: list[str]) -> tuple[str, ...]:
    low = message.casefold()
    names = [" ".join(name.split())[:MAX_TEXT] for name in given]
    held = [name for name in names if name and name.casefold() in low]
    if len(held) < len(given):
        dropped.append("the model names entities that the message does not; they are dropped")
    return tuple(dict.fromkeys([*rules.entities, *held]))[:16]


@dataclass(frozen=True, slots=True)
class Planner:
    """Makes plans. ``asker`` is the model of the role ``plan``; None: rules only. Thread-safe; it never writes.

    ``database`` holds the names that are known; None: it knows none.
    """

    clock: Callable[[], datetime]
    asker: StructuredClient | None = None
    database: Database | None = None
    limit: int = LIMIT
    share: float = SHARE

    def plan(self, tenant: str, asked: PlanRequest) -> RetrievalPlan:
        """Return the plan for a message. No text or model makes it raise."""
        now = asked.now or asked.valid_at or asked.as_of or self.clock()
        plan = self._by_rules(tenant, asked, now)
        if self.asker is not None:
            plan = _planned_by_model(self.asker, tenant, plan, asked, now)
        plan = plan.named()
        told = (plan.id, plan.intent, plan.resources_needed, len(plan.queries), plan.made_by)
        _log.debug("plan %s: intent %s, resources %s, %d queries, by %s", *told)
        return plan

    def _by_rules(self, tenant: str, asked: PlanRequest, now: datetime) -> RetrievalPlan:
        message = read_message(asked.message)
        decided = decide(message)
        names = () if self.database is None else known_names(self.database, tenant, asked.scope, asked.message)
        entities = entities_in(asked.message, names)
        window = window_of(decided, now)
        queries, of_memory, of_resources = word_queries(
            message, decided, whole=asked.message, entities=entities, recent=asked.recent, state=asked.agent_state
        )
        limit = asked.limit or self.limit
        library = decided.needs and asked.resources is not False
        reasons = [*decided.reasons]
        if decided.needs and not library:
            reasons.append("there are no resources in this scope: memory alone is asked")
        if window is not None:
            reasons.append(f"the time is that of {window.words!r}")
        if any(query.origin == "expansion" for query in queries):
            reasons.append("it goes on with what was said before")
        return RetrievalPlan(
            id="",
            message=asked.message,
            intent=decided.intent,
            language=language_of(asked.message),
            queries=queries,
            entities=entities,
            time=window,
            resources_needed=decided.needs,
            memory=sub_plan("memory", of_memory, limit, self.share if library else 1.0),
            resources=sub_plan("resources", of_resources, limit, 1 - self.share) if library else None,
            limit=limit,
            share=self.share,
            scope=asked.scope,
            as_of=asked.as_of,
            valid_at=asked.valid_at,
            reasons=tuple(reasons),
        )
