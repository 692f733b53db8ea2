"""Where a trait and a claim stand: stages as a function of confidence and cap, statuses as a fold over runs.

The two differ on purpose (design, law 4). A trait's stage has no memory: it is the smaller of what its confidence and
its cap allow, so it can be computed anew at any time. A claim's status has hysteresis: it depends on the order in which
runs were learnt, so it is a fold over all of them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final, Literal, get_args

from phronesis.core.confidence import checked_confidence
from phronesis.errors import InputError

Stage = Literal["dissolved", "candidate", "emerging", "established", "core"]
STAGES: Final[tuple[Stage, ...]] = get_args(Stage)
"""In rising order."""

DISSOLVED_BELOW: Final = 0.1
EMERGING_FROM: Final = 0.3
ESTABLISHED_FROM: Final = 0.6
CORE_ABOVE: Final = 0.85
"""The borders (NM-09): [.1, .3) candidate, [.3, .6) emerging, [.6, .85] established, (.85, 1] core."""

CONCLUSION_SUPPORT: Final = 2
DEMOTION_CONTRA: Final = 2
"""Runs that make a hypothesis a conclusion (with none against it), and that make it a hypothesis again (RB-19)."""

ClaimStatus = Literal["fact", "hypothesis", "conclusion"]
CLAIM_STATUSES: Final[tuple[ClaimStatus, ...]] = get_args(ClaimStatus)
Judgement = Literal["support", "contra", "irrelevant"]
JUDGEMENTS: Final[tuple[Judgement, ...]] = get_args(Judgement)


def stage_of(confidence: float) -> Stage:
    """Give the stage that a confidence allows; InputError unless it is in [0, 1]."""
    value = checked_confidence(confidence)
    if value < DISSOLVED_BELOW:
        return "dissolved"
    if value < EMERGING_FROM:
        return "candidate"
    if value < ESTABLISHED_FROM:
        return "emerging"
    return "core" if value > CORE_ABOVE else "established"


def stage_rank(stage: Stage) -> int:
    """Give 0 for dissolved up to 4 for core; InputError for another name."""
    if stage not in STAGES:
        raise InputError(f"stage: {stage!r} must be one of {', '.join(STAGES)}", field="stage")
    return STAGES.index(stage)


def stage(confidence: float, cap: Stage = "core") -> Stage:
    """Give the lower of the stage of ``confidence`` and ``cap`` (design, law 4); InputError for either out of range.

    The cap of a new behaviour is ``candidate`` until its first reinforcement in a later cycle, that of an upgrade
    ``emerging`` until its first own one; then ``core``, which caps nothing.
    """
    return STAGES[min(stage_rank(stage_of(confidence)), stage_rank(cap))]


@dataclass(frozen=True, slots=True)
class Verdict:
    """How one learnt run bears on a claim."""

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
        """Give how many runs support the claim."""
        return len(self.support) + self.unnamed_support

    @property
    def contra_count(self) -> int:
        """Give how many runs contradict the claim."""
        return len(self.contra) + self.unnamed_contra


def claim_state(verdicts: Iterable[Verdict], *, start: ClaimStatus | ClaimState = "hypothesis") -> ClaimState:
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


def claim_status(verdicts: Iterable[Verdict], *, start: ClaimStatus | ClaimState = "hypothesis") -> ClaimStatus:
    """Give the status alone of `claim_state`."""
    return claim_state(verdicts, start=start).status
