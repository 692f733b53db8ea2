"""The reference of an index outside the database: dictionaries, searched exhaustively."""

import threading
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from phronesis.index.projections import OutsideDocument, Where
from phronesis.store.dialects import Vector


@dataclass(slots=True)
class MemorySpace:
    """A space as a dictionary, searched exhaustively; ``reach`` is called before each call, and may refuse it."""

    id: str
    reach: Callable[[], object] = int
    _held: dict[str, OutsideDocument] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def put(self, documents: Sequence[OutsideDocument]) -> None:
        """Store documents."""
        self.reach()
        with self._lock:
            self._held.update({document.id: document for document in documents})

    def remove(self, ids: Sequence[str]) -> None:
        """Delete documents."""
        self.reach()
        with self._lock:
            for one in ids:
                self._held.pop(one, None)

    def clear(self, where: Where) -> None:
        """Delete all matching documents."""
        self.remove([document.id for document in self.matching(where)])

    def list_documents(self, where: Where, *, vectors: bool = False) -> Iterator[OutsideDocument]:
        """Return all matching documents."""
        self.reach()
        found = self.matching(where)
        return iter(found if vectors else [replace(document, vector=None) for document in found])

    def nearest(self, vector: Vector, where: Where, *, limit: int) -> list[str]:
        """Return the exact nearest documents."""
        self.reach()
        found = [(document.id, document.vector) for document in self.matching(where)]
        scored = sorted((-_cosine(vector, other), one) for one, other in found if other is not None)
        return [one for _, one in scored[:limit]]

    def matching(self, where: Where) -> list[OutsideDocument]:
        """Return all matching documents, whether or not the index is to be reached."""
        with self._lock:
            return [document for document in self._held.values() if _meant(document, where)]


@dataclass(slots=True)
class InMemoryIndex:
    """Spaces that exist as long as the process."""

    name: str = "memory"
    beyond: Sequence[str] = ()
    reach: Callable[[], object] = int
    made: dict[tuple[str, int], MemorySpace] = field(default_factory=dict)

    def space(self, model: str, dimension: int) -> MemorySpace:
        """Return the space of a model."""
        self.reach()
        return self.made.setdefault((model, dimension), MemorySpace(str(uuid.uuid4()), self.reach))

    def spaces(self) -> Sequence[MemorySpace]:
        """Return every space."""
        self.reach()
        return list(self.made.values())

    def close(self) -> None:
        """Do nothing: no resource is held."""


def _meant(document: OutsideDocument, where: Where) -> bool:
    return all(document.facts.get(name) in values for name, values in where.items())


def _cosine(one: Any, other: Any) -> float:
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(np.dot(one, other)) / lengths if lengths else 0.0
