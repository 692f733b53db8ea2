"""When a reflection is due, a trait's strength as a fold over its evidence, and which traits a search may show.

Requirements NM-01, NM-05, NM-08 to NM-11; LAW-04. What one reflection finds for a trait is one reinforcement,
and what it finds against it is one contradiction, however many memories it names: the source's formulas are per
finding, and their grades express how wide its evidence is. The evidence of the cycle that created a trait reinforces
nothing. Between findings, confidence decays with elapsed time alone. ``confidence`` holds for the time
``data.strength.at``; for another time it is computed.

A trend has no confidence. Two later cycles inside its window make it a candidate that begins at 0.3, whenever they are
folded, so it never remains undecided between two reflections.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import groupby
from typing import Any, Final, Literal

from phronesis.core.changes import Fold
from phronesis.core.confidence import GRADE_SHARES, GRADES, Grade, Stage, StoredConfidence, Subtype, stage
from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.core.serialization import Record, round_stored
from phronesis.core.timestamps import isoformat, parse_moment

# When a reflection is due (requirement NM-01).

IMPORTANCE_DUE: Final = 30
"""Sum of new memories' importance, 1–10 each, that makes a reflection due (NM-01)."""

HOURS_DUE: Final = 24.0
"""Hours since the last reflection that make one due where there are new memories (NM-01)."""

Reason = Literal["force", "session_end", "first", "importance", "elapsed", "nothing_new", "not_yet"]

_HOUR: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """The importance and the hours that make a reflection due."""

    importance: int = IMPORTANCE_DUE
    hours: float = HOURS_DUE


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemories:
    """Memories since the last reflection: their number, the sum of their importance, and since when.

    ``since`` is None where there was no reflection before.
    """

    memories: int
    importance: int
    since: datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ReflectionTrigger(Record):
    """Whether a reflection is due, and why; its truth value is the answer.

    ``reason`` is the first that holds: force, session_end, first, importance, elapsed; else nothing_new or not_yet.
    ``importance`` is the sum over the ``new_memories``, ``hours`` the time since the last reflection (None: never);
    ``importance_due`` and ``hours_due`` are the thresholds.
    """

    due: bool
    reason: Reason
    importance: int
    importance_due: int
    hours: float | None
    hours_due: float
    new_memories: int

    def __bool__(self) -> bool:
        return self.due

    @property
    def value(self) -> float | None:
        """The number behind the reason: the importance reached, or the hours passed; None where neither decides."""
        return {"importance": float(self.importance), "elapsed": self.hours}.get(self.reason)


def due(
    learned: NewMemories,
    now: datetime,
    thresholds: Thresholds,
    *,
    force: bool = False,
    session_ended: bool = False,
    daily: bool = False,
) -> ReflectionTrigger:
    """Return whether a reflection is due at ``now``.

    Without new memories it is due only by force, at a session's end, or at a worker's ``daily`` visit; then only decay
    is applied, and no model is asked.
    """
    hours = None if learned.since is None else round((now - learned.since) / _HOUR, 3)  # report what is compared
    late = hours is not None and hours >= thresholds.hours
    reason: Reason = "not_yet" if learned.memories else "nothing_new"
    held: dict[Reason, bool] = {
        "force": force,
        "session_end": session_ended,
        "first": bool(learned.memories) and learned.since is None,
        "importance": bool(learned.memories) and learned.importance >= thresholds.importance,
        "elapsed": late and (bool(learned.memories) or daily),
    }
    found = next((name for name, holds in held.items() if holds), None)
    return ReflectionTrigger(
        due=found is not None,
        reason=found or reason,
        importance=learned.importance,
        importance_due=thresholds.importance,
        hours=hours,
        hours_due=thresholds.hours,
        new_memories=learned.memories,
    )


MEMORY_KINDS: Final = tuple("fact episodic profile preference task decision event intention procedure".split())
"""Kinds that conversations produce: a reflection scans them, and they may be evidence of a trait (NM-01).

Verbatim messages, runs, claims, experience and documents are excluded.
"""

