"""The stage of the demo: it times each step, prints what the step showed, and counts what must hold."""

from time import perf_counter
from typing import Final

from phronesis.interfaces.cli.printing import say
from phronesis.interfaces.cli.text import columns, cut

WIDTH: Final = 100
"""Columns of the demo's output, on any terminal and in a pipe."""


class Stage:
    """Narrates: each step is timed, what it showed is printed under its title, and what must hold is checked."""

    def __init__(self) -> None:
        self.checks = 0
        self.failed: list[str] = []
        self.answers: list[str] = []
        """Citations that hold the answer to the demo's question, for the step that explains one."""
        self._steps = 0
        self._lines: list[str] = []
        self._started = perf_counter()

    def show(self, *lines: str) -> None:
        """Add lines to the step."""
        self._lines += lines

    def check(self, what: str, holds: bool) -> bool:
        """Note whether what must hold does; gives ``holds``."""
        self.checks += 1
        if not holds:
            self.failed.append(what)
        return holds

    def end(self, title: str) -> None:
        """Print the step that has just been done, and start the next."""
        self._steps += 1
        took = f"{perf_counter() - self._started:.2f} s"
        head = f"{self._steps}  {title} "
        say("", head + "─" * max(2, WIDTH - columns(head) - len(took) - 1) + f" {took}")
        say(*(cut(line, WIDTH) for line in self._lines))
        self._lines = []
        self._started = perf_counter()
