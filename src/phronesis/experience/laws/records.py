"""Records of events, patterns and principles as callers see them, and the results of the verbs of experience."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from operator import attrgetter
from typing import Any, Final, TypeVar, overload

from phronesis.core.items import Item
from phronesis.core.proposals import Gated
from phronesis.core.results import Degraded
from phronesis.core.serialization import EntryResult, Record, as_json

L1: Final = "l1"
PATTERN: Final = "pattern"
PRINCIPLE: Final = "principle"
AGGREGATE: Final = "aggregate"
ABSTRACT: Final = "abstract"
FEEDBACK: Final = "feedback"
"""The verbs that group events into patterns, draw principles from patterns, and judge any of them."""
MEMBER_OF: Final = "member_of"
SUPPORTS: Final = "supports"
ABOUT: Final = "about"
CONTRADICTS: Final = "contradicts"
REFINES: Final = "refines"
SIMILAR: Final = "similar"
TOGETHER: Final = "must_link"
APART: Final = "cannot_link"
"""Grades of the edges that a person set between events (Wagstaff et al. 2001, 'Constrained K-means')."""
CROSSED: Final = "crossed"
"""The member of a pattern's ``cluster_info`` that names its two views, if it is an intersection of groups."""
UNCONFIRMED: Final = "unconfirmed"
CONFIRMED: Final = "confirmed"
"""Members of a principle's ``data``: that a single machine supports it, and that a person confirmed it."""
UNSAID: Final = 0.5
"""Usefulness without any judgement."""


def _own_dict(self: Item) -> dict[str, Any]:
    """Return plain JSON values, of the item and of the record's own fields."""
    own = {f.name: as_json(getattr(self, f.name)) for f in fields(self) if f.name not in _ITEM}
    return {**Item.to_dict(self), **own}


@dataclass(frozen=True, slots=True, kw_only=True)
class L1Event(Item):
    """One attempt (EMB-01). Texts that were not given are empty.

    ``constraints`` are those of the attempt, as hints name them: part of the situation. ``signals`` are what decided
    the label, ``field_origin`` the author of each text: human, model or rule; ``artifacts`` are ids such as
    ``file:src/app.py``; ``family`` a failure family that the source's adapter recognised. ``episode_id`` and ``seq``
    place it among the attempts towards one goal. ``confidence`` is that of the label.
    """

    situation: str = ""
    goal: str = ""
    attempt: str = ""
    result: str = ""
    reflection: str = ""
    constraints: Sequence[str] = ()
    observations: Any = None
    field_origin: Mapping[str, str] = field(default_factory=dict)
    signals: Sequence[str] = ()
    artifacts: Sequence[str] = ()
    family: str | None = None
    episode_id: str | None = None
    seq: int | None = None
    usefulness: float = UNSAID
    weight: float = 1.0

    to_dict = _own_dict


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern(Item):
    """What several events have in common (EMB-06, EMB-09).

    ``outcome`` is success, failure, or unknown; ``view`` the text in which they are similar, or several joined by
    ``+``; ``signature`` the slots that define when it applies: ``terms``, ``artifacts``, ``families``,
    ``source_types``. ``cluster_info`` has ``size``, ``centre``, ``method``, ``cohesion`` by view, and ``crossed`` if it
    is the intersection of groups of two views: such a pattern may be a subset of another one. ``members`` are (event
    id, weight in [0, 1]), the most typical first. ``success_rate`` has ``rate``, ``low``, ``high`` (95 %),
    ``successes`` and ``trials``, over members and counterexamples.
    """

    outcome: str = "unknown"
    view: str = ""
    cluster_info: Mapping[str, Any] = field(default_factory=dict)
    summary: str = ""
    signature: Mapping[str, Any] = field(default_factory=dict)
    recommendation: str = ""
    counterexamples: Sequence[Mapping[str, Any]] = ()
    members: Sequence[tuple[str, float]] = ()
    success_rate: Mapping[str, Any] = field(default_factory=dict)
    usefulness: float = UNSAID
    weight: float = 1.0

    to_dict = _own_dict


