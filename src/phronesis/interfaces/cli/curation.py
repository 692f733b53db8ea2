"""Commands that keep memories in order: forgetting, quarantine, entities, and claims."""

from collections.abc import Sequence
from typing import IO, TYPE_CHECKING, Any, Final

import click

from phronesis.core.ids import short_id
from phronesis.core.items import SUSPECT_WORDS, Item
from phronesis.errors import Violation
from phronesis.interfaces.cli.options import (
    ACROSS,
    DRY_RUN,
    FILTERS,
    ITEM_ID,
    JSON,
    KINDS,
    LIMIT,
    OWNER,
    REASON,
    SCOPE,
    SESSION,
    ShortId,
    command,
)
from phronesis.interfaces.cli.output import (
    Progress,
    clean,
    cut,
    on_one_line,
    parse_objects,
    print_cut,
    print_json,
    print_lines,
    print_undo,
    read_text,
    say_table,
    table,
)
from phronesis.interfaces.cli.render import about, print_degraded, print_edited
from phronesis.reasoning.laws.records import MigrationResult

if TYPE_CHECKING:
    from phronesis.core.reports import EntityRecord
    from phronesis.experience.laws.records import ForgetResult, Forgotten
    from phronesis.memory import Memory

MAX_KEPT: Final = 20
"""Rows of what is kept that are printed; ``--json`` has more."""


def print_forgotten(result: "ForgetResult") -> None:
    """Print what was archived, or would be, and what is kept."""
    if not result.rows:
        print_lines("nothing is to be forgotten")
    print_cut(*_rows(result.rows, "would " if result.dry_run else ""))
    if result.rows:
        counts = ", ".join(f"{count} {action}" for action, count in sorted(result.counts.items()))
        print_lines("", counts + ("; there may be more: call again" if result.more else ""))
    if result.kept:
        print_lines("", "faded, and kept:")
        print_cut(*_rows(result.kept[:MAX_KEPT]))
        if len(result.kept) > MAX_KEPT:
            print_lines(f"and {len(result.kept) - MAX_KEPT} more")
    if result.entry_id is not None and result.rows:
        print_undo(result.entry_id)


@command(KINDS, DRY_RUN, *OWNER, SESSION, show=print_forgotten, doing="looking at what is used")
def forget(memory: "Memory", **given: Any) -> Any:
    """Archive what is not needed any more.

    What was seldom used and matters little is archived (experience is downweighted before that), and ends after a long
    time. 'memory unarchive' restores what was archived; what ended can still be read by its id. Words are removed by
    'delete --erase' alone.
    """
    return memory.forget(actor="user", **given)


@command(ITEM_ID, REASON, show=print_edited, flush=True)
def unarchive(memory: "Memory", item_id: str, **given: Any) -> Any:
    """Restore an archived memory.

    Forgetting counts that as use.
    """
    return memory.items.unarchive(item_id, actor="user", **given)


def _rows(rows: "Sequence[Forgotten]", would: str = "") -> list[str]:
    return table(
        [
            (f"{would}{row.action}", row.kind, short_id(row.id), row.why, row.reason.partition(": ")[2] or row.reason)
            for row in rows
        ]
    )


# Quarantine: text that reads like an order to a model.


def print_quarantine(items: Sequence[Item]) -> None:
    """Print what is in quarantine: the words, the rule, and where they come from."""
    if not items:
        print_lines("nothing is in quarantine there")
    for item in items:
        words = on_one_line(str(item.data.get(SUSPECT_WORDS) or item.content))
        print_cut(f"{item.quarantine}: {words}")
        print_lines(f"   {about(item)}")


@command(*SCOPE, LIMIT, ACROSS, show=print_quarantine)
def list_quarantine(memory: "Memory", **given: Any) -> Any:
    """List what is in quarantine, newest first.

    Each with the rule that found it, and the words.
    """
    return memory.quarantine.list(**given)


@command(ITEM_ID, REASON, show=print_edited, flush=True)
def release(memory: "Memory", item_id: str, **given: Any) -> Any:
    """Release a memory: it is found and shown again, as data.

    Nothing is learned from it by that, and 'rollback' takes it back.
    """
    return memory.quarantine.release(item_id, actor="user", **given)


@command(ITEM_ID, REASON, show=print_edited)
def reject(memory: "Memory", item_id: str, **given: Any) -> Any:
    """Reject a memory: it ends as retracted.

    'delete --erase' removes its words for good.
    """
    return memory.quarantine.reject(item_id, actor="user", **given)


# Entities: who and what is spoken of, and which names are one.

_ENTITY = click.argument("entity_id", metavar="ID", type=ShortId())


def print_entities(found: "Sequence[EntityRecord]") -> None:
    """Print the entities: name, what it is, how often it is mentioned, id."""
    rows = [(_named(one), one.kind, one.mentions, f"{one.last_mentioned:%Y-%m-%d}", short_id(one.id)) for one in found]
    say_table(rows, nothing="no entity is mentioned there")


