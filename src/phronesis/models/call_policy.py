"""Limits of model calls: time and size bounds, concurrency and retries, spending budgets, and the ledger."""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Protocol, TypeVar

from phronesis.core.reports import OK, ModelCall, ModelUsage, Price, day_of
from phronesis.errors import MissingExtra, ModelBudgetSpent, ModelCancelled, ModelError, ModelUnavailable
from phronesis.telemetry import model_span
from phronesis.uuid7 import new_id

# Bounds of one call to a model server: time, response size, and cancellation.


def never() -> bool:
    """Return False: the call is never cancelled."""
    return False


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one call, retries included.

    ``ends`` is a time of ``clock`` (seconds, monotonic), at which reading stops; ``cancelled`` is checked between reads
    and before every attempt; at most ``max_bytes`` of a response are read.
    """

    clock: Callable[[], float]
    ends: float
    cancelled: Callable[[], bool] = never
    max_bytes: int = 8 << 20

    @property
    def left(self) -> float:
        """The remaining seconds, at least 0."""
        return max(0.0, self.ends - self.clock())

    def check(self) -> None:
        """Raise ModelCancelled if the call was cancelled, ModelUnavailable if the time is up."""
        if self.cancelled():
            raise ModelCancelled("the call to the model was cancelled")
        if self.left <= 0.0:
            raise ModelUnavailable("the model took too long; raise the gateway's timeout, or choose a faster model")


# Call policy of one server: concurrency, timeout and retries.

T = TypeVar("T")
FIRST_WAIT_SECONDS: Final = 0.25
LONGEST_WAIT_SECONDS: Final = 10.0
"""Maximum wait between attempts, in seconds.

Waits double, with jitter as wide as the first wait (AWS, 'Exponential backoff and jitter').
"""
TURN_SECONDS: Final = 0.05
"""Interval in seconds at which a waiting call checks for cancellation."""


class CallPolicy:
    """The call policy of one server, shared by all roles that use it. Thread-safe.

    ``timeout`` bounds a call in seconds, including waiting for a slot and retries; ``tries`` is the maximum number of
    attempts; ``concurrency`` the number of simultaneous calls.
    """

    def __init__(self, *, timeout: float, tries: int, concurrency: int, cancelled: Callable[[], bool] = never) -> None:
        self._timeout = timeout
        self._tries = tries
        self._places = threading.BoundedSemaphore(concurrency)
        self._cancelled = cancelled

    def limits(self) -> Limits:
        """Return the bounds of a call that begins now."""
        return Limits(time.monotonic, time.monotonic() + self._timeout, self._cancelled)

    def run(self, call: Callable[[Limits], T], limits: Limits) -> T:
        """Make a call within ``limits``; retry after a ModelUnavailable while there is time.

        A server's retry-after is respected, unless it exceeds the remaining time.
        """
        stamina = _stamina()
        with _quiet():
            for attempt in stamina.retry_context(
                on=lambda error: _pause(error, limits),
                attempts=self._tries,
                timeout=limits.left or 0.001,  # stamina warns of 0
                wait_initial=FIRST_WAIT_SECONDS,
                wait_max=LONGEST_WAIT_SECONDS,
                wait_jitter=FIRST_WAIT_SECONDS,
            ):
                with attempt:
                    limits.check()
                    with self._place(limits):
                        return call(limits)
        raise AssertionError  # pragma: no cover - the last attempt raises what it met

    @contextmanager
    def _place(self, limits: Limits) -> Iterator[None]:
        while not self._places.acquire(timeout=min(TURN_SECONDS, limits.left)):
            limits.check()
        try:
            yield
        finally:
            self._places.release()


def _pause(error: Exception, limits: Limits) -> bool | float:
    if not isinstance(error, ModelUnavailable) or limits.left <= 0.0 or limits.cancelled():
        return False
    wanted = error.details.get("retry_after")
    if wanted is None:
        return True
    return float(wanted) if wanted < limits.left else False


@contextmanager
def _quiet() -> Iterator[None]:
    """Suppress stamina's retry warnings in this thread: the ledger records retries, and the caller sees the result."""
    logger, thread = logging.getLogger("stamina"), threading.get_ident()

    def is_elsewhere(record: logging.LogRecord) -> bool:
        return record.thread != thread

    logger.addFilter(is_elsewhere)
    try:
        yield
    finally:
        logger.removeFilter(is_elsewhere)


def _stamina() -> Any:
    try:
        import stamina  # noqa: PLC0415 - comes with the extra
    except ImportError as error:
        raise MissingExtra('roles that ask a server need: pip install "phronesis[models]"') from error
    return stamina


class Ledger(Protocol):
    """Where calls are recorded."""

    def record(self, tenant: str, call: ModelCall) -> None:
        """Record a call, at once or asynchronously. It never fails and never waits."""
        ...

    def spent(self, tenant: str, *, since: datetime, role: str | None = None) -> ModelUsage:
        """Return the cost of a tenant's calls since a moment, including those not written yet."""
        ...


