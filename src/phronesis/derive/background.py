"""A thread beside a Memory: one makes vectors and interprets what was left pending, one looks modifiers up."""

import logging
import threading
from collections.abc import Callable
from typing import Final

from phronesis.errors import PhronesisError

PAUSE_SECONDS: Final = 0.2
"""How long nothing must be written before vectors are made: a conversation that is taken in message by message is
embedded in one batch, and its writes do not share the processor with an encoder."""

PRESSING_SECONDS: Final = 0.05
"""The same when entries wait to be interpreted: those recorded in a row are taken together."""

MAX_PAUSES: Final = 10
"""After so many pauses the work begins though writes go on: two seconds, or half a second."""

TURN_PAUSES: Final = 4
"""The same between two batches of a task, a fifth of a second: about as long as a batch of 64 messages takes, so that
writers who do not wait have half of the processor and of the database's lock, and the thread the other half."""

IDLE_SECONDS: Final = 1.0
"""After so long without work the thread ends and lets go of what it works for; the next wake starts another."""

logger = logging.getLogger(__name__)


class Background:
    """Runs ``task(stopped)`` whenever it is woken. Daemonic: it never keeps a process alive.

    The thread holds the task, and with it a Memory that its caller may have dropped: until the work is done, and not
    for ever, because a thread that idles ends.
    """

    def __init__(self, task: Callable[[Callable[[], bool]], object], *, name: str) -> None:
        self._task = task
        self._name = name
        self._wake = threading.Event()
        self._pressing = False
        self._again = False
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()

    def wake(self, *, pressing: bool = False) -> None:
        """Say that there is work; starts the thread where there is none. ``pressing``: the pause is short."""
        self._pressing = self._pressing or pressing
        self._wake.set()
        with self._starting:
            if self._thread is None and not self._stop.is_set():
                thread = threading.Thread(target=self._loop, name=self._name, daemon=True)
                try:
                    thread.start()
                except RuntimeError:  # the process ends, or may have no more threads: the next who comes does the work
                    return
                self._thread = thread

    def give_way(self) -> bool:
        """Let writes that came since go first; a task calls it between two batches. Tells whether it is to stop."""
        if self._wake.is_set():
            self._again = True  # the task may have looked before what woke it now was written
            self._wait_for_pause(TURN_PAUSES)
        return self._stop.is_set()

    def stop(self, *, within: float | None = None) -> None:
        """Stop after the batch at hand; returns when the thread is done, or after ``within`` seconds."""
        self._stop.set()
        self._wake.set()
        with self._starting:
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(within)

    def _loop(self) -> None:
        while not self._stop.is_set():
            if not self._wake.wait(IDLE_SECONDS) and self._ended():
                return
            self._wait_for_pause(MAX_PAUSES)
            self._pressing = False
            self._wake.clear()
            if self._stop.is_set():
                return
            try:
                self._task(self._stop.is_set)
            except Exception as error:  # noqa: BLE001 - an encoder may raise anything, and the next batch may do
                # Nothing is lost: the next write, flush or worker takes the work up again. A stranger's message may
                # quote what was remembered, so only ours is logged.
                said = f"{error.code}: {error.message}" if isinstance(error, PhronesisError) else type(error).__name__
                logger.warning("background work stopped (%s)", said)
            if self._again:
                self._again = False
                self._wake.set()

    def _ended(self) -> bool:
        """Let go of the thread, unless there is work again: whoever wakes it finds it at work, or starts another."""
        with self._starting:
            if not self._wake.is_set():
                self._thread = None
            return self._thread is None

    def _wait_for_pause(self, most: int) -> None:
        """Wait until nothing was written for a moment, or ``most`` moments."""
        for _ in range(most):
            self._wake.clear()
            self._stop.wait(PRESSING_SECONDS if self._pressing else PAUSE_SECONDS)
            if not self._wake.is_set():
                return
