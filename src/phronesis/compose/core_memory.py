"""Core memory, the part of a context that needs no search: policies, procedures, pinned items, due items, profile.

Contradicting evidence, and what may be outdated by later evidence, is shown side by side.
"""

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final, Literal

from phronesis.compose.item_wording import CITATIONS_SHOWN, days_of_items, marks_of, words_of
from phronesis.core.context import DUE_LABEL, Block
from phronesis.core.items import COMING, KINDS, Item, Trust, in_words, is_lapsed
from phronesis.core.relations import OUTDATED_BY
from phronesis.core.results import Evidence
from phronesis.core.timestamps import to_micros
from phronesis.recall.as_of import created_by_entry, items_by_id, items_of, live_at
from phronesis.recall.entities import due_items, is_about, items_close_to_user, names_of_user, names_of_user_in_lanes
from phronesis.recall.evidence import live_conflicts, sources_of
from phronesis.recall.query import Query, Search
from phronesis.store.database import Unit
from phronesis.store.eligible import ReadConditions
from phronesis.store.items import read_items
from phronesis.store.lanes import Lane
from phronesis.store.relations import contradicting_pairs, read_edges
from phronesis.traits.laws.strength import is_recalled

MAX_FETCHED: Final = 24
"""Maximum number of items read because a result is in conflict with them."""


def pair_disputed(
    unit: Unit, lanes: Sequence[Lane], found: Sequence[Evidence], wanted: ReadConditions, *, apart: frozenset[str]
) -> list[Evidence]:
    """Return evidence with what disputes it, or may have outdated it, right after it: moved up if found, else read.

    Items ``apart`` are shown elsewhere. Items that may not be shown are not named either.
    """
    known = {evidence.item.id: evidence for evidence in found}
    missing = dict.fromkeys(other for one in found for other in one.related_ids[:CITATIONS_SHOWN] if other not in known)
    fetched = _fetch_evidence(unit, lanes, [other for other in missing if other not in apart][:MAX_FETCHED], wanted)
    partners = known | fetched
    visible = partners.keys() | apart
    disputed_by = _mirror_disputes([*found, *fetched.values()])
    out: dict[str, Evidence] = {}
    for one in found:
        for identity in (one.item.id, *(other for other in one.related_ids[:CITATIONS_SHOWN] if other in partners)):
            evidence = partners[identity]
            conflicts = tuple(other for other in disputed_by.get(identity, ()) if other in visible)
            outdated_by = tuple(other for other in evidence.outdated_by if other in visible)
            out.setdefault(identity, dataclasses.replace(evidence, conflicts=conflicts, outdated_by=outdated_by))
    return list(out.values())


def live_disputes(
    unit: Unit, lanes: Sequence[Lane], item_ids: Sequence[str], wanted: ReadConditions
) -> dict[str, list[str]]:
    """Return the ids of the live items that contradict each of these at the requested time.

    Items with other attributes are left out.
    """
    found: dict[str, list[str]] = {}
    for lane in lanes if item_ids else ():
        for one, other, _ in created_by_entry(
            unit, lane.lane_id, contradicting_pairs(unit, lane.lane_id), wanted.as_of
        ):
            found.setdefault(one, []).append(other)
            found.setdefault(other, []).append(one)
    found = {item_id: found[item_id] for item_id in item_ids if item_id in found}
    others = [other for named in found.values() for other in named]
    live = [item for lane in lanes if others for item in live_at(unit, lane, others, wanted.as_of).values()]
    shown = {item.id for item in live if is_recalled(item) and wanted.carries(item)}
    return {item_id: sorted({*named} & shown) for item_id, named in found.items()}


def outweighed_items(
    unit: Unit, lanes: Sequence[Lane], item_ids: Sequence[str], wanted: ReadConditions
) -> frozenset[str]:
    """Return the items that a live, eligible item disputes and outweighs: by more trust, then by a later time.

    Of two that are equal in both, the one with the later id wins.
    """
    disputes = live_disputes(unit, lanes, item_ids, wanted)
    named = {one for item_id, others in disputes.items() for one in (item_id, *others)}
    items = {one.id: one for lane in lanes if named for one in read_items(unit, lane, named).values()}

    def rank(item_id: str) -> tuple[int, int, str]:
        item = items[item_id]
        return int(item.trust), to_micros(item.occurred_at or item.recorded_at), item_id

    return frozenset(one for one, others in disputes.items() if any(rank(other) > rank(one) for other in others))


