"""What a read leaves behind, written beside it: a reader waits for nobody and never fails of it.

What could not be written then is kept in this process and written before its next write.
"""

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

from phronesis.errors import StorageBusy, StorageError
from phronesis.storage.database import Database, Unit

MAX_WAITING: Final = 256
"""Notes that wait in this process to be written; the oldest give way."""

_Note = TypeVar("_Note")


@dataclass(slots=True)
class Aside(Generic[_Note]):
    """Writes notes with ``store``, each once. Thread-safe."""

    database: Database
    store: Callable[[Unit, _Note], None]
    _waiting: deque[tuple[str, _Note]] = field(default_factory=lambda: deque(maxlen=MAX_WAITING))
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, tenant: str, note: _Note) -> None:
        """Write a note as soon as nobody else is writing. Never fails and never waits."""
        with self._lock:
            self._waiting.append((tenant, note))
        self._write(tenant, patient=False)

    def settle(self, tenant: str) -> None:
        """Write what waits, before a write that it may matter to; waits as that write would."""
        if self._waiting:
            self._write(tenant, patient=True)

    def _write(self, tenant: str, *, patient: bool) -> None:
        with self._lock:
            mine = [waiting for waiting in self._waiting if waiting[0] == tenant]
        if not mine:
            return
        try:
            with self.database.transaction(tenant, "derive", patient=patient) as unit:
                for _, note in mine:
                    self.store(unit, note)
        except StorageBusy:
            return  # they wait
        except StorageError:
            pass  # a store that cannot be written learns nothing either
        with self._lock:
            for waiting in mine:
                if waiting in self._waiting:
                    self._waiting.remove(waiting)
