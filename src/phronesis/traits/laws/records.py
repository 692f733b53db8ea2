"""Records of traits and reflections: the public ones, the input of a reflection, and the operations it may propose."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from operator import attrgetter
from typing import Any, Final, Literal

from phronesis.core.confidence import Grade, Subtype
from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.core.serialization import Record, as_json
from phronesis.core.timestamps import parse_moment
from phronesis.traits.laws.strength import WINDOW, confidence_at

CYCLE: Final = "cycle"
"""Kind of the item that records a reflection: its input and its result."""

EvidenceType = Literal["supporting", "contradicting"]
_TYPES: Final[Mapping[str, EvidenceType]] = {"support": "supporting", "contra": "contradicting"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TraitEvidence(Record):
    """A memory for or against a trait. ``quality``: A across situations, B stated, C across conversations, D weak.

    ``content`` is the memory's text, if requested and still stored; ``entry_id`` the reflection that found it.
    """

    memory_id: str
    evidence_type: EvidenceType
    quality: str | None
    entry_id: str
    recorded_at: datetime
    occurred_at: datetime | None = None
    source_entry_id: str | None = None
    session_id: str | None = None
    content: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trait(Item):
    """A trait of a user: the item, and the fields that only traits have.

    ``confidence`` is that of the last reflection, in [0, 1]; None for a trend, which has a ``window`` (``start``,
    ``end``, ``days``) instead. ``facet`` of a core trait is personality or value. ``parent_ids`` are the live traits
    made from this one and others; ``usefulness``, in [0, 1], grows with each recall; ``sides`` are those of a trait
    that depends on the situation, each with its own evidence and confidence.
    """

    confidence: float | None = None  # type: ignore[assignment]  # a trend has none, whatever other items have
    subtype: str = "behavior"
    context: str = "general"
    facet: str | None = None
    parent_ids: Sequence[str] = ()
    window: Mapping[str, Any] | None = None
    first_observed: datetime | None = None
    last_reinforced: datetime | None = None
    reinforcement_count: int = 0
    contradiction_count: int = 0
    usefulness: float = 0.0
    evidence: Sequence[TraitEvidence] = ()
    sides: Sequence["Trait"] = ()

    @property
    def expired_at(self) -> datetime | None:
        """When it ended, dissolved or retracted by a person; None while it is live."""
        return self.valid_to if self.ended is not None else None

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        own = {f.name: as_json(getattr(self, f.name)) for f in fields(self) if f.name not in _ITEM}
        return {**Item.to_dict(self), **own}


_ITEM: Final = frozenset(f.name for f in fields(Item)) - {"confidence"}


_KEPT: Final = tuple(sorted(_ITEM))
_KEPT_OF: Final = attrgetter(*_KEPT)


def trait_of(
    item: Item,
    at: datetime,
    *,
    evidence: Sequence[EvidenceRow] = (),
    parents: Sequence[str] = (),
    sides: Sequence[Trait] = (),
) -> Trait:
    """Return the trait of an item, with its confidence at ``at``, the time of the last reflection, or at its end."""
    data, strength = item.data, item.data["strength"]
    trend = strength["trend"]
    kept = dict(zip(_KEPT, _KEPT_OF(item), strict=True))
    return Trait(
        **kept,
        confidence=confidence_at(item, at if item.ended is None else item.valid_to or at),
        subtype=data["subtype"],
        context=data["context"],
        facet=data.get("facet"),
        parent_ids=tuple(parents),
        window=data.get(WINDOW) if trend else None,
        first_observed=_moment(data.get("first_observed"), "first_observed"),
        last_reinforced=_moment(strength["last_reinforced"], "last_reinforced"),
        reinforcement_count=strength["reinforcements"],
        contradiction_count=strength["contradictions"],
        usefulness=data.get("usefulness", 0.0),
        evidence=tuple(evidence_record(row) for row in evidence if row.polarity in _TYPES),
        sides=tuple(sides),
    )


def evidence_record(row: EvidenceRow, memory: Item | None = None) -> TraitEvidence:
    """Return the public record of a trait's evidence row, with the memory's text if given."""
    return TraitEvidence(
        memory_id=row.source_item_id or row.source_key,
        evidence_type=_TYPES[row.polarity],
        quality=row.grade,
        entry_id=row.entry_id,
        recorded_at=row.recorded_at,
        occurred_at=row.occurred_at,
        source_entry_id=row.source_entry_id,
        session_id=None if memory is None else memory.session_id,
        content=None if memory is None else memory.content,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusedOperation(Record):
    """An operation that a reflection refused: its name (``new_behaviors`` …), the rule, and the reason."""

    operation: str
    rule: str
    reason: str
    content: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectionCycle(Record):
    """One reflection. ``status`` is completed, failed (the round was skipped, and nothing changed), or not_due.

    ``trigger_type`` is why it ran (force, session_end, first, importance, elapsed), or why not (nothing_new, not_yet),
    with the deciding number in ``trigger_value``. ``made_by`` names the rules or the model; ``calls``, ``tokens`` and
    ``cost`` are the use of models. ``refused`` are the operations that broke a rule; ``error`` is the code of the error
    that failed a round. ``id`` is None, and all counts are 0, where nothing was due; ``pending``: not interpreted yet.
    """

    id: str | None
    status: str
    trigger_type: str
    trigger_value: float | None = None
    entry_id: str | None = None
    memories_scanned: int = 0
    traits_created: int = 0
    traits_reinforced: int = 0
    traits_contradicted: int = 0
    traits_promoted: int = 0
    traits_modified: int = 0
    traits_dissolved: int = 0
    refused: Sequence[RefusedOperation] = ()
    made_by: str = ""
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0
    error: str | None = None
    started_at: datetime | None = None
    completed_at: datetime | None = None
    pending: bool = False
    user_id: str | None = None


COUNTED: Final = (
    "memories_scanned",
    "traits_created",
    "traits_reinforced",
    "traits_contradicted",
    "traits_promoted",
    "traits_modified",
    "traits_dissolved",
)
"""Names of a cycle's counts."""