TRAIT: Final = "trait"
TREND: Final = "trend"
"""Stage of a recent tendency, before the stages that depend on confidence."""

RANKS: Final = (TREND, "candidate", "emerging", "established", "core")
"""Stages of a live trait, ascending."""

FIRST_CONFIDENCE: Final = 0.4
"""Confidence of a new behaviour (NM-05)."""

PROMOTED_CONFIDENCE: Final = 0.3
PROMOTING_CYCLES: Final = 2
"""Number of later cycles in its window that promote a trend, to a confidence of 0.3 (NM-08)."""

MIN_MEMORIES: Final = 3
"""Minimum memories of a behaviour (NM-05)."""

STRENGTH: Final = "data.strength"
BEGUN: Final = "begun"
"""Member of ``data`` with a trait's initial state, ``{confidence, cap}``; absent: that of a behaviour."""

WINDOW: Final = "window"
"""Member of ``data`` of a trend: ``{start, end, days}``."""

SETTLED: Final = "data.settled"
"""Time up to which contradictions are settled: a text reworded because of them is not weakened by them."""

DECAYED_TO: Final = "data.decayed_to"
"""Time of the reflection in which decay alone moved the trait across a stage border: the stage is that of this time."""

_DEFAULT_GRADE: Final[Grade] = "C"


@dataclass(frozen=True, slots=True, kw_only=True)
class Strength:
    """A trait's strength. ``stored`` is None while it is a trend; ``cycles`` are those that confirmed a trend."""

    stored: StoredConfidence | None
    cap: Stage
    cycles: int = 0
    contradictions: int = 0

    @property
    def reinforcements(self) -> int:
        """The number of reinforcements, as a trend and since."""
        return self.cycles if self.stored is None else self.stored.reinforcements


@dataclass(frozen=True, slots=True)
class _Finding:
    """Evidence that one entry found for or against a trait."""

    polarity: str
    rows: Sequence[EvidenceRow]

    @property
    def at(self) -> datetime:
        return self.rows[0].recorded_at

    @property
    def grade(self) -> Grade:
        """The best grade among its rows."""
        given: list[Grade] = [grade for grade in GRADES if any(row.grade == grade for row in self.rows)]
        return max(given, key=GRADE_SHARES.__getitem__, default=_DEFAULT_GRADE)


def _fold_strength(item: Item, evidence: Sequence[EvidenceRow]) -> Strength:
    """Return a trait's strength by folding evidence in learn order."""
    begun = item.data.get(BEGUN) or {}
    window = item.data.get(WINDOW)
    settled = _moment(item.data.get("settled"), SETTLED)
    first = begun.get("confidence", FIRST_CONFIDENCE)
    begins = None if window is not None else _stored(item, first, item.recorded_at)
    strength = Strength(stored=begins, cap=begun.get("cap", "candidate"))
    for finding in _findings(item, evidence):
        if finding.polarity == "support":
            strength = _reinforced(item, strength, finding, window)
        elif settled is None or finding.at > settled:
            stored = strength.stored
            # Several memories are a strong contradiction (NM-09).
            weaker = None if stored is None else stored.weakened(at=finding.at, strong=len(finding.rows) > 1)
            strength = replace(strength, stored=weaker, contradictions=strength.contradictions + 1)
    return strength


def _reinforced(item: Item, strength: Strength, finding: _Finding, window: Any) -> Strength:
    if strength.stored is not None:
        return replace(strength, stored=strength.stored.reinforced(finding.grade, at=finding.at), cap="core")
    if finding.at > parse_moment(window["end"], field="window.end"):
        return strength
    cycles = strength.cycles + 1
    if cycles < PROMOTING_CYCLES:
        return replace(strength, cycles=cycles)
    begun = _stored(item, PROMOTED_CONFIDENCE, finding.at)
    return replace(strength, stored=begun, cap="candidate", cycles=cycles)


