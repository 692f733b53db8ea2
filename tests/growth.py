"""Whether work takes time by the length of what it is given, or by the square of it.

No test asserts a number of seconds: a busy machine is many times slower than an idle one, and a border that it keeps is
one that a quadratic rule keeps elsewhere. The costs of a short text and of a long one are compared instead, taken one
right after the other. A cost is the processor time of this thread alone, without the collections of garbage: they go
through all that thousands of tests before have left.
"""

import gc
from collections.abc import Callable
from time import thread_time
from typing import Final, TypeVar

Given = TypeVar("Given")

STEP: Final = 16
"""How many times as long the long one is."""

LEEWAY: Final = 4
"""How many times its share the long one may cost: 64 times the short one, where what is linear costs 16 times as much,
and what is quadratic 256 times."""

GRACE: Final = 0.02
"""Seconds that it may cost beside, so that neither microseconds nor the ticks of a coarse clock decide."""

TRIES: Final = 3
"""One try that is cheap enough will do: a busy machine makes work dearer than it is, and never cheaper."""


def repeated(piece: str) -> Callable[[int], str]:
    """Give what makes texts of a piece said again and again, each as long as it is asked to be."""
    return lambda length: (piece * (length // len(piece) + 1))[:length]


def assert_linear(work: Callable[[Given], object], made: Callable[[int], Given], length: int) -> None:
    """Hold that the cost goes with the length of what is ``made``, up to ``length``."""
    compare(work, made, (length // STEP, length), STEP)


def assert_cut_off(work: Callable[[Given], object], made: Callable[[int], Given], read: int, *, power: int = 1) -> None:
    """Hold that the cost goes with the length as far as it is ``read``, and that what is longer costs no more.

    A sixteenth of what is read is compared with sixteen times as much as is read. With ``power`` 2 the cost may go with
    the square so far: what keeps it low is that no more is read.
    """
    compare(work, made, (read // STEP, read * STEP), STEP**power)


def cost_of(work: Callable[[], object]) -> float:
    """Give the seconds that a processor works for this thread in a call, with no garbage collected meanwhile."""
    collects = gc.isenabled()
    gc.disable()
    try:
        began = thread_time()
        work()
        return thread_time() - began
    finally:
        if collects:
            gc.enable()


def compare(
    work: Callable[[Given], object], made: Callable[[int], Given], lengths: tuple[int, int], share: int
) -> None:
    def spent(length: int) -> float:
        given = made(length)
        return cost_of(lambda: work(given))

    short, long = lengths
    spent(short + 1)  # what is done at the first call only, such as to load a table
    tries = []
    for shorter in range(0, 2 * TRIES, 2):  # never the same twice: what is remembered costs nothing
        less, more = min(spent(short - shorter), spent(short - shorter - 1)), spent(long - shorter)
        if more <= LEEWAY * share * less + GRACE:
            return
        tries.append(f"{less:.5f} s and {more:.5f} s")
    raise AssertionError(
        f"Lengths of {short} and {long} cost {'; '.join(tries)}: more than {LEEWAY * share} times as much."
    )
