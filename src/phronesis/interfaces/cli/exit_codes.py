"""Where a command ends: each thing that went wrong becomes one line on stderr, and all of it an exit code."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper, UnsupportedOperation
from typing import Final

import click

from phronesis.core.ids import short_id
from phronesis.errors import ClaimsRefused, InputError, PhronesisError
from phronesis.interfaces.cli.attached import run_in_daemon
from phronesis.interfaces.cli.commands import cli
from phronesis.interfaces.cli.options import SERVED
from phronesis.interfaces.cli.output import cut, on_one_line

PROGRAM: Final = "phronesis"
FAILED: Final = 1
USAGE: Final = 2
INTERRUPTED: Final = 130
"""What shells report for a program that Ctrl-C ended."""

MAX_WORDS: Final = 60
"""Columns of the words beside each id that an ambiguous one may mean."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command; gives its exit code: 0, 1 (it failed), 2 (it was called wrongly) or 130 (interrupted)."""
    _never_fail_to_print()
    try:
        attached = run_in_daemon(sys.argv[1:] if arguments is None else arguments) if SERVED.get() is None else None
        if attached is not None:
            return attached
        code = cli.main(args=arguments, prog_name=PROGRAM, standalone_mode=False)
    except click.exceptions.NoArgsIsHelpError as error:  # a group without a command: its help, as it is laid out
        click.echo(error.format_message(), err=True)
        return USAGE
    except click.UsageError as error:
        path = error.ctx.command_path if error.ctx is not None else PROGRAM
        code = FAILED if path.endswith(" hook") else USAGE  # to Claude Code 2 says that its user may not go on
        return _print_error(f"{path}: {error.format_message()} ({path} --help shows how)", code)
    except (click.Abort, KeyboardInterrupt):
        return INTERRUPTED
    except PhronesisError as error:
        code = USAGE if isinstance(error, InputError) else FAILED
        lines = error.details.get("mistakes", (error.message,))  # a policy file may hold several
        if isinstance(error, ClaimsRefused):
            from phronesis.interfaces.cli.claims import violation_line  # noqa: PLC0415 - for that command alone

            lines = [violation_line(violation) for violation in error.violations]
        for line in lines:
            _print_error(f"{PROGRAM}: {line} [{error.code}]", code)
        for identity, kind, words in error.details.get("candidates", ()):  # of an ambiguous id
            click.echo(f"    {short_id(identity)}  {kind}: {cut(on_one_line(words), MAX_WORDS)}", err=True)
        return code
    except OSError as error:
        if error.filename is None:
            _forget_stdout()
        if isinstance(error, BrokenPipeError):  # as click ends
            return FAILED
        return _print_error(f"{PROGRAM}: {error.filename or 'input or output'}: {error.strerror or error}", FAILED)
    return code if isinstance(code, int) else 0


def _print_error(line: str, code: int) -> int:
    click.echo(on_one_line(line), err=True)
    return code


def _never_fail_to_print() -> None:
    """Show as escapes what the terminal's encoding, or any (a lone surrogate), cannot hold; in JSON they stay valid."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _forget_stdout() -> None:
    """Let the interpreter flush into nothing at its end, not again into what took no more, such as a full disk."""
    with suppress(UnsupportedOperation):  # in a daemon it is a text in memory
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