def _stored(item: Item, confidence: float, at: datetime) -> StoredConfidence:
    subtype: Subtype = item.data["subtype"]
    return StoredConfidence(confidence=confidence, at=at, subtype=subtype)


def _findings(item: Item, evidence: Sequence[EvidenceRow]) -> Iterator[_Finding]:
    """Yield the findings of later entries, support before contradiction where one entry found both."""
    later = [row for row in evidence if row.recorded_at > item.recorded_at and row.polarity in ("support", "contra")]
    for _, rows in groupby(later, key=lambda row: (row.recorded_at, row.entry_id)):
        found = list(rows)
        for polarity in ("support", "contra"):
            if said := [row for row in found if row.polarity == polarity]:
                yield _Finding(polarity, said)


def compute_strength(item: Item, evidence: Sequence[EvidenceRow]) -> dict[str, Any]:
    """Return the fields that follow from evidence: confidence (0 for a trend), stage, and what decay needs."""
    strength = _fold_strength(item, evidence)
    stored = strength.stored
    kept = {
        "at": isoformat(item.recorded_at if stored is None else stored.at),
        "reinforcements": strength.reinforcements,
        "contradictions": strength.contradictions,
        "last_reinforced": None if stored is None else isoformat(stored.last_reinforced),
        "cap": strength.cap,
        "trend": stored is None,
    }
    fields = {"confidence": 0.0 if stored is None else round_stored(stored.confidence), STRENGTH: kept}
    told = item.with_fields(fields)
    if item.ended == "dissolved":
        return {**fields, "stage": "dissolved"}
    at = _moment(item.data.get("decayed_to"), DECAYED_TO)
    reference = item.recorded_at if stored is None else stored.at
    return {**fields, "stage": stage_at(told, reference if at is None else at)}


TRAITS_FOLD: Final = Fold(frozenset({"confidence", "stage", STRENGTH}), compute_strength)


def strength_of(trait: Item) -> StoredConfidence | None:
    """Return a trait's confidence with the time it holds for; None for a trend."""
    kept = trait.data["strength"]
    if kept["trend"]:
        return None
    return StoredConfidence(
        confidence=trait.confidence,
        at=parse_moment(kept["at"], field="strength.at"),
        subtype=trait.data["subtype"],
        reinforcements=kept["reinforcements"],
        last_reinforced=_moment(kept["last_reinforced"], "strength.last_reinforced"),
    )


def confidence_at(trait: Item, moment: datetime) -> float | None:
    """Return a trait's confidence at a time, in [0, 1]; None for a trend."""
    stored = strength_of(trait)
    return None if stored is None else stored.value_at(moment)


def stage_at(trait: Item, moment: datetime) -> str:
    """Return a trait's stage at a time: at most its cap before its first reinforcement in a later cycle."""
    stored = strength_of(trait)
    return TREND if stored is None else stage(stored.value_at(moment), trait.data["strength"]["cap"])


def _moment(given: Any, field: str) -> datetime | None:
    return None if given is None else parse_moment(given, field=field)


# Which traits a search or a composed context may show (NM-11); listings and look-ups by id show all.

UNRECALLED_STAGES: Final = ("trend", "candidate", "dissolved")
"""Stages in which a trait is only a guess, or was given up (NM-11)."""

SIDE_OF: Final = "side_of"
"""Member of a side's ``data`` that names the trait it belongs to."""


def is_recalled(item: Item) -> bool:
    """Return whether a search or a composed context may show an item: any item but some traits.

    Excluded are traits in ``UNRECALLED_STAGES``, ended ones, and sides, since the whole trait states both. A trait
    without a stage may be shown.
    """
    return item.kind != TRAIT or (
        item.stage not in UNRECALLED_STAGES and item.ended is None and item.data.get(SIDE_OF) is None
    )
