"""A checked query, the names of tasks, and the experience graph as a query may read it: lanes, filters, a time."""

from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from math import sqrt
from typing import Final

from phronesis.core.ids import Scope
from phronesis.core.items import Item
from phronesis.core.relations import CONTEXT_OUTCOME, UNUSED, Edge, ItemUse, uses_of
from phronesis.core.text import MAX_ID_LENGTH
from phronesis.core.timestamps import from_micros, to_micros
from phronesis.experience.event_embeddings import view_part
from phronesis.experience.laws.constraints import Ban
from phronesis.experience.laws.event_draft import ARTIFACT_TYPES
from phronesis.experience.laws.evidence_fold import NOT_USEFUL, USEFUL, FeedbackWeights, usefulness
from phronesis.experience.laws.ranking import ARTIFACT, NEUTRAL, Link, Node
from phronesis.experience.laws.records import (
    ABOUT,
    APART,
    CONTRADICTS,
    L1,
    MEMBER_OF,
    PATTERN,
    PRINCIPLE,
    REFINES,
    SIMILAR,
    SUPPORTS,
)
from phronesis.recall.as_of import created_by_entry, edges_at, known_at, was_valid_at
from phronesis.store.database import Unit
from phronesis.store.eligible import ReadConditions
from phronesis.store.experience import EdgeEnd, changed_views, holders, of_episode, strongest_edges
from phronesis.store.items import ItemHead, read_heads, read_items
from phronesis.store.lanes import Lane
from phronesis.store.relations import read_edges

# A checked query, and the filter of items that may answer it.

