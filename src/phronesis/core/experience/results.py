"""What the verbs of experience give."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, overload

from phronesis.core.experience.records import IngestMeta, L1Event
from phronesis.core.gated import Gated
from phronesis.core.items import Item
from phronesis.core.plain import Record
from phronesis.core.results import Degraded

Told = tuple[L1Event, IngestMeta]


@dataclass(frozen=True, slots=True)
class Ingested(Record, Sequence[Told]):
    """The events of one call, each with its meta, in the order given. ``pending``: recorded, not interpreted yet.

    ``gated`` names the secrets and personal numbers that were taken out before it was stored.
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
        """Give the episode of some events."""
        goal = next((event.goal for event in events if event.goal), "")
        situation = next((event.situation for event in events if event.situation), "")
        return cls(episode_id, goal, situation, tuple(events))


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSource(Record):
    """What an event was taken from, as it was handed in (EMB-01, EMB-03).

    ``text`` is a raw text that was read; ``lines`` the first and the last line that were asked for, or that the event
    stands on, from 1, and ``excerpt`` their words. An experience that was told has no text, but its ``payload``,
    ``observations`` and ``hints``, as they were given. ``name`` is the file's. ``erased``: the words are gone for good.
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
    """What an aggregation, or an abstraction, came to: the patterns, or the principles, that it moved.

    ``mapping`` gives, for each event of a new or changed pattern, the ids of these patterns; for an abstraction, for
    each pattern of a new or changed principle, the ids of these principles. ``degraded``: the roles in which rules
    stood in for a model.
    """

    entry_id: str
    new: Sequence[Item] = ()
    changed: Sequence[Item] = ()
    retired: Sequence[Item] = ()
    mapping: Mapping[str, Sequence[str]] = field(default_factory=dict)
    pending: bool = False
    degraded: Sequence[Degraded] = ()
