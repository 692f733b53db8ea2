"""What is forgotten: how well something is retained, and what is done about it (EMB-16; decision 25).

Retention falls exponentially with the time since something was last of use (Ebbinghaus 1885), the slower the more often
it was used, the more useful it was said to be, and the more its source is trusted; what speaks against it lowers it at
once. What is retained badly is downweighted, then archived, and what has been archived for long is deleted: it ends,
and stays readable by id and in history.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from math import isfinite, log2
from typing import Any, Final, Literal

from phronesis.core.canonical import rounded
from phronesis.core.instants import isoformat, parse_moment
from phronesis.core.items import Item, Trust

FORGETTING: Final = "forgetting"
"""The member of an item's ``data`` that says what forgetting did to it: ``{action, at, …figures}``."""

USE: Final = "use"
"""The member of an item's ``data`` that says how often and when it was last shown: ``{count, last}``."""

WEIGHT: Final = "weight"
"""The member of an item's ``data`` that ranking multiplies by; absent: 1."""

DOWNWEIGHTED: Final = 0.5
"""The weight of what is downweighted."""

MACHINE_SHARE: Final = 0.5
"""How long a machine's word is retained, in terms of a person's."""

Action = Literal["downweight", "archive", "delete", "restore"]

_DAY: Final = timedelta(days=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """The policy's figures: days and retentions, see `phronesis.config.experience`."""

    half_life_days: float = 180.0
    downweight_below: float = 0.5
    archive_below: float = 0.25
    delete_after_days: float = 365.0
    keep_sources: frozenset[str] = field(default_factory=frozenset)

    def to_payload(self) -> dict[str, Any]:
        """Give plain JSON values: an entry says by which figures it forgot."""
        return {
            "half_life_days": self.half_life_days, "downweight_below": self.downweight_below,
            "archive_below": self.archive_below, "delete_after_days": self.delete_after_days,
            "keep_sources": sorted(self.keep_sources),
        }  # fmt: skip

    @classmethod
    def of(cls, payload: Mapping[str, Any]) -> "Law":
        """Read what ``to_payload`` gave."""
        return cls(**{**payload, "keep_sources": frozenset(payload["keep_sources"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What retention follows from. ``counter``: the share of the evidence that speaks against it, in [0, 1]."""

    age_days: float
    uses: int = 0
    usefulness: float = 0.5
    counter: float = 0.0
    human: bool = True

    def to_data(self, retention: float) -> dict[str, Any]:
        """Give plain JSON values."""
        return {
            "retention": rounded(retention), "age_days": round(self.age_days, 2), "uses": self.uses,
            "usefulness": rounded(self.usefulness), "counter": rounded(self.counter),
            "source": "human" if self.human else "machine",
        }  # fmt: skip


def retention(figures: Figures, half_life_days: float) -> float:
    """Give how well something is retained, in [0, 1].

    (1 - counter) 2^(-age / h), where h is the half-life · (1 + log2(1 + uses)) · (.5 + usefulness) · (1 for a person's
    word, .5 for a machine's). So .5 after one half-life of what a person said, nobody judged, and nobody used.
    """
    slower = (1.0 + log2(1.0 + figures.uses)) * (0.5 + figures.usefulness)
    slower *= 1.0 if figures.human else MACHINE_SHARE
    value = (1.0 - figures.counter) * 2.0 ** (-max(0.0, figures.age_days) / (half_life_days * slower))
    return value if isfinite(value) else 0.0


def is_forgotten(item: Item | None) -> bool:
    """Tell whether forgetting put an item away: what it was evidence for goes on holding."""
    done = {} if item is None else item.data.get(FORGETTING) or {}
    return item is not None and not item.live and done.get("action") in ("archive", "delete")


def is_human(item: Item) -> bool:
    """Tell whether a person said it, or what it was learned from."""
    return item.trust >= Trust.USER


def next_action(item: Item, kept: float, law: Law, at: datetime) -> Action | None:
    """Give what is done with an item that is retained so well; None: nothing, which is so at once after anything.

    What somebody brought back by hand is restored. What nobody but forgetting archived waits to be deleted.
    """
    done = item.data.get(FORGETTING) or {}
    action = done.get("action")
    if item.status == "archived":
        since = parse_moment(done["at"], field="at") if action == "archive" else at
        return "delete" if action == "archive" and at - since >= law.delete_after_days * _DAY else None
    if action == "archive":
        return "restore"
    if kept < law.archive_below:
        return "archive"
    if kept < law.downweight_below:
        return None if action == "downweight" else "downweight"
    return "restore" if action == "downweight" else None


def fields_of(action: Action, figures: Figures, kept: float, at: datetime) -> dict[str, Any]:
    """Give the fields that an action sets; those of a deletion lack what ended the item."""
    if action == "restore":
        return {f"data.{FORGETTING}": None, f"data.{WEIGHT}": None}
    told = {"action": action, "at": isoformat(at), **figures.to_data(kept)}
    fields: dict[str, Any] = {f"data.{FORGETTING}": told}
    if action == "delete":
        return fields
    return fields | {f"data.{WEIGHT}": DOWNWEIGHTED} | ({"status": "archived"} if action == "archive" else {})


def used(item: Item, count: int, at: datetime) -> dict[str, Any]:
    """Give the field that says that something was shown so often since the last time, up to now."""
    before = (item.data.get(USE) or {}).get("count", 0)
    return {f"data.{USE}": {"count": before + count, "last": isoformat(at)}}
