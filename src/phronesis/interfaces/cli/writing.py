"""Commands that write. Each ends when what it wrote can be found by its meaning too."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Final

import click

from phronesis.core.items import KINDS, SUSPECT_WORDS, Item
from phronesis.core.lazy_loading import lazy_module
from phronesis.errors import InputError
from phronesis.interfaces.cli import render
from phronesis.interfaces.cli.options import (
    LIMIT,
    SESSION,
    JsonValue,
    KindName,
    Scope,
    Store,
    gather_options,
    with_owner,
    with_scope,
    with_store,
)
from phronesis.interfaces.cli.output import cut, on_one_line, read_text, say, table, terminal_columns
from phronesis.interfaces.cli.render import about, say_edited

if TYPE_CHECKING:
    from phronesis.experience.laws.records import ForgetResult, Forgotten
    from phronesis.reasoning.laws import records as reasoning_records
else:
    reasoning_records = lazy_module("phronesis.reasoning.laws.records")


@dataclass(frozen=True, slots=True)
class StatementOptions:
    """What the caller says about the text."""

    kind: str | None
    subject: str | None
    key: str | None
    value: Any
    external_id: str | None
    importance: int | None
    occurred_at: str | None
    due: str | None
    expires: str | None

    def named(self) -> dict[str, Any]:
        """Return the arguments of ``add``."""
        return {name: getattr(self, name) for name in self.__slots__}


_with_statement = gather_options(
    "stated",
    StatementOptions,
    click.option("--kind", metavar="KIND", type=KindName(), help=f"The text is one item: {', '.join(KINDS[1:9])} …"),
    click.option("--subject", metavar="NAME", help="Whom or what the item is about."),
    click.option("--key", metavar="NAME", help="Which property of the subject, such as employer."),
    click.option("--value", metavar="JSON", type=JsonValue(text=True), help="Its value: JSON, or plain text."),
    click.option("--external-id", metavar="NAME", help="Your own name for it: 'get' and --filters find it by that."),
    click.option("--importance", metavar="1-10", type=int, help="By default that of the kind."),
    click.option("--occurred-at", metavar="TIME", help="When it happened, if not now: 2026-05-01T10:00:00Z."),
    click.option("--due", metavar="TIME", help="When a task or an intention is due; 'due' lists it then."),
    click.option("--expires", metavar="TIME", help="When it is over, done or not."),
)
_IDEMPOTENCY = click.option("--idempotency-key", metavar="KEY", help="The same key does the same thing once.")


@click.command()
@click.argument("text", required=False)
@click.option("--messages", type=click.File(encoding="utf-8"), help="Messages {role, content, …}: JSON or JSON lines.")
@_with_statement
@with_scope
@_IDEMPOTENCY
@click.option("--supersedes", metavar="ID", multiple=True, help="The item that this one replaces; may be repeated.")
@with_store
def add(
    text: str | None,
    *,
    messages: IO[str] | None,
    stated: StatementOptions,
    scope: Scope,
    idempotency_key: str | None,
    supersedes: tuple[str, ...],
    store: Store,
) -> None:
    """Remember a text, or the messages of a file.

    TEXT is '-' when it comes from standard input. With --kind it becomes one item, such as a fact; without, a message.
    Of kind reasoning it is a block of claims, which 'check-claims' checks.
    """
    if (text is None) == (messages is None):
        raise click.UsageError("give TEXT, or '-' to read it from standard input, or --messages FILE, and only one")
    content = _messages(messages) if messages is not None else _text(text or "")
    if stated.kind == reasoning_records.REASONING:
        _add_reasoning(content, stated, scope, idempotency_key, store)
        return
    with store.open() as memory:
        replaced = list(supersedes) or None
        result = memory.add(
            content, **scope.named(), **stated.named(), supersedes=replaced, idempotency_key=idempotency_key
        )
        memory.flush()
    store.answer(result, render.say_added)


@click.command()
@click.argument("item_id", metavar="ID")
@click.argument("text", required=False)
@click.option("--value", metavar="JSON", type=JsonValue(text=True), help="Its value, if TEXT does not plainly say it.")
@click.option("--metadata", metavar="JSON", type=JsonValue(), help="Merged into what is there; null removes a key.")
@click.option("--valid-to", metavar="TIME", help="Until when it held.")
@click.option("--external-id", metavar="NAME", help="Your own name for it.")
@click.option("--expected-version", metavar="N", type=int, help="Refuse if somebody else changed it meanwhile.")
@click.option("--reason", metavar="TEXT", help="Kept in the history.")
@with_store
def update(item_id: str, *, text: str | None, reason: str | None, store: Store, **changes: Any) -> None:
    """Return a memory new words, a value, metadata or an end.

    Its history keeps what it was. TEXT is '-' when it comes from standard input.
    """
    content = None if text is None else _text(text)
    with store.open() as memory:
        result = memory.update(item_id, content=content, reason=reason, actor="user", **changes)
        memory.flush()
    store.answer(result, render.say_edited)


@click.command()
@click.argument("item_id", metavar="ID")
@click.option("--reason", metavar="TEXT", help="Kept in the history.")
@with_store
def delete(item_id: str, *, reason: str | None, store: Store) -> None:
    """Take a memory out of use.

    It is archived: its history stays, and the change can be rolled back.
    """
    with store.open() as memory:
        result = memory.delete(item_id, reason=reason, actor="user")
    store.answer(result, render.say_edited)


@click.command()
@click.argument("change_id", metavar="ID")
@click.option("--cascade", is_flag=True, help="Take back later changes that stand on it too.")
@with_store
def rollback(change_id: str, *, cascade: bool, store: Store) -> None:
    """Take back a change of a memory.

    ID is that of a delta, for one change, or of an entry, for all that it changed; 'history' shows both.
    """
    with store.open() as memory:
        result = memory.rollback(change_id, cascade=cascade, actor="user")
        memory.flush()
    store.answer(result, render.say_edited)


def _add_reasoning(
    content: Any, stated: StatementOptions, scope: Scope, idempotency_key: str | None, store: Store
) -> None:
    given = {**scope.named(), **{name: value for name, value in stated.named().items() if value is not None}}
    others = sorted(given.keys() - {"kind", "user_id", "namespace"})
    if others:
        raise click.UsageError(
            f"a block of claims says all of itself: --{others[0].replace('_', '-')} has no place here"
        )
    owner = {name: given[name] for name in ("user_id", "namespace") if name in given}
    with store.open() as memory:
        made = memory.reasoning.add(content, **owner, actor="user", idempotency_key=idempotency_key)
        memory.flush()
    store.answer(made, lambda one: render.say_items([one.item]))


def _text(given: str) -> str:
    return read_text(click.open_file("-", encoding="utf-8")) if given == "-" else given


def _messages(file: IO[str]) -> list[Any]:
    """Read a list of messages, or one message a line."""
    text = read_text(file)
    try:
        whole = json.loads(text)
    except json.JSONDecodeError:
        return [_message(line, number) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    return whole if isinstance(whole, list) else [whole]


def _message(line: str, number: int) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise InputError(
            f"messages: line {number} is not JSON ({error.msg}); give a list of messages, or one message a line",
            field="messages",
        ) from error


# The command that forgets: what nobody needs is put away.

MAX_KEPT: Final = 20
"""Rows of what is kept that are printed; ``--json`` has more."""


@click.command()
@click.option(
    "--kind",
    "kinds",
    metavar="KIND",
    type=KindName(),
    multiple=True,
    help="Only of this kind, such as message, fact, task or l1; may be repeated.",
)
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
        result = memory.forget(
            kinds=list(kinds) or None, session_id=session_id, dry_run=dry_run, actor="user", **scope.named()
        )
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
        result = memory.items.unarchive(item_id, reason=reason, actor="user")
        memory.flush()
    store.answer(result, say_edited)


def say_forgotten(result: "ForgetResult") -> None:
    """Print what was put away, or would be, and what is kept."""
    if result.pending:
        say(f"recorded as entry {result.entry_id}; it will be interpreted later")
        return
    if not result.rows:
        say("nothing is to be forgotten")
    _print_rows(result.rows, "would " if result.dry_run else "")
    if result.rows:
        told = ", ".join(f"{count} {action}" for action, count in sorted(result.counts.items()))
        say("", told + ("; there may be more: call again" if result.more else ""))
    if result.kept:
        say("", "faded, and kept:")
        _print_rows(result.kept[:MAX_KEPT], "")
        if len(result.kept) > MAX_KEPT:
            say(f"and {len(result.kept) - MAX_KEPT} more")
    if result.entry_id is not None and result.rows:
        say("", f"to take it back: phronesis rollback {result.entry_id}")


def _print_rows(rows: "Sequence[Forgotten]", would: str) -> None:
    width = terminal_columns()
    told = [(f"{would}{row.action}", row.kind, f"mem:{row.id}", row.why, _reason(row)) for row in rows]
    say(*(cut(line, width) for line in table(told)))


def _reason(row: "Forgotten") -> str:
    """Return a row's reason without the action, which stands before it."""
    return on_one_line(row.reason.partition(": ")[2] or row.reason)


# What reads like an order to a model: see it, let it go, end it.

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
        items = memory.quarantine.list(**scope.named(), limit=limit, across=across)
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
        result = memory.quarantine.release(item_id, reason=reason, actor="user")
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
        result = memory.quarantine.reject(item_id, reason=reason, actor="user")
    store.answer(result, say_edited)


def say_held(items: Sequence[Item]) -> None:
    """Print what is held: the words, the rule, and where they come from."""
    width = terminal_columns()
    if not items:
        say("nothing is in quarantine there")
    for item in items:
        words = on_one_line(str(item.data.get(SUSPECT_WORDS) or item.content))
        say(cut(f"{item.quarantine}: {words}", width), f"   {about(item)}")
