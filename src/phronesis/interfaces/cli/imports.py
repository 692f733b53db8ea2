"""The command that takes in a file of runs."""

import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final, TextIO

import click

from phronesis.config.locations import login_name
from phronesis.interfaces.cli.options import Scope, Store, with_owner, with_store
from phronesis.interfaces.cli.output import Progress, on_one_line, say, show_waiting
from phronesis.interfaces.cli.render_reports import say_imported

if TYPE_CHECKING:
    from phronesis.batch import BatchSummary
    from phronesis.importers import ImportRunner, ImportSummary


WATCH_SECONDS: Final = 5.0
"""Seconds between two looks at the transcripts of --watch."""

QUIET_SECONDS: Final = 20.0
"""Seconds without a change after which a transcript is taken in: its last turn is whole then."""

_WORDS: Final = {"recorded": "recorded", "known": "known already", "missing": "would be recorded"}


@click.command()
@click.argument("file", type=click.File("rb"))
@with_owner
@click.option("--dry-run", is_flag=True, help="Check every row and say what would be done; nothing is written.")
@click.option(
    "--report",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write there what became of each row, one JSON object a line.",
)
@with_store
@click.pass_context
def batch(
    ctx: click.Context, *, file: BinaryIO, scope: Scope, dry_run: bool, report: Path | None, store: Store
) -> None:
    """Record the runs of a file, and learn from them.

    FILE ('-': standard input) holds one run a line, or a JSON list of them: {run_id, output, raw, trace, memory_ids,
    feedback, learn}. A row without output and raw is about a known run. The same file again does what is missing. A
    row that is wrong is told of and passed over; the exit code is then 1.
    """
    from phronesis.batch import Batch, BatchSummary  # noqa: PLC0415 - SQLAlchemy and numpy: not for --help

    if report is not None and _is_same(file, report):
        raise click.UsageError("--report names FILE itself; its rows would be lost")
    length, summary = _length(file), BatchSummary()
    with store.open() as memory, Progress() as progress, _open_report(report) as lines:
        working = Batch(memory, **scope.named(), actor="user")
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


# The command that takes in exports: Phronesis' own log, and what other programs wrote.

OWN: Final = "phronesis"
TRANSCRIPTS: Final = ("claude-code", "codex", "cursor")
"""The formats whose files grow while an agent works; what its user says in them is the user's own."""

OTHERS: Final = ("mem0", "langgraph", "chatgpt", "claude", "git", *TRANSCRIPTS)
"""The names of `phronesis.importers.FORMATS`, which is not imported for ``--help``; a test holds them together."""


@click.command("import")
@click.argument("path", type=click.Path(path_type=Path))
@click.option(
    "--format",
    "format_",
    type=click.Choice((OWN, *OTHERS)),
    default=OWN,
    show_default=True,
    help="What wrote it; phronesis: 'export'.",
)
@click.option("--dry-run", is_flag=True, help="Count what would be taken in, and write nothing.")
@click.option("--watch", is_flag=True, help="Go on with the transcripts that change, until stopped.")
@with_owner
@with_store
@click.pass_context
def import_(
    ctx: click.Context, *, path: Path, format_: str, dry_run: bool, watch: bool, scope: Scope, store: Store
) -> None:
    """Take in an export; what is known already is left alone.

    Of 'export': the whole file is checked before anything is stored. Of another program: mem0's get_all or a dump of a
    LangGraph store as JSON, the conversations.json of ChatGPT or Claude (or the zip archive around it), the folder
    of a git repository, or the session transcripts of claude-code (~/.claude/projects), codex (~/.codex/sessions) or
    cursor (~/.cursor/projects), which are yours unless --user names somebody. The same again changes nothing, and goes
    on where an interrupted import stopped. What is passed over is told with the reason; the exit code is 1 when
    something could not be taken in.
    """
    if watch and (format_ not in TRANSCRIPTS or dry_run):
        raise click.UsageError(f"--watch goes with --format {', '.join(TRANSCRIPTS)}, and without --dry-run")
    if format_ == OWN:
        if dry_run or scope.named():
            raise click.UsageError("--dry-run, --user and --namespace go with the --format of another program")
        with store.open() as memory, show_waiting("reading the log"):
            result = memory.import_(path)
            memory.flush()
        store.answer(result, say_imported)
        return
    from phronesis.importers import ImportRunner  # noqa: PLC0415 - SQLAlchemy and numpy: not for --help

    owner = scope.named()
    if format_ in TRANSCRIPTS and not owner.get("user_id"):
        owner["user_id"] = login_name()
    with store.open() as memory:
        with Progress() as progress:
            taking = ImportRunner(memory, **owner, actor="user")
            taking.on_progress = lambda done, total: progress(f"reading {format_}", done, total)
            summary = taking.run(path, format=format_, dry_run=dry_run)
        if not dry_run:
            with show_waiting("making vectors"):
                memory.flush()
        store.answer(summary, say_summary)
        if watch:
            _watch(taking, path, format_)
    if summary.failed:
        ctx.exit(1)


def _watch(taking: "ImportRunner", path: Path, format_: str) -> None:
    """Take in each transcript that changed and was then left alone for a while, until the process is stopped."""
    from phronesis.importers.transcripts import transcript_files  # noqa: PLC0415 - as above

    seen = {file: file.stat().st_mtime for file in transcript_files(path)}
    with suppress(KeyboardInterrupt):
        while True:
            time.sleep(WATCH_SECONDS)
            for file in transcript_files(path):
                changed = file.stat().st_mtime
                if changed != seen.get(file) and time.time() - changed >= QUIET_SECONDS:
                    seen[file] = changed
                    say(f"{file}:")
                    say_summary(taking.run(file, format=format_))


def say_summary(summary: "ImportSummary") -> None:
    """Print the counts, and why what was passed over was."""
    told = "would be taken in" if summary.dry_run else "taken in"
    count = summary.missing if summary.dry_run else summary.recorded
    say(
        f"{count} {told}, {summary.known} known already, {sum(summary.skipped.values())} passed over,"
        f" {summary.failed} failed"
    )
    say(*(f"    passed over: {count} × {on_one_line(reason)}" for reason, count in sorted(summary.skipped.items())))
    for error in summary.errors:
        click.echo(on_one_line(f"    {error['ref']}: {error['message']} [{error['code']}]"), err=True)
