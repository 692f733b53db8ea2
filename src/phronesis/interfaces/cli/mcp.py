"""The command that serves models."""

import gc
import json
from typing import Any

import click

from phronesis.interfaces.cli.options import Scope, Store, with_owner, with_store


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
@with_owner
@with_store
def mcp(*, store: Store, scope: Scope, http: bool, host: str, port: int, **options: Any) -> None:
    """Serve this memory to models over the Model Context Protocol.

    Over stdio, for a client that starts this command itself (Claude Desktop, Claude Code, Cursor, VS Code), or with
    --http for clients on this machine. --user and --namespace say whose memory is meant where a call does not. Over
    stdio the store is opened by the first call that needs it.
    """
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
    from phronesis.interfaces.mcp.serving import run_stdio  # noqa: PLC0415 - the SDK: an extra

    _collect_again()
    run_stdio(server)


def _over_http(server: Any, host: str, port: int, *, as_json: bool) -> None:
    from phronesis.interfaces.mcp.serving import run_http  # noqa: PLC0415 - the SDK: an extra

    def say(address: str) -> None:
        url = f"{address}/mcp"
        click.echo(json.dumps({"url": url}) if as_json else f"phronesis: MCP at {url}", err=True)

    _collect_again()
    run_http(server, host=host, port=port, say=say)


def _collect_again() -> None:
    """Let the collector run again, over what is made from now on."""
    gc.freeze()
    gc.enable()