@dataclass(frozen=True, slots=True, kw_only=True)
class Principle(Item):
    """What to do when, and why (EMB-10): if ``condition`` then ``action`` because ``because``; ``watch_out``.

    ``patterns`` are the ids that support it; ``counter`` those that contradict it. ``support`` counts the events behind
    it, ``cost`` and ``risk`` are those of the action. ``needs_validation``: no live evidence supports it, or only a
    single machine does and no person has confirmed it.
    """

    condition: str = ""
    action: str = ""
    because: str = ""
    watch_out: str = ""
    cost: str = ""
    risk: str = ""
    patterns: Sequence[str] = ()
    counter: Sequence[str] = ()
    support: Mapping[str, Any] = field(default_factory=dict)
    needs_validation: bool = False
    usefulness: float = UNSAID
    weight: float = 1.0

    to_dict = _own_dict


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestMeta(Record):
    """How an event was created (EMB-02): its source, the label's confidence, and the signals that decided it.

    ``lines`` are the first and last line of the source text, if an adapter parsed it.
    """

    entry_id: str
    source_type: str
    source_ref: str
    confidence: float
    signals: Sequence[str]
    field_origin: Mapping[str, str]
    family: str | None = None
    lines: tuple[int, int] | None = None


_ITEM: Final = tuple(f.name for f in fields(Item))
_ITEM_OF: Final = attrgetter(*_ITEM)
_OWN: Final = {
    kind: tuple((f.name, f.default == ()) for f in fields(kind) if f.name not in _ITEM)
    for kind in (L1Event, Pattern, Principle)
}
"""By record, its own fields, and whether each is a sequence."""
Kept = TypeVar("Kept", L1Event, Pattern, Principle)


def _record(kind: type[Kept], item: Item, **given: Any) -> Kept:
    """Return an item as a record whose own fields are ``given`` or stored under their names in its data."""
    data = item.data
    own: dict[str, Any] = {
        name: tuple(data[name]) if listed else data[name] for name, listed in _OWN[kind] if name in data
    }
    return kind(**dict(zip(_ITEM, _ITEM_OF(item), strict=True)), **(own | given))


def event_of(item: Item) -> L1Event:
    """Return an item of kind l1 as an event."""
    return _record(L1Event, item, episode_id=item.run_id, seq=item.position)


def meta_of(item: Item) -> IngestMeta:
    """Return how an event was created."""
    event, lines = event_of(item), item.data.get("lines")
    return IngestMeta(
        entry_id=item.entry_id,
        source_type=item.source_type or "",
        source_ref=item.source_ref or "",
        confidence=item.confidence,
        signals=event.signals,
        field_origin=event.field_origin,
        family=event.family,
        lines=None if lines is None else (lines[0], lines[1]),
    )


def pattern_of(item: Item, members: Sequence[tuple[str, float]] = ()) -> Pattern:
    """Return an item of kind pattern as a record; ``members`` are stored in edges and given separately."""
    typical = tuple(sorted(members, key=lambda one: (-one[1], one[0])))
    return _record(Pattern, item, outcome=item.label or "unknown", members=typical)


def principle_of(item: Item, *, patterns: Sequence[str] = (), counter: Sequence[str] = ()) -> Principle:
    """Return an item of kind principle as a record; its evidence is stored in edges and given separately."""
    unproved = bool(item.data.get(UNCONFIRMED)) and not item.data.get(CONFIRMED)
    return _record(
        Principle, item, patterns=tuple(patterns), counter=tuple(counter), needs_validation=not patterns or unproved
    )


# Results of the verbs of experience.

Told = tuple[L1Event, IngestMeta]


@dataclass(frozen=True, slots=True)
class Ingested(EntryResult, Sequence[Told]):
    """The events of one call, each with its meta, in the order given. ``pending``: recorded, not interpreted yet.

    ``gated`` names the secrets and personal data that were removed before storing.
    """

    entry_id: str
    events: Sequence[Told] = ()
    pending: bool = False
    gated: Sequence[Gated] = ()

    @overload
    def __getitem__(self, index: int) -> Told: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Told]: ...
    def __getitem__(self, index: int | slice) -> Told | Sequence[Told]:
        return self.events[index]

    def __len__(self) -> int:
        return len(self.events)

    def __iter__(self) -> Iterator[Told]:
        return iter(self.events)