def _mirror_disputes(found: Sequence[Evidence]) -> dict[str, list[str]]:
    """Return the disputes in both directions: an edge is stored on one side only."""
    out: dict[str, list[str]] = defaultdict(list)
    for evidence in found:
        for other in evidence.conflicts:
            for one, against in ((evidence.item.id, other), (other, evidence.item.id)):
                if against not in out[one]:
                    out[one].append(against)
    return out


def _fetch_evidence(
    unit: Unit, lanes: Sequence[Lane], ids: Sequence[str], wanted: ReadConditions
) -> dict[str, Evidence]:
    out: dict[str, Evidence] = {}
    for lane in lanes if ids else ():
        found = items_by_id(unit, [lane], ids, wanted).values()
        items = [item for item in found if is_recalled(item) and wanted.carries(item)]
        sources = sources_of(unit, lane.lane_id, items, as_of=wanted.as_of)
        out |= {item.id: Evidence(item, 0.0, sources=tuple(sources[item.id])) for item in items}
    return out


# Procedural memory: the user's preferred way of doing the requested task (requirement NM-15).

PROCEDURE: Final = "procedure"

MAX_PROCEDURES: Final = 3
"""Maximum number of procedures shown first (this project's choice)."""

NEAR: Final = 0.5
"""Minimum score of a procedure, as a share of the best one's (this project's choice).

It excludes procedures that only share a word with a long message.
"""


def has_procedures(unit: Unit, lanes: Sequence[Lane], wanted: ReadConditions) -> bool:
    """Return whether a user's own lane holds any procedure; without one the search is skipped."""
    own = [lane for lane in lanes if lane.user_id is not None]
    return bool(items_of(unit, own, dataclasses.replace(wanted, kinds=(PROCEDURE,)), limit=1))


def relevant_procedures(searcher: Search, tenant: str, query: Query) -> list[Evidence]:
    """Return the user's own procedures relevant to a question, best first."""
    scope = dataclasses.replace(query.scope, own_only=True)
    wanted = dataclasses.replace(query.wanted, kinds=(PROCEDURE,))
    asked = dataclasses.replace(query, scope=scope, wanted=wanted, limit=MAX_PROCEDURES, explain=True)
    found = searcher.search(tenant, asked)
    bearing: list[tuple[Evidence, float]] = []
    for one in found:
        # It contains a word of the question, or is similar to it. Abstention is about whether an answer exists: a rule
        # shares few words with a request, least of all in Chinese.
        why = one.why or {}
        if why.get("coverage", 0.0) > 0 or (why.get("dense", 0.0) > 0 and not found.abstained):
            bearing.append((one, sum(why.values())))
    bearing = [(one, total) for one, total in bearing if one.item.kind == PROCEDURE]
    return [one for one, total in bearing if total >= NEAR * bearing[0][1] or one is bearing[0][0]]


# The valid remainder of a statement of which another memory has superseded a part.


def shown_key_and_value(
    unit: Unit, lanes: Sequence[Lane], held: Sequence[Item], wanted: ReadConditions
) -> dict[str, str]:
    """Return, by id, the key and value to show for items whose text states more than still holds.

    "I work in Lyon as a nurse" still states the job after the home has changed, and must not be read as the current
    home. One of ``held`` superseded a memory with the same text.
    """
    gone: set[str] = set()
    for lane in lanes if held else ():
        edges = read_edges(unit, lane.lane_id, [item.id for item in held], types=("supersedes",))
        old = [edge.to_id for edge in created_by_entry(unit, lane.lane_id, edges, wanted.as_of)]
        gone |= {item.content for item in read_items(unit, lane, old).values()} if old else set()
    return {
        item.id: f"{item.key}: {item.value}"
        for item in held
        if item.content in gone and item.key is not None and isinstance(item.value, str)
    }


STANDING: Final = ("reply_language", "reply_style", "address_as")
"""Keys of a person's standing instructions on how to be answered (docs/memory-types.md)."""

FAMILY: Final = ".*"
"""Suffix of the name of a family of keys."""

