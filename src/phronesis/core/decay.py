"""How a confidence fades with time (requirement NM-09): a pure function of a stored value and its reference time.

The trap. Decay is exponential in the days since the *reference time*, the moment for which the stored value holds. Who
writes a decayed value back and leaves the old reference time decays the same days again: thirty daily runs then leave
.098 of a confidence where .861 is due. So the value at a time is computed on reading and never stored alone; every
change that stores a value (reinforcement, weakening, a manual edit) moves the reference time with it.
`StoredConfidence` keeps the two together, and this is why its changes go through methods.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import exp, isfinite
from typing import Final, Literal, get_args

from phronesis.core.confidence import Grade, checked_confidence, reinforce, weaken
from phronesis.errors import InputError

Subtype = Literal["behavior", "preference", "core"]
SUBTYPES: Final[tuple[Subtype, ...]] = get_args(Subtype)

DECAY_RATES: Final[dict[Subtype, float]] = {"behavior": 0.005, "preference": 0.002, "core": 0.001}
"""Lambda, per day, of a trait that was never reinforced (NM-09)."""

REINFORCEMENT_DAMPING: Final = 0.1
"""How much each reinforcement slows decay: lambda / (1 + .1 n) (NM-09)."""

_DAY: Final = timedelta(days=1)


def decayed(confidence: float, *, days: float, reinforcements: int, subtype: Subtype) -> float:
    """Give c exp(-lambda / (1 + .1 n) days) (NM-09): in [0, 1], never above c; one long wait = many short.

    ``days`` runs from the reference time of ``confidence`` (see the trap above); ``reinforcements`` is n. InputError
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
        """Give the confidence at ``moment``, in [0, 1]. Before the reference time it is the stored value.

        (A reader of the past takes the version of that past; here only clocks that disagree come before the reference.)
        """
        days = max(0.0, (moment - self.at) / _DAY)
        return decayed(self.confidence, days=days, reinforcements=self.reinforcements, subtype=self.subtype)

    def reinforced(self, grade: Grade, *, at: datetime) -> "StoredConfidence":
        """Give the value decayed to ``at`` and then reinforced, with ``at`` as reference and one more reinforcement."""
        return StoredConfidence(
            confidence=reinforce(self.value_at(at), grade),
            at=max(at, self.at),
            subtype=self.subtype,
            reinforcements=self.reinforcements + 1,
            last_reinforced=max(at, self.at),
        )

    def weakened(self, *, at: datetime, strong: bool = False) -> "StoredConfidence":
        """Give the value decayed to ``at`` and then weakened, with ``at`` as reference (the trap); n stays."""
        return StoredConfidence(
            confidence=weaken(self.value_at(at), strong=strong),
            at=max(at, self.at),
            subtype=self.subtype,
            reinforcements=self.reinforcements,
            last_reinforced=self.last_reinforced,
        )
