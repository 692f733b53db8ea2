"""The command line in the order of its help; a module is imported when one of its commands is called for."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

import click
from click.shell_completion import CompletionItem, ShellComplete, get_completion_class

from phronesis import __version__
from phronesis.core.lazy_loading import LazyMapping
from phronesis.interfaces.cli.command_tree import EXAMPLES, FORMER, SECTIONS, Branch


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
        return super().parse_args(ctx, replace_former_name(args))

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


def replace_former_name(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a call with the name of today in place of a former one."""
    first = arguments[0] if arguments else ""
    return [*FORMER.get(first, arguments[:1]), *arguments[1:]]


def find_command(words: Sequence[str]) -> tuple[click.Command, list[str]]:
    """Return the command that words name, by its name of today or a former one, and the words behind the name.

    LookupError if there is none.
    """
    command: click.Command = cli
    rest = replace_former_name(words)
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


class BenchmarkGroup(click.Group):
    """A group whose commands are imported from ``phronesis_benchmarks`` when one is asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the benchmarks."""
        return _load_benchmarks().list_commands(ctx)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the benchmark of a name."""
        return _load_benchmarks().get_command(ctx, cmd_name)


@click.group(cls=BenchmarkGroup)
def bench() -> None:
    """Measure recall and speed.

    Each benchmark reads data that you have, or makes up its own, and prints a table. Nothing of your own store is read
    or changed, unless --url names it. The benchmarks are a distribution of their own, in the repository's folder
    ``benchmarks``.
    """


def _load_benchmarks() -> click.Group:
    try:
        group: click.Group = import_module("phronesis_benchmarks.commands").bench
    except ModuleNotFoundError as missing:
        if missing.name != "phronesis_benchmarks":
            raise
        raise click.UsageError("the benchmarks are not installed: pip install ./benchmarks in a checkout") from None
    return group
