"""How calls to one server are made: so many at once, each within its time, and again when that may help."""

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from phronesis.errors import MissingExtra, ModelUnavailable
from phronesis.models.calls import Limits, never

T = TypeVar("T")

FIRST_WAIT_SECONDS: Final = 0.25
LONGEST_WAIT_SECONDS: Final = 10.0
"""Between tries, doubling, with jitter as wide as the first wait (AWS, 'Exponential backoff and jitter')."""

TURN_SECONDS: Final = 0.05
"""How often whoever waits for a place looks whether it was cancelled."""


class Conduct:
    """The manners towards one server, shared by all roles that ask it. Thread-safe.

    ``timeout`` bounds a call in seconds, waiting for a place and retries included; ``tries`` how often one is made;
    ``concurrency`` how many are under way at once.
    """

    def __init__(self, *, timeout: float, tries: int, concurrency: int, cancelled: Callable[[], bool] = never) -> None:
        self._timeout = timeout
        self._tries = tries
        self._places = threading.BoundedSemaphore(concurrency)
        self._cancelled = cancelled

    def limits(self) -> Limits:
        """Give the bounds of a call that begins now."""
        return Limits(time.monotonic, time.monotonic() + self._timeout, self._cancelled)

    def run(self, call: Callable[[Limits], T], limits: Limits) -> T:
        """Make a call within ``limits``, again after a ModelUnavailable while there is time.

        A server that says when to come back is believed, unless that is later than the call may last.
        """
        stamina = _stamina()
        with _quiet():
            for attempt in stamina.retry_context(
                on=lambda error: _pause(error, limits),
                attempts=self._tries,
                timeout=limits.left,
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
    """Keep stamina from warning of every new try in this thread: the ledger has them, and whoever asked is told."""
    logger, thread = logging.getLogger("stamina"), threading.get_ident()

    def elsewhere(record: logging.LogRecord) -> bool:
        return record.thread != thread

    logger.addFilter(elsewhere)
    try:
        yield
    finally:
        logger.removeFilter(elsewhere)


def _stamina() -> Any:
    try:
        import stamina  # noqa: PLC0415 - comes with the extra
    except ImportError as error:
        raise MissingExtra('roles that ask a server need: pip install "phronesis[models]"') from error
    return stamina