def cycle_of(item: Item) -> ReflectionCycle:
    """Return the reflection of an item of kind cycle."""
    data = item.data
    completed = data["status"] == "completed"
    spent = data.get("spent") or {}
    return ReflectionCycle(
        id=item.id,
        status=data["status"],
        trigger_type=data["trigger_type"],
        trigger_value=data.get("trigger_value"),
        entry_id=item.entry_id,
        **{name: data.get(name, 0) for name in COUNTED},
        refused=tuple(RefusedOperation(**row) for row in data.get("refused", ())),
        made_by=data.get("made_by", ""),
        calls=spent.get("calls", 0),
        tokens=spent.get("tokens", 0),
        cost=spent.get("cost", 0.0),
        error=data.get("error"),
        started_at=item.recorded_at,
        completed_at=item.recorded_at if completed else None,
        user_id=item.user_id,
    )


def not_due(reason: str, value: float | None = None) -> ReflectionCycle:
    """Return the result of a call for which no reflection was due."""
    return ReflectionCycle(id=None, status="not_due", trigger_type=reason, trigger_value=value)


def _moment(given: Any, name: str) -> datetime | None:
    return None if given is None else parse_moment(given, field=name)


# Input of a reflection: memories and traits as plain values, the same for rules and models.

CONTEXTS: Final = ("work", "personal", "social", "learning", "general")
"""Contexts in which a trait shows (NM-04)."""

GENERAL: Final = "general"
"""Context of a trait that shows everywhere, or whose context is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryInput:
    """A memory: ``at`` is when it happened, else when it was learned.

    ``subject`` is whom it is about, None if unstated. ``session_id`` is its session, or None.
    """

    id: str
    content: str
    kind: str
    at: datetime
    session_id: str | None = None
    importance: int = 5
    subject: str | None = None
    key: str | None = None
    value: Any = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TraitInput:
    """A live trait: ``confidence`` is None for a trend. ``supporting`` and ``contradicting`` are ids of memories."""

    id: str
    content: str
    stage: str
    subtype: str
    context: str = GENERAL
    confidence: float | None = None
    supporting: Sequence[str] = ()
    contradicting: Sequence[str] = ()


# Operations a reflection may propose: the five lists of its answer, and the answer of a special one (NM-03, NM-10).

SHORT_WINDOW: Final = 14
LONG_WINDOW: Final = 30
"""Windows of a trend in days; the default is 30 (NM-04)."""

Action = Literal["modify", "dissolve", "split"]
Facet = Literal["personality", "value"]
"""Kinds of a core trait: how a person is, and what matters to them (NM-15)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTrend:
    """Operation: a new trend, a tendency seen recently."""

    content: str
    evidence_ids: Sequence[str]
    window_days: int = LONG_WINDOW
    context: str = GENERAL


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBehavior:
    """Operation: a new behaviour, a pattern in at least three memories."""

    content: str
    evidence_ids: Sequence[str]
    context: str = GENERAL
    quality_grade: Grade = "C"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reinforcement:
    """Operation: new memories that support a trait: one reinforcement, whatever their number."""

    trait_id: str
    new_evidence_ids: Sequence[str]
    quality_grade: Grade = "C"


@dataclass(frozen=True, slots=True, kw_only=True)
class TraitContradiction:
    """Operation: new memories that contradict a trait: one contradiction, strong if there are several."""

    trait_id: str
    contradicting_evidence_ids: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """Operation: traits that point to one tendency, behaviours to a preference or preferences to a core trait."""

    from_trait_ids: Sequence[str]
    new_content: str
    new_subtype: Subtype
    reasoning: str = ""
    context: str | None = None
    facet: Facet | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedOperations:
    """All operations that one reflection proposes, in the order of its steps."""

    new_trends: Sequence[NewTrend] = ()
    new_behaviors: Sequence[NewBehavior] = ()
    reinforcements: Sequence[Reinforcement] = ()
    contradictions: Sequence[TraitContradiction] = ()
    upgrades: Sequence[Upgrade] = ()


OPERATIONS: Final[Mapping[str, Callable[..., Any]]] = {
    "new_trends": NewTrend,
    "new_behaviors": NewBehavior,
    "reinforcements": Reinforcement,
    "contradictions": TraitContradiction,
    "upgrades": Upgrade,
}
"""The lists of `ProposedOperations`, and of what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TraitSide:
    """One side of a trait that depends on the situation: its text, context and evidence."""

    content: str
    context: str
    evidence_ids: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TraitRevision:
    """The answer of a special reflection on a trait with too many contradictions.

    ``modify`` rewords it, ``dissolve`` ends it, ``split`` names both ``sides``, each with its evidence.
    """

    action: Action
    reasoning: str
    new_content: str = ""
    sides: Sequence[TraitSide] = ()
