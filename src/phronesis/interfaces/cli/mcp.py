"""The command that serves models."""

import json

import click

from phronesis.interfaces.cli.options import Scope, Store, with_owner, with_store


@click.command()
@click.option("--http", is_flag=True, help="Streamable HTTP at /mcp instead of stdio.")
@click.option("--host", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="With --http: loopback only.")
@click.option("--port", default=8765, show_default=True, type=click.IntRange(1, 65_535), help="With --http.")
@click.option("--read-only", is_flag=True, help="Leave out every tool that stores or changes something.")
@click.option("--reference-tools", is_flag=True, help="Also offer the nine tools of the reference memory server.")
@with_owner
@with_store
def mcp(
    *, store: Store, scope: Scope, http: bool, host: str, port: int, read_only: bool, reference_tools: bool
) -> None:
    """Serve this memory to models over the Model Context Protocol.

    Over stdio, for a client that starts this command itself (Claude Desktop, Claude Code, Cursor, VS Code), or with
    --http for clients on this machine. --user and --namespace say whose memory is meant where a call does not.
    """
    from phronesis.interfaces.mcp import Options, make_mcp  # noqa: PLC0415 - Memory's stages: not for --help

    options = Options(**scope.named(), read_only=read_only, reference_tools=reference_tools)
    with store.open() as memory:
        server = make_mcp(memory, options)
        from phronesis.interfaces.mcp.serving import run_http, run_stdio  # noqa: PLC0415 - the SDK: an extra

        if not http:
            run_stdio(server)
            return

        def say(address: str) -> None:
            url = f"{address}/mcp"
            click.echo(json.dumps({"url": url}) if store.as_json else f"phronesis: MCP at {url}", err=True)

        run_http(server, host=host, port=port, say=say)
