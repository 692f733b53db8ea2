"""Notes that are written in the background: they neither delay the call that makes them nor make it fail."""

import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from typing import ClassVar, Generic, TypeVar

from phronesis.errors import StorageBusy, StorageError
from phronesis.store.database import Database, Unit

_Note = TypeVar("_Note")


class WriteBehind(ABC, Generic[_Note]):
    """Queues notes and writes them in batches, each once. Thread-safe. A process that is killed loses its queue."""

    keeps: ClassVar[bool] = False
    """Whether notes wait for a store that cannot be written; otherwise it learns nothing of them."""

    def __init__(self, database: Database, *, most: int) -> None:
        self.database = database
        self._waiting: deque[tuple[str, _Note]] = deque(maxlen=most)
        """The oldest are dropped where there are more."""
        self._lock = threading.Lock()
        self._writing = threading.Lock()

    @abstractmethod
    def store(self, unit: Unit, notes: Sequence[_Note]) -> None:
        """Write some notes of one tenant."""

    def queue(self, tenant: str, note: _Note) -> None:
        """Queue a note. Never fails and never blocks."""
        with self._lock:
            self._waiting.append((tenant, note))

    def waiting(self, tenant: str) -> list[_Note]:
        """Return a tenant's notes that are not written yet, those being written included."""
        with self._lock:
            return [note for owner, note in self._waiting if owner == tenant]

    def settle(self, tenant: str | None = None, *, patient: bool = True) -> bool:
        """Write the notes of a tenant, or of all, before a write that depends on them.

        If ``patient``, it waits for the lock as that write would; returns False where another writer kept some waiting.
        """
        if not self._waiting:
            return True
        if not self._writing.acquire(blocking=patient):
            return False
        try:
            mine: dict[str, list[tuple[str, _Note]]] = {}
            with self._lock:
                for waiting in self._waiting:
                    if tenant in (None, waiting[0]):
                        mine.setdefault(waiting[0], []).append(waiting)
            done = [self._write(one, notes, patient=patient) for one, notes in mine.items()]
            return all(done)
        finally:
            self._writing.release()

    def close(self) -> None:
        """Write the notes of all tenants, unless another writer holds the lock."""
        self.settle(patient=False)

    def _write(self, tenant: str, mine: Sequence[tuple[str, _Note]], *, patient: bool) -> bool:
        try:
            with self.database.transaction(tenant, "derive", patient=patient) as unit:
                self.store(unit, [note for _, note in mine])
        except StorageBusy:
            return False
        except StorageError:
            if self.keeps:
                return True
        written = set(map(id, mine))
        with self._lock:
            self._waiting = deque((one for one in self._waiting if id(one) not in written), self._waiting.maxlen)
        return True
