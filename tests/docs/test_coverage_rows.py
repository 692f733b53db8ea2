"""docs/decisions/coverage.md has every row, and what it names is there."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
STATUSES = {"not yet", "partly", "done"}
COUNTS = {"RB": 24, "EMB": 16, "SB": 14, "NM": 15, "LAW": 11}
IDS = [f"{area}-{number:02}" for area, count in COUNTS.items() for number in range(1, count + 1)] + ["RB-x"]


@dataclass(frozen=True)
class Row:
    """A row of the table."""

    id: str
    holds: str
    code: str
    test: str
    status: str


def rows(markdown: str) -> Iterator[Row]:
    for line in markdown.splitlines():
        if re.match(r"\| [A-Z]+-\w+ \|", line):
            cells = [cell.strip() for cell in line.removeprefix("|").removesuffix("|").split("|")]
            assert len(cells) == 5, line
            yield Row(*cells)


def problems(row: Row) -> Iterator[str]:
    """Yield what a row claims and the tree does not have."""
    if row.status not in STATUSES:
        yield f"{row.id}: unknown status {row.status!r}"
    if row.status == "done" and not (_named(row.code) and _named(row.test)):
        yield f"{row.id}: done, but code or test is not named"
    for name in _named(row.code) + _named(row.test):
        path, *inside = name.split("::")
        if not (ROOT / path).exists():
            yield f"{row.id}: no {path}"
        elif inside and ".".join(inside) not in _definitions(path):
            yield f"{row.id}: no {name}"
    for name in _named(row.test):
        if not re.match(r"tests/\S+\.py(::\w+)+$", name):
            yield f"{row.id}: {name} is not the name of a test"


def _named(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


@cache
def _definitions(path: str) -> set[str]:
    """Return the classes and functions of a module: "f", "A", "A.f"."""
    found = set()
    for node in ast.parse((ROOT / path).read_text("utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
            found.update(f"{node.name}.{inner.name}" for inner in ast.iter_child_nodes(node) if hasattr(inner, "name"))
    return found


ROWS = list(rows((ROOT / "docs" / "decisions" / "coverage.md").read_text("utf-8")))


def test_every_id_has_one_row() -> None:
    assert sorted(row.id for row in ROWS) == sorted(IDS)


def test_what_the_rows_name_exists() -> None:
    assert [problem for row in ROWS for problem in problems(row)] == []
