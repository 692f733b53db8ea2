"""docs/reasoning-bank.md tells the truth: its Python runs."""

import re
from pathlib import Path

import pytest

from model_server import ModelServer
from pug_server import Pug

PAGE = (Path(__file__).parents[2] / "docs" / "reasoning-bank.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_its_python_runs_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(BLOCKS) >= 5
    names: dict[str, object] = {}
    with ModelServer(Pug()) as pubchem:
        monkeypatch.setenv("PHRONESIS_PUBCHEM_URL", pubchem.base_url)
        for block in BLOCKS:
            exec(compile(block, "reasoning-bank.md", "exec"), names)  # noqa: S102 - our own words
    assert pubchem.requests
