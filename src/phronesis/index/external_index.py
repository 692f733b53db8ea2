"""The interface of an external vector index, and an in-memory implementation as a reference and for tests."""

import threading
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from phronesis.store.columns import Vector

# The interface of a vector index outside the database. It holds copies; the database is authoritative.

Facts = Mapping[str, str | int]
"""What is told of a document beside its text."""

Where = Mapping[str, Sequence[str]]
"""Which documents are meant: each named fact is one of these."""


@dataclass(frozen=True, slots=True)
class OutsideDocument:
    """A document as it is put there, and comes back; ``vector`` is None where it was not asked for."""

    id: str
    text: str
    facts: Facts
    vector: Vector | None = None


class Space(Protocol):
    """Documents whose vectors are of one encoder. Every call raises IndexUnavailable when it is not reached."""

    @property
    def id(self) -> str:
        """What tells it from every other space that is, was or will be: one made anew has another."""
        ...

    def put(self, documents: Sequence[OutsideDocument]) -> None:
        """Store documents with their vectors; those of the same ids are replaced."""
        ...

    def remove(self, ids: Sequence[str]) -> None:
        """Delete documents; those that are not there are passed over."""
        ...

    def clear(self, where: Where) -> None:
        """Delete all that is meant."""
        ...

    def held(self, where: Where, *, vectors: bool = False) -> Iterator[OutsideDocument]:
        """Return all that is meant."""
        ...

    def nearest(self, vector: Vector, where: Where, *, limit: int) -> list[str]:
        """Return the ids of what is meant and lies nearest by cosine, nearest first; it may be approximate."""
        ...


class OutsideIndex(Protocol):
    """A store of spaces. Thread-safe."""

    @property
    def name(self) -> str:
        """What results and ``doctor`` call it."""
        ...

    @property
    def beyond(self) -> Sequence[str]:
        """Where erased words may be left that its interface does not show, for certificates."""
        ...

    def space(self, model: str, dimension: int) -> Space:
        """Return the space of a model's vectors, making it; IndexUnavailable when it cannot be had."""
        ...

    def spaces(self) -> Sequence[Space]:
        """Return every space that is ours, other models' too."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...


@dataclass(slots=True)
class MemorySpace:
    """A space as a dictionary, searched row by row."""

    id: str
    _held: dict[str, OutsideDocument] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def put(self, documents: Sequence[OutsideDocument]) -> None:
        """Store documents."""
        with self._lock:
            self._held.update({document.id: document for document in documents})

    def remove(self, ids: Sequence[str]) -> None:
        """Delete documents."""
        with self._lock:
            for one in ids:
                self._held.pop(one, None)

    def clear(self, where: Where) -> None:
        """Delete all that is meant."""
        self.remove([document.id for document in self.held(where)])

    def held(self, where: Where, *, vectors: bool = False) -> Iterator[OutsideDocument]:
        """Return all that is meant."""
        with self._lock:
            found = [document for document in self._held.values() if _meant(document, where)]
        yield from found if vectors else (replace(document, vector=None) for document in found)

    def nearest(self, vector: Vector, where: Where, *, limit: int) -> list[str]:
        """Return the nearest, exactly."""
        found = [(document.id, document.vector) for document in self.held(where, vectors=True)]
        scored = sorted((-_cosine(vector, other), one) for one, other in found if other is not None)
        return [one for _, one in scored[:limit]]


@dataclass(slots=True)
class InMemoryIndex:
    """Spaces that end with the process."""

    name: str = "memory"
    beyond: Sequence[str] = ()
    _spaces: dict[tuple[str, int], MemorySpace] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def space(self, model: str, dimension: int) -> MemorySpace:
        """Return the space of a model."""
        with self._lock:
            return self._spaces.setdefault((model, dimension), MemorySpace(str(uuid.uuid4())))

    def spaces(self) -> Sequence[MemorySpace]:
        """Return every space."""
        with self._lock:
            return list(self._spaces.values())

    def close(self) -> None:
        """Nothing is held open."""


def _meant(document: OutsideDocument, where: Where) -> bool:
    return all(document.facts.get(name) in values for name, values in where.items())


def _cosine(one: Any, other: Any) -> float:
    lengths = float(np.linalg.norm(one) * np.linalg.norm(other))
    return float(np.dot(one, other)) / lengths if lengths else 0.0
