"""What there is at a glance: counts, what was learned lately, what contradicts what, and what waits for a person."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from phronesis.core.items import Item
from phronesis.core.plain import Record

RECORDED_KINDS: Final = frozenset({"message", "document", "section", "run", "cycle", "mark"})
"""Kinds that hold what was said, given or done: nothing was learned by them alone."""


@dataclass(frozen=True, slots=True)
class Dispute(Record):
    """Two live items of which one contradicts the other: the later one first."""

    one: Item
    other: Item


@dataclass(frozen=True, slots=True)
class Overview(Record):
    """A scope at a glance.

    ``counts`` are live items by kind; ``learned`` what was learned since ``since``, newest first; ``disputes`` what
    contradicts what; ``quarantined`` how many items wait for a person's word; ``unproven`` principles that no event
    supports any more.
    """

    since: datetime
    counts: Mapping[str, int] = field(default_factory=dict)
    learned: Sequence[Item] = ()
    disputes: Sequence[Dispute] = ()
    quarantined: int = 0
    unproven: Sequence[Item] = ()


@dataclass(frozen=True, slots=True)
class UserInfo(Record):
    """A user of the tenant: live items by kind, and when the last entry of theirs was recorded."""

    user_id: str
    last_recorded_at: datetime
    counts: Mapping[str, int] = field(default_factory=dict)
