"""A page of a listing: what a caller iterates over, and how to ask for what follows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, overload

from phronesis.core.plain import as_json

_Listed = TypeVar("_Listed")


@dataclass(frozen=True, slots=True, eq=False)
class Page(Sequence[_Listed], Generic[_Listed]):
    """Some of a listing, newest first. ``next_cursor`` gives what follows; None: that was all.

    It equals any list or tuple of the same members.
    """

    items: tuple[_Listed, ...] = ()
    next_cursor: str | None = None

    @overload
    def __getitem__(self, index: int) -> _Listed: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[_Listed]: ...
    def __getitem__(self, index: int | slice) -> _Listed | Sequence[_Listed]:
        return self.items[index]

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[_Listed]:
        return iter(self.items)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Page):
            return self.items == other.items and self.next_cursor == other.next_cursor
        return tuple(other) == self.items if isinstance(other, list | tuple) else NotImplemented

    def __hash__(self) -> int:
        return hash((self.items, self.next_cursor))

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values."""
        return {"items": as_json(self.items), "next_cursor": self.next_cursor}