Liking = Callable[[Sequence[frozenset[str]]], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperienceQuestion:
    """A checked question. ``artifacts``, ``label``, ``source_type`` and the times filter events.

    ``artifacts`` are ids, of which an event must be about at least one; ``since`` and ``until`` (microseconds) bound
    when it happened. ``preferred`` are the preferences as one text, for an encoder.
    """

    scope: Scope
    situation: str = ""
    goal: str = ""
    bans: Sequence[Ban] = ()
    unread: Sequence[str] = ()
    liking: Liking | None = None
    preferred: str = ""
    limit: int = 10
    min_score: float | None = None
    artifacts: Sequence[str] = ()
    label: str | None = None
    source_type: str | None = None
    since: int | None = None
    until: int | None = None
    wanted: ReadConditions = field(default_factory=ReadConditions)
    explain: bool = False

    @property
    def text(self) -> str:
        """The question as one text."""
        return "\n".join(dict.fromkeys(text for text in (self.situation, self.goal) if text))

    @property
    def attributes(self) -> dict[str, dict[str, str]]:
        """The attributes that an event, and a pattern, must have, by kind."""
        named = {"label": self.label, "source_type": self.source_type}
        wanted = {L1: named, PATTERN: {"label": self.label}}
        return {
            kind: {name: value for name, value in of_kind.items() if value is not None}
            for kind, of_kind in wanted.items()
        }

    def passes_filters(self, item: Item) -> bool:
        """Return whether an item passes the filters: an event by all slots, a pattern by its label."""
        if item.kind == PATTERN:
            return self.label in (None, item.label)
        if item.kind != L1:
            return True
        at = to_micros(item.occurred_at or item.recorded_at)
        return (
            self.label in (None, item.label)
            and self.source_type in (None, item.source_type)
            and (self.since is None or self.since <= at)
            and (self.until is None or at <= self.until)
            and (not self.artifacts or not set(self.artifacts).isdisjoint(item.data.get("artifacts", ())))
        )


def stands(item: Item, wanted: ReadConditions) -> bool:
    """Return whether a read returns an item, given as it was ``as_of`` the requested time."""
    if wanted.valid_at is None:
        return item.live
    if not was_valid_at(item, wanted.valid_at):
        return False
    return item.live if wanted.as_of is not None else item.status == "active" and item.quarantine is None


def days_of(asked: ExperienceQuestion) -> tuple[int, int] | None:
    """Return the first and last day (ordinals) of the requested time; None for any time."""
    if asked.since is None and asked.until is None:
        return None
    first = 0 if asked.since is None else from_micros(asked.since).toordinal()
    return first, 2**31 if asked.until is None else from_micros(asked.until).toordinal()


LAYERS: Final = {L1: 1, PATTERN: 2, PRINCIPLE: 3}
FOLLOWED: Final = (MEMBER_OF, SUPPORTS, REFINES, SIMILAR, CONTRADICTS, ABOUT)
"""Types of edges that the traversal follows."""

EACH: Final = 12
"""Edges of one type and direction that are followed from a node, the heaviest."""

MOST_HOLDERS: Final = 64
"""Events of a lane above which an artifact is too common to be followed."""

_PREFIXES: Final = tuple(f"{kind}:" for kind in ARTIFACT_TYPES)


@dataclass(slots=True)
class LaneGraph:
    """The graph of the lanes that a question sees; caches what it reads."""

    unit: Unit
    lanes: Sequence[Lane]
    asked: ExperienceQuestion
    _read: dict[str, Item | None] = field(default_factory=dict)
    _lane_of: dict[str, Lane] = field(default_factory=dict)
    _heads: dict[str, ItemHead | None] = field(default_factory=dict)
    _resting: dict[str, set[str]] = field(default_factory=dict)
    uses: dict[str, ItemUse] = field(default_factory=dict)
    """The outcomes in contexts of the items that `read_uses` was given."""

    def read_uses(self, ids: Iterable[str]) -> None:
        """Read what became of some items in contexts, by the turns of the lanes that the question sees."""
        missing = [one for one in ids if one not in self.uses]
        found: list[Edge] = []
        for lane in self.lanes if missing else ():
            edges = read_edges(self.unit, lane.lane_id, missing, incoming=True, types=(CONTEXT_OUTCOME,))
            found += edges_at(self.unit, lane, edges, self.asked.wanted.as_of)
        self.uses |= dict.fromkeys(missing, UNUSED) | uses_of(found)

    def items(self, ids: Iterable[str]) -> dict[str, Item]:
        """Return those of some items that are visible and pass the filters, by id."""
        return {one: item for one, item in self.known(ids).items() if self.asked.passes_filters(item)}

    def known(self, ids: Iterable[str]) -> dict[str, Item]:
        """Return those of some items that are visible, by id."""
        return {one: item for one, item in self.items_at_time(ids).items() if stands(item, self.asked.wanted)}

    def items_at_time(self, ids: Iterable[str]) -> dict[str, Item]:
        """Return those of some items, ended ones too, that were known at the requested time and not in quarantine."""
        wanted = list(dict.fromkeys(ids))
        missing = [one for one in wanted if one not in self._read]
        for lane in self.lanes if missing else ():
            found = read_items(self.unit, lane, missing)
            self._lane_of.update((one, lane) for one in found)
            kept = [item for item in found.values() if item.quarantine is None]
            if self.asked.wanted.as_of is not None:
                kept = known_at(self.unit, lane.lane_id, kept, self.asked.wanted.as_of)
            self._read.update((item.id, item) for item in kept)
        for one in missing:
            self._read.setdefault(one, None)
        return {one: item for one in wanted if (item := self._read[one]) is not None}

    def heads(self, ids: Iterable[str]) -> dict[str, ItemHead]:
        """Return the heads of the items that `items_at_time` returns, by id, without reading texts if possible."""
        wanted = list(dict.fromkeys(ids))
        missing = [one for one in wanted if one not in self._heads]
        self._heads |= dict.fromkeys(missing)
        if missing and self.asked.wanted.as_of is not None:  # how an item was then, its changes tell
            self._heads |= {
                one: ItemHead(*(getattr(item, name) for name in ItemHead._fields))
                for one, item in self.items_at_time(missing).items()
            }
        elif missing:
            for lane in self.lanes:
                found = read_heads(self.unit, lane.lane_id, missing)
                self._heads |= {one: head for one, head in found.items() if head.quarantine is None}
        return {one: head for one in wanted if (head := self._heads[one]) is not None}

    def lane_of(self, item_id: str) -> Lane:
        """Return the lane of an item that was read."""
        return self._lane_of[item_id]

    def nodes(self, ids: Sequence[str]) -> Mapping[str, Node]:
        """Return the visible ones of some events, patterns, principles and artifacts."""
        artifacts = [one for one in ids if one.startswith(_PREFIXES)]
        held = self.items([one for one in ids if not one.startswith(_PREFIXES)])
        found = {
            one: Node(one, LAYERS[item.kind], to_micros(item.occurred_at or item.recorded_at), usefulness_of(item))
            for one, item in held.items()
            if item.kind in LAYERS
        }
        return found | {one: Node(one, ARTIFACT) for one in artifacts}

    def links(self, ids: Sequence[str]) -> Sequence[Link]:
        """Return the edges at some nodes at the requested time; those of an artifact of n events weigh 1 / √n."""
        artifacts = [one for one in ids if one.startswith(_PREFIXES)]
        out: list[Link] = []
        for lane in self.lanes:
            own = [one for one in ids if self._lane_of.get(one) == lane]
            ends = strongest_edges(self.unit, lane.lane_id, own, FOLLOWED, each=EACH) if own else []
            for artifact in artifacts:
                held = holders(self.unit, lane.lane_id, artifact, ABOUT, most=MOST_HOLDERS)
                ends += [end._replace(weight=end.weight / sqrt(len(held))) for end in held]
            out += [
                Link(end.near, end.far, end.type, min(1.0, max(0.0, end.weight)))
                for end in self._filter_ends(lane, ends)
                if end.grade != APART
            ]
        for link in out:
            if link.type in (MEMBER_OF, SUPPORTS):
                self._resting.setdefault(link.near, set()).add(link.far)
                self._resting.setdefault(link.far, set()).add(link.near)
        return out

    def neighbours_in_evidence(self, item_id: str) -> Collection[str]:
        """Return the neighbours of an item in evidence, by the edges read so far."""
        return self._resting.get(item_id, frozenset())

    def contradicting(self, ids: Sequence[str]) -> list[tuple[str, str]]:
        """Return the pairs among some items that contradict each other, each once."""
        held, out = set(ids), dict[frozenset[str], tuple[str, str]]()
        for lane in self.lanes:
            own = [one for one in ids if self._lane_of.get(one) == lane]
            ends = strongest_edges(self.unit, lane.lane_id, own, (CONTRADICTS,), each=EACH) if own else []
            for end in self._filter_ends(lane, ends):
                if end.far in held:
                    out.setdefault(frozenset((end.near, end.far)), (end.near, end.far))
        return list(out.values())

    def _filter_ends(self, lane: Lane, ends: Sequence[EdgeEnd]) -> Sequence[EdgeEnd]:
        return created_by_entry(self.unit, lane.lane_id, ends, self.asked.wanted.as_of)


def usefulness_of(item: Item, use: ItemUse = UNUSED) -> float:
    """Return an item's usefulness from feedback and outcomes in contexts, in [0, 1]; neutral without either."""
    if use == UNUSED:
        return min(1.0, max(0.0, float(item.data.get("usefulness", NEUTRAL))))
    said = item.data.get("feedback") or {}
    return usefulness(FeedbackWeights(useful=said.get(USEFUL, 0.0), not_useful=said.get(NOT_USEFUL, 0.0)), use)


def weight_of(item: Item) -> float:
    """Return an item's weight, in [0, 1]; below 1 if it was downweighted."""
    return min(1.0, max(0.0, float(item.data.get("weight", 1.0))))


# Exact names: a task's situation or goal finds the attempts made at it.

NAMING: Final = ("situation", "goal")
"""The views that may be a task's name."""

MOST: Final = 256
"""Events of one name that are examined, the latest: a name with thousands identifies no task."""

_PARTS: Final = tuple(map(view_part, NAMING))
_EDGES: Final = " \t.,;:!?。，；：！？"


def normal_title(text: str) -> str:
    """Return a text normalised for comparison as a name: lower case, single spaces, no final stop."""
    return " ".join(text.casefold().split()).strip(_EDGES)


def is_called(item: Item, name: str) -> bool:
    """Return whether an event's situation, goal or episode has this name."""
    return name in (
        normal_title(item.data.get("situation", "")),
        normal_title(item.data.get("goal", "")),
        normal_title(item.run_id or ""),
    )


def _number(name: str) -> int:
    return int.from_bytes(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


@dataclass(slots=True)
class _Names:
    """The names of a lane's events, by their hash."""

    epoch: int
    seen_seq: int = 0
    ids: defaultdict[int, list[str]] = field(default_factory=lambda: defaultdict(list))


@dataclass(slots=True)
class TaskNames:
    """The names in the last few lanes. Not thread-safe: used under the lock of the lanes' indexes."""

    limit: int = 8
    _kept: "OrderedDict[tuple[str, int], _Names]" = field(default_factory=OrderedDict)

    def events(self, unit: Unit, lane: Lane, name: str) -> list[str]:
        """Return the ids of events that may have the name, newest first; `is_called` decides."""
        known = self._names_of(unit, lane).ids.get(_number(name), ())
        episode = of_episode(unit, lane.lane_id, L1, name, limit=MOST) if len(name) <= MAX_ID_LENGTH else []
        return sorted({*known, *episode}, reverse=True)[:MOST]

    def _names_of(self, unit: Unit, lane: Lane) -> _Names:
        key = (unit.tenant, lane.lane_id)
        names = self._kept.pop(key, None)
        if names is None or names.epoch != lane.epoch:
            names = _Names(lane.epoch)
        if names.seen_seq < lane.documents_seq:
            for item_id, text in changed_views(unit, lane.lane_id, L1, _PARTS, after=names.seen_seq):
                names.ids[_number(normal_title(text))].append(item_id)
            names.seen_seq = lane.documents_seq
        self._kept[key] = names
        while len(self._kept) > self.limit:
            self._kept.popitem(last=False)
        return names


def event_place(item: Item) -> tuple[bool, int, int]:
    """Return whether an event has a lesson, when it happened, and its place in its episode."""
    seq = -1 if item.position is None else item.position
    return (bool(item.data.get("reflection")), to_micros(item.occurred_at or item.recorded_at), seq)


def rank_events(events: Sequence[Item]) -> dict[str, int]:
    """Return the places of events of one name: those with lessons first, then by time and place in the episode."""
    episodes: dict[str, int] = {}
    for event in events:
        episodes[event.run_id or event.id] = max(episodes.get(event.run_id or event.id, 0), event_place(event)[1])

    def key(event: Item) -> tuple[bool, int, int, int, str]:
        told, at, seq = event_place(event)
        return (told, episodes[event.run_id or event.id], seq, at, event.id)

    return {event.id: n for n, event in enumerate(sorted(events, key=key, reverse=True), 1)}
