"""Options that commands share, gathered so that a command takes a handful of arguments."""

import contextlib
import functools
import json
import shlex
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar

import click
import click.shell_completion

from phronesis.config.locations import StoreName, store_name
from phronesis.core.ids import id_part, short_id
from phronesis.interfaces.cli.output import print_json, show_waiting

if TYPE_CHECKING:
    from phronesis.memory import Memory


SERVED: ContextVar["Memory | None"] = ContextVar("SERVED", default=None)
"""The open store of the daemon that this command runs in; None in a process of its own."""

T = TypeVar("T")
Command = Callable[..., Any]
Decorator = Callable[[Command], Command]


@dataclass(frozen=True, slots=True)
class Store:
    """Which store a command works on, and whether it answers in JSON."""

    url: str | None
    tenant: str | None
    policy: Path | None
    as_json: bool

    def open(self) -> "contextlib.AbstractContextManager[Memory]":
        """Open the store, to be closed at the end of a ``with`` block; in a daemon, its store, which stays open."""
        served = SERVED.get()
        return self.open_memory() if served is None else contextlib.nullcontext(served)

    def open_memory(self) -> "Memory":
        """Open the store; the caller closes it."""
        from phronesis.memory import Memory  # noqa: PLC0415 - SQLAlchemy and numpy: not for --help

        with show_waiting("opening the store"):
            return Memory.open(self.url, tenant=self.tenant, policy=self.policy)

    def run(
        self, verb: "Callable[[Memory], T]", show: Callable[[T], None], *, doing: str = "working", flush: bool = False
    ) -> T:
        """Open the store, call ``verb`` with the memory, print its result with ``show`` or as JSON, and return it.

        ``doing`` says on a terminal what goes on; it is empty where the verb shows its progress. With ``flush`` it
        waits until what was written has its vectors.
        """
        with self.open() as memory, show_waiting(doing):
            result = verb(memory)
            if flush:
                memory.flush()
        self.answer(result, show)
        return result

    def options(self) -> str:
        """Return the options that name this store again, as they are typed; a URL with a password is not repeated."""
        secret = self.url is not None and "@" in self.url
        given = {"--url": "URL" if secret else self.url, "--tenant": self.tenant, "--policy": self.policy}
        return "".join(f" {name} {shlex.quote(str(value))}" for name, value in given.items() if value is not None)

    def name(self) -> StoreName:
        """Return the name of the store, by which its daemon is found."""
        return store_name(self.url, self.tenant, self.policy)

    def answer(self, result: T, show: Callable[[T], None]) -> None:
        """Print a result: as JSON, or as ``show`` prints it for a person. Of a page, stderr says how to go on."""
        from phronesis.core.reports import Page  # noqa: PLC0415 - not for a hook

        if isinstance(result, Page) and result.next_cursor is not None:
            click.echo(f"there is more: --cursor {result.next_cursor}", err=True)
        if self.as_json:
            print_json(result.items if isinstance(result, Page) else result)
        elif getattr(result, "pending", False) is True:  # of jobs it is a number
            click.echo(f"recorded as entry {short_id(getattr(result, 'entry_id', ''))}; it will be interpreted later")
        else:
            show(result)


def complete_id(memory: "Memory", text: str) -> str:
    """Return the whole id of a shortened one; any other text as it is."""
    if id_part(text) is None:
        return text
    from phronesis.memory.external_ids import IdFinder  # noqa: PLC0415 - most commands name no short id

    return IdFinder(memory.admin.components.database, memory.admin.tenant).complete(text)


Options = dict[str, Any]
"""Options that were given, as arguments of a verb of ``Memory``."""


def given_options(**values: Any) -> Options:
    """Return the options that were given; those that may be repeated as lists."""
    given = {name: value for name, value in values.items() if value not in (None, ())}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in given.items()}


def gather_options(parameter: str, *options: Decorator, record: Callable[..., Any] = given_options) -> Decorator:
    """Return a decorator that adds ``options`` and passes their values on as one ``record`` named ``parameter``."""
    holder: Any = SimpleNamespace()
    for option in options:
        option(holder)
    names = [one.name for one in holder.__click_params__]

    def decorate(function: Command) -> Command:
        @functools.wraps(function)
        def call(**given: Any) -> Any:
            own = {name: given.pop(name) for name in names}
            return function(**given, **{parameter: record(**own)})

        decorated: Command = call
        for option in reversed(options):
            decorated = option(decorated)
        return decorated

    return decorate


