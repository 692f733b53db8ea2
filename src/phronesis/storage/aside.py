"""What a read leaves behind, written beside it: a reader waits for nobody and never fails of it.

It waits in this process until somebody settles: a thread beside the reader, a moment later, or the next write.
"""

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from phronesis.errors import StorageBusy, StorageError
from phronesis.storage.database import Database, Unit

MAX_WAITING: Final = 256
"""Notes that wait in this process to be written; the oldest give way."""

_Note = TypeVar("_Note")


@dataclass(slots=True)
class Aside(Generic[_Note]):
    """Writes notes with ``store``, each once, those that wait together. Thread-safe."""

    database: Database
    store: Callable[[Unit, Sequence[_Note]], None]
    _waiting: deque[tuple[str, _Note]] = field(default_factory=lambda: deque(maxlen=MAX_WAITING))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, tenant: str, note: _Note) -> None:
        """Keep a note until it is settled. Never fails and never waits."""
        with self._lock:
            self._waiting.append((tenant, note))

    def settle(self, tenant: str, *, patient: bool = True) -> None:
        """Write what waits, before a write that it may matter to; waits as that write would, if ``patient``."""
        if self._waiting:
            self._write(tenant, patient=patient)

    def close(self) -> None:
        """Write what waits of all tenants, unless somebody else is writing."""
        with self._lock:
            tenants = list(dict.fromkeys(tenant for tenant, _ in self._waiting))
        for tenant in tenants:
            self._write(tenant, patient=False)

    def _write(self, tenant: str, *, patient: bool) -> None:
        with self._lock:
            mine = [waiting for waiting in self._waiting if waiting[0] == tenant]
        if not mine:
            return
        try:
            with self.database.transaction(tenant, "derive", patient=patient) as unit:
                self.store(unit, [note for _, note in mine])
        except StorageBusy:
            return  # they wait
        except StorageError:
            pass  # a store that cannot be written learns nothing either
        with self._lock:
            for waiting in mine:
                if waiting in self._waiting:
                    self._waiting.remove(waiting)
