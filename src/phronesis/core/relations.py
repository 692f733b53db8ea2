"""Records of edges, evidence, entities and mentions."""

import dataclasses
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Literal

from phronesis.core.timestamps import from_micros, isoformat, optional_micros, optional_moment, to_micros

OUTDATED_BY: Final = "outdated_by"
"""From a held item to a later item or message that may have replaced or ended it, where nothing decides it."""

NodeKind = Literal["item", "entry", "entity", "artifact"]
Origin = Literal["human", "model", "rule"]
Polarity = Literal["source", "support", "contra", "useful", "not_useful", "correct", "incorrect", "label"]
"""The polarities of evidence. The last five are feedback on the item, or on a part of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A typed, weighted edge. Two nodes have at most one edge of each type."""

    type: str
    from_kind: NodeKind
    from_id: str
    to_kind: NodeKind
    to_id: str
    entry_id: str
    weight: float = 1.0
    grade: str | None = None
    origin: Origin = "rule"
    data: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of_items(cls, type_: str, start: str, end: str, *, entry_id: str, **given: Any) -> "Edge":
        """Return an edge from one item to another, by their ids."""
        return cls(type=type_, from_kind="item", from_id=start, to_kind="item", to_id=end, entry_id=entry_id, **given)

    @property
    def identity(self) -> tuple[str, str, str, str, str]:
        """The key by which edges are equal."""
        return (self.type, self.from_kind, self.from_id, self.to_kind, self.to_id)

    def restates(self, other: "Edge") -> bool:
        """Return whether it says nothing beyond ``other``, which another entry may have found."""
        return dataclasses.replace(self, entry_id=other.entry_id) == other

    def to_row(self) -> dict[str, Any]:
        """Return the stored form, which is also the form in deltas and results."""
        return {
            "type": self.type,
            "from_kind": self.from_kind,
            "from_id": self.from_id,
            "to_kind": self.to_kind,
            "to_id": self.to_id,
            "entry_id": self.entry_id,
            "weight": self.weight,
            "grade": self.grade,
            "origin": self.origin,
            "data": dict(self.data),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceRow:
    """One piece of evidence for or against an item, or for one part of it (a claim).

    ``source_key`` says where it comes from: the id of a memory, a run or an entry. The same source is counted once
    for the same item, part and polarity, whatever else differs (law 3). ``recorded_at`` is the time of ``entry_id``:
    its order is the order in which the lane learned.
    """

    item_id: str
    polarity: Polarity
    source_key: str
    entry_id: str
    recorded_at: datetime
    part: str = ""
    source_entry_id: str | None = None
    source_item_id: str | None = None
    source_ref: str | None = None
    span_start: int | None = None
    span_end: int | None = None
    grade: str | None = None
    origin: Origin = "rule"
    weight: float = 1.0
    occurred_at: datetime | None = None

    @property
    def identity(self) -> tuple[str, str, str, str]:
        """The key by which pieces of evidence are equal."""
        return (self.item_id, self.part, self.polarity, self.source_key)

    def restates(self, other: "EvidenceRow") -> bool:
        """Return whether it is the same piece: the same source is counted once."""
        return self.identity == other.identity

    def to_row(self) -> dict[str, Any]:
        """Return the stored form: the time in microseconds."""
        return {
            "item_id": self.item_id,
            "part": self.part,
            "polarity": self.polarity,
            "source_key": self.source_key,
            "entry_id": self.entry_id,
            "source_entry_id": self.source_entry_id,
            "source_item_id": self.source_item_id,
            "source_ref": self.source_ref,
            "span_start": self.span_start,
            "span_end": self.span_end,
            "grade": self.grade,
            "origin": self.origin,
            "weight": self.weight,
            "occurred_at": optional_micros(self.occurred_at),
            "recorded_at": to_micros(self.recorded_at),
        }

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "EvidenceRow":
        """Read what ``to_row`` gave."""
        moments = {"occurred_at": optional_moment(row["occurred_at"]), "recorded_at": from_micros(row["recorded_at"])}
        return cls(**{**row, **moments})

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        times = {"occurred_at": isoformat(self.occurred_at), "recorded_at": isoformat(self.recorded_at)}
        return {**self.to_row(), **times}


# Entities and their mentions.


NAME: Final = "name"
"""The kind of entities that are names of people, places and things."""

PERSON: Final = "person"
"""Member of an item's ``data`` with the relation and name of whom it is about, where that was told: "sister Anna"."""

_RELATION: Final = "relation:"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entity:
    """A person, place, file, URL or thing. An alias points to its canonical entity by ``canonical_id``.

    One of a kind that `relation_kind` gives is a person named with a relation, "sister Anna": it points to "Anna".
    """

    id: str
    name: str
    normal: str
    kind: str
    entry_id: str
    canonical_id: str | None = None

    @property
    def related(self) -> bool:
        """Return whether it is a person named with a relation."""
        return self.kind.startswith(_RELATION)


def relation_kind(key: str) -> str:
    """Return the kind of the people who stand in a relation to the user, such as ``sibling``."""
    return _RELATION + key


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
    """Return the form under which a name is looked up: NFKC, case folded, single spaces, cut at ``MAX_NORMAL``.

    Accents stay: "Ålice" and "Alice" are two people until an alias says otherwise.
    """
    return " ".join(unicodedata.normalize("NFKC", name[:MAX_NORMAL]).casefold().split())[:MAX_NORMAL]