@dataclass(slots=True)
class Tally:
    """The tokens of one attempt: a local estimate until the server reports its count."""

    prompt_tokens: int
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Allowance:
    """Spending limits; None is unlimited."""

    tokens_per_call: int | None = None
    tokens_per_day: int | None = None
    cost_per_day: float | None = None


@dataclass(frozen=True, slots=True)
class SpendingLimit:
    """Checks a call against the spending limits and records its cost. Days are UTC days of one tenant.

    Simultaneous calls are each checked against what was recorded before: they can exceed a day's budget by as many
    calls as run at once.
    """

    ledger: Ledger
    clock: Callable[[], datetime]
    allowance: Allowance = field(default_factory=Allowance)
    prices: Mapping[str, Price] = field(default_factory=dict)

    def allow(self, tenant: str, *, model: str, prompt_tokens: int, max_tokens: int) -> None:
        """Raise ModelBudgetSpent if a call of at most so many tokens exceeds the remaining budget."""
        most, allowed = prompt_tokens + max_tokens, self.allowance
        if allowed.tokens_per_call is not None and most > allowed.tokens_per_call:
            raise ModelBudgetSpent(
                f"the call may take {most:,} tokens, limits.tokens_per_call is {allowed.tokens_per_call:,};"
                " raise it, or lower the role's max_tokens",
                field="limits.tokens_per_call",
            )
        if allowed.tokens_per_day is None and allowed.cost_per_day is None:
            return
        spent = self.today(tenant)
        if allowed.tokens_per_day is not None and spent.tokens + most > allowed.tokens_per_day:
            raise ModelBudgetSpent(
                f"{spent.tokens:,} tokens were spent today and the call may take {most:,};"
                f" limits.tokens_per_day is {allowed.tokens_per_day:,}"
            )
        cost = self._price(model).of(prompt_tokens, max_tokens)
        if allowed.cost_per_day is not None and spent.cost + cost > allowed.cost_per_day:
            raise ModelBudgetSpent(
                f"{spent.cost:.4f} were spent today and the call may cost {cost:.4f};"
                f" limits.cost_per_day is {allowed.cost_per_day}"
            )

    @contextmanager
    def recorded(self, tenant: str, *, role: str, model: str, prompt_tokens: int) -> Iterator[Tally]:
        """Record one attempt when the block ends, however it ends; the block may correct the tokens."""
        tally, began, status = Tally(prompt_tokens), time.monotonic(), ModelError.code
        try:
            yield tally
            status = OK
        except ModelError as error:
            status = error.code
            raise
        finally:
            call = ModelCall(
                call_id=new_id(),
                at=self.clock(),
                role=role,
                model=model,
                status=status,
                prompt_tokens=tally.prompt_tokens,
                completion_tokens=tally.completion_tokens,
                cost=self._price(model).of(tally.prompt_tokens, tally.completion_tokens),
                milliseconds=round((time.monotonic() - began) * 1000),
            )
            self.ledger.record(tenant, call)

    def spent(self, model: str, tallies: Sequence[Tally]) -> ModelUsage:
        """Return the total cost of some attempts at a model."""
        prompt, completion = (
            sum(getattr(one, f"{name}_tokens") for one in tallies) for name in ("prompt", "completion")
        )
        return ModelUsage(len(tallies), prompt + completion, self._price(model).of(prompt, completion))

    def today(self, tenant: str, role: str | None = None) -> ModelUsage:
        """Return the cost of a tenant's calls today, of a role if one is named."""
        return self.ledger.spent(tenant, since=day_of(self.clock()), role=role)

    def is_free(self, model: str) -> bool:
        """Return whether a model has no price although money is limited: its calls would never exhaust the budget."""
        return self.allowance.cost_per_day is not None and not {model, model.partition("/")[2]} & set(self.prices)

    def _price(self, model: str) -> Price:
        """Return a model's price, listed under its own name or under gateway and name."""
        return self.prices.get(model) or self.prices.get(model.partition("/")[2]) or Price()


def run_metered(
    call: Callable[..., T],
    conduct: CallPolicy,
    purse: SpendingLimit,
    *,
    tenant: str,
    role: str,
    model: str,
    prompt_tokens: int,
) -> T:
    """Return what ``call(limits=…)`` returns, within budget and call policy; every attempt is recorded. ModelError.

    For servers that read texts and write none: only the tokens of the prompt are counted. Spans call the role ``embed``
    by the conventions' name, ``embeddings``, and others by their own.
    """
    purse.allow(tenant, model=model, prompt_tokens=prompt_tokens, max_tokens=0)
    operation = "embeddings" if role == "embed" else role

    def once(limits: Limits) -> T:
        with purse.recorded(tenant, role=role, model=model, prompt_tokens=prompt_tokens):
            return call(limits=limits)

    with model_span(operation, model) as span:
        if span is not None:
            span.set(gen_ai__usage__input_tokens=prompt_tokens)
        return conduct.run(once, conduct.limits())
