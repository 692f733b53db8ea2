"""What callers ask around the verb ``forget``: what an entry says, what it would do, and what it did."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from phronesis.core.entries import Entry
from phronesis.core.experience.forgetting import Law
from phronesis.core.experience.upkeep import Forgotten
from phronesis.core.scope import LaneName
from phronesis.derive.experience.forgetting import foreseen, forgotten, shown_in
from phronesis.errors import InputError
from phronesis.recall.browse import Browser
from phronesis.storage.database import Database
from phronesis.storage.lane_view import LaneView
from phronesis.storage.lanes import find_lane


@dataclass(frozen=True, slots=True)
class Forgetter:
    """Says by which figures a lane forgets, and reads what that came to. ``kinds`` are those of the policy."""

    database: Database
    law: Law
    kinds: Sequence[str]

    def payload(self, tenant: str, name: LaneName, kinds: object) -> dict[str, Any]:
        """Give what an entry says: kinds, figures, what reads showed since the last time. InputError: no such kind."""
        wanted = self._wanted(kinds)
        with self.database.transaction(tenant, "read") as unit:
            lane = find_lane(unit, name)
            shown = {} if lane is None else shown_in(LaneView(unit, lane))
        return {"kinds": wanted, "law": self.law.to_payload(), "shown": shown}

    def _wanted(self, kinds: object) -> list[str]:
        if kinds is None:
            return list(self.kinds)
        if isinstance(kinds, str) or not isinstance(kinds, Sequence) or not set(kinds) <= set(self.kinds) or not kinds:
            known = ", ".join(self.kinds) or "none: the policy's experience.forget.kinds is empty"
            raise InputError(f"kinds must be a list of kinds that are forgotten ({known})", field="kinds")
        return [kind for kind in self.kinds if kind in kinds]

    def would_do(self, tenant: str, name: LaneName, payload: Mapping[str, Any], at: datetime) -> list[Forgotten]:
        """Give what an entry with this payload would do at a time."""
        with self.database.transaction(tenant, "read") as unit:
            lane = find_lane(unit, name)
            return [] if lane is None else foreseen(LaneView(unit, lane), payload, at)

    def did(self, browser: Browser, tenant: str, entry: Entry) -> list[Forgotten]:
        """Give what an entry did."""
        rows = (forgotten(item, delta.patch, delta.reason) for delta, item in browser.changed_by(tenant, entry))
        return [row for row in rows if row is not None]
