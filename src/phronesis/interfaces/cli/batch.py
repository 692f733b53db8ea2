"""The command that records a file of runs and learns from them."""

import json
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, TextIO

import click

from phronesis.interfaces.cli.options import DRY_RUN, Options, Store, with_owner, with_store
from phronesis.interfaces.cli.output import Progress, on_one_line, say

if TYPE_CHECKING:
    from phronesis.batch import BatchSummary


_WORDS: Final = {"recorded": "recorded", "known": "known already", "missing": "would be recorded"}


@click.command()
@click.argument("file", type=click.File("rb"))
@with_owner
@DRY_RUN
@click.option(
    "--report",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the result of each row there, one JSON object a line.",
)
@with_store
@click.pass_context
def batch(
    ctx: click.Context, *, file: BinaryIO, scope: Options, dry_run: bool, report: Path | None, store: Store
) -> None:
    """Record the runs of a file, and learn from them.

    FILE ('-': standard input) holds one run a line, or a JSON list of them: {run_id, output, raw, trace, memory_ids,
    feedback, learn}. A row without output and raw is about a known run. The same file again does what is missing. A
    wrong row is reported and skipped; the exit code is then 1.
    """
    from phronesis.batch import Batch, BatchSummary  # noqa: PLC0415 - SQLAlchemy and numpy: not for --help

    if report is not None and _is_same(file, report):
        raise click.UsageError("--report names FILE itself; its rows would be lost")
    length, summary = _length(file), BatchSummary()
    with store.open() as memory, Progress() as progress, _open_report(report) as lines:
        working = Batch(memory, **scope, actor="user")
        if length:
            working.on_bytes = lambda done: progress("checking" if dry_run else "learning", done, length)
        for told in working.foresee(file) if dry_run else working.run(file):
            summary.add(told)
            if lines is not None:
                lines.write(json.dumps(told.to_dict(), ensure_ascii=False) + "\n")
        if not dry_run:
            memory.flush()
    store.answer(summary, lambda _: _print_summary(summary, report))
    if summary.failed:
        ctx.exit(1)


def _print_summary(summary: "BatchSummary", report: Path | None) -> None:
    """Print the counts, and on stderr the first rows that failed."""
    for name, counts in (("runs", summary.runs), ("feedback", summary.feedback), ("learns", summary.learns)):
        if counts:
            say(f"{name}: " + ", ".join(f"{count} {_WORDS[done]}" for done, count in sorted(counts.items())))
    learned = {
        "supports": summary.supports,
        "contras": summary.contras,
        "items added": summary.added,
        "items updated": summary.updated,
        "proposals not taken": summary.dropped,
    }
    if any(learned.values()):
        title = "proposed" if "missing" in summary.learns else "learned"
        say(f"{title}: " + ", ".join(f"{count} {name}" for name, count in learned.items() if count))
    say(f"{summary.rows} rows, {summary.failed} of them failed")
    for told in summary.errors:
        error = told.error or {}
        click.echo(on_one_line(f"line {told.line}: {error.get('message')} [{error.get('code')}]"), err=True)
    if summary.failed > len(summary.errors):
        where = "--report FILE lists them" if report is None else f"{report} lists them"
        click.echo(f"and {summary.failed - len(summary.errors)} more; {where}", err=True)


@contextmanager
def _open_report(report: Path | None) -> Iterator[TextIO | None]:
    if report is None:
        yield None
        return
    with report.open("w", encoding="utf-8", errors="backslashreplace") as lines:
        yield lines


def _length(file: BinaryIO) -> int:
    """Return how many bytes a file has; 0 for what is no file: nobody knows how much will come."""
    number = _number(file)
    if number is None:
        return 0
    status = os.fstat(number)
    return status.st_size if stat.S_ISREG(status.st_mode) else 0


def _is_same(file: BinaryIO, report: Path) -> bool:
    number = _number(file)
    return number is not None and report.exists() and os.path.samestat(os.fstat(number), report.stat())


def _number(file: BinaryIO) -> int | None:
    try:
        return file.fileno()
    except OSError:  # bytes in memory
        return None
