"""The command that takes in exports: Phronesis' own log, and what other programs wrote."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from phronesis.interfaces.cli.options import Scope, Store, with_owner, with_store
from phronesis.interfaces.cli.printing import say
from phronesis.interfaces.cli.progress import Progress, waiting
from phronesis.interfaces.cli.render_keeping import say_imported
from phronesis.interfaces.cli.text import on_one_line

if TYPE_CHECKING:
    from phronesis.importing import ImportSummary

OWN: Final = "phronesis"
OTHERS: Final = ("mem0", "langgraph", "chatgpt", "claude", "git")
"""The names of `phronesis.importing.FORMATS`, which is not imported for ``--help``; a test holds them together."""


@click.command("import")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--format", "format_", type=click.Choice((OWN, *OTHERS)), default=OWN, show_default=True,
              help="What wrote it; phronesis: 'export'.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Count what would be taken in, and write nothing.")
@with_owner
@with_store
@click.pass_context
def import_(
    ctx: click.Context, *, path: Path, format_: str, dry_run: bool, scope: Scope, store: Store
) -> None:  # fmt: skip
    """Take in an export; what is known already is left alone.

    Of 'export': the whole file is checked before anything is stored. Of another program: mem0's get_all or a dump of a
    LangGraph store as JSON, the conversations.json of ChatGPT or Claude (or the zip archive around it), or the folder
    of a git repository. The same again changes nothing, and goes on where an interrupted import stopped. What is
    passed over is told with the reason; the exit code is 1 when something could not be taken in.
    """
    if format_ == OWN:
        if dry_run or scope.named():
            raise click.UsageError("--dry-run, --user and --namespace go with the --format of another program")
        with store.open() as memory, waiting("reading the log"):
            result = memory.import_(path)
            memory.flush()
        store.answer(result, say_imported)
        return
    from phronesis.importing import Importing  # noqa: PLC0415 - SQLAlchemy and numpy: not for --help

    with store.open() as memory:
        with Progress() as progress:
            taking = Importing(memory, **scope.named(), actor="user")
            taking.on_progress = lambda done, total: progress(f"reading {format_}", done, total)
            summary = taking.run(path, format=format_, dry_run=dry_run)
        if not dry_run:
            with waiting("making vectors"):
                memory.flush()
    store.answer(summary, say_summary)
    if summary.failed:
        ctx.exit(1)


def say_summary(summary: "ImportSummary") -> None:
    """Print the counts, and why what was passed over was."""
    told = "would be taken in" if summary.dry_run else "taken in"
    count = summary.missing if summary.dry_run else summary.recorded
    say(f"{count} {told}, {summary.known} known already, {sum(summary.skipped.values())} passed over,"
        f" {summary.failed} failed")  # fmt: skip
    say(*(f"    passed over: {count} × {on_one_line(reason)}" for reason, count in sorted(summary.skipped.items())))
    for error in summary.errors:
        click.echo(on_one_line(f"    {error['ref']}: {error['message']} [{error['code']}]"), err=True)
