"""The command that serves models."""

import gc
import json
import logging
import sys
from typing import Any

import click

from phronesis.config.locations import daemon_enabled
from phronesis.interfaces.cli.daemon import relay_stdio
from phronesis.interfaces.cli.options import Scope, Store, with_owner, with_store
from phronesis.interfaces.cli.output import say, say_json


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
def mcp(*, store: Store, scope: Scope, http: bool, host: str, port: int, alone: bool, **options: Any) -> None:
    """Serve this memory to models over the Model Context Protocol.

    Over stdio, for a client that starts this command itself (Claude Desktop, Claude Code, Cursor, VS Code), or with
    --http for clients on this machine. --user and --namespace say whose memory is meant where a call does not. Over
    stdio the store is opened by the daemon (phronesis daemon), which all sessions share.
    """
    if not (http or alone) and daemon_enabled() and relay_stdio(store, {**scope.named(), **options}):
        return
    gc.disable()  # until tools can be listed: nothing that is imported is garbage
    from phronesis.interfaces.mcp import DeferredMemory, Options, make_mcp  # noqa: PLC0415 - not for --help

    offered = Options(**scope.named(), **options)
    if http:
        with store.open() as memory:
            _over_http(make_mcp(memory, offered), host, port, as_json=store.as_json)
        return
    deferred = DeferredMemory(store.open)
    try:
        _over_stdio(make_mcp(deferred, offered))
    finally:
        deferred.close_if_opened()


def _over_stdio(server: Any) -> None:
    from phronesis.interfaces.mcp.server import run_stdio  # noqa: PLC0415 - the SDK: an extra

    _collect_again()
    run_stdio(server)


def _over_http(server: Any, host: str, port: int, *, as_json: bool) -> None:
    from phronesis.interfaces.mcp.server import run_http  # noqa: PLC0415 - the SDK: an extra

    def say(address: str) -> None:
        url = f"{address}/mcp"
        click.echo(json.dumps({"url": url}) if as_json else f"phronesis: MCP at {url}", err=True)

    _collect_again()
    run_http(server, host=host, port=port, say=say)


def _collect_again() -> None:
    """Let the collector run again, over what is made from now on."""
    gc.freeze()
    gc.enable()


# The server, from the command line.


@click.command()
@click.option("--host", metavar="NAME", help="Where it listens; default 127.0.0.1, this machine alone.")
@click.option("--port", type=int, metavar="NUMBER", help="The port; default 8765, 0 for one that is free.")
@click.option("--keys-required/--no-keys-required", default=None, help="Ask everybody for an API key.")
@click.option("--allow-host", "allowed_hosts", metavar="NAME", multiple=True, help="A name it answers to; repeatable.")
@click.option("--cors-origin", "cors_origins", metavar="URL", multiple=True, help="A site whose pages may call it.")
@with_store
def serve(*, store: Store, **options: Any) -> None:
    """Serve HTTP, until stopped.

    Without API keys only this machine reaches it. 'keys create' makes one; from then on everybody needs one, and
    --host 0.0.0.0 may be given. Ctrl-C or SIGTERM finishes what runs.
    """
    gc.disable()  # until it listens: nothing that is imported is garbage, and looking through it takes a twelfth
    try:
        _serve(store, {name: value for name, value in options.items() if value not in (None, ())})
    finally:
        gc.enable()


def _serve(store: Store, given: dict[str, Any]) -> None:
    from phronesis.interfaces.server_process import serve as run  # noqa: PLC0415 - SQLAlchemy and numpy: the same
    from phronesis.wiring.engines import read_settings  # noqa: PLC0415 - pydantic: not for --help

    policy = read_settings(store.url, tenant=store.tenant, policy=store.policy).policy
    serving = policy.server.overridden(given)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(message)s")
    logging.getLogger("phronesis.access").setLevel(logging.INFO)
    with store.open() as memory:
        run(memory, serving, say=lambda url: _listens(store, url))


def _listens(store: Store, url: str) -> None:
    gc.freeze()
    gc.enable()
    if store.as_json:
        say_json({"url": url})
    else:
        say(f"Phronesis listens at {url}", f"    API        {url}/api/v1", f"    documented {url}/docs")
    sys.stdout.flush()
