"""What the tests of adapters share: a memory that is found by words, and the examples of the how-to pages."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from conformance.opened import opened
from phronesis import Memory

PAGES = Path(__file__).parents[3] / "docs" / "how-to"


@pytest.fixture
def memory() -> Iterator[Memory]:
    with opened() as one:
        yield one


@pytest.fixture
def run_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that runs each block of Python of a page, in order, with the names that are given."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PHRONESIS_URL", "sqlite:///memory.db")

    def run(name: str, **known: Any) -> None:
        blocks = re.findall(
            r"^```python\n(.*?)^```$", (PAGES / f"{name}.md").read_text("utf-8"), re.DOTALL | re.MULTILINE
        )
        assert blocks, name
        for block in blocks:
            exec(compile(block, f"{name}.md", "exec"), known)  # noqa: S102 - our own words

    return run
