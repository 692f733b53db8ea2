"""The tree of commands, in the order of the help; a module is imported when one of its commands is called for."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

from phronesis import __version__
from phronesis.core.lazy_loading import LazyMapping
from phronesis.interfaces.cli.examples import EXAMPLES


@dataclass(frozen=True, slots=True)
class Branch:
    """A group: its help, and its commands by name, each as "module.attribute" or as a group.

    ``default`` is the command that runs when none is named, ``hint`` what the error for an unknown one says.
    """

    help: str
    commands: "Mapping[str, str | Branch]"
    default: str | None = None
    hint: str = ""


TRAITS: Final = Branch(
    """Show and correct what a user is like.

    'phronesis learn traits --user ID' lists the traits of a user.
    """,
    {
        "list": "traits.list_traits",
        "show": "traits.show_trait",
        "correct": "traits.correct_trait",
        "delete": "traits.delete_trait",
        "cycles": "traits.list_cycles",
    },
    default="list",
)
ENTITIES: Final = Branch(
    """List who and what is mentioned; merge and split names.

    Entities are people, places, organisations, projects and things. 'phronesis rollback' takes a merge or a split back.
    """,
    {
        "list": "curation.list_entities",
        "show": "curation.show_entity",
        "merge": "curation.merge_entities",
        "split": "curation.split_entity",
    },
    default="list",
)
QUARANTINE: Final = Branch(
    """Decide on texts that read like orders to a model.

    They came from a tool or an assistant, and are neither found nor shown until a person releases them.
    """,
    {"list": "curation.list_quarantine", "release": "curation.release", "reject": "curation.reject"},
    default="list",
)
SESSIONS: Final = Branch(
    """List conversations, and show one as it was recorded.

    Without a command it lists: 'phronesis memory sessions --user ID'.
    """,
    {"list": "reading.list_sessions", "show": "reading.show_session"},
    default="list",
)
DAEMON: Final = Branch(
    """Keep one process for all sessions of a user.

    MCP clients and hooks start it when they first need it, and it ends after half an hour without any. While it runs,
    commands such as add and search run in it. Set PHRONESIS_DAEMON=off to have every process open the store itself.
    There is none on Windows.
    """,
    {"status": "daemon.status", "start": "daemon.start", "stop": "daemon.stop", "run": "daemon.run"},
    default="status",
)
KEYS: Final = Branch(
    """Manage the API keys of the server's callers.

    As long as there is no key, only this machine reaches a server, and needs none.
    """,
    {"create": "servers.create_key", "list": "servers.list_keys", "revoke": "servers.revoke_key"},
    default="list",
)

SECTIONS: Final[Mapping[str, Mapping[str, str | Branch]]] = {
    "Memory": {
        "add": "writing.add",
        "search": "reading.search",
        "context": "reading.context",
        "chat": "chat.chat",
        "get": "reading.get",
        "list": "reading.list_items",
        "update": "writing.update",
        "delete": "writing.delete",
        "explain": "reading.explain",
        "rollback": "writing.rollback",
        "memory": Branch(
            """See what is due, sessions, histories, entities, quarantine.

            Also what forgetting archives, and how to bring it back.
            """,
            {
                "due": "reading.due",
                "history": "reading.history",
                "plan": "reading.plan",
                "forget": "curation.forget",
                "unarchive": "curation.unarchive",
                "sessions": SESSIONS,
                "entities": ENTITIES,
                "quarantine": QUARANTINE,
            },
        ),
    },
    "Learn": {
        "learn": Branch(
            """Learn from attempts and memories; ask what was learned.

            Attempts become events (ingest), events patterns (aggregate), patterns principles (abstract), and query
            answers from all three. Reflect derives traits from what a user says again and again.
            """,
            {
                "ingest": "experience.ingest",
                "query": "experience.query",
                "aggregate": "experience.aggregate",
                "abstract": "experience.abstract",
                "feedback": "experience.feedback",
                "reflect": "traits.reflect",
                "traits": TRAITS,
                "check-claims": "curation.check_claims",
            },
            hint="To learn from a run: phronesis runs learn RUN.",
        ),
        "runs": Branch(
            """Record the runs of an agent, and learn from them.

            A run is what an agent proposed; feedback says what came of it; learn weighs the bank's claims by both.
            """,
            {
                "add": "runs.add",
                "list": "runs.list_runs",
                "show": "runs.show",
                "feedback": "runs.feedback",
                "review": "runs.review",
                "learn": "runs.learn",
                "batch": "runs.batch",
            },
        ),
        "resources": Branch(
            """Ingest documents, and see what is held of them.

            A document is split into sections, each with its heading and position. A new version supersedes only the
            sections that changed.
            """,
            {
                "add": "resources.add",
                "list": "resources.list_documents",
                "show": "resources.show",
                "source": "experience.source",
            },
        ),
    },
    "Operate": {
        "agents": Branch(
            """Give memory to the coding agents on this machine.

            They are Claude Code, Codex, Cursor, VS Code, opencode, Hermes and OpenClaw. Install changes an agent's
            configuration, so that it recalls before a prompt and records after it. All sessions share the daemon.
            """,
            {
                "install": "agents.install",
                "uninstall": "agents.uninstall",
                "hook": "daemon.hook",
                "daemon": DAEMON,
            },
        ),
        "store": Branch(
            """Export, import, rebuild, upgrade and repair a store.

            Sync keeps it equal with a folder of Markdown files. 'phronesis doctor' says which of these a store needs.
            """,
            {
                "export": "upkeep.export",
                "import": "upkeep.import_",
                "sync": "upkeep.sync",
                "rebuild": "upkeep.rebuild",
                "upgrade": "upkeep.upgrade",
                "jobs": "upkeep.jobs",
                "retry": "upkeep.retry",
                "reembed": "upkeep.reembed",
                "migrate-memories": "curation.migrate_memories",
            },
        ),
        "doctor": "upkeep.doctor",
        "serve": Branch(
            """Serve HTTP and the web pages, or MCP; manage API keys.

            Without a command it serves HTTP: 'phronesis serve --port 8080'; 'phronesis serve http --help' lists the
            options.
            """,
            {"http": "servers.http", "mcp": "servers.mcp", "worker": "servers.worker", "keys": KEYS},
            default="http",
        ),
    },
    "See it work": {
        "demo": "demo.demo",
        "bench": "bench.bench",
    },
}
"""The commands under their headings."""

_MOVED: Final = {
    "memory": "due history plan forget unarchive sessions entities quarantine",
    "agents": "install uninstall hook daemon",
    "learn": "ingest query aggregate abstract feedback reflect traits check-claims",
    "runs": "batch",
    "resources": "source",
    "store": "export import rebuild retry jobs reembed migrate-memories",
    "serve": "mcp worker keys",
}
FORMER: Final[Mapping[str, Sequence[str]]] = {
    **{name: (group, name) for group, names in _MOVED.items() for name in names.split()},
    "turns": ("memory", "sessions", "show"),
    "erase": ("delete", "--erase"),
    "rederive": ("store", "rebuild", "--rederive"),
    "rebuild-claim-index": ("store", "rebuild", "--claims"),
    "resource": ("resources",),
    "db": ("store",),
    "completion": ("--completion",),
}
"""Short names, and those of earlier versions, that run though no help lists them, and what each stands for."""


class Commands(click.Group):
    """A group whose commands are imported when they are called for."""

    def __init__(self, *args: Any, default: str | None = None, hint: str = "", **more: Any) -> None:
        super().__init__(*args, **more)
        self._default = default
        self._hint = hint

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Name the default command where the arguments name none."""
        named = not args[0].startswith("-") or args[0] in ctx.help_option_names if args else ctx.resilient_parsing
        return super().parse_args(ctx, args if named or self._default is None else [self._default, *args])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Return the named command; the error for an unknown one says where it is now."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            raise click.UsageError(f"{error.message} {self._hint}".strip(), ctx) from None

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Return the commands, and the options of the default one."""
        found = super().shell_complete(ctx, incomplete)
        if self._default is not None and incomplete.startswith("-"):
            found += self.commands[self._default].shell_complete(ctx, incomplete)
        return found

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in their own order."""
        _ = ctx
        return list(self.commands)


