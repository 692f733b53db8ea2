"""What learns worked out of a lane and need again: runs as tests see them, and what claims' words compare."""

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Any, Final

from phronesis.storage.lane_view import LaneView

MAX_LANES: Final = 8
"""Lanes of which something is kept, those used last."""

MAX_KEPT: Final = 50_000
"""Entries kept of a lane, about a kilobyte each; when there are more, all are worked out anew."""


@dataclass(slots=True)
class Kept:
    """Values by lane, as long as its epoch stands: an erasure or a rebuild makes it forget. Thread-safe.

    A value must follow from its key alone, within an epoch.
    """

    lanes: int = MAX_LANES
    limit: int = MAX_KEPT
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _kept: "OrderedDict[tuple[str, int], tuple[int, dict[Any, Any]]]" = field(default_factory=OrderedDict)

    def of(self, view: LaneView) -> dict[Any, Any]:
        """Give what is kept of a lane, for the caller to read and to add to."""
        name, epoch = (view.unit.tenant, view.lane_id), view.lane.epoch
        with self._lock:
            known = self._kept.pop(name, None)
            values = known[1] if known is not None and known[0] == epoch and len(known[1]) <= self.limit else {}
            self._kept[name] = (epoch, values)
            while len(self._kept) > self.lanes:
                self._kept.popitem(last=False)
        return values
