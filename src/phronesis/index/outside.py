"""The port to an index of vectors outside the database. It holds copies; what is true stands in the database."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from phronesis.storage.halfvec import Vector

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
        """Give all that is meant."""
        ...

    def nearest(self, vector: Vector, where: Where, *, limit: int) -> list[str]:
        """Give the ids of what is meant and lies nearest by cosine, nearest first; it may be approximate."""
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
        """Give the space of a model's vectors, making it; IndexUnavailable when it cannot be had."""
        ...

    def spaces(self) -> Sequence[Space]:
        """Give every space that is ours, other models' too."""
        ...

    def close(self) -> None:
        """Let go of files and connections."""
        ...
