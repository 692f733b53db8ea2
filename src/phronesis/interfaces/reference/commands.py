"""The page of the command line, made from the click tree."""

import inspect
from collections.abc import Iterator

import click

from phronesis.interfaces.cli.commands import SECTIONS, cli
from phronesis.interfaces.cli.examples import every_command, lines_of
from phronesis.interfaces.reference.marks import MADE, table

_WIDTH = 400
"""Columns of a usage line: it is not to be broken."""


def commands_page() -> str:
    """Give ``docs/cli.md``: every command under its heading, with its options and examples."""
    lines = [
        MADE, "", "# The command line", "",
        "`phronesis --help` lists the commands, `phronesis COMMAND --help` says what one does. A store is named by",
        "`--url`, else by `PHRONESIS_URL`, else it is a file in your data folder. Errors are one line on stderr; the",
        "exit code is 0, 1 (it failed, or found something wrong), 2 (it was called wrongly) or 130 (interrupted).", "",
    ]  # fmt: skip
    for title, commands in SECTIONS.items():
        names = {command.name for command in commands}
        lines += [f"## {title}", ""]
        for path, command in every_command(cli):
            if path.split()[0] in names:
                lines += _command(path, command)
    return "\n".join(lines).rstrip() + "\n"


def _command(path: str, command: click.Command) -> Iterator[str]:
    context = click.Context(command, info_name=f"phronesis {path}", max_content_width=_WIDTH, terminal_width=_WIDTH)
    yield from (f"### phronesis {path}", "")
    yield from (inspect.cleandoc(command.help or ""), "")
    if isinstance(command, click.Group):
        yield from ("Commands: " + ", ".join(f"`{name}`" for name in command.commands) + ".", "")
        return
    usage = command.get_usage(context).removeprefix("Usage: ")
    yield from ("```text", usage, "```", "")
    records = (param.get_help_record(context) for param in command.params if isinstance(param, click.Option))
    options = [(f"`{record[0]}`", record[1].strip()) for record in records if record is not None]
    if options:
        yield from (*table(("option", "what it says"), options), "")
    yield from ("```sh", *lines_of(path), "```", "")
