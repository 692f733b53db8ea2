"""Text on a terminal: columns that line up with Chinese in them, and nothing that a memory says moves the cursor."""

import json
import re
import shutil
import sys
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import datetime
from typing import IO, Any, Final, Self

import click

from phronesis.core.ids import short_id
from phronesis.core.serialization import as_json
from phronesis.errors import InputError

WIDTH: Final[ContextVar[int | None]] = ContextVar("WIDTH", default=None)
"""The columns of the terminal of a client, where a command runs for one."""


def print_lines(*lines: str) -> None:
    """Print lines."""
    for line in lines:
        click.echo(line)


def print_cut(*lines: str) -> None:
    """Print lines, each cut to the width of the terminal, if there is one."""
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDTH.get()
    print_lines(*(cut(line, width) for line in lines))


def print_json(value: Any) -> None:
    """Print any result as JSON."""
    click.echo(json.dumps(as_json(value), ensure_ascii=False, indent=2))


def print_undo(entry_id: str | None) -> None:
    """Print how an entry is taken back."""
    print_lines(f"to take it back: phronesis rollback {short_id(entry_id or '')}")


def say_table(rows: Sequence[Sequence[object]], *, head: Sequence[str] = (), nothing: str) -> None:
    """Print rows, cut to the width of the terminal; where there are none, print ``nothing``."""
    print_cut(*table(rows, head=head) if rows else [nothing])


def count_of(number: int, one: str, many: str = "") -> str:
    """Return a number with its noun, of which the plural ends in -s unless it is given."""
    return f"{number} {one if number == 1 else many or one + 's'}"


def day(moment: datetime | None) -> str:
    """Return a date."""
    return "" if moment is None else moment.date().isoformat()


def second(moment: datetime) -> str:
    """Return a time to the second, in UTC."""
    return moment.strftime("%Y-%m-%d %H:%M:%SZ")


@contextmanager
def show_waiting(what: str) -> Iterator[None]:
    """Say on a terminal ``what`` is being done, if anything, for as long as it takes: nobody knows its length."""
    shown = bool(what) and sys.stderr.isatty()
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

    def __exit__(self, *_error: object) -> None:
        self._finish()

    def _finish(self) -> None:
        if self._bar is not None:
            self._bar.render_finish()
            self._bar = None


_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Escape sequences and overrides of direction: remembered text must not paint on the terminal that shows it."""


def clean(text: str) -> str:
    """Return ``text`` with control characters shown as U+FFFD; line ends and tabs stay."""
    return _CONTROL.sub("\ufffd", text.replace("\r\n", "\n"))


def on_one_line(text: str) -> str:
    """Return ``text`` cleaned, its white space folded."""
    return " ".join(clean(text).split())


def read_text(file: IO[str]) -> str:
    """Return what a file or standard input holds; InputError when it is no UTF-8."""
    try:
        return file.read()
    except UnicodeDecodeError as error:
        raise InputError(f"the input is not UTF-8 text ({error.reason})", field="content") from error


def parse_objects(text: str, *, field: str = "file", remedy: str = "") -> list[dict[str, Any]]:
    """Read a JSON object, a list of them, or one a line; InputError names the line, or the place in the list."""
    try:
        whole = json.loads(text)
        rows = [(f"number {n}", one) for n, one in enumerate(whole if isinstance(whole, list) else [whole], start=1)]
    except ValueError:
        rows = []
        for n, line in enumerate(text.splitlines(), start=1):
            try:
                rows += [(f"line {n}", json.loads(line))] if line.strip() else []
            except ValueError as error:
                reason = error.msg if isinstance(error, json.JSONDecodeError) else error
                raise InputError(f"{field}: line {n} is not JSON ({reason}){remedy}", field=field) from error
    for place, value in rows:
        if not isinstance(value, dict):
            raise InputError(f"{field}: {place} must be a JSON object, not {type(value).__name__}", field=field)
    return [value for _, value in rows]


def columns(text: str) -> int:
    """Return how many columns a terminal takes for ``text``: two for a wide character, none for a combining one."""
    if text.isascii():
        return len(text)
    return sum(_columns(character) for character in text)


def cut(text: str, limit: int | None) -> str:
    """Return ``text`` in at most ``limit`` columns, with an ellipsis where it was cut; None leaves it whole."""
    if limit is None or columns(text) <= limit:
        return text
    room = max(0, limit - 1)
    for place, character in enumerate(text):
        room -= _columns(character)
        if room < 0:
            return f"{text[:place].rstrip()}…"
    return text


def table(rows: Sequence[Sequence[object]], *, head: Sequence[str] = (), indent: str = "") -> list[str]:
    """Return rows as lines with aligned columns, two blanks apart; the last may run on, and None is empty."""
    lines = [
        ["" if cell is None else on_one_line(str(cell)) for cell in row] for row in ([head, *rows] if head else rows)
    ]
    sizes = [max(columns(cell) for cell in column) for column in zip(*lines, strict=True)]
    out = []
    for *cells, last in lines:
        padded = [cell + " " * (size - columns(cell)) for cell, size in zip(cells, sizes, strict=False)]
        out.append(indent + "  ".join([*padded, last]).rstrip())
    return out


def _columns(character: str) -> int:
    if unicodedata.category(character) in {"Mn", "Me", "Cf"}:
        return 0
    return 2 if unicodedata.east_asian_width(character) in {"W", "F"} else 1
