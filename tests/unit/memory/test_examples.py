"""The complete examples of the three faces run, and all print the same."""

import asyncio
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from loopback_server import served_api
from phronesis import Memory
from phronesis.config.server import Serving
from phronesis.interfaces.http.app import make_app

EXAMPLES = Path(__file__).parents[3] / "examples"


@pytest.mark.parametrize("face", ["memory", "async_memory", "client"])
def test_an_example_runs(
    face: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "brain.yml").write_text("version: 1\nembedder: none\n", "utf-8")
    monkeypatch.setenv("PHRONESIS_POLICY", str(tmp_path / "brain.yml"))
    main: Callable[[str], Any] = runpy.run_path(str(EXAMPLES / f"{face}.py"))["main"]
    url = f"sqlite:///{tmp_path / 'assistant.db'}"
    if face == "client":
        with Memory.open(url) as memory, served_api(make_app(memory, Serving())) as address:
            main(address)
    elif face == "async_memory":
        asyncio.run(main(url))
    else:
        main(url)
    stored, moved, _, use, found, proposals, *history = capsys.readouterr().out.splitlines()
    assert "I am allergic to peanuts" in stored
    assert "key=home_city, value=Bergen" in moved
    assert use.startswith("ItemUse(shown=")
    assert "used=" in use
    assert found.startswith("SearchResult(")
    assert "Bergen" in found
    assert "decision=SUPERSEDE" in proposals
    assert len(history) == 1
