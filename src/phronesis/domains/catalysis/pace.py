"""How fast a server may be asked: so many requests a second from all threads of this process, fewer when it says so."""

import re
import threading
import time
from collections.abc import Callable, Mapping
from typing import Final

from phronesis.models.calls import Limits
from phronesis.models.http_faults import retry_after

PER_SECOND: Final = 5.0
"""Requests a second that PubChem allows a program (its usage policy, "Programmatic Access")."""

LONGEST_HOLD: Final = 900.0
"""Seconds that a server's word is heeded at most: a wrong date must not keep it from being asked for ever."""

_STATES: Final = {"red": 1.0, "black": 10.0}
"""Seconds until the next request, by the worst state that ``X-Throttling-Control`` tells: red is above 75 % of what is
allowed, black is blocked (PubChem, "Dynamic Request Throttling")."""

_STATE: Final = re.compile(r"status:\s{0,3}(\w{1,10})", re.IGNORECASE)
_LOOKED_AT: Final = 400
_PULSE: Final = 0.1


class Pace:
    """Hands out the moments at which requests may begin. Thread-safe."""

    def __init__(
        self,
        per_second: float = PER_SECOND,
        *,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self._gap = 1.0 / per_second
        self._clock = clock
        self._sleep = sleep
        self._next = 0.0
        self._lock = threading.Lock()

    def take(self, limits: Limits) -> bool:
        """Wait for this thread's turn; False, at once, when it would come too late. ModelCancelled while waiting."""
        with self._lock:
            now = self._clock()
            turn = max(self._next, now)
            if turn - now >= limits.left:
                return False
            self._next = turn + self._gap
        while (left := turn - self._clock()) > 0:
            limits.check()
            self._sleep(min(left, _PULSE))
        limits.check()
        return True

    def hold(self, seconds: float) -> None:
        """Let no request begin for some seconds."""
        with self._lock:
            self._next = max(self._next, self._clock() + min(seconds, LONGEST_HOLD))

    def heed(self, headers: Mapping[str, str]) -> None:
        """Slow down as a server's answer asks to: by ``Retry-After`` and ``X-Throttling-Control``."""
        states = _STATE.findall(headers.get("x-throttling-control", "")[:_LOOKED_AT])
        self.hold(max([retry_after(headers) or 0.0, *(_STATES.get(state.lower(), 0.0) for state in states)]))


_PACES: Final[dict[str, Pace]] = {}
_MAKING: Final = threading.Lock()


def pace_of(base_url: str) -> Pace:
    """Give the pace of a server: one for the whole process, however many stores are open in it."""
    with _MAKING:
        return _PACES.setdefault(base_url, Pace())
