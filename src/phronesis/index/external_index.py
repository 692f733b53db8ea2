"""The port of a vector index outside the database. It holds copies; the database is authoritative.

An entry point of the group ``phronesis.indexes`` names what makes one from ``path``, ``url``, ``collection``, ``token``
and ``timeout`` (seconds), given by keyword. The policy chooses it by the entry point's name.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from phronesis.store.columns import Vector

Facts = Mapping[str, str | int]
"""A document's attributes besides its text."""

Where = Mapping[str, Sequence[str]]
"""A filter: each named attribute has one of these values."""


@dataclass(frozen=True, slots=True)
class OutsideDocument:
    """A document as stored in the index; ``vector`` is None where it was not requested."""

    id: str
    text: str
    facts: Facts
    vector: Vector | None = None


class Space(Protocol):
    """Documents with vectors of one encoder. Every call raises IndexUnavailable when the index cannot be reached."""

    @property
    def id(self) -> str:
        """A unique id: a space that is created again has another."""
        ...

    def put(self, documents: Sequence[OutsideDocument]) -> None:
        """Store documents with their vectors, replacing those of the same ids."""
        ...

    def remove(self, ids: Sequence[str]) -> None:
        """Delete documents, ignoring missing ones."""
        ...

    def clear(self, where: Where) -> None:
        """Delete all matching documents."""
        ...

    def held(self, where: Where, *, vectors: bool = False) -> Iterator[OutsideDocument]:
        """Return all matching documents."""
        ...

    def nearest(self, vector: Vector, where: Where, *, limit: int) -> list[str]:
        """Return the ids of the nearest matching documents by cosine, nearest first; may be approximate."""
        ...


class OutsideIndex(Protocol):
    """A store of spaces. Thread-safe."""

    @property
    def name(self) -> str:
        """The name of the index in results and in ``doctor``."""
        ...

    @property
    def beyond(self) -> Sequence[str]:
        """Places outside its interface where erased text may remain, for certificates."""
        ...

    def space(self, model: str, dimension: int) -> Space:
        """Return the space of a model's vectors, creating it if needed; IndexUnavailable when that fails."""
        ...

    def spaces(self) -> Sequence[Space]:
        """Return every space of this store, of all models."""
        ...

    def close(self) -> None:
        """Release files and connections."""
        ...
