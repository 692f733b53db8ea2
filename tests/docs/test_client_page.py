"""docs/client.md tells the truth: its Python runs against a server, and what it says is missing is missing."""

import re
from pathlib import Path

from loopback_server import served_api
from phronesis import Memory
from phronesis.config.server import Serving
from phronesis.interfaces.http.app import make_app

PAGE = (Path(__file__).parents[2] / "docs" / "client.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_its_python_runs_in_order(tmp_path: Path) -> None:
    assert len(BLOCKS) == 2
    names: dict[str, object] = {}
    with (
        Memory.open(f"sqlite:///{tmp_path / 'm.db'}", policy={"embedder": "none"}) as memory,
        served_api(make_app(memory, Serving())) as address,
    ):
        for block in BLOCKS:
            told = block.replace("http://127.0.0.1:8765", address)
            assert told != block
            exec(compile(told, "client.md", "exec"), names)  # noqa: S102 - our own words
