"""Commands that write. Each ends when what it wrote can be found by its meaning too."""

import json
from dataclasses import dataclass
from typing import IO, Any

import click

from phronesis.core.items import KINDS
from phronesis.core.reasoning.records import REASONING
from phronesis.errors import InputError
from phronesis.interfaces.cli import render
from phronesis.interfaces.cli.options import JsonValue, KindName, Scope, Store, gathered, with_scope, with_store
from phronesis.interfaces.cli.text import read_text


@dataclass(frozen=True, slots=True)
class Stated:
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
        """Give the arguments of ``add``."""
        return {name: getattr(self, name) for name in self.__slots__}


_with_statement = gathered(
    "stated",
    Stated,
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
    text: str | None, *, messages: IO[str] | None, stated: Stated, scope: Scope, idempotency_key: str | None,
    supersedes: tuple[str, ...], store: Store,
) -> None:  # fmt: skip
    """Remember a text, or the messages of a file.

    TEXT is '-' when it comes from standard input. With --kind it becomes one item, such as a fact; without, a message.
    Of kind reasoning it is a block of claims, which 'check-claims' checks.
    """
    if (text is None) == (messages is None):
        raise click.UsageError("give TEXT, or '-' to read it from standard input, or --messages FILE, and only one")
    content = _messages(messages) if messages is not None else _text(text or "")
    if stated.kind == REASONING:
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
    """Give a memory new words, a value, metadata or an end.

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


def _add_reasoning(content: Any, stated: Stated, scope: Scope, idempotency_key: str | None, store: Store) -> None:
    given = {**scope.named(), **{name: value for name, value in stated.named().items() if value is not None}}
    others = sorted(given.keys() - {"kind", "user_id", "namespace"})
    if others:
        raise click.UsageError(
            f"a block of claims says all of itself: --{others[0].replace('_', '-')} has no place here"
        )
    owner = {name: given[name] for name in ("user_id", "namespace") if name in given}
    with store.open() as memory:
        made = memory.add_reasoning(content, **owner, actor="user", idempotency_key=idempotency_key)
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
