"""The pages of reference are those that the code gives."""

from pathlib import Path

from phronesis.interfaces.cli.commands import cli, every_command
from phronesis.interfaces.reference import PAGES
from phronesis.interfaces.reference.__main__ import write_pages

DOCS = Path(__file__).parents[2] / "docs"


def test_every_page_is_what_the_code_gives() -> None:
    for path, page in PAGES.items():
        assert (DOCS / path).read_text("utf-8") == page(), "run: python -m phronesis.interfaces.reference docs"


def test_the_pages_are_written_where_they_are_wanted(tmp_path: Path) -> None:
    write_pages(tmp_path)
    assert {file.relative_to(tmp_path).as_posix() for file in tmp_path.rglob("*.md")} == set(PAGES)


def test_every_command_has_its_place() -> None:
    page = (DOCS / "cli.md").read_text("utf-8")
    assert all(f"\n### phronesis {path}\n" in page for path, _ in every_command(cli))
