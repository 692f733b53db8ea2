"""docs/how-to/client.md tells the truth: its Python runs, against a server where it needs one."""

import re
from pathlib import Path

import pytest

from loopback_server import served_api
from phronesis import Memory
from phronesis.config.server import Serving
from phronesis.interfaces.http.app import make_app

PAGE = (Path(__file__).parents[2] / "docs" / "how-to/client.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_its_python_runs_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names: dict[str, object] = {}
    monkeypatch.chdir(tmp_path)  # the outbox is a file beside the program
    with (
        Memory.open(f"sqlite:///{tmp_path / 'm.db'}", policy={"embedder": "none"}) as memory,
        served_api(make_app(memory, Serving())) as address,
    ):
        assert "http://127.0.0.1:8765" in BLOCKS[0]
        for block in BLOCKS:
            told = block.replace("http://127.0.0.1:8765", address)
            exec(compile(told, "client.md", "exec"), names)  # noqa: S102 - our own words
