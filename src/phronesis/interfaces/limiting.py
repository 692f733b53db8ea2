"""How many calls are taken: a token bucket for each key, or each address without one."""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from phronesis.errors import RateLimited

MAX_CALLERS: Final = 10_000
"""Buckets that are kept; who has not called for longest begins anew with a full one."""


@dataclass(slots=True)
class RateLimit:
    """Takes ``per_minute`` calls of a caller, and ``burst`` at once. None: any number. Thread-safe."""

    per_minute: int | None
    burst: int
    seconds: Callable[[], float] = time.monotonic
    _buckets: OrderedDict[str, tuple[float, float]] = field(default_factory=OrderedDict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def take(self, caller: str) -> None:
        """Count one call; RateLimited when there are too many, with the seconds until there is room for one."""
        if self.per_minute is None:
            return
        rate, now = self.per_minute / 60, self.seconds()
        with self._lock:
            left, at = self._buckets.pop(caller, (float(self.burst), now))
            left = min(float(self.burst), left + (now - at) * rate)
            allowed = left >= 1
            self._buckets[caller] = (left - 1 if allowed else left, now)
            if len(self._buckets) > MAX_CALLERS:
                self._buckets.popitem(last=False)
        if not allowed:
            wait = (1 - left) / rate
            raise RateLimited(
                f"too many calls: {self.per_minute} a minute are taken; come again in {wait:.0f} s",
                details={"retry_after": round(wait, 3)},
            )
