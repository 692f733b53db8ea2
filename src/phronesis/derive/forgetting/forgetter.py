"""What callers ask around ``forget``: what an entry says, what it would do, what it did, and when it is due."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final

from phronesis.core.entries import Entry
from phronesis.core.experience.upkeep import Forgotten
from phronesis.core.forgetting import FORGETTABLE, Law
from phronesis.core.scope import LaneName
from phronesis.derive.forgetting.forget import FORGET, foreseen, forgotten
from phronesis.derive.forgetting.planning import planned
from phronesis.derive.handler import FAILED_ROLE
from phronesis.derive.writer import Writer
from phronesis.errors import InputError
from phronesis.recall.browse import Browser
from phronesis.storage.database import Database
from phronesis.storage.lane_view import LaneView
from phronesis.storage.lanes import Lane, find_lane
from phronesis.storage.usage import Usage, used_since

ACTOR: Final = "worker"


@dataclass(frozen=True, slots=True)
class Forgetter:
    """Says by which figures a lane forgets, and reads what that came to. With ``background``, a worker forgets too."""

    database: Database
    usage: Usage
    law: Law
    background: bool = False
    hours: float = 168.0
    _looked: dict[tuple[str, int], datetime] = field(default_factory=dict)

    @property
    def kinds(self) -> list[str]:
        """The kinds that have a rule, in the order in which they are forgotten."""
        return [kind for kind in FORGETTABLE if kind in self.law.rules]

    def payload(
        self, tenant: str, name: LaneName, kinds: object = None, narrowing: Mapping[str, str] | None = None
    ) -> dict[str, Any]:
        """Give what an entry says: kinds, figures, what reads showed since the last time. InputError: no such kind."""
        wanted = self._wanted(kinds)
        self.usage.settle(tenant)
        with self.database.transaction(tenant, "read") as unit:
            lane = find_lane(unit, name)
            used = {} if lane is None else used_since(unit, lane.lane_id)
        rules = Law(rules={kind: self.law.rules[kind] for kind in wanted}, most=self.law.most)
        shown = {one: list(figures) for one, figures in used.items()}
        return {"kinds": wanted, "law": rules.to_payload(), "used": shown, **(narrowing or {})}

    def _wanted(self, kinds: object) -> list[str]:
        known = self.kinds
        if kinds is None:
            return known
        listed = kinds if isinstance(kinds, Sequence) and not isinstance(kinds, str) else ()
        if not listed or any(kind not in known for kind in listed):
            raise InputError(f"kinds must be a list of kinds that are forgotten ({', '.join(known)})", field="kinds")
        return [kind for kind in known if kind in listed]

    def would_do(
        self, tenant: str, name: LaneName, payload: Mapping[str, Any], at: datetime
    ) -> tuple[list[Forgotten], list[Forgotten]]:
        """Give what an entry with this payload would do at a time, and what it would keep though it has faded."""
        with self.database.transaction(tenant, "read") as unit:
            lane = find_lane(unit, name)
            return ([], []) if lane is None else foreseen(LaneView(unit, lane), payload, at)

    def did(self, browser: Browser, tenant: str, entry: Entry) -> list[Forgotten]:
        """Give what an entry did."""
        rows = (forgotten(item, delta.patch, delta.reason) for delta, item in browser.changed_by(tenant, entry))
        return [row for row in rows if row is not None]

    def visit(self, writer: Writer, tenant: str, lane: Lane, now: datetime) -> bool:
        """Forget in a lane where it was not looked at for so long; tell whether there was anything to be done.

        What was shown is taken up then too. Where nothing is to be moved, no entry is written.
        """
        if lane.name is None:
            return False
        with self.database.transaction(tenant, "read") as unit:
            view = LaneView(unit, lane)
            last = view.last_recorded(FORGET, before=lane.head_seq + 1, without=FAILED_ROLE)
        looked = max([one for one in (last, self._looked.get((tenant, lane.lane_id))) if one is not None], default=None)
        if looked is not None and now - looked < timedelta(hours=self.hours):
            return False
        self._looked[tenant, lane.lane_id] = now
        name = LaneName(lane.kind, lane.name)
        payload = self.payload(tenant, name)
        with self.database.transaction(tenant, "read") as unit:
            due = bool(planned(LaneView(unit, lane), payload, now).steps)
        if due:
            writer.write(tenant, name, verb=FORGET, payload=payload, actor=ACTOR)
        return due
