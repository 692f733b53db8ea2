"""What is not Python: the conformance tool of MCP and the reference memory server, from npm, into ``.build/``.

What lies in ``frameworks`` runs in the environment of its framework alone: see ``environments``.
"""

import fcntl
import os
import shutil
import subprocess
from pathlib import Path

import pytest

collect_ignore = ["frameworks"]

FOLDER = Path(__file__).parents[2] / ".build" / "conformance"
PACKAGES = ("@modelcontextprotocol/conformance@0.1.16", "@modelcontextprotocol/server-memory@2026.8.31", "node@22.23.3")
"""The gate's version, the server whose tools we give, and the Node that both need."""


@pytest.fixture(scope="session")
def node_modules() -> Path:
    """Return the folder of the packages; installs them once."""
    npm = shutil.which("npm")
    if npm is None and not os.environ.get("CI"):
        pytest.skip("npm is not here: the conformance tool of MCP cannot be installed")
    assert npm is not None, "npm is missing: install Node.js, so that the conformance gate of MCP can run"
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one of the test processes installs, the others wait
        done = FOLDER / "installed"
        if not done.exists() or done.read_text("utf-8") != repr(PACKAGES):
            subprocess.run(
                [npm, "install", "--prefix", str(FOLDER), "--no-audit", "--no-fund", "--no-save", *PACKAGES],
                check=True, timeout=600, capture_output=True,
            )  # fmt: skip
            done.write_text(repr(PACKAGES), "utf-8")
    return FOLDER / "node_modules"
