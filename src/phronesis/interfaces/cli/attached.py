"""Commands that run in the daemon of their store, if one runs: there the encoder is loaded and the store is open.

The client sends its words, what it was given on stdin, and the width of its terminal; the daemon parses and runs the
command as a process of its own would, and sends back what it printed and its exit code.
"""

import contextlib
import io
import shutil
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import click

from phronesis.config.locations import daemon_enabled, store_name
from phronesis.errors import PhronesisError
from phronesis.interfaces.cli.options import SERVED
from phronesis.interfaces.cli.output import WIDTH

if TYPE_CHECKING:
    from phronesis.memory import Memory

COMMANDS: Final = frozenset({"add", "search", "context", "get", "list", "update", "explain", "rollback"})
"""Commands that may run in the daemon: they neither ask nor read a file, and end in a moment."""

ALONE: Final = ("--messages", "--help", "-h")
"""Options with which a command runs in its own process all the same: a path is relative to its folder."""

_ONE_AT_A_TIME = threading.Lock()
"""Held while a command runs: its output is that of the process."""

BUSY_SECONDS: Final = 1.0
"""Seconds that a command waits for the one before it; after them its client runs it."""


def run_in_daemon(words: Sequence[str]) -> int | None:
    """Run a command in the daemon of its store and return the exit code; None if it has to run in this process."""
    if not words or words[0] not in COMMANDS or not daemon_enabled():
        return None
    if any(word.partition("=")[0] in ALONE for word in words):
        return None
    import argparse  # noqa: PLC0415 - not for other commands

    from phronesis.interfaces.daemon.endpoint import connect  # noqa: PLC0415 - likewise

    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False, exit_on_error=False)
    for name in ("--url", "--tenant", "--policy"):
        parser.add_argument(name)
    try:
        options, _ = parser.parse_known_args(list(words[1:]))
        connection = connect(store_name(options.url, options.tenant, options.policy), {"service": "command"})
    except argparse.ArgumentError:  # the command itself says what is wrong
        return None
    except PhronesisError as error:
        print(f"phronesis: {error.message}; this command opens the store itself", file=sys.stderr)
        return None
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
    from phronesis.interfaces.cli.exit_codes import run  # noqa: PLC0415 - which imports this module

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
