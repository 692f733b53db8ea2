"""The ledger of model calls: what was asked of whom, what it cost, and what became of it. It holds no text."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

OK: Final = "ok"
"""The status of a call whose answer was used; another status is an error's code."""

FOLDED: Final = "day"
"""The status of what stands for all calls of a day, a role and a model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One try at a model, or what stands for several.

    ``cost`` is in the currency of the policy's prices, 0 where there is no price. Tokens are those the server counted,
    or an upper bound where it did not count.
    """

    call_id: str
    at: datetime
    role: str
    model: str
    status: str
    prompt_tokens: int
    completion_tokens: int
    cost: float
    milliseconds: int
    calls: int = 1


@dataclass(frozen=True, slots=True)
class Spent:
    """What calls have taken together."""

    calls: int = 0
    tokens: int = 0
    cost: float = 0.0

    def plus(self, other: "Spent") -> "Spent":
        """Give both together."""
        return Spent(self.calls + other.calls, self.tokens + other.tokens, self.cost + other.cost)


@dataclass(frozen=True, slots=True)
class Price:
    """Money for a million tokens."""

    input: float = 0.0
    output: float = 0.0

    def of(self, prompt_tokens: int, completion_tokens: int) -> float:
        """Give what a call costs."""
        return (prompt_tokens * self.input + completion_tokens * self.output) / 1_000_000


def by_day(calls: Iterable[ModelCall]) -> list[ModelCall]:
    """Fold calls into one for each day in UTC, role and model: at the day's beginning, with the id of the first."""
    out: dict[tuple[datetime, str, str], ModelCall] = {}
    for one in calls:
        key = (day_of(one.at), one.role, one.model)
        known = out.get(key)
        out[key] = replace(one, at=key[0], status=FOLDED) if known is None else _together(known, one)
    return list(out.values())


def _together(known: ModelCall, one: ModelCall) -> ModelCall:
    return replace(
        known,
        prompt_tokens=known.prompt_tokens + one.prompt_tokens,
        completion_tokens=known.completion_tokens + one.completion_tokens,
        cost=known.cost + one.cost,
        milliseconds=known.milliseconds + one.milliseconds,
        calls=known.calls + one.calls,
    )


def day_of(moment: datetime) -> datetime:
    """Give the beginning of a moment's day in UTC: a day's budget begins anew there."""
    return moment - timedelta(
        hours=moment.hour, minutes=moment.minute, seconds=moment.second, microseconds=moment.microsecond
    )
