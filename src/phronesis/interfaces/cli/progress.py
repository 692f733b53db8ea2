"""A progress bar on a terminal, and none in a pipe."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

import click


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Say on a terminal what is being done, for as long as it takes; for work whose length nobody knows."""
    shown = sys.stderr.isatty()
    if shown:
        click.echo(f"{what} …", err=True, nl=False)
    try:
        yield
    finally:
        if shown:
            click.echo("\r\x1b[K", err=True, nl=False)


class Progress:
    """Called with (what is being done, steps done, steps in all), it shows one bar on stderr for each thing done."""

    def __init__(self) -> None:
        self._hidden = not sys.stderr.isatty()
        self._label: str | None = None
        self._bar: Any = None

    def __call__(self, label: str, done: int, total: int) -> None:
        """Show how far it is."""
        if self._hidden:
            return
        if label != self._label:
            self._finish()
            self._label = label
            self._bar = click.progressbar(length=total, label=label, file=sys.stderr).__enter__()
        self._bar.update(done - self._bar.pos)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._finish()

    def _finish(self) -> None:
        if self._bar is not None:
            self._bar.render_finish()
            self._bar = None
