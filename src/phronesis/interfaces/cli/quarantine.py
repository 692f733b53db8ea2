"""What reads like an order to a model: see it, let it go, end it."""

from collections.abc import Sequence

import click

from phronesis.core.items import SUSPECT_WORDS, Item
from phronesis.interfaces.cli.options import LIMIT, Scope, Store, with_scope, with_store
from phronesis.interfaces.cli.printing import say
from phronesis.interfaces.cli.render import about, say_edited
from phronesis.interfaces.cli.text import cut, on_one_line, terminal_columns

_ACROSS = click.option("--across", type=click.Choice(["tenant"]), help="Look into every user's memory of the tenant.")
_REASON = click.option("--reason", metavar="TEXT", help="Kept in the history.")


@click.group()
def quarantine() -> None:
    """Decide on texts that read like orders to a model.

    They were said by a tool or an assistant, and are neither found nor shown until a person lets them go.
    """


@quarantine.command("list")
@with_scope
@LIMIT
@_ACROSS
@with_store
def list_held(*, store: Store, scope: Scope, limit: int, across: str | None) -> None:
    """List what is in quarantine, newest first.

    Each with the rule that found it, and the words.
    """
    with store.open() as memory:
        items = memory.quarantine_list(**scope.named(), limit=limit, across=across)
    store.answer(items, say_held)


@quarantine.command()
@click.argument("item_id", metavar="ID")
@_REASON
@with_store
def release(item_id: str, *, store: Store, reason: str | None) -> None:
    """Let a memory go: it is found and shown again, as data.

    Nothing is learned from it by that, and 'rollback' takes it back.
    """
    with store.open() as memory:
        result = memory.quarantine_release(item_id, reason=reason, actor="user")
        memory.flush()
    store.answer(result, say_edited)


@quarantine.command()
@click.argument("item_id", metavar="ID")
@_REASON
@with_store
def reject(item_id: str, *, store: Store, reason: str | None) -> None:
    """End a memory: it is archived as retracted.

    To remove its words for good, 'erase' it.
    """
    with store.open() as memory:
        result = memory.quarantine_reject(item_id, reason=reason, actor="user")
    store.answer(result, say_edited)


def say_held(items: Sequence[Item]) -> None:
    """Print what is held: the words, the rule, and where they come from."""
    width = terminal_columns()
    if not items:
        say("nothing is in quarantine there")
    for item in items:
        words = on_one_line(str(item.data.get(SUSPECT_WORDS) or item.content))
        say(cut(f"{item.quarantine}: {words}", width), f"   {about(item)}")
