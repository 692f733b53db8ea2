"""The options that commands share, gathered into records so that a command takes a handful of arguments."""

import functools
import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import click.shell_completion

from phronesis.interfaces.cli.output import say_json

if TYPE_CHECKING:
    from phronesis.memory import Memory


Command = Callable[..., Any]
Decorator = Callable[[Command], Command]


@dataclass(frozen=True, slots=True)
class Store:
    """Which store a command works on, and whether it answers in JSON."""

    url: str | None
    tenant: str | None
    policy: Path | None
    as_json: bool

    def open(self) -> "Memory":
        """Open the store."""
        from phronesis.memory import Memory  # noqa: PLC0415 - SQLAlchemy and numpy: not for --help

        return Memory.open(self.url, tenant=self.tenant, policy=self.policy)

    def options(self) -> str:
        """Return the options that name this store again, as they are typed; a URL with a password is not repeated."""
        secret = self.url is not None and "@" in self.url
        given = {"--url": "URL" if secret else self.url, "--tenant": self.tenant, "--policy": self.policy}
        return "".join(f" {name} {shlex.quote(str(value))}" for name, value in given.items() if value is not None)

    def answer(self, result: Any, say: Callable[[Any], None]) -> None:
        """Print a result: as JSON, or as ``say`` shows it to a person."""
        (say_json if self.as_json else say)(result)


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose memory is meant: the names of ``Memory``'s own arguments."""

    user_id: str | None = None
    namespace: str | None = None
    agent_id: str | None = None
    session_id: str | None = None
    run_id: str | None = None

    def named(self) -> dict[str, Any]:
        """Return what was named, as arguments of a verb."""
        pairs = ((f.name, getattr(self, f.name)) for f in fields(self))
        return {name: value for name, value in pairs if value is not None}


@dataclass(frozen=True, slots=True)
class ReadFilters:
    """What a read leaves out: kinds, filters, times."""

    kinds: tuple[str, ...]
    filters: Mapping[str, Any] | None
    as_of: str | None
    valid_at: str | None

    def named(self) -> dict[str, Any]:
        """Return what was named, as arguments of a verb."""
        given = {"filters": self.filters, "as_of": self.as_of, "valid_at": self.valid_at, "kinds": self.kinds or None}
        return {name: value for name, value in given.items() if value is not None}


def gather_options(parameter: str, record: Callable[..., Any], *options: Decorator) -> Decorator:
    """Return a decorator that adds ``options`` and passes their values on as one ``record`` named ``parameter``."""
    names = [name for option in options if (name := _name(option)) is not None]

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


def _name(option: Decorator) -> str | None:
    """Return the argument under which an option's value arrives."""

    def nothing() -> None:
        """Be decorated."""

    parameters: list[click.Parameter] = option(nothing).__click_params__  # type: ignore[attr-defined]
    return parameters[0].name


class JsonValue(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.3
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


URL = click.option("--url", metavar="URL", help="sqlite:///FILE or postgresql://…; default PHRONESIS_URL, else yours.")
TENANT = click.option("--tenant", metavar="NAME", help="Whose store; tenants never see each other.")
POLICY = click.option(
    "--policy",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="A brain.yml: models, budgets; default PHRONESIS_POLICY, else rules.",
)
JSON = click.option("--json", "as_json", is_flag=True, help="Answer in JSON.")
USER = click.option("--user", "user_id", metavar="ID", help="Whose memory; without it, what is shared.")
NAMESPACE = click.option("--namespace", metavar="NAME", help="Which shared memory.")
SESSION = click.option("--session", "session_id", metavar="ID", help="The conversation.")
AGENT = click.option("--agent", "agent_id", metavar="ID", help="The agent.")
RUN = click.option("--run", "run_id", metavar="ID", help="The run.")
LIMIT = click.option("--limit", "-n", type=int, default=10, show_default=True, help="Results at most.")
CURSOR = click.option("--cursor", metavar="TEXT", help="Go on where a page ended, as it said on stderr.")

with_store = gather_options("store", Store, URL, TENANT, POLICY, JSON)
with_owner = gather_options("scope", Scope, USER, NAMESPACE)
with_scope = gather_options("scope", Scope, USER, NAMESPACE, SESSION, AGENT, RUN)
with_scope_of_context = gather_options("scope", Scope, USER, NAMESPACE, SESSION, AGENT)
with_narrowing = gather_options(
    "narrowing",
    ReadFilters,
    click.option(
        "--kind", "kinds", metavar="KIND", type=KindName(), multiple=True, help="Only this kind; may be repeated."
    ),
    click.option("--filters", metavar="JSON", type=JsonValue(), help='As mem0\'s: {"importance": {"gte": 7}}.'),
    click.option("--as-of", metavar="TIME", help="What was known then."),
    click.option("--valid-at", metavar="TIME", help="What held then."),
)
