"""Which lanes of a tenant may lack vectors: those that were written to here, and now and then every one of them."""

import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final

LOOK_AROUND_SECONDS: Final = 60.0
"""How long what this process wrote is all that is looked at: others may have been killed before they made theirs."""


@dataclass(slots=True)
class WrittenLanes:
    """Remembers the lanes that were written to until their vectors are made. Thread-safe."""

    seconds: Callable[[], float] = time.monotonic
    _lanes: dict[str, set[int]] = field(default_factory=dict)
    """By tenant; where a tenant is not named, every lane of it is to be looked at."""
    _looked: dict[str, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, tenant: str, lane_id: int) -> None:
        """Say that a lane was written to: after the write, or who looks now would find nothing and forget it."""
        with self._lock:
            known = self._lanes.get(tenant)
            if known is not None:
                known.add(lane_id)

    def note_all(self, tenant: str) -> None:
        """Say that any lane of a tenant may have changed."""
        with self._lock:
            self._lanes.pop(tenant, None)

    def take(self, tenant: str) -> Collection[int] | None:
        """Give the lanes that are to be looked at, None for every one; who cannot finish them gives them back."""
        now = self.seconds()
        with self._lock:
            taken = self._lanes.get(tenant)
            if now - self._looked.get(tenant, -LOOK_AROUND_SECONDS) >= LOOK_AROUND_SECONDS:
                taken = None
            if taken is None:
                self._looked[tenant] = now
            self._lanes[tenant] = set()
            return taken

    def give_back(self, tenant: str, taken: Collection[int] | None) -> None:
        """Have lanes that were taken looked at again."""
        with self._lock:
            known = self._lanes.get(tenant)
            if taken is None:
                self._lanes.pop(tenant, None)
            elif known is not None:
                known.update(taken)