class ShortId(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.3
    """An id or its beginning or end; the function of a `command` gets the whole id."""

    name = "id"


def command(
    *options: Decorator,
    show: Callable[[Any], None],
    doing: str = "working",
    flush: bool = False,
    fails: Callable[[Any], object] = lambda _result: False,
    checked: Callable[..., Options] | None = None,
) -> Callable[[Command], click.Command]:
    """Return a decorator that makes a command of ``function(memory, **given)``, which calls one verb.

    ``given`` are the options that were given, ids as whole ones. The result is printed with ``show``, or as JSON;
    ``doing`` and ``flush`` are those of `Store.run`. The exit code is 1 where ``fails`` finds the result wrong.
    ``checked`` refuses wrong options and reads files before the store is opened, and returns what the function gets.
    """

    def decorate(function: Command) -> click.Command:
        @functools.wraps(function)
        def call(*, store: Store, **given: Any) -> None:
            ctx = click.get_current_context()
            ids = {one.name for one in ctx.command.params if isinstance(one.type, ShortId)}
            named = given_options(**given)
            if checked is not None:
                named = checked(**named)

            def verb(memory: "Memory") -> Any:
                complete = functools.partial(complete_id, memory)
                for name in ids & named.keys():
                    value = named[name]
                    named[name] = complete(value) if isinstance(value, str) else [*map(complete, value)]
                return function(memory, **named)

            if fails(store.run(verb, show, doing=doing, flush=flush)):
                ctx.exit(1)

        made: Command = with_store(call)
        for option in reversed(options):
            made = option(made)
        return click.command()(made)

    return decorate


class JsonValue(click.ParamType):  # type: ignore[type-arg]  # as above
    """A JSON value; with ``text`` what is not JSON is taken as it stands."""

    name = "json"

    def __init__(self, *, text: bool = False) -> None:
        self._text = text

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the value."""
        if not isinstance(value, str):
            return value
        try:
            return json.loads(value)
        except json.JSONDecodeError as error:
            if self._text:
                return value
            self.fail(f"not JSON: {error}", param, ctx)


class KindName(click.ParamType):  # type: ignore[type-arg]  # as above
    """A kind of memory. A shell completes it; whether it is one is the verb's to say."""

    name = "kind"

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        """Return the kinds that begin so."""
        from phronesis.core.items import KINDS  # noqa: PLC0415 - not every command knows items

        _ = ctx, param
        return [click.shell_completion.CompletionItem(kind) for kind in KINDS if kind.startswith(incomplete)]


URL = click.option("--url", metavar="URL", help="sqlite:///FILE or postgresql://…; default: PHRONESIS_URL, else yours.")
TENANT = click.option("--tenant", metavar="NAME", help="Tenant of the store; tenants never see each other's data.")
POLICY = click.option(
    "--policy",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A brain.yml: models, budgets; default: PHRONESIS_POLICY, else rules.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
USER = click.option("--user", "user_id", metavar="ID", help="Whose memory; without it, what is shared.")
NAMESPACE = click.option("--namespace", metavar="NAME", help="Which shared memory.")
SESSION = click.option("--session", "session_id", metavar="ID", help="The session (conversation).")
AGENT = click.option("--agent", "agent_id", metavar="ID", help="The agent.")
RUN = click.option("--run", "run_id", metavar="ID", help="The run.")
LIMIT = click.option("--limit", "-n", type=int, default=10, show_default=True, help="Maximum number of results.")
CURSOR = click.option("--cursor", metavar="TEXT", help="Continue where a page ended, as printed on stderr.")
ACROSS = click.option("--across", type=click.Choice(["tenant"]), help="Include every user's memory of the tenant.")
AS_OF = click.option("--as-of", metavar="TIME", help="What was known at that time.")
VALID_AT = click.option("--valid-at", metavar="TIME", help="What held at that time.")
KINDS = click.option(
    "--kind", "kinds", metavar="KIND", type=KindName(), multiple=True, help="Only this kind; may be repeated."
)
FILTERS = click.option("--filters", metavar="JSON", type=JsonValue(), help='As in mem0: {"importance": {"gte": 7}}.')
REASON = click.option("--reason", metavar="TEXT", help="Recorded in the history.")
DRY_RUN = click.option("--dry-run", is_flag=True, help="Show what would be done; write nothing.")
IDEMPOTENCY = click.option("--idempotency-key", metavar="KEY", help="A repeated call with this key does nothing more.")

ITEM_ID = click.argument("item_id", metavar="ID", type=ShortId())

OWNER = (USER, NAMESPACE)
SCOPE = (*OWNER, SESSION, AGENT, RUN)
SCOPE_OF_CONTEXT = (*OWNER, SESSION, AGENT)
NARROWING = (KINDS, FILTERS, AS_OF, VALID_AT)

with_store = gather_options("store", URL, TENANT, POLICY, JSON, record=Store)
with_owner = gather_options("scope", *OWNER)
with_session = gather_options("scope", *OWNER, SESSION)
with_scope_of_context = gather_options("scope", *SCOPE_OF_CONTEXT)