@command(
    click.argument("query", required=False),
    *OWNER,
    click.option("--kind", metavar="KIND", help="person, place, organisation, project, thing or unknown."),
    LIMIT,
    show=print_entities,
)
def list_entities(memory: "Memory", **given: Any) -> Any:
    """List the entities, the most mentioned first.

    QUERY is a part of one of their names.
    """
    return memory.entities.list(**given)


def print_entity(one: "EntityRecord") -> None:
    """Print an entity, and what is known of it."""
    print_lines(f"{_named(one)}, {one.kind}, mentioned {one.mentions} times, of {one.user_id or one.namespace}")
    if one.namesakes:
        others = (f"{on_one_line(other.name)} ({short_id(other.id)})" for other in one.namesakes)
        print_lines(f"of that name: {', '.join(others)}")
    for evidence in one.evidence:
        item = evidence.item
        ended = f" ({item.ended})" if item.ended else ""
        said = f"{item.occurred_at or item.recorded_at:%Y-%m-%d} {item.data.get('by') or item.trust.name.lower()}"
        print_cut(f"{said}: {on_one_line(item.content)}{ended}", f"   {short_id(item.id)}")


@command(_ENTITY, show=print_entity)
def show_entity(memory: "Memory", entity_id: str) -> Any:
    """Show what is known of an entity.

    Each item with when and by whom it was said, and others that the bare name may mean.
    """
    return memory.entities.get(entity_id)


@command(
    click.argument("entity_ids", metavar="ID...", nargs=-1, required=True, type=ShortId()),
    REASON,
    show=print_edited,
    flush=True,
)
def merge_entities(memory: "Memory", entity_ids: list[str], **given: Any) -> Any:
    """Make several entities one.

    Their names become aliases of the fullest; 'rollback' of the entry takes it back.
    """
    return memory.entities.merge(entity_ids, actor="user", **given)


@command(
    _ENTITY,
    click.option("--alias", metavar="NAME", help="The name that becomes an entity of its own."),
    click.option(
        "--item",
        "items",
        metavar="ID",
        multiple=True,
        type=ShortId(),
        help="An item that is about another; may be repeated.",
    ),
    click.option("--name", metavar="NAME", help="Of the items' subject; default: this one with a number."),
    REASON,
    show=print_edited,
    flush=True,
)
def split_entity(memory: "Memory", entity_id: str, **given: Any) -> Any:
    """Make one entity two, by a name or by items.

    The name leaves it, or the items are about another. 'rollback' of the entry takes it back.
    """
    return memory.entities.split(entity_id, actor="user", **given)


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
    if as_json:
        print_json(violations)
    else:
        print_lines(*map(format_violation, violations) if violations else ("lawful",))
    if violations:
        ctx.exit(1)


def format_violation(violation: Violation) -> str:
    """Return one violation: the line, the rule, the claim, what is wrong."""
    line = "" if violation.line is None else f"line {violation.line} "
    claim = "" if violation.claim_id is None else f" claim {violation.claim_id}"
    return on_one_line(f"{line}{violation.rule}{claim}: {violation.message}")


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


def print_migrated(result: MigrationResult) -> None:
    """Print what became of each memory: in a dry run as a diff, else a line; then how many of each."""
    for source in result.sources:
        line = " ".join([f"{source.source}: {_SAID[source.status]}", *map(short_id, source.item_ids)])
        print_lines(clean(source.diff) if result.dry_run and source.diff else on_one_line(line))
        for one in source.taken_out:
            what = "without its alias" if one.why == "kb_alias" else f"taken out ({one.why})"
            print_lines(f"    {what}: {cut(on_one_line(one.text), _QUOTED)}")
        print_lines(*(f"    {format_violation(one)}" for one in source.violations))
        print_degraded(source.degraded)
    print_lines(
        ", ".join(f"{count} {_SAID[status]}" for status, count in result.counts.items())
        or "there is nothing to rewrite"
    )


@command(
    click.argument("file", type=click.File(encoding="utf-8"), required=False),
    *OWNER,
    click.option("--id", "ids", metavar="ID", multiple=True, type=ShortId(), help="This item; may be repeated."),
    KINDS,
    FILTERS,
    click.option("--scope", metavar="NAME", help="The SCOPE line of the new blocks."),
    DRY_RUN,
    show=print_migrated,
    doing="",
    flush=True,
    fails=lambda result: result.refused,
    checked=lambda file=None, **given: {**given, "memories": None if file is None else parse_objects(read_text(file))},
)
def migrate_memories(memory: "Memory", **given: Any) -> MigrationResult:
    """Rewrite free-text memories as claims.

    FILE ('-': standard input) is JSON, one memory or a list of them, or one a line: {content, id, title, metadata,
    created_at, run_ids}. Without it, items of the store are rewritten: by default those whose metadata say
    kind: reasoning. The old texts stay, archived. The exit code is 1 when some were left as they were.
    """
    with Progress() as progress:
        return memory.admin.migrate(**given, on_progress=progress)
