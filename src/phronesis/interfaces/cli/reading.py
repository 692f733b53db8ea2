"""Commands that read."""

from typing import TYPE_CHECKING, Any, Final, Literal

import click

from phronesis.core.items import is_overdue
from phronesis.core.timestamps import parse_moment
from phronesis.interfaces.cli import render, render_reports
from phronesis.interfaces.cli.options import (
    ACROSS,
    AS_OF,
    CURSOR,
    ITEM_ID,
    LIMIT,
    NARROWING,
    OWNER,
    SCOPE,
    SCOPE_OF_CONTEXT,
    VALID_AT,
    Options,
    ShortId,
    Store,
    command,
    complete_id,
    with_owner,
    with_scope_of_context,
    with_store,
)
from phronesis.interfaces.cli.output import print_json, show_waiting
from phronesis.interfaces.context_summary import summary_of

if TYPE_CHECKING:
    from phronesis.memory import Memory

_FAR_AHEAD: Final = 876_000.0
"""Hours ahead within which every due time is upcoming: a hundred years."""

MAX_OPEN: Final = 1_000
"""Due items that are read to find those ahead."""


@command(
    click.argument("query"),
    *SCOPE,
    *NARROWING,
    LIMIT,
    ACROSS,
    click.option("--min-score", type=click.FloatRange(0, 1), metavar="N", help="Leave out results below this score."),
    click.option("--exclude-session", metavar="ID", help="Leave out what was said in a session."),
    click.option("--explain", is_flag=True, help="Show how each channel contributed to the score."),
    show=render.print_found,
    doing="searching",
)
def search(memory: "Memory", query: str, **given: Any) -> Any:
    """Find what is remembered, best first.

    QUERY is a question or words, in English or Chinese.
    """
    return memory.search(query, **given)


@command(
    click.argument("item_id", metavar="ID", required=False, type=ShortId()),
    click.option("--external-id", metavar="NAME", help="The name that 'add' gave it, instead of ID."),
    *OWNER,
    AS_OF,
    VALID_AT,
    show=render.print_item,
)
def get(memory: "Memory", item_id: str | None = None, **given: Any) -> Any:
    """Show one memory, whatever its status.

    Archived, ended or current: until it is erased it can be read by its id. With --as-of it is shown as it was known at
    that time.
    """
    return memory.get(item_id, **given)


@command(*SCOPE, *NARROWING, LIMIT, CURSOR, ACROSS, show=render.print_items)
def list_items(memory: "Memory", **given: Any) -> Any:
    """List what is remembered, newest first.

    Archived and ended memories are left out, unless --filters, --as-of or --valid-at asks for them. Where there is
    more, stderr names the cursor of the next page.
    """
    return memory.get_all(**given)


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
    store.answer(listed[:limit], lambda items: render.print_due(items, now))


@click.command()
@ITEM_ID
@with_store
def explain(item_id: str, *, store: Store) -> None:
    """Show why something is remembered, down to the log.

    The words it rests on with their session and time, the evidence for and against it, and its history.
    """
    with store.open() as memory:
        one = complete_id(memory, item_id)
        found = memory.explain(one)
        evidence = memory.traits.evidence(one) if found.item.kind == "trait" else ()
    store.answer(found, lambda result: render.print_explanation(result, evidence))


@command(ITEM_ID, show=render.print_history)
def history(memory: "Memory", item_id: str) -> Any:
    """Show how a memory changed.

    Each change with its time, who made it and why, the values before and after, and the id by which 'rollback' takes it
    back.
    """
    return memory.history(item_id)


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
    session_id = scope.pop("session_id", "cli")
    with store.open() as memory, show_waiting("composing"):
        package = memory.compose_context(session_id, message, **scope, token_budget=token_budget)
    if store.as_json:
        print_json(package if explain else summary_of(package))
        return
    render.print_context(package, form=form)
    if explain:
        render.print_budget(package)


@command(
    click.argument("message"),
    *SCOPE_OF_CONTEXT,
    AS_OF,
    VALID_AT,
    click.option("--limit", "-n", type=int, metavar="N", help="Maximum pieces of evidence; default: the policy's."),
    show=render_reports.print_plan,
)
def plan(memory: "Memory", message: str, **given: Any) -> Any:
    """Show what would be searched for to answer a message.

    The intent, the time and the names that it mentions, whether documents are needed, and the queries of each
    retriever. Nothing is searched or stored.
    """
    return memory.plan(message, **given)


@command(*OWNER, ACROSS, show=render.print_sessions)
def list_sessions(memory: "Memory", **given: Any) -> Any:
    """List the conversations, latest first.

    Each with its owner and its number of turns and messages.
    """
    return memory.sessions.list(**given)


@command(
    click.argument("session_id", metavar="SESSION"),
    *OWNER,
    click.option("--last", type=int, metavar="N", help="Only the newest N turns."),
    click.option("--before", type=int, metavar="NUMBER", help="Only turns before this number."),
    show=render.print_turns,
)
def show_session(memory: "Memory", session_id: str, **given: Any) -> Any:
    """Show a conversation exactly as it was recorded.

    Messages, tool calls and references, turn by turn, from the log.
    """
    return memory.sessions.turns(session_id, **given)
