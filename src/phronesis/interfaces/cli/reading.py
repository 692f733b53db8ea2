"""Commands that read."""

from typing import Any, Final, Literal

import click

from phronesis.core.items import is_overdue
from phronesis.core.timestamps import parse_moment
from phronesis.interfaces.cli import render, render_reports
from phronesis.interfaces.cli.options import (
    ACROSS,
    AS_OF,
    CURSOR,
    LIMIT,
    VALID_AT,
    Options,
    Store,
    complete_id,
    with_narrowing,
    with_owner,
    with_scope,
    with_scope_of_context,
    with_store,
)
from phronesis.interfaces.cli.output import say_json, show_waiting
from phronesis.interfaces.context_summary import summary_of

_NO_SESSION: Final = "cli"
"""The session of a context that is composed outside of any."""

_FAR_AHEAD: Final = 876_000.0
"""Hours ahead within which every due time is upcoming: a hundred years."""

MAX_OPEN: Final = 1_000
"""Due items that are read to find those ahead."""


@click.command()
@click.argument("query")
@with_scope
@with_narrowing
@LIMIT
@ACROSS
@click.option(
    "--min-score", type=click.FloatRange(0, 1), metavar="N", help="Leave out results below this score (0 to 1)."
)
@click.option("--exclude-session", metavar="ID", help="Leave out what was said in a session.")
@click.option("--explain", is_flag=True, help="Show how each channel contributed to the score.")
@with_store
def search(query: str, *, store: Store, scope: Options, narrowing: Options, **how: Any) -> None:
    """Find what is remembered, best first.

    QUERY is a question or words, in English or Chinese.
    """
    store.run(
        lambda memory: memory.search(query, **scope, **narrowing, **how),
        render.say_found,
        doing="searching",
    )


@click.command()
@click.argument("item_id", metavar="ID", required=False)
@click.option("--external-id", metavar="NAME", help="The name that 'add' gave it, instead of ID.")
@with_owner
@AS_OF
@VALID_AT
@with_store
def get(item_id: str | None, *, scope: Options, store: Store, **how: str | None) -> None:
    """Show one memory, whatever its status.

    Archived, ended or current: until it is erased it can be read by its id. With --as-of it is shown as it was known at
    that time.
    """
    store.run(lambda memory, one: memory.get(one, **scope, **how), render.say_item, item_id)


@click.command()
@with_scope
@with_narrowing
@LIMIT
@CURSOR
@ACROSS
@with_store
def list_items(*, store: Store, scope: Options, narrowing: Options, **how: Any) -> None:
    """List what is remembered, newest first.

    Archived and ended memories are left out, unless --filters, --as-of or --valid-at asks for them. Where there is
    more, stderr names the cursor of the next page.
    """
    with store.open() as memory:
        page = memory.get_all(**scope, **narrowing, **how)
    store.answer(page.items, render.say_items)
    render.say_more(page)


@click.command()
@with_owner
@click.option("--within", type=float, default=24.0, show_default=True, metavar="HOURS", help="How far ahead.")
@click.option("--upcoming", is_flag=True, help="All that lies ahead, however far, and nothing overdue.")
@AS_OF
@LIMIT
@with_store
def due(*, store: Store, scope: Options, within: float, upcoming: bool, as_of: str | None, limit: int) -> None:
    """List what is due, the most urgent first.

    Tasks and intentions with a due time that are neither done nor over. 'add --due' states one.
    """
    with store.open() as memory:
        now = memory.admin.components.clock() if as_of is None else parse_moment(as_of, field="as_of")
        ahead, most = (_FAR_AHEAD, MAX_OPEN) if upcoming else (within, limit)
        found = memory.items.due(**scope, within=ahead, limit=most, as_of=as_of)
    listed = [item for item in found if not upcoming or not is_overdue(item, now)]
    store.answer(listed[:limit], lambda items: render.say_due(items, now))


@click.command()
@click.argument("item_id", metavar="ID")
@with_store
def explain(item_id: str, *, store: Store) -> None:
    """Show why something is remembered, down to the log.

    The words it rests on with their session and time, the evidence for and against it, and its history.
    """
    with store.open() as memory:
        one = complete_id(memory, item_id)
        found = memory.explain(one)
        evidence = memory.traits.evidence(one) if found.item.kind == "trait" else ()
    store.answer(found, lambda result: render.say_explanation(result, evidence))


@click.command()
@click.argument("item_id", metavar="ID")
@with_store
def history(item_id: str, *, store: Store) -> None:
    """Show how a memory changed.

    Each change with its time, who made it and why, the values before and after, and the id by which 'rollback' takes it
    back.
    """
    store.run(lambda memory, one: memory.history(one), render.say_history, item_id)


@click.command()
@click.argument("message")
@with_scope_of_context
@click.option("--budget", "token_budget", type=int, metavar="TOKENS", help="Maximum; default: the policy's.")
@click.option(
    "--form", type=click.Choice(["text", "messages"]), default="text", help="One text, or a list of messages."
)
@click.option("--explain", is_flag=True, help="What each slot used and what was dropped: on stderr, or in the JSON.")
@with_store
def context(
    message: str,
    *,
    store: Store,
    scope: Options,
    token_budget: int | None,
    form: Literal["text", "messages"],
    explain: bool,
) -> None:
    """Compose the context for a message, cited and in budget.

    The user's profile, a summary of the session, its latest turns, and what was found for MESSAGE, each with the memory
    or section it rests on; never more tokens than the budget. Nothing is stored.
    """
    named = dict(scope)
    with store.open() as memory, show_waiting("composing"):
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
@click.argument("message")
@with_scope_of_context
@AS_OF
@VALID_AT
@click.option("--limit", "-n", type=int, metavar="N", help="Maximum pieces of evidence; default: the policy's.")
@with_store
def plan(message: str, *, store: Store, scope: Options, **how: Any) -> None:
    """Show what would be searched for to answer a message.

    The intent, the time and the names that it mentions, whether documents are needed, and the queries of each
    retriever. Nothing is searched or stored.
    """
    store.run(lambda memory: memory.plan(message, **scope, **how), render_reports.say_plan)


@click.command()
@with_owner
@ACROSS
@with_store
def list_sessions(*, store: Store, scope: Options, across: str | None) -> None:
    """List the conversations, latest first.

    Each with its owner and its number of turns and messages.
    """
    store.run(lambda memory: memory.sessions.list(**scope, across=across), render.say_sessions)


@click.command()
@click.argument("session_id", metavar="SESSION")
@with_owner
@click.option("--last", type=int, metavar="N", help="Only the newest N turns.")
@click.option("--before", type=int, metavar="NUMBER", help="Only turns before this number.")
@with_store
def show_session(session_id: str, *, store: Store, scope: Options, **how: int | None) -> None:
    """Show a conversation exactly as it was recorded.

    Messages, tool calls and references, turn by turn, from the log.
    """
    store.run(lambda memory: memory.sessions.turns(session_id, **scope, **how), render.say_turns)