_VERBATIM: Final = ("message", "section")
_LABELS: Final = {"profile": "Profile", "preference": "Preferences"}


@dataclass(frozen=True, slots=True)
class CorePolicy:
    """A team's settings for core memory.

    ``kinds`` are shown if they are about the user; ``pin`` names keys (``allergy``, ``favorite.*``) and kinds that come
    before all others; ``policies`` are the team's own texts, trusted as an operator's. ``items`` is the number of items
    considered (the slot's budget decides how many are shown); ``due`` is the number of due items shown, the most urgent
    first (both this project's choice). ``disputes``: show both sides, or the better one only. ``care`` names the keys
    that are shown of anybody close to the user, if the user stated them: for example what they must not eat.
    """

    kinds: Sequence[str] = ("profile", "preference")
    pin: Sequence[str] = ()
    policies: Sequence[str] = ()
    items: int = 60
    due: int = 8
    disputes: Literal["both", "best"] = "both"
    care: Sequence[str] = ()

    def shows_of_others(self, item: Item) -> bool:
        """Return whether the item may be shown although it is not about the user.

        The user stated it, under a key of ``care``.
        """
        return item.key in self.care and item.user_id is not None and item.trust >= Trust.USER

    def shows_disputes(self, wanted: ReadConditions) -> bool:
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


def core_memory(
    unit: Unit, lanes: Sequence[Lane], policy: CorePolicy, wanted: ReadConditions, *, now: datetime
) -> CoreMemory:
    """Return a scope's core memory at a time.

    Any item may be pinned by hand. Otherwise it holds items about the user or about nobody, and of other people items
    under a key of ``care`` if they are close to the user. A trait that may not be recalled is not shown, pinned or not.
    Items that are due now or within a day follow the standing instructions and pinned items, the most urgent first.

    The requested attributes narrow all of it, pinned items included. Policies are the team's, whichever agent asks.
    """
    names, held, told = _held_items(unit, lanes, policy, wanted, now)
    ids = [item.id for item in held]
    if not policy.shows_disputes(wanted):
        weaker = outweighed_items(unit, lanes, ids, wanted)
        held = [item for item in held if item.pinned or item.id not in weaker]
    disputes = live_disputes(unit, lanes, ids, wanted) if policy.shows_disputes(wanted) else {}
    later = _later(unit, lanes, ids, wanted)
    dated = {*disputes, *later, *(newer.id for found_later in later.values() for newer, _ in found_later)}
    # An item is shown by its key and value if its text states more than still holds.
    parts = shown_key_and_value(unit, lanes, [item for item in held if words_of(item) == item.content], wanted)
    days = days_of_items(unit, lanes, [item for item in held if item.id not in told], wanted, now.tzinfo or UTC)
    blocks = [
        Block(text=text, citations=(f"policy:{n}",), label="Policies") for n, text in enumerate(policy.policies, 1)
    ]
    # Learned items come last, so that the lines before them keep their place, as prompt caches require.
    lasting = sorted((item for item in held if item.id not in told), key=lambda item: (item.recorded_at, item.id))
    places = {item.id: n for n, item in enumerate(lasting)}
    shown = {item.id for item in held}
    for item in held:
        label = "Standing instructions" if _is_instruction(item, names) else _LABELS.get(item.kind, "Pinned")
        label = DUE_LABEL if item.id in told else label
        heading = [in_words(item, now)] if item.id in told else [_day(item)] if item.id in dated else []
        marks = marks_of(disputes.get(item.id, ()), [one.id for one, _ in later.get(item.id, ())])
        about = "; ".join(filter(None, [*heading, *marks, parts.get(item.id), days.get(item.id)]))
        words = words_of(item)
        whose = "" if item.pinned or is_about(item, names) else item.subject or ""
        blocks.append(
            Block(
                words if whose.casefold() in words.casefold() else f"{whose} · {words}",
                (item.citation,),
                fenced=item.trust < Trust.USER,
                label=label,
                about=about,
                place=places.get(item.id, 0),
            )
        )
        for one, said in later.get(item.id, ()):  # right after it, unless it is shown anyway
            if one.id not in shown:
                shown.add(one.id)
                blocks.append(dataclasses.replace(blocks[-1], text=said, citations=(one.citation,), about=_day(one)))
    return CoreMemory(merge_blocks(blocks), {item.id: item.content for item in held})


