"""Retention of an item, and what follows from it (EMB-16; docs/decisions/17).

Retention falls exponentially with the time since the last use (Ebbinghaus 1885), more slowly the more often an item was
used, the more important and useful it is, and the more its source is trusted; counter-evidence lowers it at once. Items
of low retention are downweighted where ranking can use that, then archived; so are intentions whose time is over. Items
that have been archived for long are deleted: they end, and stay readable by id and in history.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from math import isfinite, log2
from typing import Any, Final, Literal

from phronesis.core.items import DUE, PROSPECTIVE, Item, Trust
from phronesis.core.serialization import round_stored
from phronesis.core.timestamps import isoformat, parse_moment
from phronesis.experience.laws.records import L1, PATTERN, PRINCIPLE

FORGETTING: Final = "forgetting"
"""The member of an item's ``data`` with the last action of forgetting: ``{action, at, why, …figures}``."""

USE: Final = "use"
"""The member of an item's ``data`` with its usage: total count and last time, ``{count, last}``."""

WEIGHT: Final = "weight"
"""The member of an item's ``data`` by which ranking multiplies; absent: 1."""

USEFULNESS: Final = "usefulness"
"""The member of an item's ``data`` with its usefulness by feedback, where a fold computes it."""

DOWNWEIGHTED: Final = 0.5
"""The weight of a downweighted item."""

MACHINE_SHARE: Final = 0.5
"""Half-life of a machine's statement, as a share of a person's."""

POINTS: Final = 2.0
"""Points of importance that double the half-life (this project's choice: the steps of the scale are two apart)."""

MESSAGE: Final = "message"

EXPERIENCE: Final = (PRINCIPLE, PATTERN, L1)
"""Kinds of experience, highest level first: what is forgotten there no longer protects lower levels."""

CONVERSATION: Final = (
    "decision",
    "task",
    "intention",
    "event",
    "episodic",
    "preference",
    "profile",
    "procedure",
    "fact",
    "document",
    "section",
    MESSAGE,
)
"""Kinds of conversation memory; messages last, as the others were extracted from them."""

FORGETTABLE: Final = (*EXPERIENCE, *CONVERSATION)
"""Kinds that may be forgotten, in order."""

Action = Literal["downweight", "archive", "delete", "restore"]
Why = Literal["decay", "low use", "contradicted", "expired", "archived", "of use again", "brought back"]
"""The reason of an action. ``low use``: never shown by a read; ``decay``: shown, but not recently."""

FAMILY: Final = ".*"
"""The suffix of a family of keys, as in ``favorite.*``."""

