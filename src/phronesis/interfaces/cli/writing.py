"""Commands that write single memories: add, update, delete and rollback."""

from typing import IO, TYPE_CHECKING, Any, Final

import click

from phronesis.core.items import KINDS, Item
from phronesis.core.lazy_loading import lazy_module
from phronesis.interfaces.cli import render, render_reports
from phronesis.interfaces.cli.options import (
    IDEMPOTENCY,
    ITEM_ID,
    REASON,
    SCOPE,
    JsonValue,
    KindName,
    Options,
    ShortId,
    Store,
    command,
    complete_id,
    with_session,
    with_store,
)
from phronesis.interfaces.cli.output import count_of, parse_objects, print_lines, read_text, show_waiting

if TYPE_CHECKING:
    from phronesis.memory import Memory
    from phronesis.reasoning.laws import records as reasoning_records
else:
    reasoning_records = lazy_module("phronesis.reasoning.laws.records")


_LISTED: Final = 20
"""Memories that the dry run of an erasure lists."""


_STATEMENT = (
    click.option("--kind", metavar="KIND", type=KindName(), help=f"The text is one item: {', '.join(KINDS[1:9])} …"),
    click.option("--subject", metavar="NAME", help="Whom or what the item is about."),
    click.option("--key", metavar="NAME", help="Which property of the subject, such as employer."),
    click.option("--value", metavar="JSON", type=JsonValue(text=True), help="Its value: JSON, or plain text."),
    click.option("--external-id", metavar="NAME", help="Your own name for it, by which 'get' and --filters find it."),
    click.option("--importance", metavar="1-10", type=int, help="Default: that of the kind."),
    click.option("--occurred-at", metavar="TIME", help="When it happened, if not now: 2026-05-01T10:00:00Z."),
    click.option("--due", metavar="TIME", help="When a task or an intention is due; 'memory due' lists it."),
    click.option("--expires", metavar="TIME", help="When it is over, done or not."),
)


def _content_of(text: str | None = None, messages: IO[str] | None = None, **given: Any) -> Options:
    if (text is None) == (messages is None):
        raise click.UsageError("give TEXT, or '-' to read it from standard input, or --messages FILE, and only one")
    if messages is not None:
        remedy = "; give a list of messages, or one message a line"
        given["content"] = parse_objects(read_text(messages), field="messages", remedy=remedy)
    else:
        given["content"] = _text(text or "")
    others = sorted(given.keys() - {"content", "kind", "user_id", "namespace", "idempotency_key"})
    if others and given.get("kind") == reasoning_records.REASONING:
        name = others[0].removesuffix("_id").replace("_", "-")
        raise click.UsageError(f"a block of claims says all of itself: --{name} has no place here")
    return given


def _say_added(result: Any) -> None:
    if isinstance(result, Item):  # a block of claims
        render.print_items([result])
    else:
        render.print_added(result)


@command(
    click.argument("text", required=False),
    click.option(
        "--messages", type=click.File(encoding="utf-8"), help="Messages {role, content, …}: JSON or JSON lines."
    ),
    *_STATEMENT,
    *SCOPE,
    IDEMPOTENCY,
    click.option(
        "--supersedes",
        metavar="ID",
        multiple=True,
        type=ShortId(),
        help="The item that this one replaces; may be repeated.",
    ),
    show=_say_added,
    doing="remembering",
    flush=True,
    checked=_content_of,
)
def add(memory: "Memory", content: Any, **given: Any) -> Any:
    """Remember a text, or the messages of a file.

    Prints what was remembered and learned, and what was not learned and why. TEXT is '-' when it comes from standard
    input. With --kind the text is one item, such as a fact; without, it is a message. Text of kind reasoning is a block
    of claims, which 'learn check-claims' checks.
    """
    if given.get("kind") == reasoning_records.REASONING:
        del given["kind"]
        return memory.reasoning.add(content, **given, actor="user")
    return memory.add(content, **given)


