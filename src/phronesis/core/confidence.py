"""Confidence: updates by evidence, decay with time, the stage of a trait, and the status of a claim.

Stages and statuses differ by design (LAW-04). A trait's stage has no memory: it is the smaller of what its confidence
and its cap allow, so it can be computed at any time. A claim's status has hysteresis: it depends on the order in which
runs were learned, so it is a fold over all of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from math import exp, isfinite
from typing import Final, Literal, get_args

from phronesis.errors import InputError

# Updates of a confidence by evidence (NM-09).

Grade = Literal["A", "B", "C", "D"]
GRADES: Final[tuple[Grade, ...]] = get_args(Grade)
GRADE_SHARES: Final[dict[Grade, float]] = {"A": 0.25, "B": 0.20, "C": 0.15, "D": 0.05}
"""The share of the remaining doubt that one supporting piece of evidence removes, by grade (NM-09)."""
WEAKENING: Final = 0.2
STRONG_WEAKENING: Final = 0.4
"""The share of the confidence that one contradiction removes: a single one, a strong one (NM-09)."""


def checked_confidence(value: float, *, field: str = "confidence") -> float:
    """Return ``value`` as a float; InputError naming ``field`` unless it is a finite number in [0, 1]."""
    if not 0.0 <= value <= 1.0:
        raise InputError(f"{field}: {value!r} must be a number from 0 to 1", field=field)
    return float(value)


def reinforce(confidence: float, grade: Grade) -> float:
    """Return c + (1 - c) f, f by the evidence's grade (NM-09): in [0, 1], never below c.

    InputError for another grade.
    """
    before = checked_confidence(confidence)
    if grade not in GRADE_SHARES:
        raise InputError(f"grade: {grade!r} must be one of {', '.join(GRADES)}", field="grade")
    return min(1.0, before + (1.0 - before) * GRADE_SHARES[grade])


def weaken(confidence: float, *, strong: bool = False) -> float:
    """Return c (1 - f), f .2 for a single contradiction and .4 for a strong one (NM-09): in [0, 1], never above c.

    A caller that stores the result stores its time with it: decaying twice from one reference time counts the
    wait twice.
    """
    return checked_confidence(confidence) * (1.0 - (STRONG_WEAKENING if strong else WEAKENING))


Stage = Literal["dissolved", "candidate", "emerging", "established", "core"]
STAGES: Final[tuple[Stage, ...]] = get_args(Stage)
"""Stages in rising order."""
DISSOLVED_BELOW: Final = 0.1
EMERGING_FROM: Final = 0.3
ESTABLISHED_FROM: Final = 0.6
CORE_ABOVE: Final = 0.85
"""The thresholds (NM-09): [.1, .3) candidate, [.3, .6) emerging, [.6, .85] established, (.85, 1] core."""
CONCLUSION_SUPPORT: Final = 2
DEMOTION_CONTRA: Final = 2
"""Runs that make a hypothesis a conclusion (with none against it), and that make it a hypothesis again (RB-19)."""
ClaimStatus = Literal["fact", "hypothesis", "conclusion"]
CLAIM_STATUSES: Final[tuple[ClaimStatus, ...]] = get_args(ClaimStatus)
Judgement = Literal["support", "contra", "irrelevant"]
JUDGEMENTS: Final[tuple[Judgement, ...]] = get_args(Judgement)


def stage_of(confidence: float) -> Stage:
    """Return the stage that a confidence allows; InputError unless it is in [0, 1]."""
    value = checked_confidence(confidence)
    if value < DISSOLVED_BELOW:
        return "dissolved"
    if value < EMERGING_FROM:
        return "candidate"
    if value < ESTABLISHED_FROM:
        return "emerging"
    return "core" if value > CORE_ABOVE else "established"


def stage_rank(stage: Stage) -> int:
    """Return 0 for dissolved up to 4 for core; InputError for another name."""
    if stage not in STAGES:
        raise InputError(f"stage: {stage!r} must be one of {', '.join(STAGES)}", field="stage")
    return STAGES.index(stage)


def stage(confidence: float, cap: Stage = "core") -> Stage:
    """Return the lower of the stage of ``confidence`` and ``cap`` (LAW-04); InputError for either out of range.

    The cap of a new behaviour is ``candidate`` until its first reinforcement in a later cycle, that of an upgrade
    ``emerging`` until its first own one; then ``core``, which caps nothing.
    """
    return STAGES[min(stage_rank(stage_of(confidence)), stage_rank(cap))]


@dataclass(frozen=True, slots=True)
class RunVerdict:
    """How one learned run bears on a claim."""

    run_id: str
    judgement: Judgement


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimState:
    """A claim's status and the runs that count for and against it, in learn order.

    ``unnamed_support`` and ``unnamed_contra`` are runs that a written claim counts and does not name.
    """

    status: ClaimStatus
    support: tuple[str, ...] = ()
    contra: tuple[str, ...] = ()
    unnamed_support: int = 0
    unnamed_contra: int = 0

    @property
    def support_count(self) -> int:
        """Return how many runs support the claim."""
        return len(self.support) + self.unnamed_support

    @property
    def contra_count(self) -> int:
        """Return how many runs contradict the claim."""
        return len(self.contra) + self.unnamed_contra


def claim_state(verdicts: Iterable[RunVerdict], *, start: ClaimStatus | ClaimState = "hypothesis") -> ClaimState:
    """Fold verdicts, in learn order, into a claim's state (RB-18, RB-19).

    ``start`` is where the claim stood when it was written, the runs it was written with counting too. A hypothesis
    becomes a conclusion when two runs support it and none contradicts it; a conclusion becomes a hypothesis when two
    contradict it (one does not: hysteresis), and stays one, since they are not taken back. A fact stays a fact. A run
    counts once, by its first verdict other than ``irrelevant``, and only a run that counts moves the status: what was
    written stands until then. InputError for another status or judgement.
    """
    state = start if isinstance(start, ClaimState) else ClaimState(status=start)
    status = state.status
    if status not in CLAIM_STATUSES:
        raise InputError(f"status: {status!r} must be one of {', '.join(CLAIM_STATUSES)}", field="status")
    runs: dict[Judgement, dict[str, None]] = {
        "support": dict.fromkeys(state.support),
        "contra": dict.fromkeys(state.contra),
    }
    for verdict in verdicts:
        if verdict.judgement not in JUDGEMENTS:
            raise InputError(
                f"judgement: {verdict.judgement!r} must be one of {', '.join(JUDGEMENTS)}", field="judgement"
            )
        if verdict.judgement == "irrelevant" or any(verdict.run_id in counted for counted in runs.values()):
            continue
        runs[verdict.judgement][verdict.run_id] = None
        support = len(runs["support"]) + state.unnamed_support
        contra = len(runs["contra"]) + state.unnamed_contra
        if status == "hypothesis" and support >= CONCLUSION_SUPPORT and not contra:
            status = "conclusion"
        elif status == "conclusion" and contra >= DEMOTION_CONTRA:
            status = "hypothesis"
    return replace(state, status=status, support=tuple(runs["support"]), contra=tuple(runs["contra"]))


# Decay of a confidence (NM-09): a pure function of a stored value and its reference time.

Subtype = Literal["behavior", "preference", "core"]
SUBTYPES: Final[tuple[Subtype, ...]] = get_args(Subtype)
DECAY_RATES: Final[dict[Subtype, float]] = {"behavior": 0.005, "preference": 0.002, "core": 0.001}
"""Lambda, per day, of a trait that was never reinforced (NM-09)."""
REINFORCEMENT_DAMPING: Final = 0.1
"""How much each reinforcement slows decay: lambda / (1 + .1 n) (NM-09)."""
_DAY: Final = timedelta(days=1)


def decay(confidence: float, *, days: float, reinforcements: int, subtype: Subtype) -> float:
    """Return c exp(-lambda / (1 + .1 n) days) (NM-09): in [0, 1], never above c; one long wait = many short.

    ``days`` runs from the reference time of ``confidence``; ``reinforcements`` is n. InputError
    names the field that is not a finite number of 0 or more, or a subtype other than behavior, preference, core.
    """
    value = checked_confidence(confidence)
    if not (isfinite(days) and days >= 0.0):
        raise InputError(f"days: {days!r} must be a finite number of 0 or more", field="days")
    if reinforcements < 0:
        raise InputError(f"reinforcements: {reinforcements} must be 0 or more", field="reinforcements")
    if subtype not in DECAY_RATES:
        raise InputError(f"subtype: {subtype!r} must be one of {', '.join(SUBTYPES)}", field="subtype")
    return value * exp(-DECAY_RATES[subtype] / (1.0 + REINFORCEMENT_DAMPING * reinforcements) * days)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredConfidence:
    """A confidence with all that decay needs: the value, the time it holds for, and the reinforcements so far.

    Times must both be aware or both be naive; the log's own are aware UTC.
    """

    confidence: float
    at: datetime
    subtype: Subtype
    reinforcements: int = 0
    last_reinforced: datetime | None = None

    def value_at(self, moment: datetime) -> float:
        """Return the confidence at ``moment``, in [0, 1]. Before the reference time it is the stored value.

        (A reader of the past takes the version of that past; here only clocks that disagree come before the reference.)
        """
        days = max(0.0, (moment - self.at) / _DAY)
        return decay(self.confidence, days=days, reinforcements=self.reinforcements, subtype=self.subtype)

    def reinforced(self, grade: Grade, *, at: datetime) -> "StoredConfidence":
        """Return the value decayed to ``at`` and then reinforced, with ``at`` as reference and n one more."""
        then, count = max(at, self.at), self.reinforcements + 1
        value = reinforce(self.value_at(at), grade)
        return replace(self, confidence=value, at=then, reinforcements=count, last_reinforced=then)

    def weakened(self, *, at: datetime, strong: bool = False) -> "StoredConfidence":
        """Return the value decayed to ``at`` and then weakened, with ``at`` as its reference time; n stays."""
        return replace(self, confidence=weaken(self.value_at(at), strong=strong), at=max(at, self.at))