_DAY: Final = timedelta(days=1)
_MEMBERS: Final = (FORGETTING, USE, WEIGHT, USEFULNESS, DUE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """The policy's parameters for one kind: days, and retentions from 0 to 1 (`forgetting.policy_section`).

    ``downweight_below`` 0: a kind that ranking does not weigh. ``usual``: the importance to which the half-life
    refers. ``expired_after_days``: how long after its end an intention is archived; None: never for that reason.
    ``keep`` names kinds and keys (``allergy``, ``favorite.*``) that are never forgotten, ``keep_importance`` the
    importance from which nothing is.
    """

    half_life_days: float = 180.0
    downweight_below: float = 0.5
    archive_below: float = 0.25
    delete_after_days: float = 365.0
    expired_after_days: float | None = None
    usual: int = 5
    keep_importance: int | None = None
    keep: frozenset[str] = frozenset()
    keep_sources: frozenset[str] = frozenset()

    def to_payload(self) -> dict[str, Any]:
        """Return plain JSON values."""
        given = {one.name: getattr(self, one.name) for one in fields(self)}
        return {name: sorted(value) if isinstance(value, frozenset) else value for name, value in given.items()}

    @classmethod
    def of(cls, payload: Mapping[str, Any]) -> "Rule":
        """Read what ``to_payload`` returned."""
        given: dict[str, Any] = {
            name: frozenset(value) if isinstance(value, list) else value for name, value in payload.items()
        }
        return cls(**given)

    @property
    def youngest_days(self) -> float:
        """Days before which no item without counter-evidence can fall below a threshold."""
        below = max(self.downweight_below, self.archive_below)
        if below <= 0.0:
            return float("inf")
        slowest = RetentionFigures(age_days=0.0, usefulness=0.0, human=False, importance=1, usual=self.usual)
        return self.half_life_days * slowest.slower * -log2(below)


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """The rule of each kind that is forgotten, and the maximum number of items of one entry."""

    rules: Mapping[str, Rule] = field(default_factory=dict)
    most: int = 10_000

    def to_payload(self) -> dict[str, Any]:
        """Return plain JSON values, so that an entry holds its own parameters."""
        return {"most": self.most, "rules": {kind: rule.to_payload() for kind, rule in self.rules.items()}}

    @classmethod
    def of(cls, payload: Mapping[str, Any]) -> "Law":
        """Read what ``to_payload`` returned."""
        return cls(rules={kind: Rule.of(rule) for kind, rule in payload["rules"].items()}, most=payload["most"])


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionFields:
    """The fields of a live item that forgetting needs, without its text."""

    id: str
    kind: str
    recorded_at: datetime
    key: str | None = None
    importance: int = 5
    status: str = "active"
    ended: str | None = None
    pinned: bool = False
    trust: Trust = Trust.USER
    source_type: str | None = None
    label: str | None = None
    occurred_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    data: Mapping[str, Any] = field(default_factory=dict)

    @staticmethod
    def members(data: Mapping[str, Any] | None) -> dict[str, Any]:
        """Return the relevant members of an item's ``data``."""
        return {name: data[name] for name in _MEMBERS if name in data} if data else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class RetentionFigures:
    """The quantities that retention depends on. ``counter``: the share of counter-evidence, in [0, 1]."""

    age_days: float
    uses: int = 0
    usefulness: float = 0.5
    counter: float = 0.0
    human: bool = True
    importance: int = 5
    usual: int = 5

    @property
    def slower(self) -> float:
        """The factor on the half-life."""
        value: float = (1.0 + log2(1.0 + self.uses)) * (0.5 + self.usefulness)
        value *= 2.0 ** ((self.importance - self.usual) / POINTS)
        return value if self.human else value * MACHINE_SHARE

    def to_data(self, kept: float) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "retention": round_stored(kept),
            "age_days": round(self.age_days, 2),
            "uses": self.uses,
            "usefulness": round_stored(self.usefulness),
            "counter": round_stored(self.counter),
            "source": "human" if self.human else "machine",
            "importance": self.importance,
        }


def retention(figures: RetentionFigures, half_life_days: float) -> float:
    """Return the retention of an item, in [0, 1].

    (1 - counter) 2^(-age / h), where h is the half-life · (1 + log2(1 + uses)) · (.5 + usefulness) · 2^((importance -
    the kind's usual importance) / 2) · (1 for a person's statement, .5 for a machine's). An unused, unrated statement
    of a person with the usual importance has .5 after one half-life.
    """
    value = (1.0 - figures.counter) * 2.0 ** (-max(0.0, figures.age_days) / (half_life_days * figures.slower))
    return value if isfinite(value) else 0.0


def is_forgotten(item: Item | None) -> bool:
    """Return whether forgetting archived or ended an item; what it was evidence for stays valid."""
    done = {} if item is None else item.data.get(FORGETTING) or {}
    return item is not None and not item.live and done.get("action") in ("archive", "delete")


def is_human(item: Item | RetentionFields) -> bool:
    """Return whether a person said an item, or its source."""
    return item.trust >= Trust.USER


def was_restored(item: Item | RetentionFields) -> bool:
    """Return whether somebody restored an item that forgetting had archived."""
    return item.status == "active" and (item.data.get(FORGETTING) or {}).get("action") == "archive"


