"""Node, for tests that run TypeScript as it is."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def find_node(*, types: bool = True) -> str:
    """Return a Node, of which ``types`` asks that it runs TypeScript; skip if there is none."""
    for found in (shutil.which("node"), str(ROOT / ".build/agents/openclaw/node_modules/.bin/node")):
        if found and Path(found).exists():
            asked = subprocess.run(
                [found, "-p", "process.features.typescript"], capture_output=True, text=True, check=True
            )
            if not types or asked.stdout.strip() == "strip":
                return found
    pytest.skip("there is no node" + (" that runs TypeScript (22.18 or newer)" if types else ""))
