"""The conformance tool of MCP against a server that ``make_mcp`` built, with the two tools its scenarios call.

Left out of its 0.1.16, and why (2026-11-23): the other scenarios of tools, resources and prompts call fixtures by name
(images, audio, sampling, elicitation, progress, logging, subscriptions) that would test the SDK and nothing of ours;
lists and ping are those of `tests/interfaces`;
``logging-set-level`` asks for a capability that the SDK withdrew with the protocol of 2026-07-28.
"""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp.server.mcpserver.exceptions import ToolError

from loopback_server import served_api
from phronesis import Memory
from phronesis.interfaces.mcp import make_mcp, mcp_app

pytestmark = pytest.mark.slow

GATE = [
    "server-initialize",
    "tools-call-simple-text",
    "tools-call-error",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
]


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with Memory.open("sqlite://", policy={"version": 1, "embedder": "none"}) as memory:
        server = make_mcp(memory)

        @server.tool(description="Give a text.")
        def test_simple_text() -> str:
            return "This is a simple text response for testing."

        @server.tool(description="Fail.")
        def test_error_handling() -> str:
            raise ToolError("This tool intentionally returns an error for testing")

        with served_api(mcp_app(server)) as root:
            yield f"{root}/mcp"


@pytest.mark.parametrize("scenario", GATE)
def test_scenario_passes(scenario: str, url: str, node_modules: Path, tmp_path: Path) -> None:
    program = node_modules / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
    done = subprocess.run(
        [node_modules / ".bin" / "node", program, "server", "--url", url, "--scenario", scenario],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 failed, 0 warnings" in done.stdout
