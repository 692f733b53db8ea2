"""CONTRIBUTING.md and ARCHITECTURE.md name files that exist."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "phronesis"


def named_files(page: str) -> set[str]:
    """Return what a page writes as code and looks like a path of Python, from the root or from the package."""
    text = (ROOT / page).read_text("utf-8")
    return set(re.findall(r"`([\w/.-]+(?:\.py|/))`", text)) - {"laws/"}


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "ARCHITECTURE.md"])
def test_the_files_that_a_page_names_exist(page: str) -> None:
    files = {name for name in named_files(page) if "/" in name}
    assert files
    folders = (ROOT, PACKAGE, *(folder for folder in PACKAGE.iterdir() if folder.is_dir()))
    assert {name for name in files if not any((folder / name).exists() for folder in folders)} == set()


def test_every_package_is_in_the_table_of_rooms() -> None:
    table = (ROOT / "ARCHITECTURE.md").read_text("utf-8")
    rooms = {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").exists()}
    assert {room for room in rooms if f"`{room}/`" not in table} == set()