@dataclass(frozen=True, slots=True)
class Episode(Record):
    """Attempts towards one goal, in order (EMB-04). ``goal`` and ``situation`` are those of the first that has one."""

    id: str
    goal: str
    situation: str
    events: Sequence[L1Event]

    @classmethod
    def of(cls, episode_id: str, events: Sequence[L1Event]) -> "Episode":
        """Return the episode of some events."""
        goal = next((event.goal for event in events if event.goal), "")
        situation = next((event.situation for event in events if event.situation), "")
        return cls(episode_id, goal, situation, tuple(events))


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSource(Record):
    """The original input of an event (EMB-01, EMB-03).

    ``text`` is the raw text that was parsed; ``lines`` the first and last line that were asked for, or those of the
    event, from 1, and ``excerpt`` their text. An experience given as a record has no text, but its ``payload``,
    ``observations`` and ``hints``, unchanged. ``name`` is the file's. ``erased``: the text was erased for good.
    """

    entry_id: str
    recorded_at: datetime
    actor: str
    source_ref: str
    source_type: str = ""
    name: str = ""
    event_id: str | None = None
    text: str = ""
    lines: tuple[int, int] | None = None
    excerpt: str = ""
    payload: Any = None
    observations: Any = None
    hints: Mapping[str, Any] = field(default_factory=dict)
    erased: bool = False


@dataclass(frozen=True, slots=True)
class Aggregation(Record):
    """The result of an aggregation or abstraction: the patterns or principles that it changed.

    ``mapping`` gives, for each event of a new or changed pattern, the ids of these patterns; for an abstraction, for
    each pattern of a new or changed principle, the ids of these principles. ``degraded``: the roles in which rules
    replaced a model.
    """

    entry_id: str
    new: Sequence[Item] = ()
    changed: Sequence[Item] = ()
    retired: Sequence[Item] = ()
    mapping: Mapping[str, Sequence[str]] = field(default_factory=dict)
    pending: bool = False
    degraded: Sequence[Degraded] = ()


# Results of feedback and forgetting.


@dataclass(frozen=True, slots=True)
class FeedbackResult(EntryResult):
    """What feedback changed at once (``items``, as they are now), and what the next ``aggregate`` will change.

    ``scheduled`` are the ids of the events that it regroups; none if only weights changed.
    """

    entry_id: str
    items: Sequence[Item] = ()
    scheduled: Sequence[str] = ()
    pending: bool = False


@dataclass(frozen=True, slots=True)
class Forgotten(Record):
    """One item that forgetting changed: ``action`` is downweight, archive, delete, or restore if it is used again.

    ``why`` is decay, low use, contradicted, expired, archived (for long), of use again, or brought back; ``figures``
    are ``retention`` and its inputs. ``before`` and ``after`` have ``status``, ``ended`` and ``weight``. Action
    ``keep``: it has decayed but is kept because of ``protected_by``, which also says why an item was only downweighted
    instead of archived.
    """

    id: str
    kind: str
    action: str
    reason: str
    figures: Mapping[str, Any] = field(default_factory=dict)
    before: Mapping[str, Any] = field(default_factory=dict)
    after: Mapping[str, Any] = field(default_factory=dict)
    why: str = ""
    protected_by: str | None = None


@dataclass(frozen=True, slots=True)
class ForgetResult(Record):
    """What forgetting changed, or would change in a dry run, whose ``entry_id`` is None.

    ``counts`` are the rows by action. A dry run lists in ``kept`` the first thousand decayed items that are kept.
    ``more``: the limit of one call was reached, and another call may change more.
    """

    entry_id: str | None
    rows: Sequence[Forgotten] = ()
    counts: Mapping[str, int] = field(default_factory=dict)
    dry_run: bool = False
    pending: bool = False
    kept: Sequence[Forgotten] = ()
    more: bool = False
