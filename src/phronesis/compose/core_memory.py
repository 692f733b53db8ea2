"""Core memory, the part of a context that needs no search: policies, procedures, pinned items, due items, profile."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal

from phronesis.compose.citations import CITATIONS_SHOWN
from phronesis.compose.disputes import live_disputes, outweighed
from phronesis.compose.item_wording import days_of_items, words_of
from phronesis.core.context import DUE_LABEL, Block
from phronesis.core.items import KINDS, Item, Trust
from phronesis.core.prospective import COMING, in_words, lapsed
from phronesis.core.results import Evidence, SearchResult
from phronesis.recall.as_of import drawn_by
from phronesis.recall.browse import items_of
from phronesis.recall.prospective import due_items
from phronesis.recall.reranking import Search
from phronesis.recall.search import Query
from phronesis.recall.user_aliases import is_about, names_of_user, near_user, told_names
from phronesis.store.database import Unit
from phronesis.store.eligible import Wanted
from phronesis.store.items import read_items
from phronesis.store.lanes import Lane
from phronesis.store.relations import read_edges
from phronesis.traits.laws.strength import recalled

# Procedural memory: the user's preferred way of doing the requested task (requirement NM-15).

PROCEDURE: Final = "procedure"

MAX_PROCEDURES: Final = 3
"""Procedures shown first (this project's choice): a thing is seldom done by more rules than that."""

NEAR: Final = 0.5
"""Share of the best one's score that another must have (this project's choice): what only shares a word with a long
message stays behind what is meant."""


def has_procedures(unit: Unit, lanes: Sequence[Lane], wanted: Wanted) -> bool:
    """Return whether a user's own lane holds any procedure: without one nothing more is searched."""
    own = [lane for lane in lanes if lane.user_id is not None]
    return bool(items_of(unit, own, dataclasses.replace(wanted, kinds=(PROCEDURE,)), limit=1))


def bearing_procedures(searcher: Search, tenant: str, query: Query) -> list[Evidence]:
    """Return the user's own procedures that bear on a question, best first."""
    scope = dataclasses.replace(query.scope, own_only=True)
    wanted = dataclasses.replace(query.wanted, kinds=(PROCEDURE,))
    asked = dataclasses.replace(query, scope=scope, wanted=wanted, limit=MAX_PROCEDURES, explain=True)
    found = searcher.search(tenant, asked)
    bearing = [one for one in found if one.item.kind == PROCEDURE and _bears(one, found)]
    return [one for one in bearing if _sum(one) >= NEAR * _sum(bearing[0]) or one is bearing[0]]


def _sum(one: Evidence) -> float:
    return sum((one.why or {}).values())


def _bears(one: Evidence, found: SearchResult) -> bool:
    """Return whether it holds a word of the question, or is near to it in meaning where the search does not abstain.

    Abstention is about whether an answer is there; few words of a request stand in a rule, a Chinese one's least.
    """
    why = one.why or {}
    return why.get("coverage", 0.0) > 0 or (why.get("dense", 0.0) > 0 and not found.abstained)


# The valid remainder of a statement of which another memory has superseded a part.


def standing_parts(unit: Unit, lanes: Sequence[Lane], held: Sequence[Item], wanted: Wanted) -> dict[str, str]:
    """Return for items whose words tell more than holds, by id, what of these words is theirs: their key and value.

    "I work in Lyon as a nurse" goes on telling the job when the home is another; whoever reads it must not take Lyon
    for the home again. One of ``held`` took the place of a memory with the same words.
    """
    gone: set[str] = set()
    for lane in lanes if held else ():
        edges = read_edges(unit, lane.lane_id, [item.id for item in held], types=("supersedes",))
        old = [edge.to_id for edge in drawn_by(unit, lane.lane_id, edges, wanted.as_of)]
        gone |= {item.content for item in read_items(unit, lane, old).values()} if old else set()
    return {
        item.id: f"{item.key}: {item.value}"
        for item in held
        if item.content in gone and item.key is not None and isinstance(item.value, str)
    }


STANDING: Final = ("reply_language", "reply_style", "address_as")
"""Keys under which a person says how they want to be answered (docs/memory-types.md)."""

FAMILY: Final = ".*"
"""How the name of a family of keys ends."""

_VERBATIM: Final = ("message", "section")
_LABELS: Final = {"profile": "Profile", "preference": "Preferences"}


@dataclass(frozen=True, slots=True)
class CorePolicy:
    """What a team decides about core memory.

    ``kinds`` are shown as far as they are about the user; ``pin`` names keys (``allergy``, ``favorite.*``) and kinds
    that come before all others; ``policies`` are texts of the team's own, trusted as an operator's. ``items`` are
    considered, and the slot's budget decides how many are shown; ``due`` is how much of what is due is shown, the most
    urgent of it (both this project's choice). ``disputes``: both sides are shown, or the best alone. ``care`` names the
    keys that are shown of anybody near to the user, as far as the user told of them: what somebody must not eat.
    """

    kinds: Sequence[str] = ("profile", "preference")
    pin: Sequence[str] = ()
    policies: Sequence[str] = ()
    items: int = 60
    due: int = 8
    disputes: Literal["both", "best"] = "both"
    care: Sequence[str] = ()

    def cares(self, item: Item) -> bool:
        """Whether the item may be shown though it is not about the user: they told of it, under a key of care."""
        return item.key in self.care and item.user_id is not None and item.trust >= Trust.USER

    def shows_disputes(self, wanted: Wanted) -> bool:
        """Return whether both sides of a dispute are shown; reads of the past always show them."""
        return self.disputes == "both" or wanted.past

    def pins(self, item: Item) -> bool:
        """Return whether the item is always shown."""
        key = item.key or ""
        return any(one in (item.kind, key) or (one.endswith(FAMILY) and key.startswith(one[:-1])) for one in self.pin)


@dataclass(frozen=True, slots=True)
class CoreMemory:
    """The blocks, best first, and the words of their items, by item id."""

    blocks: Sequence[Block]
    words: Mapping[str, str]


def core_memory(unit: Unit, lanes: Sequence[Lane], policy: CorePolicy, wanted: Wanted, *, now: datetime) -> CoreMemory:
    """Return a scope's core memory at a time.

    By hand anything may be pinned. Otherwise only what is about the user, or about nobody, and of others what stands
    under a key of care and is of somebody near to the user: what somebody else prefers is found when it is asked for. A
    trait that may not be recalled is not shown, pinned or not. What is due, or will be within a day, stands behind the
    standing instructions and what is pinned, the most urgent first.

    The attributes that are wanted narrow all of it, what is pinned too. Policies are the team's, whichever agent asks.
    """
    asked = dataclasses.replace(wanted, recalled=True)
    found = {item.id: item for item in _items(unit, lanes, policy, asked) if recalled(item)}
    names = told_names(unit, lanes, wanted) if wanted.attributes else names_of_user(found.values(), lanes)
    due = [item for item in due_items(unit, lanes, asked, now, COMING) if not lapsed(item, now)][: policy.due]
    told = {item.id for item in due}
    near = near_user(unit, lanes, [item for item in found.values() if policy.cares(item)], names, wanted)
    held = [item for item in found.values() if item.pinned or is_about(item, names) or item.id in near]
    held = [item for item in held if item.id not in told]
    held.sort(key=lambda item: item.recorded_at, reverse=True)
    held.sort(
        key=lambda item: (
            not _is_standing(item, names),
            not item.pinned,
            not policy.pins(item),
            -item.importance,
            not is_about(item, names),
        )
    )
    held = held[: policy.items]
    first = [item for item in held if item.pinned or policy.pins(item) or _is_standing(item, names)]
    held = [*first, *due, *held[len(first) :]]
    ids = [item.id for item in held]
    if not policy.shows_disputes(wanted):
        weaker = outweighed(unit, lanes, ids, wanted)
        held = [item for item in held if item.pinned or item.id not in weaker]
    disputes = live_disputes(unit, lanes, ids, wanted) if policy.shows_disputes(wanted) else {}
    # A statement tells its own fact alone; of what is shown in its own words that has to be said.
    parts = standing_parts(unit, lanes, [item for item in held if words_of(item) == item.content], wanted)
    days = days_of_items(unit, lanes, [item for item in held if item.id not in told], wanted, now.tzinfo or UTC)
    blocks = [
        Block(text=text, citations=(f"policy:{n}",), label="Policies") for n, text in enumerate(policy.policies, 1)
    ]
    # What is learned stands behind what was known: the lines before it do not move, which a prompt cache needs.
    lasting = sorted((item for item in held if item.id not in told), key=lambda item: (item.recorded_at, item.id))
    places = {item.id: n for n, item in enumerate(lasting)}
    for item in held:
        label = DUE_LABEL if item.id in told else _label(item, names)
        others = ", ".join(f"mem:{other}" for other in disputes.get(item.id, ())[:CITATIONS_SHOWN])
        at = (item.occurred_at or item.recorded_at).date().isoformat()
        heading = [in_words(item, now)] if item.id in told else [at] if others else []
        said = [f"disputed by {others}"] if others else []
        said += [one for one in (parts.get(item.id), days.get(item.id)) if one]
        about = "; ".join([*heading, *said])
        blocks.append(
            Block(_words(item, names), (item.citation,), fenced=item.trust < Trust.USER, label=label, about=about,
                  place=places.get(item.id, 0))
        )  # fmt: skip
    return CoreMemory(once(blocks), {item.id: item.content for item in held})


def _words(item: Item, names: AbstractSet[str]) -> str:
    """Return what is shown of an item; of somebody else's with the name before it, where the words have it nowhere."""
    words = words_of(item)
    whose = "" if item.pinned or is_about(item, names) else item.subject or ""
    return words if whose.casefold() in words.casefold() else f"{whose} · {words}"


def once(blocks: Iterable[Block]) -> list[Block]:
    """Return the blocks, those that say the same under one heading as one that cites what each of them cites.

    One clause may hold several memories ("我在杭州做前端": where, and what), and its words are shown once.
    """
    found: dict[tuple[object, ...], Block] = {}
    for block in blocks:
        said = (block.text, block.label, block.fenced, block.about)
        known = found.setdefault(said, block)
        if known is not block:
            found[said] = dataclasses.replace(known, citations=(*known.citations, *block.citations))
    return list(found.values())


def _items(unit: Unit, lanes: Sequence[Lane], policy: CorePolicy, wanted: Wanted) -> list[Item]:
    kinds = list(dict.fromkeys([*policy.kinds, *(one for one in policy.pin if one in KINDS)]))
    keys = [one for one in policy.pin if one not in KINDS]

    def listed(**narrowed: Any) -> list[Item]:
        return items_of(unit, lanes, dataclasses.replace(wanted, **narrowed), limit=policy.items, weightiest=True)

    found = listed(filters={"pinned": True}) + (listed(kinds=kinds) if kinds else [])
    if policy.care:
        found += listed(kinds=kinds or None, filters={"key": {"in": list(policy.care)}})
    if keys:
        exact = [{"key": {"in": [one for one in keys if not one.endswith(FAMILY)]}}]
        # "favorite." up to the next character after the dot: an index can tell.
        families = [{"key": {"gte": one[:-1], "lt": f"{one[:-2]}/"}} for one in keys if one.endswith(FAMILY)]
        rest = [kind for kind in KINDS if kind not in _VERBATIM]
        found += listed(kinds=rest, filters={"OR": [*exact, *families]})
    return found


def _label(item: Item, names: AbstractSet[str]) -> str:
    return "Standing instructions" if _is_standing(item, names) else _LABELS.get(item.kind, "Pinned")


def _is_standing(item: Item, names: AbstractSet[str]) -> bool:
    """Return whether it is the user's own wish how to be answered: what a tool or a model says they wish is none."""
    return item.key in STANDING and item.trust >= Trust.USER and is_about(item, names)
