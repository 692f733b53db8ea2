"""Commands of the daemon, and the hooks of coding agents."""

import json
import os
import sys
import threading
from typing import Any

import click

from phronesis.adapters.agent_hooks import answer_hook
from phronesis.adapters.hook_call import EVENTS, HookCall
from phronesis.config.locations import StoreName, daemon_enabled, login_name, store_name
from phronesis.errors import MissingExtra, PhronesisError
from phronesis.interfaces.cli.dispatch import run_for_client
from phronesis.interfaces.cli.options import Options, Store, with_owner, with_store
from phronesis.interfaces.cli.output import say, say_json
from phronesis.interfaces.daemon.endpoint import START_SECONDS, UNIX, Connection, can_start, connect


def _name_of(store: Store) -> StoreName:
    return store_name(store.url, store.tenant, store.policy)


@click.command()
@click.option(
    "--idle", default=1800.0, show_default=True, type=click.FloatRange(min=0.1), help="Seconds until it ends."
)
@with_store
def run(*, store: Store, idle: float) -> None:
    """Run the daemon of this store in this process.

    It ends when it is stopped, or when no session has used it for --idle seconds.
    """
    if not UNIX:
        raise click.UsageError("there are no Unix sockets on this system; each process opens the store itself")
    _check_extra()
    from phronesis.interfaces.daemon.server import run_daemon  # noqa: PLC0415 - the MCP SDK: not for --help

    if not run_daemon(_name_of(store), store.open_memory, run_for_client, idle_seconds=idle):
        click.echo("phronesis: another process is the daemon of this store", err=True)


@click.command()
@with_store
def start(*, store: Store) -> None:
    """Start the daemon of this store, unless it runs.

    Clients and hooks start it by themselves; start it beforehand to spare the first one the wait.
    """
    connection = connect(_name_of(store), {"service": "status"}, start_seconds=60)
    if connection is None:
        _check_extra()
    _show_status(store, connection)


def _check_extra() -> None:
    if UNIX and not can_start():
        raise MissingExtra(
            "the daemon needs: pip install 'phronesis[mcp]'; without it each process opens the store itself"
        )


@click.command()
@with_store
def status(*, store: Store) -> None:
    """Say whether the daemon of this store runs, and since when.

    Each store has a daemon of its own: --url, --tenant and --policy say which.
    """
    _show_status(store, connect(_name_of(store), {"service": "status"}))


@click.command()
@with_store
def stop(*, store: Store) -> None:
    """Stop the daemon of this store.

    Nothing is lost: whoever next needs the store starts the daemon again.
    """
    _show_status(store, connect(_name_of(store), {"service": "stop"}), ended=True)


def _show_status(store: Store, connection: Connection | None, *, ended: bool = False) -> None:
    if connection is None:
        store.answer({"running": False}, lambda _facts: say("No daemon runs for this store."))
        return
    connection.close()
    facts = {"running": not ended, **connection.hello}
    verb = "stops" if ended else "runs"
    line = f"Phronesis {facts['version']} {verb}: process {facts['pid']}, {facts['uptime']} s old, {facts['url']}"
    store.answer(facts, lambda _facts: say(line))


@click.command()
@click.argument("event", type=click.Choice(EVENTS))
@click.option("--host", default="claude-code", show_default=True, metavar="NAME", help="The agent that calls.")
@with_owner
@with_store
def hook(*, store: Store, scope: Options, event: str, host: str) -> None:
    """Answer a hook of a coding agent.

    The host's JSON is read from stdin, and the answer is written to stdout. A hook never stops its host: whatever goes
    wrong is one line on stderr, and the exit code is 0. --user is whose memory is meant (default: your login name),
    --namespace where the experience of tools is kept (default: the name of the project's folder).
    """
    try:
        payload = json.loads(sys.stdin.buffer.read() or b"{}")
        call = {
            "event": event,
            "host": host,
            "user_id": scope.get("user_id") or login_name(),
            "namespace": scope.get("namespace"),
        }
        answer = _answer(store, {**call, "payload": payload})
        if "error" in answer:
            click.echo(f"phronesis: {answer['error']}", err=True)
        elif answer:
            say_json(answer)
    except Exception as error:  # noqa: BLE001 - the interface edge: a hook fails open
        click.echo(f"phronesis: {type(error).__name__}: {error}", err=True)


def _answer(store: Store, message: dict[str, Any]) -> dict[str, Any]:
    connection = None
    try:
        if daemon_enabled():
            connection = connect(_name_of(store), {"service": "hook"}, start_seconds=START_SECONDS)
    except PhronesisError as error:
        click.echo(f"phronesis: {error.message}; this hook opens the store itself", err=True)
    if connection is not None:
        try:
            connection.send_line(message)
            return connection.receive_line()
        finally:
            connection.close()
    with store.open() as memory:
        answer = answer_hook(memory, HookCall.read(message))
        memory.flush()  # there is no process that would interpret it later
        return answer


def relay_stdio(store: Store, options: dict[str, Any]) -> bool:
    """Connect stdin and stdout to an MCP session in the daemon, until either ends; return False if there is none."""
    try:
        connection = connect(_name_of(store), {"service": "mcp", "options": options}, start_seconds=START_SECONDS)
    except PhronesisError as error:
        click.echo(f"phronesis: {error.message}; this session opens the store itself", err=True)
        return False
    if connection is None:
        return False
    threading.Thread(target=_send_stdin, args=(connection,), daemon=True).start()
    while chunk := connection.reader.read1(1 << 16):  # type: ignore[attr-defined]  # a BufferedReader
        sys.stdout.buffer.write(chunk)
        sys.stdout.buffer.flush()
    connection.close()
    return True


def _send_stdin(connection: Connection) -> None:
    import socket  # noqa: PLC0415 - for its constant

    while chunk := os.read(sys.stdin.fileno(), 1 << 16):  # a buffered read would abort Python if the daemon ends first
        connection.socket.sendall(chunk)
    connection.socket.shutdown(socket.SHUT_WR)
