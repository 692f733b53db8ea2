"""What a reflection may wish: the five lists of its answer, and the answer of a special reflection (NM-03, NM-10).

The names of fields in JSON are the source's. What is lawful is not decided here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from phronesis.core.confidence import Grade
from phronesis.core.decay import Subtype
from phronesis.core.traits.seen import GENERAL

SHORT_WINDOW: Final = 14
LONG_WINDOW: Final = 30
"""The windows of a trend, in days; 30 where nothing is said (NM-04)."""

Action = Literal["modify", "dissolve", "split"]
Facet = Literal["personality", "value"]
"""The halves of a core trait: how somebody is, and what matters to them (NM-15)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTrend:
    """Something that shows of late."""

    content: str
    evidence_ids: Sequence[str]
    window_days: int = LONG_WINDOW
    context: str = GENERAL


@dataclass(frozen=True, slots=True, kw_only=True)
class NewBehavior:
    """Something that shows again and again: at least three memories of one pattern."""

    content: str
    evidence_ids: Sequence[str]
    context: str = GENERAL
    quality_grade: Grade = "C"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reinforcement:
    """New memories that say what a trait says: one reinforcement, however many they are."""

    trait_id: str
    new_evidence_ids: Sequence[str]
    quality_grade: Grade = "C"


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradicted:
    """New memories that say the opposite of a trait: one contradiction, strong where they are several."""

    trait_id: str
    contradicting_evidence_ids: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Upgrade:
    """Traits that point to one tendency: behaviours to a preference, preferences to a core trait."""

    from_trait_ids: Sequence[str]
    new_content: str
    new_subtype: Subtype
    reasoning: str = ""
    context: str | None = None
    facet: Facet | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """All that one round of a reflection wishes, in the order of its steps."""

    new_trends: Sequence[NewTrend] = ()
    new_behaviors: Sequence[NewBehavior] = ()
    reinforcements: Sequence[Reinforcement] = ()
    contradictions: Sequence[Contradicted] = ()
    upgrades: Sequence[Upgrade] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One side of a trait that depends on the situation: what it is there, where, and what shows it."""

    content: str
    context: str
    evidence_ids: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconsidered:
    """What a special reflection makes of a trait that too much contradicts.

    ``modify`` says it in other words, ``dissolve`` gives it up, ``split`` says both ``sides``, each with what shows it.
    """

    action: Action
    reasoning: str
    new_content: str = ""
    sides: Sequence[Side] = ()
