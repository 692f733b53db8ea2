"""What every call to a model server shares: how long it may take, how much it may bring, and who may end it."""

from collections.abc import Callable
from dataclasses import dataclass

from phronesis.errors import ModelCancelled, ModelUnavailable


def never() -> bool:
    """Say that nobody has cancelled."""
    return False


@dataclass(frozen=True, slots=True)
class Limits:
    """The bounds of one call, retries included.

    ``ends`` is a time of ``clock`` (seconds, monotonic), after which no byte is waited for; ``cancelled`` is asked
    between bytes and before every try; more than ``max_bytes`` of an answer are not read.
    """

    clock: Callable[[], float]
    ends: float
    cancelled: Callable[[], bool] = never
    max_bytes: int = 8 << 20

    @property
    def left(self) -> float:
        """Seconds that are left, at least 0."""
        return max(0.0, self.ends - self.clock())

    def check(self) -> None:
        """Raise ModelCancelled when nobody waits any more, ModelUnavailable when the time is up."""
        if self.cancelled():
            raise ModelCancelled("the call to the model was cancelled")
        if self.left <= 0.0:
            raise ModelUnavailable("the model took too long; raise the gateway's timeout, or choose a faster model")
