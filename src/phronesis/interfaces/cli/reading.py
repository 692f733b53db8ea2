"""Commands that read."""

from typing import Any, Final, Literal

import click

from phronesis.core.timestamps import parse_moment
from phronesis.interfaces.cli import render, render_reports
from phronesis.interfaces.cli.options import (
    CURSOR,
    LIMIT,
    ReadFilters,
    Scope,
    Store,
    with_narrowing,
    with_owner,
    with_scope,
    with_scope_of_context,
    with_store,
)
from phronesis.interfaces.cli.output import say_json
from phronesis.interfaces.context_summary import summary_of

# The command that shows what would be looked for.


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
    store.answer(found, render_reports.say_plan)


_NO_SESSION: Final = "cli"
"""The conversation of a context that is composed outside of any."""

_ACROSS = click.option("--across", type=click.Choice(["tenant"]), help="Look into every user's memory of the tenant.")


@click.command()
@click.argument("query")
@with_scope
@with_narrowing
@LIMIT
@_ACROSS
@click.option("--min-score", type=click.FloatRange(0, 1), metavar="N", help="Leave out what scores less, from 0 to 1.")
@click.option("--exclude-session", metavar="ID", help="Leave out what was said in a session.")
@click.option("--explain", is_flag=True, help="Show each channel's share of the score.")
@with_store
def search(
    query: str, *, store: Store, scope: Scope, narrowing: ReadFilters, limit: int, across: str | None, **how: Any
) -> None:
    """Find what is remembered, best first.

    QUERY may be a question or words, in English or Chinese.
    """
    with store.open() as memory:
        found = memory.search(query, **scope.named(), **narrowing.named(), limit=limit, across=across, **how)
    store.answer(found, render.say_found)


@click.command()
@click.argument("item_id", metavar="ID", required=False)
@click.option("--external-id", metavar="NAME", help="The name that 'add' gave it, in place of ID.")
@with_owner
@click.option("--as-of", metavar="TIME", help="As it was known then.")
@click.option("--valid-at", metavar="TIME", help="As it held then.")
@with_store
def get(
    item_id: str | None,
    *,
    external_id: str | None,
    scope: Scope,
    store: Store,
    as_of: str | None,
    valid_at: str | None,
) -> None:
    """Show one memory, whatever its status.

    Archived, ended or current: until it is erased it can be read by its id. With --as-of it is shown as it was known at
    that time.
    """
    with store.open() as memory:
        item = memory.get(item_id, external_id=external_id, **scope.named(), as_of=as_of, valid_at=valid_at)
    store.answer(item, render.say_item)


@click.command("list")
@with_scope
@with_narrowing
@LIMIT
@CURSOR
@_ACROSS
@with_store
def list_items(
    *, store: Store, scope: Scope, narrowing: ReadFilters, limit: int, cursor: str | None, across: str | None
) -> None:
    """List what is remembered, newest first.

    Without the archived and the ended, unless --filters, --as-of or --valid-at asks for them. Where there is more,
    stderr tells the cursor of the next page.
    """
    with store.open() as memory:
        page = memory.get_all(**scope.named(), **narrowing.named(), limit=limit, cursor=cursor, across=across)
    store.answer(page.items, render.say_items)
    render.say_more(page)


@click.command()
@with_owner
@click.option("--within", type=float, default=24.0, show_default=True, metavar="HOURS", help="How far ahead.")
@click.option("--as-of", metavar="TIME", help="What was due then.")
@LIMIT
@with_store
def due(*, store: Store, scope: Scope, within: float, as_of: str | None, limit: int) -> None:
    """List what is due, the most urgent first.

    Tasks and intentions with a due time that are neither done nor over. 'add --due' states one.
    """
    with store.open() as memory:
        found = memory.items.due(**scope.named(), within=within, as_of=as_of, limit=limit)
        now = memory.admin.components.clock() if as_of is None else parse_moment(as_of, field="as_of")
    store.answer(found, lambda items: render.say_due(items, now))


@click.command()
@with_owner
@_ACROSS
@with_store
def sessions(*, store: Store, scope: Scope, across: str | None) -> None:
    """List the conversations, latest first.

    Each with its owner and how many turns and messages it has.
    """
    with store.open() as memory:
        found = memory.sessions.list(**scope.named(), across=across)
    store.answer(found, render.say_sessions)


@click.command()
@click.argument("session_id", metavar="SESSION")
@with_owner
@click.option("--last", type=int, metavar="N", help="The newest N turns only.")
@click.option("--before", type=int, metavar="NUMBER", help="Only turns before the one of that number.")
@with_store
def turns(session_id: str, *, store: Store, scope: Scope, last: int | None, before: int | None) -> None:
    """Replay a conversation exactly as it was recorded.

    Messages, tool calls and references, turn by turn, from the log.
    """
    with store.open() as memory:
        found = memory.sessions.turns(session_id, **scope.named(), last=last, before=before)
    store.answer(found, render.say_turns)


@click.command()
@click.argument("message")
@with_scope_of_context
@click.option("--budget", "token_budget", type=int, metavar="TOKENS", help="At most; default: the policy's.")
@click.option("--form", type=click.Choice(["text", "messages"]), default="text", help="One text, or a list.")
@click.option("--explain", is_flag=True, help="What each slot used and what was dropped: on stderr, or in the JSON.")
@with_store
def context(
    message: str,
    *,
    store: Store,
    scope: Scope,
    token_budget: int | None,
    form: Literal["text", "messages"],
    explain: bool,
) -> None:
    """Compose the context for a message, cited and in budget.

    What is known of the user, a summary of the session, its latest turns, and what was found for MESSAGE, each with the
    memory or section it stands on; never more tokens than the budget. Nothing is remembered by it.
    """
    named = scope.named()
    with store.open() as memory:
        package = memory.compose_context(
            named.pop("session_id", _NO_SESSION), message, **named, token_budget=token_budget
        )
    if store.as_json:
        say_json(package if explain else summary_of(package))
        return
    render.say_context(package, form=form)
    if explain:
        render.say_budget(package)


@click.command()
@click.argument("item_id", metavar="ID")
@with_store
def explain(item_id: str, *, store: Store) -> None:
    """Show why something is remembered, down to the log.

    The words it stands on with their session and time, what speaks for and against it, and what the system made of it.
    """
    with store.open() as memory:
        found = memory.explain(item_id)
        told = memory.traits.evidence(item_id) if found.item.kind == "trait" else ()
    store.answer(found, lambda one: render.say_explanation(one, told))


@click.command()
@click.argument("item_id", metavar="ID")
@with_store
def history(item_id: str, *, store: Store) -> None:
    """Show how a memory changed; 'rollback' takes back.

    Each change with its time, who made it and why, what was before and after, and the id that takes it back.
    """
    with store.open() as memory:
        events = memory.history(item_id)
    store.answer(events, render.say_history)
