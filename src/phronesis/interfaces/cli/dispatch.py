"""Run a command, in this process or in the daemon of its store: what goes wrong becomes one line and an exit code.

A client of a daemon, which has the encoder loaded and the store open, sends its words, what it was given on stdin, and
the width of its terminal; the daemon parses and runs the command as a process of its own would, and sends back what it
printed and its exit code.
"""

import contextlib
import io
import os
import shutil
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from phronesis.config.locations import daemon_enabled, store_name
from phronesis.core.ids import short_id
from phronesis.errors import ClaimsRefused, InputError, PhronesisError
from phronesis.interfaces.cli.commands import cli
from phronesis.interfaces.cli.options import SERVED
from phronesis.interfaces.cli.output import WIDTH, cut, on_one_line

if TYPE_CHECKING:
    from phronesis.memory import Memory

PROGRAM: Final = "phronesis"
FAILED: Final = 1
USAGE: Final = 2
INTERRUPTED: Final = 130
"""What shells report for a program that Ctrl-C ended."""

COMMANDS: Final = frozenset({"add", "search", "context", "get", "list", "update", "explain", "rollback"})
"""Commands that may run in the daemon: they neither ask nor read a file, and end in a moment."""

ALONE: Final = ("--messages", "--help", "-h")
"""Options with which a command runs in its own process all the same: a path is relative to its folder."""

_ONE_AT_A_TIME = threading.Lock()
"""Held while a command runs: its output is that of the process."""

BUSY_SECONDS: Final = 1.0
"""Seconds that a command waits for the one before it; after them its client runs it."""


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command; gives its exit code: 0, 1 (it failed), 2 (it was called wrongly) or 130 (interrupted)."""
    _open_streams()
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
            from phronesis.interfaces.cli.curation import format_violation  # noqa: PLC0415 - for that command alone

            lines = [format_violation(violation) for violation in error.violations]
        for line in lines:
            _print_error(f"{PROGRAM}: {line} [{error.code}]", code)
        for identity, kind, words in error.details.get("candidates", ()):  # of an ambiguous id
            click.echo(f"    {short_id(identity)}  {kind}: {cut(on_one_line(words), 60)}", err=True)
        return code
    except OSError as error:
        if error.filename is None:  # lest the interpreter flushes at its end again into what took no more
            with contextlib.suppress(io.UnsupportedOperation):  # in a daemon it is a text in memory
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # as click ends
            return FAILED
        return _print_error(f"{PROGRAM}: {error.filename or 'input or output'}: {error.strerror or error}", FAILED)
    return code if isinstance(code, int) else 0


def _print_error(line: str, code: int) -> int:
    click.echo(on_one_line(line), err=True)
    return code


def _open_streams() -> None:
    """Read nothing where stdin is closed, and show as escapes what an encoding cannot hold; in JSON they stay valid."""
    if sys.stdin is None:
        sys.stdin = _text_of(b"")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def run_in_daemon(words: Sequence[str]) -> int | None:
    """Run a command in the daemon of its store and return the exit code; None if it has to run in this process."""
    alone = any(word.partition("=")[0] in ALONE for word in words)
    if not words or words[0] not in COMMANDS or alone or not daemon_enabled():
        return None
    import argparse  # noqa: PLC0415 - not for other commands

    from phronesis.interfaces.daemon_endpoint import connect_or_say_why  # noqa: PLC0415 - likewise

    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for name in ("--url", "--tenant", "--policy"):
        parser.add_argument(name)
    try:
        options, _ = parser.parse_known_args(list(words[1:]))
    except argparse.ArgumentError:
        return None  # the command itself says what is wrong
    store = store_name(options.url, options.tenant, options.policy)
    connection = connect_or_say_why(store, {"service": "command"}, caller="command")
    if connection is None:
        return None
    with contextlib.closing(connection):
        width = shutil.get_terminal_size().columns if sys.stdout and sys.stdout.isatty() else None
        stdin = sys.stdin.buffer.read() if "-" in words and sys.stdin else b""
        connection.send_line({"words": list(words), "stdin": stdin.decode("latin-1"), "width": width})
        try:
            answer = connection.receive_line()
        except ConnectionError as error:
            print(f"phronesis: {error} before the command ended: look whether it was done", file=sys.stderr)
            return 1
    if answer.get("busy"):
        sys.stdin = _text_of(stdin) if stdin else sys.stdin  # the command that runs here reads it again
        return None
    click.echo(answer.get("stdout", ""), nl=False)
    click.echo(answer.get("stderr", ""), nl=False, err=True)
    return int(answer.get("code", 1))


def run_for_client(memory: "Memory", message: Mapping[str, Any]) -> dict[str, Any]:
    """Run a client's command with an open store; return its exit code and what it printed, or that others run."""
    out, err = io.StringIO(), io.StringIO()
    if not _ONE_AT_A_TIME.acquire(timeout=BUSY_SECONDS):
        return {"busy": True}
    served, width = SERVED.set(memory), WIDTH.set(message.get("width"))
    stdin = sys.stdin
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            sys.stdin = _text_of(str(message.get("stdin", "")).encode("latin-1"))
            code = run([str(word) for word in message.get("words", ())])
    finally:
        sys.stdin = stdin
        SERVED.reset(served)
        WIDTH.reset(width)
        _ONE_AT_A_TIME.release()
    return {"code": code, "stdout": out.getvalue(), "stderr": err.getvalue()}


def _text_of(given: bytes) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(given), encoding="utf-8")
