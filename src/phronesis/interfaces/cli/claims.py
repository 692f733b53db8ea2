"""Commands of claims: check a block, and rewrite free text as claims."""

from collections.abc import Mapping, Sequence
from typing import IO, Any, Final

import click

from phronesis.core.ids import short_id
from phronesis.errors import Violation
from phronesis.interfaces.cli.options import (
    DRY_RUN,
    FILTERS,
    JSON,
    KINDS,
    Options,
    Store,
    complete_id,
    with_owner,
    with_store,
)
from phronesis.interfaces.cli.output import Progress, clean, cut, on_one_line, parse_objects, read_text, say, say_json
from phronesis.interfaces.cli.render import say_degraded
from phronesis.reasoning.laws.records import MigratedSource, MigrationResult


@click.command()
@click.argument("file", type=click.File(encoding="utf-8"), default="-")
@click.option("--status", default="active", show_default=True, help="Status of the item: active or archived.")
@JSON
@click.pass_context
def check_claims(ctx: click.Context, *, file: IO[str], status: str, as_json: bool) -> None:
    """Check a block of claims against the rules of the bank.

    FILE is a text of RBMEM_CLAIMS_V1, by default standard input. The exit code is 1 when it would be refused.
    """
    from phronesis.reasoning.claim_gate import gate  # noqa: PLC0415 - its tables of patterns: not for --help

    violations = gate(read_text(file), status)
    (say_json if as_json else say_violations)(violations)
    if violations:
        ctx.exit(1)


def say_violations(violations: Sequence[Violation]) -> None:
    """Print what is broken, each with its place."""
    if not violations:
        say("lawful")
    say(*map(violation_line, violations))


def violation_line(violation: Violation) -> str:
    """Return one violation: the line, the rule, the claim, what is wrong."""
    named: list[Any] = [f"line {violation.line}" if violation.line is not None else None, violation.rule]
    named.append(f"claim {violation.claim_id}" if violation.claim_id is not None else None)
    return on_one_line(" ".join(str(name) for name in named if name is not None) + f": {violation.message}")


_SAID: Final = {
    "migrated": "rewritten",
    "would_migrate": "would be rewritten",
    "already": "rewritten before",
    "refused": "left as they were",
    "erased": "erased since they were rewritten",
    "pending": "recorded, and rewritten later",
}
_QUOTED: Final = 100
"""Characters that are shown of a statement that was taken out."""


@click.command()
@click.argument("file", type=click.File(encoding="utf-8"), required=False)
@with_owner
@click.option("--id", "ids", metavar="ID", multiple=True, help="This item; may be repeated.")
@KINDS
@FILTERS
@click.option("--scope", "scope_line", metavar="NAME", help="The SCOPE line of the new blocks.")
@DRY_RUN
@with_store
@click.pass_context
def migrate_memories(
    ctx: click.Context, /, *, file: IO[str] | None, scope: Options, store: Store, **given: Any
) -> None:
    """Rewrite free-text memories as claims.

    FILE ('-': standard input) is JSON, one memory or a list of them, or one a line: {content, id, title, metadata,
    created_at, run_ids}. Without it, items of the store are rewritten: by default those whose metadata say
    kind: reasoning. The old texts stay, archived. The exit code is 1 when some were left as they were.
    """
    memories = None if file is None else parse_objects(read_text(file))
    with store.open() as memory:
        with Progress() as progress:
            given["ids"] = [complete_id(memory, one) for one in given["ids"]]
            result = memory.admin.migrate(memories, **scope, **_call_arguments(given), on_progress=progress)
        if not result.dry_run:
            memory.flush()
    store.answer(result, say_migrated)
    if result.refused:
        ctx.exit(1)


def _call_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    renamed = {"scope": given["scope_line"], "ids": given["ids"] or None, "kinds": given["kinds"] or None}
    return {**renamed, "filters": given["filters"], "dry_run": given["dry_run"]}


def say_migrated(result: MigrationResult) -> None:
    """Print what became of each memory: in a dry run as a diff, else a line; then how many of each."""
    for source in result.sources:
        say(*_lines(source, shown=result.dry_run))
        say_degraded(source.degraded)
    counts = [f"{count} {_SAID[status]}" for status, count in result.counts.items()]
    say(", ".join(counts) if counts else "there is nothing to rewrite")


def _lines(source: MigratedSource, *, shown: bool) -> list[str]:
    lines = [clean(source.diff)] if shown and source.diff else [on_one_line(_line(source))]
    for one in source.taken_out:
        what = "without its alias" if one.why == "kb_alias" else f"taken out ({one.why})"
        lines.append(f"    {what}: {cut(on_one_line(one.text), _QUOTED)}")
    return [*lines, *(f"    {violation_line(one)}" for one in source.violations)]


def _line(source: MigratedSource) -> str:
    return " ".join([f"{source.source}: {_SAID[source.status]}", *map(short_id, source.item_ids)])
