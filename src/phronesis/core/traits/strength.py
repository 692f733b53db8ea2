"""A trait's strength as a fold over its evidence (requirements NM-05, NM-09; design, law 4).

The trait begins with the cycle that found it: the evidence of that cycle is why it is there, and reinforces nothing.
Each later piece reinforces it once, at the time of the cycle that found the piece; in between, confidence decays by
elapsed time alone. ``confidence`` holds for the time ``data.strength.at``; what it is at another time is computed.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

from phronesis.core.canonical import rounded
from phronesis.core.changes import Fold
from phronesis.core.confidence import GRADES, Grade
from phronesis.core.decay import StoredConfidence
from phronesis.core.instants import isoformat, parse_moment
from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.core.state_machine import Stage, stage

TRAIT: Final = "trait"

FIRST_CONFIDENCE: Final = 0.4
MIN_MEMORIES: Final = 3
"""A behaviour is found in at least three memories, and begins at .4 (NM-05)."""

STRENGTH: Final = "data.strength"
DECAYED_TO: Final = "data.decayed_to"
"""Set by a reflection in which time alone had moved the trait over a border: the stage is that of this time."""

_DEFAULT_GRADE: Final[Grade] = "C"


def folded_strength(item: Item, evidence: Sequence[EvidenceRow]) -> dict[str, Any]:
    """Fold evidence, in learn order, into confidence, stage and what decay needs."""
    strength = StoredConfidence(confidence=FIRST_CONFIDENCE, at=item.recorded_at, subtype=item.data["subtype"])
    for row in evidence:
        if row.entry_id == item.entry_id:
            continue
        if row.polarity == "support":
            grade: Grade = next((grade for grade in GRADES if grade == row.grade), _DEFAULT_GRADE)
            strength = strength.reinforced(grade, at=row.recorded_at)
        elif row.polarity == "contra":
            strength = strength.weakened(at=row.recorded_at)
    fields = {
        "confidence": rounded(strength.confidence),
        STRENGTH: {
            "at": isoformat(strength.at),
            "reinforcements": strength.reinforcements,
            "last_reinforced": isoformat(strength.last_reinforced),
        },
    }
    return {**fields, "stage": stage_at(item.with_fields(fields), _border_crossed(item) or strength.at)}


TRAITS_FOLD: Final = Fold(frozenset({"confidence", "stage", STRENGTH}), folded_strength)


def strength_of(trait: Item) -> StoredConfidence:
    """Give a trait's confidence with the time it holds for."""
    kept = trait.data["strength"]
    last = kept["last_reinforced"]
    return StoredConfidence(
        confidence=trait.confidence,
        at=parse_moment(kept["at"], field="strength.at"),
        subtype=trait.data["subtype"],
        reinforcements=kept["reinforcements"],
        last_reinforced=None if last is None else parse_moment(last, field="strength.last_reinforced"),
    )


def stage_at(trait: Item, moment: datetime) -> Stage:
    """Give a trait's stage at a time: no more than candidate before its first reinforcement in a later cycle."""
    strength = strength_of(trait)
    return stage(strength.value_at(moment), "core" if strength.reinforcements else "candidate")


def _border_crossed(item: Item) -> datetime | None:
    given = item.data.get("decayed_to")
    return None if given is None else parse_moment(given, field=DECAYED_TO)