@command(
    ITEM_ID,
    click.argument("text", required=False),
    click.option(
        "--value", metavar="JSON", type=JsonValue(text=True), help="Its value, if TEXT does not plainly say it."
    ),
    click.option("--metadata", metavar="JSON", type=JsonValue(), help="Merged into its metadata; null removes a key."),
    click.option("--valid-to", metavar="TIME", help="Until when it held."),
    click.option("--external-id", metavar="NAME", help="Your own name for it."),
    click.option("--expected-version", metavar="N", type=int, help="Fail if somebody else changed it meanwhile."),
    REASON,
    show=render.print_edited,
    flush=True,
    checked=lambda text=None, **changes: {**changes, "content": None if text is None else _text(text)},
)
def update(memory: "Memory", item_id: str, **changes: Any) -> Any:
    """Change the text, value, metadata or end of a memory.

    Its history keeps what it was. TEXT is '-' when it comes from standard input.
    """
    return memory.update(item_id, actor="user", **changes)


@command(
    click.argument("change_id", metavar="ID", type=ShortId()),
    click.option("--cascade", is_flag=True, help="Take back later changes that depend on it too."),
    show=render.print_edited,
    flush=True,
)
def rollback(memory: "Memory", change_id: str, *, cascade: bool) -> Any:
    """Take back a change of a memory.

    ID is that of one change, or of an entry with all its changes; 'memory history' shows both.
    """
    return memory.rollback(change_id, cascade=cascade, actor="user")


@click.command()
@click.argument("item_id", metavar="[ID]", required=False)
@with_session
@click.option("--erase", is_flag=True, help="Destroy the words for good, in the log too. This cannot be taken back.")
@click.option("--dry-run", is_flag=True, help="With --erase: show what would be erased; erase nothing.")
@REASON
@click.option("--yes", is_flag=True, help="With --erase: do not ask for confirmation.")
@with_store
def delete(
    item_id: str | None, *, scope: Options, erase: bool, dry_run: bool, reason: str | None, yes: bool, store: Store
) -> None:
    """Archive a memory, or erase words for good.

    An archived memory leaves searches and lists, keeps its history, and comes back by 'rollback'.

    With --erase the words of a memory (ID), of a session (--session, of --user or --namespace) or of a user (--user)
    are removed from the log and from all that was derived from them. A scan then looks for traces, and a certificate is
    printed; the exit code is 1 when a trace is left, or when an external index could not be reached.
    """
    if erase:
        _erase(item_id, scope, store, reason=reason, dry_run=dry_run, yes=yes)
    elif item_id is None or scope or dry_run:
        raise click.UsageError("give the ID of a memory; --user, --namespace, --session and --dry-run go with --erase")
    else:
        store.run(
            lambda memory: memory.delete(complete_id(memory, item_id), reason=reason, actor="user"), render.print_edited
        )


def _erase(item_id: str | None, scope: Options, store: Store, *, reason: str | None, dry_run: bool, yes: bool) -> None:
    from phronesis.engine.erasure import Target  # noqa: PLC0415 - SQLAlchemy: not for --help

    ctx = click.get_current_context()
    with store.open() as memory:
        one = None if item_id is None else complete_id(memory, item_id)
        if dry_run or not yes:
            plan = memory.admin.components.eraser.plan(memory.admin.tenant, Target.of(item_id=one, **scope))
            planned = {
                "dry_run": True,
                "entries_touched": len(plan.cut),
                "parts_erased": sum(map(len, plan.cut.values())),
                "items": [memory.get(one) for one in sorted(plan.items)],
            }
        if dry_run:
            store.answer(planned, _say_plan)
            return
        if not yes and not click.confirm(f"{_summary(planned)}. This cannot be taken back. Erase?", err=True):
            ctx.exit(1)
        with show_waiting("erasing, and looking for traces"):
            certificate = memory.erase(id=one, **scope, reason=reason, actor="user")
    store.answer(certificate, render_reports.print_erased)
    if not certificate.clean:
        ctx.exit(1)


def _summary(planned: dict[str, Any]) -> str:
    return (
        f"{count_of(planned['parts_erased'], 'text')} of {count_of(planned['entries_touched'], 'entry', 'entries')}"
        f" would be erased, with {count_of(len(planned['items']), 'memory', 'memories')}"
    )


def _say_plan(planned: dict[str, Any]) -> None:
    items = planned["items"]
    print_lines(f"{_summary(planned)}:")
    render.print_items(items[:_LISTED])
    if len(items) > _LISTED:
        print_lines(f"and {len(items) - _LISTED} more")


def _text(given: str) -> str:
    return read_text(click.open_file("-", encoding="utf-8")) if given == "-" else given
