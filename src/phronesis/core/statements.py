"""Statements and held items as consolidation compares them, and the equality of values.

A **statement** is a proposal with its context: speaker, time, the normalised form of its value, and whether its key
holds one value or many. A **held** record is an item with all its statements.
"""

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Final

from phronesis.core.ids import item_id
from phronesis.core.items import Item, Trust
from phronesis.core.proposals import Cardinality, Conflict, Proposal, Retention
from phronesis.core.serialization import dumps
from phronesis.core.timestamps import parse_moment

STATED: Final = frozenset(
    {"fact", "episodic", "profile", "preference", "task", "decision", "event", "intention", "procedure"}
)
"""Kinds that are statements; the others are verbatim records, or made by learning."""
OCCASIONS: Final = frozenset({"event", "episodic"})
"""Kinds that happen: the same words on another date are another event, and a past event stays valid."""
LASTING: Final = ("profile", "fact", "preference")
"""Kinds that hold until something ends them: past their ``valid_to`` they are left out by reads that ask of no time."""
OPPOSITE: Final = {"likes": "dislikes", "dislikes": "likes"}
"""Keys that cannot both hold of the same value (docs/memory-types.md)."""
DENIES: Final = "not."
"""The beginning of a key whose items deny those of another key: ``not.allergy``."""
COMPARED: Final = "compared"
"""The member of an item's ``data`` with the normalised form of its value, where that differs from the value."""
SAME_DAY: Final = timedelta(days=1)
"""Two dates of an event this near are one date: "yesterday" and "on Monday" are not exact to the hour."""
MAX_FORM: Final = 512
"""Characters of a value that are compared: what is longer is a text, and its beginning tells it from others."""
_END: Final = " \t\n.,;:!?。，、；：！？…"
_APART: Final = re.compile(r"(?<!\s)\s*+(?:[,;:(（，；：—–]|(?<=\s)-\s)")
_GAP: Final = re.compile(r"[\s,;:(（，；：—–/-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """One statement of a value: when, with what trust, and its number among several.

    ``began`` is the date that it names for its beginning, or None.
    """

    at: datetime
    trust: Trust = Trust.USER
    by: str | None = None
    began: datetime | None = None

    def wins_over(self, other: "Occurrence") -> bool:
        """Return whether it wins a conflict: it is later, and from a source trusted no less.

        Of one source's statements at one time the later sentence wins, unless both name a date: then the later date.
        """
        if self.trust < other.trust or self.at < other.at:
            return False
        if self.at > other.at:
            return True
        same_source = (self.trust, self.by) == (other.trust, other.by)
        return same_source and not _begins_before(self, other)

    def loses_to(self, earlier: "Occurrence") -> bool:
        """Return whether what was recorded before it stands all the same: it was said later, or names a later date."""
        if earlier.trust < self.trust or earlier.at < self.at:
            return False
        if earlier.at > self.at:
            return True
        same_source = (self.trust, self.by) == (earlier.trust, earlier.by)
        return same_source and _begins_before(self, earlier)


def _begins_before(one: Occurrence, other: Occurrence) -> bool:
    return one.began is not None and other.began is not None and one.began < other.began


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """What is to be compared with what is held; ``id`` is that of the item it would become.

    ``form`` is the value as it is compared. ``against`` are the ids of items whose place it takes besides ("X instead
    of Y"). ``until`` is when it ceases to hold, if that was said. ``retention`` and ``conflict`` are the policy's rules
    for its key: those of what is said now decide, also over an item of the opposite key. ``ahead`` says whether it
    takes effect later (``Proposal.ahead``).
    """

    id: str
    kind: str
    key: str
    form: str
    saying: Occurrence
    cardinality: Cardinality = "many"
    against: frozenset[str] = frozenset()
    until: datetime | None = None
    retention: Retention = "versioned"
    conflict: Conflict = "occurred"
    ahead: bool | None = None

    @property
    def since(self) -> datetime:
        """From when it holds: the date it names, or when it was said."""
        return self.saying.began or self.saying.at

    @property
    def closed(self) -> bool:
        """Return whether it had ceased to hold when it was said ("I lived in Leeds until 2015")."""
        return self.until is not None and self.until <= self.saying.at and self.kind not in OCCASIONS

    def wins_over(self, other: Occurrence) -> bool:
        """Return whether it stands where both cannot, by its rule for conflicts."""
        if self.conflict == "keep_both":
            return False
        if self.conflict == "trust" and self.saying.trust != other.trust:
            return self.saying.trust > other.trust
        return self.saying.wins_over(other)

    def loses_to(self, other: Occurrence) -> bool:
        """Return whether what was recorded before it stands all the same, by its rule for conflicts."""
        if self.conflict == "keep_both":
            return False
        if self.conflict == "trust" and self.saying.trust != other.trust:
            return self.saying.trust < other.trust
        return self.saying.loses_to(other)


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldStatement:
    """An item of the same subject, with all its statements."""

    item: Item
    sayings: Sequence[Occurrence]

    @property
    def form(self) -> str:
        """The normalised form of the value."""
        return form_of(self.item)

    @property
    def first(self) -> datetime:
        """When it was first stated."""
        return min(saying.at for saying in self.sayings)

    @property
    def last(self) -> datetime:
        """When it was last stated."""
        return max(saying.at for saying in self.sayings)

    @property
    def current(self) -> bool:
        """Return whether it is valid; quarantined and archived items are not used."""
        return self.item.live

    @property
    def past(self) -> bool:
        """Return whether another item superseded it."""
        return self.item.ended == "superseded" and self.item.status == "active" and self.item.quarantine is None


def opposite_key(key: str) -> str:
    """Return the key that cannot hold of a value of which ``key`` holds."""
    return OPPOSITE.get(key) or (key.removeprefix(DENIES) if key.startswith(DENIES) else f"{DENIES}{key}")


def is_over(item: Item, now: datetime) -> bool:
    """Return whether what an item says had a day on which it ceases to hold, and that day has come."""
    return item.kind in LASTING and item.valid_to is not None and item.valid_to <= now


def mark_future_effect(one: Proposal, at: datetime) -> Proposal:
    """Return what was proposed of a message of time ``at``, with whether it takes effect later (``Proposal.ahead``)."""
    if one.cardinality == "many" or one.kind not in LASTING or one.act != "assert":
        return one
    ahead = one.occurred_at is not None and parse_moment(one.occurred_at, field="occurred_at") > at
    return replace(one, ahead=ahead)


def compared_form(value: Any) -> str:
    """Return the normalised form of a value without regard to case, width, spaces and final punctuation.

    Values other than texts are compared as canonical JSON: true is not 1, and 1 is not "1".
    """
    if not isinstance(value, str):
        return f"json:{dumps(value)}"[:MAX_FORM]
    folded = unicodedata.normalize("NFKC", value[:MAX_FORM]).casefold()
    return " ".join(folded.split()).strip(_END)[:MAX_FORM]


def proposed_form(one: Proposal) -> str:
    """Return the compared form of what a proposal says."""
    said = one.content if one.value is None else one.value
    return compared_form(one.compared if one.compared is not None else said)


def proposed_item_id(entry_id: str, one: Proposal) -> str:
    """Return the id of the item that a proposal of an entry becomes."""
    return item_id(entry_id, one.kind, f"{one.subject}\n{one.key}\n{proposed_form(one)}")


def form_of(item: Item) -> str:
    """Return the compared form of what an item holds: of its value, or of its words when it has none."""
    compared = item.data.get(COMPARED)
    if isinstance(compared, str):
        return compared
    return compared_form(item.content if item.value is None else item.value)


def adds_detail(longer: str, shorter: str, cardinality: Cardinality) -> bool:
    """Return whether a form adds detail to another: "lyon, near the station" after "lyon".

    Where a key holds many values, only detail after punctuation counts: "tea with milk" is another value than "tea".
    """
    if not shorter or len(longer) <= len(shorter) or not longer.startswith(shorter):
        return False
    rest = longer[len(shorter) :]
    return (_GAP if cardinality == "one" else _APART).match(rest) is not None


def is_same_value(one: str, other: str, cardinality: Cardinality) -> bool:
    """Return whether two forms are one value, possibly with more detail."""
    return one == other or adds_detail(one, other, cardinality) or adds_detail(other, one, cardinality)
