"""Commands that serve: HTTP, MCP, the worker, the daemon of a store, and the keys of callers."""

import gc
import json
import logging
import os
import sys
import threading
from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import click

from phronesis.config.locations import daemon_enabled
from phronesis.core.api_keys import ApiKey
from phronesis.core.ids import short_id
from phronesis.errors import MissingExtra
from phronesis.interfaces.cli import render_reports
from phronesis.interfaces.cli.dispatch import run_for_client
from phronesis.interfaces.cli.options import Options, ShortId, Store, command, with_owner, with_store
from phronesis.interfaces.cli.output import print_json, print_lines, say_table
from phronesis.interfaces.daemon_endpoint import START_SECONDS, UNIX, Connection, can_start, connect, connect_or_say_why

if TYPE_CHECKING:
    from phronesis.memory import Memory


@click.command()
@click.option("--http", is_flag=True, help="Streamable HTTP at /mcp instead of stdio.")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="With --http: loopback only.")
@click.option("--port", default=8765, show_default=True, type=click.IntRange(1, 65_535), help="With --http.")
@click.option("--read-only", is_flag=True, help="Leave out every tool that stores or changes something.")
@click.option("--reference-tools", is_flag=True, help="Also offer the nine tools of the reference memory server.")
@click.option(
    "--tools",
    default="default",
    show_default=True,
    metavar="NAMES",
    help="Which tools: default (the eight that a model needs), all, or names with commas between.",
)
@click.option(
    "--structured/--no-structured",
    default=None,
    help="Also give each result as a record, for programs; default: with --tools all only.",
)
@click.option("--alone", is_flag=True, help="Open the store in this process, not in the daemon that sessions share.")
@with_owner
@with_store
def mcp(*, store: Store, scope: Options, http: bool, host: str, port: int, alone: bool, **options: Any) -> None:
    """Serve models over the Model Context Protocol.

    Over stdio, for a client that starts this command itself (Claude Desktop, Claude Code, Cursor, VS Code), or with
    --http for clients on this machine. --user and --namespace say whose memory is meant where a call does not. Over
    stdio the store is opened by the daemon (phronesis daemon), which all sessions share.
    """
    shared = not (http or alone) and daemon_enabled() and find_spec("mcp") is not None
    if shared and _relay_stdio(store, {**scope, **options}):
        return
    gc.disable()  # until tools can be listed: nothing that is imported is garbage
    from phronesis.interfaces.mcp import DeferredMemory, Options, make_mcp  # noqa: PLC0415 - not for --help

    offered = Options(**scope, **options)
    if http:
        with store.open() as memory:
            _over_http(make_mcp(memory, offered), host, port, as_json=store.as_json)
        return
    deferred = DeferredMemory(store.open_memory)
    try:
        server = make_mcp(deferred, offered)
        from phronesis.interfaces.mcp.server import run_stdio  # noqa: PLC0415 - the SDK: an extra

        _collect_again()
        run_stdio(server)
    finally:
        deferred.close_if_opened()


def _relay_stdio(store: Store, options: dict[str, Any]) -> bool:
    """Connect stdin and stdout to an MCP session in the daemon, until either ends; return False if there is none."""
    service = {"service": "mcp", "options": options}
    connection = connect_or_say_why(store.name(), service, caller="session", start_seconds=START_SECONDS)
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


def _over_http(server: Any, host: str, port: int, *, as_json: bool) -> None:
    from phronesis.interfaces.mcp.server import run_http  # noqa: PLC0415 - the SDK: an extra

    def print_lines(address: str) -> None:
        url = f"{address}/mcp"
        click.echo(json.dumps({"url": url}) if as_json else f"phronesis: MCP at {url}", err=True)

    _collect_again()
    run_http(server, host=host, port=port, say=print_lines)


def _collect_again() -> None:
    """Let the collector run again, over what is made from now on."""
    gc.freeze()
    gc.enable()


@click.command()
@click.option("--host", metavar="NAME", help="Where it listens; default: 127.0.0.1, this machine alone.")
@click.option("--port", type=int, metavar="NUMBER", help="The port; default: 8765, 0 for one that is free.")
@click.option("--keys-required/--no-keys-required", default=None, help="Ask every caller for an API key.")
@click.option("--allow-host", "allowed_hosts", metavar="NAME", multiple=True, help="A name it answers to; repeatable.")
@click.option("--cors-origin", "cors_origins", metavar="URL", multiple=True, help="A site whose pages may call it.")
@with_store
def http(*, store: Store, **options: Any) -> None:
    """Serve the web pages, an HTTP API and MCP.

    Without API keys only this machine reaches it. 'serve keys create' makes one; from then on every caller needs one,
    and --host 0.0.0.0 may be given. Ctrl-C or SIGTERM finishes the requests that run.
    """
    gc.disable()  # until it listens: nothing that is imported is garbage, and looking through it takes a twelfth
    try:
        _serve(store, {name: value for name, value in options.items() if value not in (None, ())})
    finally:
        gc.enable()