class RootCommands(Commands):
    """The commands under headings; names of earlier versions are understood."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the name of today in place of a former one."""
        return super().parse_args(ctx, with_current_name(args))

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names; benchmarks only where they are installed."""
        installed = find_spec("phronesis_benchmarks") is not None
        return [name for name in super().list_commands(ctx) if installed or name != "bench"]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each heading with its commands."""
        names = self.list_commands(ctx)
        room = formatter.width - 6 - max(map(len, names))
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                rows = [(name, self.commands[name].get_short_help_str(room)) for name in commands if name in names]
                formatter.write_dl(rows)


def with_current_name(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a call with the name of today in place of a former one."""
    first = arguments[0] if arguments else ""
    return [*FORMER.get(first, arguments[:1]), *arguments[1:]]


def find_command(words: Sequence[str]) -> tuple[click.Command, list[str]]:
    """Return the command that words name, by its name of today or a former one, and the words behind the name.

    LookupError if there is none.
    """
    command: click.Command = cli
    rest = with_current_name(words)
    while isinstance(command, Commands) and rest and not rest[0].startswith("-"):
        command, rest = command.commands[rest[0]], rest[1:]
    return command, rest


def every_command(group: click.Group, path: str = "") -> Iterator[tuple[str, click.Command]]:
    """Yield each command of a group with its path, groups before what is in them."""
    for name, command in group.commands.items():
        here = f"{path} {name}".strip()
        yield here, command
        if isinstance(command, click.Group):
            yield from every_command(command, here)


def lines_of(path: str) -> tuple[str, ...]:
    """Return a command's examples as they are typed."""
    return tuple(line if "phronesis " in line else f"phronesis {line}" for line in EXAMPLES.get(path, ()))


def _lazily(tree: Mapping[str, str | Branch], path: str = "") -> LazyMapping[str, click.Command]:
    return LazyMapping({name: partial(_load, f"{path} {name}".strip(), place) for name, place in tree.items()})


def _load(path: str, place: str | Branch) -> click.Command:
    """Return a command with its examples, whose module is imported, or a group, whose commands are not."""
    name = path.rpartition(" ")[2]
    if isinstance(place, Branch):
        commands = _lazily(place.commands, path)
        return Commands(name, commands, help=place.help, default=place.default, hint=place.hint)
    module, _, attribute = place.partition(".")
    command: click.Command = getattr(import_module(f"phronesis.interfaces.cli.{module}"), attribute)
    command.name = name
    if lines := lines_of(path):
        command.epilog = "\n".join(("\b", "Examples:", *(f"  {line}" for line in lines)))
    return command


COMPLETED: Final = "_PHRONESIS_COMPLETE"
"""The variable through which a shell asks; its name follows from the program's."""


def _print_completion(ctx: click.Context, _: click.Parameter, shell: str | None) -> None:
    """Print a shell's start-up code, without running the shell to ask for its version, as its own class would."""
    if shell is None or ctx.resilient_parsing:
        return
    made = get_completion_class(shell)
    if made is not None:  # pragma: no branch - click knows the three
        click.echo(ShellComplete.source(made(ctx.command, {}, "phronesis", COMPLETED)))
    ctx.exit()


@click.group(
    cls=RootCommands,
    commands=_lazily({name: place for commands in SECTIONS.values() for name, place in commands.items()}),
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(__version__, prog_name="phronesis", message="%(prog)s %(version)s")
@click.option(
    "--completion",
    type=click.Choice(["bash", "zsh", "fish"]),
    is_eager=True,
    expose_value=False,
    callback=_print_completion,
    help='Print what makes a shell complete commands: eval "$(phronesis --completion bash)".',
)
def cli() -> None:
    """A memory for AI agents: what happened, what was learned from it, and the evidence for every line.

    An ID may be shortened to any part of it, from four digits on, that no other begins or ends with.
    """
