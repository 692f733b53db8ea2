"""The commands of entities: list and show them, and decide which names are one."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from phronesis.interfaces.cli.options import LIMIT, Scope, Store, with_owner, with_store
from phronesis.interfaces.cli.output import cut, on_one_line, say, table, terminal_columns
from phronesis.interfaces.cli.render import say_edited

if TYPE_CHECKING:
    from phronesis.core.reports import EntityRecord

_REASON = click.option("--reason", metavar="TEXT", help="Kept in the history.")


@click.group()
def entities() -> None:
    """See who and what is spoken of, and which names are one.

    What a merge or a split did, 'rollback' takes back.
    """


@entities.command("list")
@click.argument("query", required=False)
@with_owner
@click.option("--kind", metavar="KIND", help="person, place, organisation, project, thing or unknown.")
@LIMIT
@with_store
def list_entities(query: str | None, *, store: Store, scope: Scope, kind: str | None, limit: int) -> None:
    """List the entities, the most mentioned first.

    QUERY is a part of one of their names.
    """
    with store.open() as memory:
        found = memory.entities.list(query, **scope.named(), kind=kind, limit=limit)
    store.answer(found, say_entities)


@entities.command()
@click.argument("entity_id", metavar="ID")
@with_store
def show(entity_id: str, *, store: Store) -> None:
    """Show what is known of an entity.

    Each item with when and by whom it was said, and others that the bare name may mean.
    """
    with store.open() as memory:
        found = memory.entities.get(entity_id)
    store.answer(found, say_entity)


@entities.command()
@click.argument("entity_ids", metavar="ID...", nargs=-1, required=True)
@_REASON
@with_store
def merge(entity_ids: tuple[str, ...], *, store: Store, reason: str | None) -> None:
    """Make several entities one.

    Their names become aliases of the fullest; 'rollback' of the entry takes it back.
    """
    with store.open() as memory:
        result = memory.entities.merge(entity_ids, reason=reason, actor="user")
        memory.flush()
    store.answer(result, say_edited)


@entities.command()
@click.argument("entity_id", metavar="ID")
@click.option("--alias", metavar="NAME", help="The name that leaves.")
@click.option("--item", "items", metavar="ID", multiple=True, help="An item that is about another; may be repeated.")
@click.option("--name", metavar="NAME", help="Of the items' subject; default: this one with a number.")
@_REASON
@with_store
def split(
    entity_id: str, *, store: Store, alias: str | None, items: tuple[str, ...], name: str | None, reason: str | None
) -> None:
    """Make an entity two, by a name or by items.

    The name leaves it, or the items are about another. 'rollback' of the entry takes it back.
    """
    with store.open() as memory:
        result = memory.entities.split(
            entity_id, alias=alias, items=items or None, name=name, reason=reason, actor="user"
        )
        memory.flush()
    store.answer(result, say_edited)


def say_entities(found: "Sequence[EntityRecord]") -> None:
    """Print the entities: name, what it is, how often it is mentioned, id."""
    if not found:
        say("no entity is mentioned there")
    rows = [(_named(one), one.kind, str(one.mentions), f"{one.last_mentioned:%Y-%m-%d}", one.id) for one in found]
    say(*(cut(line, terminal_columns()) for line in table(rows)))


def say_entity(one: "EntityRecord") -> None:
    """Print an entity, and what is known of it."""
    say(f"{_named(one)}, {one.kind}, mentioned {one.mentions} times, of {one.user_id or one.namespace}")
    if one.namesakes:
        say("of that name: " + ", ".join(f"{on_one_line(other.name)} ({other.id})" for other in one.namesakes))
    for evidence in one.evidence:
        item = evidence.item
        ended = f" ({item.ended})" if item.ended else ""
        said = f"{item.occurred_at or item.recorded_at:%Y-%m-%d} {item.data.get('by') or item.trust.name.lower()}"
        say(cut(f"{said}: {on_one_line(item.content)}{ended}", terminal_columns()), f"   mem:{item.id}")


def _named(one: "EntityRecord") -> str:
    also = f" = {', '.join(one.aliases)}" if one.aliases else ""
    related = f" ({one.relation})" if one.relation and one.relation not in one.name else ""
    return on_one_line(f"{one.name}{also}{related}")
