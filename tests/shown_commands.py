"""The commands that pages show: found in their text, and looked up in the command line."""

import re
import shlex
from collections.abc import Iterator, Sequence

import click

from phronesis.interfaces.cli import commands

_DEFAULTS = ("http", "list", "status")
"""What a group does that is called without a command."""


def shown_commands(text: str) -> Iterator[str]:
    """Yield the calls of ``phronesis`` in a page: lines of its blocks, and what stands in backticks."""
    for language, block in re.findall(r"^```(\w*)\n(.*?)^```$", text, re.DOTALL | re.MULTILINE):
        if language in {"", "sh", "text"}:
            yield from re.findall(r"^phronesis (\S.*)$", block, re.MULTILINE)
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.DOTALL | re.MULTILINE)
    yield from (" ".join(line.split()) for line in re.findall(r"`phronesis ([^`]+)`", outside))


def find_command(words: Sequence[str]) -> tuple[click.Command, list[str]]:
    """Return the command that words name, and the words behind its name; KeyError if there is none."""
    command, rest = commands.find_command(words)
    if isinstance(command, click.Group):
        command = next((command.commands[name] for name in _DEFAULTS if name in command.commands), command)
    return command, rest


def unknown_words(line: str) -> list[str]:
    """Return what a shown call names and the command line has not: the command, or its options."""
    if line.startswith("bench "):
        return []  # those of another distribution
    try:
        command, rest = find_command(shlex.split(line, comments=True))
    except KeyError as error:
        return [f"{line}: {error}"]
    known = {option for one in command.params for option in (*one.opts, *one.secondary_opts)} | {"--help"}
    return [f"{line}: {word}" for word in rest if re.match(r"--\w", word) and word not in known]
