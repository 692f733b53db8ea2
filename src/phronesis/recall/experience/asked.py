"""A checked question to the experience base, and which items it may be answered with."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from phronesis.core.experience.limits import Ban
from phronesis.core.experience.records import L1, PATTERN
from phronesis.core.instants import from_micros, to_micros
from phronesis.core.items import Item
from phronesis.core.scope import Scope
from phronesis.recall.past import held_at
from phronesis.storage.eligible import Wanted

Liking = Callable[[Sequence[frozenset[str]]], float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question. ``artifacts``, ``label``, ``source_type`` and the times narrow what events are shown.

    ``artifacts`` are ids of any of which an event must be about one; ``since`` and ``until`` (microseconds) bound when
    it happened. ``preferred`` are the preferences as one text, for an encoder.
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
    wanted: Wanted = field(default_factory=Wanted)
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
        return {kind: {name: value for name, value in of_kind.items() if value is not None}
                for kind, of_kind in wanted.items()}  # fmt: skip

    def fits(self, item: Item) -> bool:
        """Tell whether an item is what was asked for: an event by all its slots, a pattern by its label."""
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


def stands(item: Item, wanted: Wanted) -> bool:
    """Tell whether a read shows an item, given as it was ``as_of`` the time asked for."""
    if wanted.valid_at is None:
        return item.live
    if not held_at(item, wanted.valid_at):
        return False
    return item.live if wanted.as_of is not None else item.status == "active" and item.quarantine is None


def days_of(asked: Asked) -> tuple[int, int] | None:
    """Give the first and last day (ordinals) of the time asked for; None for any time."""
    if asked.since is None and asked.until is None:
        return None
    first = 0 if asked.since is None else from_micros(asked.since).toordinal()
    return first, 2**31 if asked.until is None else from_micros(asked.until).toordinal()