def age_reference_time(item: Item | RetentionFields, use: datetime | None) -> datetime:
    """Return the time from which an item's age counts; ``use``: when it was last shown.

    Times in the future count: an appointment does not age before it happens, nor a task before it is due or over.
    """
    moments = [item.recorded_at, item.occurred_at, item.valid_from, use]
    if item.kind in PROSPECTIVE:
        due = item.data.get(DUE)
        moments += [item.valid_to, parse_moment(due, field=DUE) if isinstance(due, str) else None]
    return max(moment for moment in moments if moment is not None)


def is_expired(item: Item | RetentionFields, rule: Rule, use: datetime | None, at: datetime) -> bool:
    """Return whether an intention has been over for long enough; being shown since then postpones that."""
    if rule.expired_after_days is None or item.kind not in PROSPECTIVE or item.valid_to is None:
        return False
    since = item.valid_to if use is None else max(item.valid_to, use)
    return at - since >= rule.expired_after_days * _DAY


def protection(item: Item | RetentionFields, rule: Rule) -> str | None:
    """Return what protects an item whatever its retention, or None."""
    if item.pinned:
        return "pinned"
    if rule.keep_importance is not None and item.importance >= rule.keep_importance:
        return f"importance {item.importance}"
    key = item.key or ""
    for name in sorted(rule.keep):
        if name in (item.kind, key) or (name.endswith(FAMILY) and key.startswith(name[:-1])):
            return f"the policy keeps {name}"
    if item.source_type in rule.keep_sources:
        return f"the policy keeps what is from {item.source_type}"
    return None


def next_action(
    item: Item | RetentionFields, kept: float, rule: Rule, at: datetime, *, expired: bool = False
) -> tuple[Action, Why | None] | None:
    """Return the action for an item of this retention, and its reason; None for no action.

    Fading needs no reason besides the figures. An item that somebody restored by hand returns to normal weight. Only
    items that forgetting itself archived are deleted later.
    """
    done = item.data.get(FORGETTING) or {}
    action = done.get("action")
    if item.status == "archived":
        since = parse_moment(done["at"], field="at") if action == "archive" else at
        over = action == "archive" and at - since >= rule.delete_after_days * _DAY
        return ("delete", "archived") if over else None
    if action == "archive":
        return "restore", "brought back"
    if expired:
        return "archive", "expired"
    if kept < rule.archive_below:
        return "archive", None
    if kept < rule.downweight_below:
        return None if action == "downweight" else ("downweight", None)
    return ("restore", "of use again") if action == "downweight" else None


def explain_retention(figures: RetentionFigures, rule: Rule, action: Action) -> Why:
    """Return what lowered the retention of a downweighted or archived item."""
    floor = rule.archive_below if action == "archive" else rule.downweight_below
    unopposed = 0.0 if figures.counter >= 1.0 else retention(figures, rule.half_life_days) / (1.0 - figures.counter)
    if figures.counter >= 1.0 or (figures.counter > 0.0 and unopposed >= floor):
        return "contradicted"
    return "decay" if figures.uses else "low use"


def fields_of(action: Action, told: Mapping[str, Any], at: datetime, *, weighed: bool = True) -> dict[str, Any]:
    """Return the fields that an action sets; a deletion adds the ending.

    ``told``: the reason and the figures.
    """
    if action == "restore":
        return {f"data.{FORGETTING}": None, f"data.{WEIGHT}": None}
    out: dict[str, Any] = {f"data.{FORGETTING}": {"action": action, "at": isoformat(at), **told}}
    if weighed and action != "delete":
        out[f"data.{WEIGHT}"] = DOWNWEIGHTED
    return out | ({"status": "archived"} if action == "archive" else {})


def usage_field(count: int, last: datetime) -> dict[str, Any]:
    """Return the field with total count and last time of use."""
    return {f"data.{USE}": {"count": count, "last": isoformat(last)}}
