"""The queries that are searched, and which of them each retriever gets.

The message comes first, whole, with weight 1: alone it finds most. Added to it are the parts of a message that asks
several things, the referent of a follow-up ("does it …?"), the names mentioned, and the agent's task. No synonyms and
no translations: they did not improve results (docs/decisions/06-retrieval-plan.md).
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from phronesis.core.ids import Scope
from phronesis.core.relations import find_mentions, normal_name
from phronesis.core.retrieval_plan import MAX_QUERIES, SubPlan, SubQuery
from phronesis.recall.as_of import visible_lanes
from phronesis.recall.planning.intent import MAX_READ, Message, MessageIntent, excerpt, identifiers, judge
from phronesis.recall.question_signals import names_in
from phronesis.store.database import Database, Unit
from phronesis.store.lanes import Lane
from phronesis.store.relations import find_entities

# Names, files and addresses that a message mentions, and which of its words are names in the scope.

MAX_NAMED: Final = 16
"""Maximum entities of one plan by rules: a message that names more is a list."""

_QUOTED: Final = re.compile(r"[\"“「『]([^\"“”「」『』\n]{2,40})[\"”」』]")


KnownNames = Callable[[str, Scope, Collection[str]], Collection[str]]
"""A function of a tenant, a scope and names (normal forms): the names that are known there."""


@dataclass(frozen=True, slots=True)
class StoredNames:
    """Looks up names that are known in a scope's lanes. It never writes."""

    database: Database

    def __call__(self, tenant: str, scope: Scope, names: Collection[str]) -> set[str]:
        """Return those of ``names`` that belong to an entity of a lane that the scope sees."""
        if not names:
            return set()
        with self.database.transaction(tenant, "read") as unit:
            return names_held(unit, visible_lanes(unit, scope), names)


def names_held(unit: Unit, lanes: Iterable[Lane], names: Iterable[str]) -> set[str]:
    """Return those of some names, in normal form, that belong to an entity of any of these lanes."""
    wanted = sorted(names)
    return {one.normal for lane in lanes for one in find_entities(unit, lane.lane_id, wanted)}


def candidates(text: str) -> set[str]:
    """Return the candidate names in a message, in normal form."""
    return names_in(excerpt(text, MAX_READ))


def entities_in(text: str, known: Collection[str] = ()) -> tuple[str, ...]:
    """Return the entities in a message: files, addresses, titles, names, identifiers, quotations, known names.

    A known name is left out if a longer one contains it.
    """
    read = excerpt(text, MAX_READ)
    found = [(one.start, one.surface) for one in find_mentions(read)]
    found += [(match.start(1), match[1].strip()) for match in _QUOTED.finditer(read)]
    found += identifiers(read)
    folded = normal_name(read)
    found += [(max(0, folded.find(name)), name) for name in _longest(known)]
    out: dict[str, str] = {}
    for _, surface in sorted(found, key=lambda one: (one[0], -len(one[1]))):
        if surface and not any(normal_name(surface) in earlier for earlier in out):
            out[normal_name(surface)] = surface
    return tuple(list(out.values())[:MAX_NAMED])


def _longest(names: Iterable[str]) -> Sequence[str]:
    ordered = sorted(names, key=lambda name: (-len(name), name))
    return [name for n, name in enumerate(ordered) if not any(name in longer for longer in ordered[:n])]


PART: Final = 0.8
FOLLOW_UP: Final = 0.7
ENTITY: Final = 0.4
STATE: Final = 0.3
"""Weights of the additional queries (our choice): below 1, since each says less than the message or adds to it."""

MAX_PARTS: Final = 3
MAX_ENTITIES_ASKED: Final = 4
MAX_TOPIC: Final = 200
MAX_STATE: Final = 400
"""Maximum characters of a follow-up's topic, and of the agent's state."""

MAX_QUERY: Final = 8_000
"""Maximum characters of a query: a longer one is reduced to its beginning and end."""

