"""The command that forgets: what nobody needs is put away."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from phronesis.interfaces.cli.options import SESSION, KindName, Scope, Store, with_owner, with_store
from phronesis.interfaces.cli.printing import say
from phronesis.interfaces.cli.render import say_edited
from phronesis.interfaces.cli.text import cut, on_one_line, table, terminal_columns

if TYPE_CHECKING:
    from phronesis.core.experience.upkeep import ForgetResult, Forgotten

MAX_KEPT: Final = 20
"""Rows of what is kept that are printed; ``--json`` has more."""


@click.command()
@click.option("--kind", "kinds", metavar="KIND", type=KindName(), multiple=True,
              help="Only of this kind, such as message, fact, task or l1; may be repeated.")  # fmt: skip
@click.option("--dry-run", is_flag=True, help="Say what would be done, and what is kept and why; nothing is written.")
@SESSION
@with_owner
@with_store
def forget(*, kinds: Sequence[str], dry_run: bool, session_id: str | None, scope: Scope, store: Store) -> None:
    """Put away what nobody needs.

    First it is archived (experience is downweighted before that), after a long time it ends. 'unarchive' brings back
    what was archived; what ended can still be read by its id. 'erase' removes words.
    """
    with store.open() as memory:
        result = memory.forget(kinds=list(kinds) or None, session_id=session_id, dry_run=dry_run, actor="user",
                               **scope.named())  # fmt: skip
    store.answer(result, say_forgotten)


@click.command()
@click.argument("item_id", metavar="ID")
@click.option("--reason", metavar="TEXT", help="Kept in the history.")
@with_store
def unarchive(item_id: str, *, reason: str | None, store: Store) -> None:
    """Bring a memory back that was archived.

    For forgetting that counts as use.
    """
    with store.open() as memory:
        result = memory.unarchive(item_id, reason=reason, actor="user")
        memory.flush()
    store.answer(result, say_edited)


def say_forgotten(result: "ForgetResult") -> None:
    """Print what was put away, or would be, and what is kept."""
    if result.pending:
        say(f"recorded as entry {result.entry_id}; it will be interpreted later")
        return
    if not result.rows:
        say("nothing is to be forgotten")
    _say(result.rows, "would " if result.dry_run else "")
    if result.rows:
        told = ", ".join(f"{count} {action}" for action, count in sorted(result.counts.items()))
        say("", told + ("; there may be more: call again" if result.more else ""))
    if result.kept:
        say("", "faded, and kept:")
        _say(result.kept[:MAX_KEPT], "")
        if len(result.kept) > MAX_KEPT:
            say(f"and {len(result.kept) - MAX_KEPT} more")
    if result.entry_id is not None and result.rows:
        say("", f"to take it back: phronesis rollback {result.entry_id}")


def _say(rows: "Sequence[Forgotten]", would: str) -> None:
    width = terminal_columns()
    told = [(f"{would}{row.action}", row.kind, f"mem:{row.id}", row.why, _reason(row)) for row in rows]
    say(*(cut(line, width) for line in table(told)))


def _reason(row: "Forgotten") -> str:
    """Give a row's reason without the action, which stands before it."""
    return on_one_line(row.reason.partition(": ")[2] or row.reason)
