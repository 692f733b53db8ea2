"""Entities and where they are mentioned."""

import unicodedata
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A person, place, file, URL or thing. An alias points to its canonical entity by ``canonical_id``."""

    id: str
    name: str
    normal: str
    kind: str
    entry_id: str
    canonical_id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """An entity named in an item's content at [start, end)."""

    entity_id: str
    item_id: str
    start: int
    end: int
    entry_id: str


MAX_NORMAL: Final = 512
"""Characters of a normal name: it is the key of an index, and NFKC makes eighteen of some single ones."""


def normal_name(name: str) -> str:
    """Give the form under which a name is looked up: NFKC, case folded, single spaces, cut at ``MAX_NORMAL``.

    Accents stay: "Ålice" and "Alice" are two people until an alias says otherwise.
    """
    return " ".join(unicodedata.normalize("NFKC", name[:MAX_NORMAL]).casefold().split())[:MAX_NORMAL]