OVERFETCH: Final = 2
"""Results requested per place of a retriever: duplicates and crowded ones are dropped later."""

STATE_FIELDS: Final = ("goal", "task", "topic")
"""Fields of ``agent_state`` that describe the agent's task."""


@dataclass(frozen=True, slots=True)
class Wordings:
    """The queries of a plan: all of them, and those of each retriever."""

    every: tuple[SubQuery, ...]
    memory: tuple[SubQuery, ...]
    resources: tuple[SubQuery, ...]


def word_queries(
    message: Message,
    decided: MessageIntent,
    *,
    whole: str,
    entities: Sequence[str],
    recent: Sequence[str],
    state: Mapping[str, Any],
) -> Wordings:
    """Return the queries for a message; ``whole`` is its full text, ``recent`` the earlier texts, oldest first."""
    first = SubQuery(excerpt(whole, MAX_QUERY))
    parts = _parts(decided)
    beside: list[SubQuery] = []
    topic = _topic(message, entities, recent)
    if topic:
        beside.append(SubQuery(f"{excerpt(whole, MAX_TOPIC)} {topic}", FOLLOW_UP, "expansion"))
    named = " ".join(entities[:MAX_ENTITIES_ASKED])
    if named and named.casefold() != whole.strip().casefold():
        beside.append(SubQuery(named, ENTITY, "entity"))
    told = [value.strip() for name in STATE_FIELDS if isinstance(value := state.get(name), str) and value.strip()]
    if told:
        beside.append(SubQuery(" ".join(dict.fromkeys(told))[:MAX_STATE], STATE, "state"))
    every = distinct([first, *(part for part, _ in parts), *beside])
    return Wordings(every, _for(every, parts, needs=False), _for(every, parts, needs=True))


def _for(every: Sequence[SubQuery], parts: Sequence[tuple[SubQuery, bool]], *, needs: bool) -> tuple[SubQuery, ...]:
    """Return the queries of one retriever: all except the other's parts, unless it has none of its own."""
    own = [part for part, of in parts if of is needs]
    return tuple(one for one in every if one.origin != "part" or not own or one in own)


def distinct(queries: Sequence[SubQuery]) -> tuple[SubQuery, ...]:
    """Return the queries in order, each wording once, at most as many as a plan may have."""
    out: dict[str, SubQuery] = {}
    for one in queries:
        out.setdefault(" ".join(one.text.casefold().split()), one)
    return tuple(out.values())[:MAX_QUERIES]


def sub_plan(store: str, queries: Sequence[SubQuery], limit: int, share: float) -> SubPlan:
    """Return the request to one retriever. ``share`` is its part of ``limit``; it is asked for twice that.

    At least ``limit`` results are requested, to fill in if the other retriever finds nothing.
    """
    own = max(limit, round(OVERFETCH * share * limit))
    return SubPlan("memory" if store == "memory" else "resources", tuple(queries), limit=own)


def _parts(decided: MessageIntent) -> list[tuple[SubQuery, bool]]:
    asked = [one for one in decided.sentences if one.asked]
    if len(asked) == 1:
        clauses = [part for part in asked[0].sentence.clauses if part.asks]
        found = [(part.text, judge(part).needs) for part in clauses]
    else:
        found = [(one.sentence.text, one.needs) for one in asked]
    if len(found) < 2:  # noqa: PLR2004 - one question is the message itself
        return []
    return [(SubQuery(text, PART, "part"), needs) for text, needs in found[:MAX_PARTS]]


def _topic(message: Message, entities: Sequence[str], recent: Sequence[str]) -> str:
    """Return the topic of a message with "it" or 那个: the names in the last texts, or their words."""
    if entities or not any(one.shows("follow") for one in message.sentences):
        return ""
    for text in reversed(recent[-2:]):
        named = entities_in(text)
        if named:
            return " ".join(named)[:MAX_TOPIC]
    return " ".join(recent[-1].split())[:MAX_TOPIC] if recent else ""
