"""What connects items: edges, evidence, outcomes of contexts, and the entities that texts mention."""

import dataclasses
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from operator import attrgetter
from typing import Any, Final, Literal, cast

from phronesis.core.serialization import Record
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

    def adds_nothing_to(self, other: "Edge") -> bool:
        """Return whether it says nothing beyond ``other``, which another entry may have found."""
        return dataclasses.replace(self, entry_id=other.entry_id) == other

    def to_row(self) -> dict[str, Any]:
        """Return the stored form, which is also the form in deltas and results."""
        return {**_EDGE_VALUES(self), "data": dict(self.data)}


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

    def adds_nothing_to(self, other: "EvidenceRow") -> bool:
        """Return whether it is the same piece: the same source is counted once."""
        return self.identity == other.identity

    def to_row(self) -> dict[str, Any]:
        """Return the stored form: the time in microseconds."""
        times = {"occurred_at": optional_micros(self.occurred_at), "recorded_at": to_micros(self.recorded_at)}
        return {**_EVIDENCE_VALUES(self), **times}

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> "EvidenceRow":
        """Read what ``to_row`` gave."""
        moments = {"occurred_at": optional_moment(row["occurred_at"]), "recorded_at": from_micros(row["recorded_at"])}
        return cls(**{**row, **moments})

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        times = {"occurred_at": isoformat(self.occurred_at), "recorded_at": isoformat(self.recorded_at)}
        return {**self.to_row(), **times}


def _values_of(record: type) -> Callable[[Any], dict[str, Any]]:
    """Return a function that gives the fields of a record as a mapping."""
    names = tuple(field.name for field in dataclasses.fields(record))
    get = attrgetter(*names)
    return lambda one: dict(zip(names, get(one), strict=True))


_EDGE_VALUES: Final = _values_of(Edge)
_EVIDENCE_VALUES: Final = _values_of(EvidenceRow)


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


# Outcomes of the items that a context showed: used, ignored or contradicted, by citations or as a caller states them.
# They are edges from the reply to the items. They bear on usefulness, never on what is held to be so.

CONTEXT_OUTCOME: Final = "context_outcome"
"""The type of the edge from a reply to an item of its context; the grade is the outcome."""
CONTEXT_ID: Final = "context_id"
"""The member of an edge's ``data`` with the context that showed the item."""
ItemOutcome = Literal["used", "ignored", "contradicted"]
USED: Final = "used"
IGNORED: Final = "ignored"
CONTRADICTED: Final = "contradicted"
OUTCOMES: Final = (USED, IGNORED, CONTRADICTED)
BY_CALLER: Final = "caller"
BY_CITATION: Final = "citation"
"""By whom the outcomes of a turn are: the member ``by`` of its payload's ``outcomes``."""
WEIGHT: Final[Mapping[str, float]] = {USED: 0.5, IGNORED: 0.1, CONTRADICTED: 1.0}
"""What an outcome weighs; a judgement of an agent weighs 1 (this project's choice).

That a reply cites an item says less than that somebody calls it useful; that it cites others instead says little.
"""
MOST: Final = 3.0
"""What all outcomes of an item weigh at most: one person's judgement, so that a person outweighs any number of them."""
_ALIAS: Final = r"m[1-9][0-9]{0,4}|mem:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_CITED: Final = re.compile(rf"[\[【［]\s*((?:{_ALIAS})(?:\s*[,，、;；]\s*(?:{_ALIAS}))*)\s*[\]】］]")
_ONE: Final = re.compile(_ALIAS)


def citations_in(text: str) -> list[str]:
    """Return the citations in a text, ``[m1]``, ``[m1, m3]`` or ``[mem:<id>]``, each once, without brackets."""
    found = (one for group in _CITED.finditer(text) for one in _ONE.findall(group[1]))
    return list(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class ItemUse(Record):
    """How often reads showed an item, and what became of it in the contexts whose outcomes are known.

    ``usefulness``, in [0, 1], is by these outcomes and by feedback; .5 without either.
    """

    shown: int = 0
    used: int = 0
    ignored: int = 0
    contradicted: int = 0
    usefulness: float = 0.5

    @property
    def summary(self) -> str:
        """The counts in words; empty while no outcome is known."""
        if not (self.used or self.ignored or self.contradicted):
            return ""
        return f"shown {self.shown}×, used {self.used}×, contradicted {self.contradicted}×"

    @property
    def weights(self) -> tuple[float, float]:
        """What the outcomes weigh for and against the item's usefulness, together at most ``MOST``."""
        useful = WEIGHT[USED] * self.used
        against = WEIGHT[IGNORED] * self.ignored + WEIGHT[CONTRADICTED] * self.contradicted
        scale = min(1.0, MOST / (useful + against)) if useful + against else 1.0
        return useful * scale, against * scale


UNUSED: Final = ItemUse()


def latest_outcomes(edges: Iterable[Edge]) -> list[Edge]:
    """Return the outcomes that count: of several for one item of a context the latest entry's."""
    latest: dict[tuple[str, str], Edge] = {}
    for edge in sorted(edges, key=lambda edge: (edge.entry_id, edge.identity)):
        latest[edge.to_id, str(edge.data.get(CONTEXT_ID))] = edge
    return list(latest.values())


def outcomes_in(context_id: str, edges: Iterable[Edge]) -> dict[str, ItemOutcome]:
    """Return what became of each item in one context."""
    own = [edge for edge in edges if edge.data.get(CONTEXT_ID) == context_id]
    return {edge.to_id: cast("ItemOutcome", edge.grade) for edge in latest_outcomes(own)}


def uses_of(edges: Iterable[Edge]) -> dict[str, ItemUse]:
    """Return how often contexts used, ignored and contradicted each item."""
    counts: dict[str, dict[str, int]] = {}
    for edge in latest_outcomes(edges):
        of = counts.setdefault(edge.to_id, dict.fromkeys(OUTCOMES, 0))
        of[str(edge.grade)] += 1
    return {item_id: ItemUse(**of) for item_id, of in counts.items()}
