"""Seconds and megabytes of this process."""

import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Final, Self

_STATM: Final = Path("/proc/self/statm")
_SAMPLE_SECONDS: Final = 0.02
_MEGABYTE: Final = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Duration:
    """Seconds of wall clock, and of CPU over all threads of this process. On a shared machine the CPU counts."""

    wall: float
    cpu: float

    def __add__(self, other: "Duration") -> "Duration":
        return Duration(self.wall + other.wall, self.cpu + other.cpu)


NO_TIME: Final = Duration(0.0, 0.0)


def per_second(count: int, seconds: float) -> float:
    """Return count / seconds; an interval too short for the clock counts as a nanosecond."""
    return count / max(seconds, 1e-9)


class Stopwatch:
    """Runs from its making on."""

    def __init__(self) -> None:
        self._cpu = time.process_time()
        self._wall = time.perf_counter()

    def read(self) -> Duration:
        """Return the time since the making."""
        wall = time.perf_counter() - self._wall
        return Duration(wall, time.process_time() - self._cpu)


def resident_megabytes() -> float | None:
    """Return the resident set of this process in MiB, or None where the system has no /proc to read it from."""
    try:
        pages = int(_STATM.read_text(encoding="ascii").split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE") / _MEGABYTE


class PeakMemory:
    """A context in which the resident set is sampled 50 times a second.

    Then ``before`` is what it was at the start and ``peak`` its highest sample, both in MiB or None.
    """

    def __init__(self) -> None:
        self.before = resident_megabytes()
        self.peak = self.before
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._sample, name="peak-memory", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()
        self._take()

    def _sample(self) -> None:
        while self.peak is not None and not self._done.wait(_SAMPLE_SECONDS):
            self._take()

    def _take(self) -> None:
        now = resident_megabytes()
        if now is not None and self.peak is not None:
            self.peak = max(self.peak, now)
