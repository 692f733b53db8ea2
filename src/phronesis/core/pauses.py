"""How long who works by itself waits after it failed, so that what is broken is not asked again and again."""

from datetime import timedelta
from typing import Final

FIRST_PAUSE: Final = timedelta(minutes=10)
"""After the first failure: a model that was restarted is back by then."""

LONGEST_PAUSE: Final = timedelta(hours=24)

_DOUBLINGS: Final = 20
"""More of them than lead past any longest pause: a timedelta that is doubled for ever overflows."""


def pause_after(failures: int, *, longest: timedelta = LONGEST_PAUSE) -> timedelta:
    """Give how long to wait after so many failures in a row: twice as long after each, and no longer than ``longest``.

    Binary exponential back-off; no jitter, since a lane's lock lets one worker at a time.
    """
    if failures <= 0:
        return timedelta()
    return min(FIRST_PAUSE * (1 << min(failures - 1, _DOUBLINGS)), longest)