def _serve(store: Store, given: dict[str, Any]) -> None:
    from phronesis.interfaces.server_process import serve  # noqa: PLC0415 - SQLAlchemy and numpy: not for --help
    from phronesis.wiring import read_settings  # noqa: PLC0415 - pydantic: not for --help

    policy = read_settings(store.url, tenant=store.tenant, policy=store.policy).policy
    serving = policy.server.overridden(given)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
    logging.getLogger("phronesis.access").setLevel(logging.INFO)
    with store.open() as memory:
        serve(memory, serving, say=lambda url: _say_address(store, url))


def _say_address(store: Store, url: str) -> None:
    _collect_again()
    if store.as_json:
        print_json({"url": url})
    else:
        print_lines(f"Phronesis listens at {url}", f"    API        {url}/api/v1", f"    documented {url}/docs")
    sys.stdout.flush()


@click.command()
@click.option("--once", is_flag=True, help="Do what is to be done now, and stop.")
@with_store
@click.pass_context
def worker(ctx: click.Context, *, once: bool, store: Store) -> None:
    """Interpret what is pending and make vectors.

    Until it is stopped; for stores that many processes write to, or that are written to with wait=False. It may be
    stopped at any time, and several may run at once. The exit code of --once is 1 when a lane cannot be brought up to
    date.
    """
    from phronesis.worker import Worker  # noqa: PLC0415 - SQLAlchemy and numpy: not for --help

    with store.open() as memory:
        working = Worker(memory)
        if not once:
            working.run_until_signalled()
            return
        done = 0
        while more := working.work():
            done += more
        faults = {str(lane): fault.code for (_, lane), fault in working.faults.items()}
    store.answer({"done": done, "faults": faults}, render_reports.print_worked)
    if faults:
        ctx.exit(1)


# The daemon of a store.


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
    from phronesis.interfaces.daemon_server import run_daemon  # noqa: PLC0415 - the MCP SDK: not for --help

    if not run_daemon(store.name(), store.open_memory, run_for_client, idle_seconds=idle):
        click.echo("phronesis: another process is the daemon of this store", err=True)


@click.command()
@with_store
def start(*, store: Store) -> None:
    """Start the daemon of this store, unless it runs.

    Clients and hooks start it by themselves; start it beforehand to spare the first one the wait.
    """
    connection = connect(store.name(), {"service": "status"}, start_seconds=60)
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
    _show_status(store, connect(store.name(), {"service": "status"}))


@click.command()
@with_store
def stop(*, store: Store) -> None:
    """Stop the daemon of this store.

    Nothing is lost: whoever next needs the store starts the daemon again.
    """
    _show_status(store, connect(store.name(), {"service": "stop"}), ended=True)


def _show_status(store: Store, connection: Connection | None, *, ended: bool = False) -> None:
    if connection is None:
        store.answer({"running": False}, lambda _facts: print_lines("No daemon runs for this store."))
        return
    connection.close()
    facts = {"running": not ended, **connection.hello}
    verb = "stops" if ended else "runs"
    line = f"Phronesis {facts['version']} {verb}: process {facts['pid']}, {facts['uptime']} s old, {facts['url']}"
    store.answer(facts, lambda _facts: print_lines(line))


# The API keys of callers.


@click.command()
@click.option("--role", type=click.Choice(["read", "write", "admin"]), required=True, help="What the key may do.")
@click.option("--label", metavar="TEXT", required=True, help="Whose it is, or what for.")
@click.option("--actor", metavar="NAME", default="agent", show_default=True, help="Whom the history names.")
@click.option("--user", "user_id", metavar="NAME", help="Act for this user alone; with read or write.")
@with_store
def create_key(*, role: str, label: str, actor: str, user_id: str | None, store: Store) -> None:
    """Create a key, and print its token this one time.

    read searches and composes, write stores and changes, admin also erases, exports and looks across users. As soon as
    a tenant has a key, its server asks every caller for one.
    """
    with store.open() as memory:
        token, key = memory.admin.keys.create(role, label=label, actor=actor, user_id=user_id)
    kept = f"    {role} key {short_id(key.id)} of tenant {key.tenant}; it is not kept: copy it now"
    store.answer({"token": token, "key": key}, lambda _: print_lines(token, kept))


def _say_keys(keys: Sequence[ApiKey]) -> None:
    rows = []
    for one in keys:
        state = "active" if one.revoked_at is None else f"revoked {one.revoked_at:%Y-%m-%d}"
        about = (short_id(one.id), one.role.name.lower(), one.user_id, one.actor, f"{one.created_at:%Y-%m-%d}")
        rows.append((*about, state, one.label))
    head = ("id", "role", "user", "actor", "made", "state", "label")
    say_table(rows, head=head, nothing="there are no keys: the server takes anybody on this machine, and nobody else")


@command(show=_say_keys)
def list_keys(memory: "Memory") -> Any:
    """List keys and OAuth grants, revoked ones too.

    Each with its id, role, user, label and actor; a token cannot be read again.
    """
    return memory.admin.keys.list()


@command(click.argument("key_id", metavar="ID", type=ShortId()), show=lambda key: _say_keys([key]))
def revoke_key(memory: "Memory", key_id: str) -> Any:
    """Revoke a key, or the grant of an OAuth client.

    Servers refuse it within seconds, and the grants that were made with it. It stays in the list, with the time, and
    cannot be restored: create another.
    """
    return memory.admin.keys.revoke(key_id)