def _held_items(
    unit: Unit, lanes: Sequence[Lane], policy: CorePolicy, wanted: ReadConditions, now: datetime
) -> tuple[AbstractSet[str], list[Item], set[str]]:
    """Return the user's names, the items of core memory in order, and the ids of those that are due."""
    asked = dataclasses.replace(wanted, recalled=True)
    found = {item.id: item for item in _items(unit, lanes, policy, asked) if is_recalled(item)}
    names = names_of_user_in_lanes(unit, lanes, wanted) if wanted.attributes else names_of_user(found.values(), lanes)
    due = [item for item in due_items(unit, lanes, asked, now, COMING) if not is_lapsed(item, now)][: policy.due]
    told = {item.id for item in due}
    near = items_close_to_user(
        unit, lanes, [item for item in found.values() if policy.shows_of_others(item)], names, wanted
    )
    held = [item for item in found.values() if item.pinned or is_about(item, names) or item.id in near]
    held = [item for item in held if item.id not in told]

    def rank(item: Item) -> tuple[object, ...]:
        first = (not _is_instruction(item, names), not item.pinned, not policy.pins(item))
        return *first, -item.importance, not is_about(item, names)

    held.sort(key=lambda item: item.recorded_at, reverse=True)
    held = sorted(held, key=rank)[: policy.items]
    first = [item for item in held if item.pinned or policy.pins(item) or _is_instruction(item, names)]
    return names, [*first, *due, *held[len(first) :]], told


def _later(
    unit: Unit, lanes: Sequence[Lane], ids: Sequence[str], wanted: ReadConditions
) -> dict[str, list[tuple[Item, str]]]:
    """Return what may have outdated each of these items, with its words: of a message those that say it."""
    found: dict[str, list[tuple[Item, str]]] = {}
    for lane in lanes if ids else ():
        for item_id, edges in live_conflicts(unit, lane, ids, wanted.as_of).items():
            for edge, item in edges:
                if edge.type == OUTDATED_BY and wanted.carries(item):
                    said = item.content[edge.data["start"] : edge.data["end"]] if edge.data else words_of(item)
                    found.setdefault(item_id, []).append((item, said))
    return found


def _day(item: Item) -> str:
    return (item.occurred_at or item.recorded_at).date().isoformat()


def merge_blocks(blocks: Iterable[Block]) -> list[Block]:
    """Merge blocks with the same text under one heading into one with all their citations.

    One clause may give several memories ("我在杭州做前端": where, and what), and its text is shown once.
    """
    found: dict[tuple[object, ...], Block] = {}
    for block in blocks:
        said = (block.text, block.label, block.fenced, block.about)
        known = found.setdefault(said, block)
        if known is not block:
            found[said] = dataclasses.replace(known, citations=(*known.citations, *block.citations))
    return list(found.values())


def _items(unit: Unit, lanes: Sequence[Lane], policy: CorePolicy, wanted: ReadConditions) -> list[Item]:
    kinds = list(dict.fromkeys([*policy.kinds, *(one for one in policy.pin if one in KINDS)]))
    keys = [one for one in policy.pin if one not in KINDS]

    def listed(**narrowed: Any) -> list[Item]:
        return items_of(unit, lanes, dataclasses.replace(wanted, **narrowed), limit=policy.items, weightiest=True)

    found = listed(filters={"pinned": True}) + (listed(kinds=kinds) if kinds else [])
    if policy.care:
        found += listed(kinds=kinds or None, filters={"key": {"in": list(policy.care)}})
    if keys:
        exact = [{"key": {"in": [one for one in keys if not one.endswith(FAMILY)]}}]
        # "favorite." up to the next character after the dot: a range that an index can search.
        families = [{"key": {"gte": one[:-1], "lt": f"{one[:-2]}/"}} for one in keys if one.endswith(FAMILY)]
        rest = [kind for kind in KINDS if kind not in _VERBATIM]
        found += listed(kinds=rest, filters={"OR": [*exact, *families]})
    return found


def _is_instruction(item: Item, names: AbstractSet[str]) -> bool:
    """Return whether it is the user's own standing instruction; statements of tools or models are not."""
    return item.key in STANDING and item.trust >= Trust.USER and is_about(item, names)
