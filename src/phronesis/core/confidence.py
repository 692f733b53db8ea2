"""How evidence moves a confidence (requirement NM-09): reinforcement, weakening, and the fold over evidence rows.

Both laws keep a confidence in [0, 1] and are monotone in it. Evidence that does not exist, or was counted before,
changes nothing: without that rule a model that cites the same memory twice, or one it made up, would talk itself into
certainty.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final, Literal, get_args

from phronesis.errors import InputError

Grade = Literal["A", "B", "C", "D"]
GRADES: Final[tuple[Grade, ...]] = get_args(Grade)

GRADE_SHARES: Final[dict[Grade, float]] = {"A": 0.25, "B": 0.20, "C": 0.15, "D": 0.05}
"""The share of the remaining doubt that one supporting piece of evidence removes (NM-09)."""

WEAKENING: Final = 0.2
STRONG_WEAKENING: Final = 0.4
"""The share of the confidence that one contradiction takes: a single one, a strong one (NM-09)."""


def checked_confidence(value: float, *, field: str = "confidence") -> float:
    """Give ``value`` as a float; InputError naming ``field`` unless it is a finite number in [0, 1]."""
    if not 0.0 <= value <= 1.0:
        raise InputError(f"{field}: {value!r} must be a number from 0 to 1", field=field)
    return float(value)


def reinforce(confidence: float, grade: Grade) -> float:
    """Give c + (1 - c) f, f by the evidence's grade (NM-09): in [0, 1], never below c. InputError for another grade."""
    before = checked_confidence(confidence)
    if grade not in GRADE_SHARES:
        raise InputError(f"grade: {grade!r} must be one of {', '.join(GRADES)}", field="grade")
    return min(1.0, before + (1.0 - before) * GRADE_SHARES[grade])


def weaken(confidence: float, *, strong: bool = False) -> float:
    """Give c (1 - f), f .2 for a single contradiction and .4 for a strong one (NM-09): in [0, 1], never above c.

    A caller that stores the result stores its time with it: see the trap in `phronesis.core.decay`.
    """
    return checked_confidence(confidence) * (1.0 - (STRONG_WEAKENING if strong else WEAKENING))


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """One piece of evidence: its source, which way it points, and its quality (support) or strength (contra)."""

    source_key: str
    polarity: Literal["support", "contra"]
    grade: Grade = "C"
    strong: bool = False

    @property
    def identity(self) -> tuple[str, str]:
        """Polarity and source: the same source counts once each way for an item."""
        return (self.polarity, self.source_key)


@dataclass(frozen=True, slots=True, kw_only=True)
class Weighed:
    """What a fold over evidence gives: the confidence, the evidence that counted, and what was passed over."""

    confidence: float
    counted: tuple[Evidence, ...]
    passed_over: tuple[Evidence, ...]


def weigh(
    confidence: float,
    evidence: Iterable[Evidence],
    *,
    known: Collection[str],
    counted: Collection[tuple[str, str]] = frozenset(),
) -> Weighed:
    """Fold evidence, in its order, into a confidence.

    ``known`` holds the source keys that exist in the lane; ``counted`` the identities counted before. A piece whose
    source is unknown, or whose identity was counted before or earlier in the same fold, changes nothing and is passed
    over. Replaying the kept evidence from a trait's first confidence (NM-10, modify) is the same call with nothing
    counted.
    """
    value = checked_confidence(confidence)
    seen = set(counted)
    taken: list[Evidence] = []
    passed: list[Evidence] = []
    for piece in evidence:
        if piece.source_key not in known or piece.identity in seen:
            passed.append(piece)
            continue
        seen.add(piece.identity)
        taken.append(piece)
        support = piece.polarity == "support"
        value = reinforce(value, piece.grade) if support else weaken(value, strong=piece.strong)
    return Weighed(confidence=value, counted=tuple(taken), passed_over=tuple(passed))
