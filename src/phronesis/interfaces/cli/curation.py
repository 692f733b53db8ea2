"""Commands that keep memories in order: forgetting, quarantine, entities, and claims."""

from collections.abc import Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any, Final

import click

from phronesis.core.ids import short_id
from phronesis.core.items import SUSPECT_WORDS, Item
from phronesis.errors import Violation
from phronesis.interfaces.cli.options import (
    ACROSS,
    DRY_RUN,
    FILTERS,
    JSON,
    KINDS,
    LIMIT,
    REASON,
    Options,
    Store,
    complete_id,
    with_owner,
    with_scope,
    with_session,
    with_store,
)
from phronesis.interfaces.cli.output import (
    Progress,
    clean,
    cut,
    on_one_line,
    parse_objects,
    read_text,
    say,
    say_cut,
    say_json,
    say_undo,
    table,
)
from phronesis.interfaces.cli.render import about, say_degraded, say_edited
from phronesis.reasoning.laws.records import MigratedSource, MigrationResult

if TYPE_CHECKING:
    from phronesis.core.reports import EntityRecord
    from phronesis.experience.laws.records import ForgetResult, Forgotten

MAX_KEPT: Final = 20
"""Rows of what is kept that are printed; ``--json`` has more."""


@click.command()
@KINDS
@DRY_RUN
@with_session
@with_store
def forget(*, kinds: Sequence[str], dry_run: bool, scope: Options, store: Store) -> None:
    """Archive what is not needed any more.

    What was seldom used and matters little is archived (experience is downweighted before that), and ends after a long
    time. 'memory unarchive' restores what was archived; what ended can still be read by its id. Words are removed by
    'delete --erase' alone.
    """
    store.run(
        lambda memory: memory.forget(kinds=list(kinds) or None, dry_run=dry_run, actor="user", **scope),
        say_forgotten,
        doing="looking at what is used",
    )


@click.command()
@click.argument("item_id", metavar="ID")
@REASON
@with_store
def unarchive(item_id: str, *, reason: str | None, store: Store) -> None:
    """Restore an archived memory.

    Forgetting counts that as use.
    """
    store.run(
        lambda memory, one: memory.items.unarchive(one, reason=reason, actor="user"), say_edited, item_id, flush=True
    )


def say_forgotten(result: "ForgetResult") -> None:
    """Print what was archived, or would be, and what is kept."""
    if result.pending:
        say_undo(result.entry_id, pending=True)
        return
    if not result.rows:
        say("nothing is to be forgotten")
    _print_rows(result.rows, "would " if result.dry_run else "")
    if result.rows:
        counts = ", ".join(f"{count} {action}" for action, count in sorted(result.counts.items()))
        say("", counts + ("; there may be more: call again" if result.more else ""))
    if result.kept:
        say("", "faded, and kept:")
        _print_rows(result.kept[:MAX_KEPT], "")
        if len(result.kept) > MAX_KEPT:
            say(f"and {len(result.kept) - MAX_KEPT} more")
    if result.entry_id is not None and result.rows:
        say_undo(result.entry_id)


def _print_rows(rows: "Sequence[Forgotten]", would: str) -> None:
    cells = [(f"{would}{row.action}", row.kind, short_id(row.id), row.why, _reason(row)) for row in rows]
    say_cut(*table(cells))


def _reason(row: "Forgotten") -> str:
    """Return a row's reason without the action, which stands before it."""
    return on_one_line(row.reason.partition(": ")[2] or row.reason)


# Quarantine: text that reads like an order to a model.


@click.command()
@with_scope
@LIMIT
@ACROSS
@with_store
def list_quarantine(*, store: Store, scope: Options, limit: int, across: str | None) -> None:
    """List what is in quarantine, newest first.

    Each with the rule that found it, and the words.
    """
    store.run(lambda memory: memory.quarantine.list(**scope, limit=limit, across=across), say_quarantine)


@click.command()
@click.argument("item_id", metavar="ID")
@REASON
@with_store
def release(item_id: str, *, store: Store, reason: str | None) -> None:
    """Release a memory: it is found and shown again, as data.

    Nothing is learned from it by that, and 'rollback' takes it back.
    """
    store.run(
        lambda memory, one: memory.quarantine.release(one, reason=reason, actor="user"), say_edited, item_id, flush=True
    )


