"""Reading the items of one lane by a caller's own names for them."""

from dataclasses import dataclass

from phronesis.core.items import Item
from phronesis.core.scope import LaneName
from phronesis.storage.database import Database
from phronesis.storage.items import read_named
from phronesis.storage.lanes import find_lane
from phronesis.storage.named_items import EVERY, Asked, NamedRow, heads_between, row_named, rows_between


@dataclass(frozen=True, slots=True)
class NamedItems:
    """The items of a lane that have an ``external_id``; nothing where the lane is not there yet."""

    database: Database
    tenant: str
    lane: LaneName

    def find(self, external_id: str) -> Item | None:
        """Give the item that a name stands for, or None."""
        with self.database.transaction(self.tenant, "read") as unit:
            lane = find_lane(unit, self.lane)
            found = [] if lane is None else read_named(unit, lane, external_id)
        return next((item for item in reversed(found) if item.keeps_name), None)

    def row(self, external_id: str) -> NamedRow | None:
        """Give what is to be shown of the item that a name stands for, or None."""
        with self.database.transaction(self.tenant, "read") as unit:
            lane = find_lane(unit, self.lane)
            return None if lane is None else row_named(unit, lane, external_id)

    def heads(self, low: str, high: str, *, until: str) -> set[str]:
        """Give what stands ahead of the first ``until`` in the names from ``low`` up to ``high``."""
        with self.database.transaction(self.tenant, "read") as unit:
            lane = find_lane(unit, self.lane)
            return set() if lane is None else heads_between(unit, lane, low, high, until=until)

    def rows(self, low: str, high: str, asked: Asked = EVERY) -> list[NamedRow]:
        """Give what is to be shown of the items of these names, those first that changed last."""
        with self.database.transaction(self.tenant, "read") as unit:
            lane = find_lane(unit, self.lane)
            return [] if lane is None else rows_between(unit, lane, low, high, asked)
