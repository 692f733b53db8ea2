"""Where search documents live: those of most kinds in memory's own tables, those of resources in the second schema.

What is written goes to the home of its kind; nothing else knows that there are two.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

import sqlalchemy as sa

from phronesis.core.plan import Store
from phronesis.core.resources.records import SECTION
from phronesis.storage.resource_tables import chunk_vectors, chunks
from phronesis.storage.search_tables import search_documents, vectors

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, eq=False)
class Home:
    """Tables of search documents and of their vectors; ``store`` is what a search calls them."""

    store: Store
    documents: sa.Table
    vectors: sa.Table


MEMORY: Final = Home("memory", search_documents, vectors)
RESOURCES: Final = Home("resources", chunks, chunk_vectors)
HOMES: Final = (MEMORY, RESOURCES)

_BY_KIND: Final[Mapping[str, Home]] = {SECTION: RESOURCES}
_BY_STORE: Final = {home.store: home for home in HOMES}


def home_of(kind: str) -> Home:
    """Give where the search documents of a kind of items live."""
    return _BY_KIND.get(kind, MEMORY)


def home_named(store: Store) -> Home:
    """Give the home of a store's name."""
    return _BY_STORE[store]


def by_home(kinds: Iterable[tuple[str, _T]]) -> Iterator[tuple[Home, list[_T]]]:
    """Give what comes with its kind by the home of that kind, homes without any left out."""
    found: dict[Home, list[_T]] = {}
    for kind, one in kinds:
        found.setdefault(_BY_KIND.get(kind, MEMORY), []).append(one)
    yield from found.items()
