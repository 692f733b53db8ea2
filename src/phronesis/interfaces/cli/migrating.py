"""The command that rewrites old memories in free text as claims."""

from collections.abc import Mapping
from typing import IO, Any, Final

import click

from phronesis.core.reasoning.migrated import MigratedSource, MigrationResult
from phronesis.interfaces.cli.objects import objects
from phronesis.interfaces.cli.options import JsonValue, KindName, Scope, Store, with_owner, with_store
from phronesis.interfaces.cli.printing import say
from phronesis.interfaces.cli.progress import Progress
from phronesis.interfaces.cli.reasoning import violation_line
from phronesis.interfaces.cli.render import say_degraded
from phronesis.interfaces.cli.text import clean, cut, on_one_line, read_text

_SAID: Final = {
    "migrated": "rewritten", "would_migrate": "would be rewritten", "already": "rewritten before",
    "refused": "left as they were", "erased": "erased since they were rewritten",
    "pending": "recorded, and rewritten later",
}  # fmt: skip
_QUOTED: Final = 100
"""Characters that are shown of a statement that was taken out."""


@click.command("migrate-memories")
@click.argument("file", type=click.File(encoding="utf-8"), required=False)
@with_owner
@click.option("--id", "ids", metavar="ID", multiple=True, help="This item; may be repeated.")
@click.option("--kind", "kinds", metavar="KIND", type=KindName(), multiple=True,
              help="Items of this kind; may be repeated.")  # fmt: skip
@click.option("--filters", metavar="JSON", type=JsonValue(), help='Items that match: {"metadata.kind": "reasoning"}.')
@click.option("--scope", "scope_line", metavar="NAME", help="The SCOPE line of what is made.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and write nothing.")
@with_store
@click.pass_context
def migrate_memories(ctx: click.Context, /, *, file: IO[str] | None, scope: Scope, store: Store, **given: Any) -> None:
    """Rewrite free-text memories as claims.

    FILE ('-': standard input) is JSON, one memory or a list of them, or one a line: {content, id, title, metadata,
    created_at, run_ids}. Without it, items of the store are rewritten: by default those whose metadata say
    kind: reasoning. The old texts stay, archived. The exit code is 1 when some were left as they were.
    """
    memories = None if file is None else objects(read_text(file))
    with store.open() as memory:
        with Progress() as progress:
            result = memory.migrate_memories(memories, **scope.named(), **_named(given), on_progress=progress)
        if not result.dry_run:
            memory.flush()
    store.answer(result, say_migrated)
    if result.refused:
        ctx.exit(1)


def _named(given: Mapping[str, Any]) -> dict[str, Any]:
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
    return " ".join([f"{source.source}: {_SAID[source.status]}", *(f"mem:{item_id}" for item_id in source.item_ids)])
