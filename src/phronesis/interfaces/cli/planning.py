"""The command that shows what would be looked for."""

import click

from phronesis.interfaces.cli import render_planning as render
from phronesis.interfaces.cli.options import Scope, Store, with_scope_of_context, with_store


@click.command()
@click.argument("message")
@with_scope_of_context
@click.option("--as-of", metavar="TIME", help="As it was known then.")
@click.option("--valid-at", metavar="TIME", help="As it held then; 'yesterday' counts from there.")
@click.option("--limit", "-n", type=int, metavar="N", help="Pieces of evidence at most; default: the policy's.")
@with_store
def plan(
    message: str, *, store: Store, scope: Scope, as_of: str | None, valid_at: str | None, limit: int | None
) -> None:
    """Show what would be looked for to answer a message.

    What it is after, the time and the names it speaks of, whether documents are needed, and the queries of each
    retriever. Nothing is searched, and nothing is stored.
    """
    with store.open() as memory:
        found = memory.plan(message, **scope.named(), as_of=as_of, valid_at=valid_at, limit=limit)
    store.answer(found, render.say_plan)