@click.command()
@click.argument("item_id", metavar="ID")
@REASON
@with_store
def reject(item_id: str, *, store: Store, reason: str | None) -> None:
    """Reject a memory: it ends as retracted.

    'delete --erase' removes its words for good.
    """
    store.run(lambda memory, one: memory.quarantine.reject(one, reason=reason, actor="user"), say_edited, item_id)


def say_quarantine(items: Sequence[Item]) -> None:
    """Print what is in quarantine: the words, the rule, and where they come from."""
    if not items:
        say("nothing is in quarantine there")
    for item in items:
        words = on_one_line(str(item.data.get(SUSPECT_WORDS) or item.content))
        say_cut(f"{item.quarantine}: {words}")
        say(f"   {about(item)}")


# Entities: who and what is spoken of, and which names are one.


@click.command()
@click.argument("query", required=False)
@with_owner
@click.option("--kind", metavar="KIND", help="person, place, organisation, project, thing or unknown.")
@LIMIT
@with_store
def list_entities(query: str | None, *, store: Store, scope: Options, kind: str | None, limit: int) -> None:
    """List the entities, the most mentioned first.

    QUERY is a part of one of their names.
    """
    store.run(lambda memory: memory.entities.list(query, **scope, kind=kind, limit=limit), say_entities)


@click.command()
@click.argument("entity_id", metavar="ID")
@with_store
def show_entity(entity_id: str, *, store: Store) -> None:
    """Show what is known of an entity.

    Each item with when and by whom it was said, and others that the bare name may mean.
    """
    store.run(lambda memory, one: memory.entities.get(one), say_entity, entity_id)


@click.command()
@click.argument("entity_ids", metavar="ID...", nargs=-1, required=True)
@REASON
@with_store
def merge_entities(entity_ids: tuple[str, ...], *, store: Store, reason: str | None) -> None:
    """Make several entities one.

    Their names become aliases of the fullest; 'rollback' of the entry takes it back.
    """
    store.run(
        lambda memory, *ids: memory.entities.merge(ids, reason=reason, actor="user"),
        say_edited,
        *entity_ids,
        flush=True,
    )


@click.command()
@click.argument("entity_id", metavar="ID")
@click.option("--alias", metavar="NAME", help="The name that becomes an entity of its own.")
@click.option("--item", "items", metavar="ID", multiple=True, help="An item that is about another; may be repeated.")
@click.option("--name", metavar="NAME", help="Of the items' subject; default: this one with a number.")
@REASON
@with_store
def split_entity(
    entity_id: str, *, store: Store, alias: str | None, items: tuple[str, ...], name: str | None, reason: str | None
) -> None:
    """Make one entity two, by a name or by items.

    The name leaves it, or the items are about another. 'rollback' of the entry takes it back.
    """
    store.run(
        lambda memory, one, *moved: memory.entities.split(
            one, alias=alias, items=moved or None, name=name, reason=reason, actor="user"
        ),
        say_edited,
        entity_id,
        *items,
        flush=True,
    )


def say_entities(found: "Sequence[EntityRecord]") -> None:
    """Print the entities: name, what it is, how often it is mentioned, id."""
    if not found:
        say("no entity is mentioned there")
    rows = [
        (_named(one), one.kind, str(one.mentions), f"{one.last_mentioned:%Y-%m-%d}", short_id(one.id)) for one in found
    ]
    say_cut(*table(rows))


def say_entity(one: "EntityRecord") -> None:
    """Print an entity, and what is known of it."""
    say(f"{_named(one)}, {one.kind}, mentioned {one.mentions} times, of {one.user_id or one.namespace}")
    if one.namesakes:
        say(
            "of that name: " + ", ".join(f"{on_one_line(other.name)} ({short_id(other.id)})" for other in one.namesakes)
        )
    for evidence in one.evidence:
        item = evidence.item
        ended = f" ({item.ended})" if item.ended else ""
        said = f"{item.occurred_at or item.recorded_at:%Y-%m-%d} {item.data.get('by') or item.trust.name.lower()}"
        say_cut(f"{said}: {on_one_line(item.content)}{ended}", f"   {short_id(item.id)}")


def _named(one: "EntityRecord") -> str:
    also = f" = {', '.join(one.aliases)}" if one.aliases else ""
    related = f" ({one.relation})" if one.relation and one.relation not in one.name else ""
    return on_one_line(f"{one.name}{also}{related}")


# Claims: check a block, and rewrite free text as claims.


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
