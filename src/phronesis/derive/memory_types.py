"""What docs/memory-types.md says of a key: whether it holds one value or many."""

from functools import cache
from importlib.resources import files
from typing import Final, cast, get_args

from phronesis.core.proposals import Cardinality

TYPES_VERSION: Final = "memory-types/1"

FAMILY: Final = ".*"
"""The end of a key that stands for a family: ``favorite.*``."""


def cardinality_of(key: str) -> Cardinality | None:
    """Give the cardinality of a key, None for one that the page does not know."""
    known = _cardinalities()
    head, dot, rest = key.partition(".")
    return known.get(key) or (known.get(head + FAMILY) if dot and rest else None)


@cache
def _cardinalities() -> dict[str, Cardinality]:
    page = files("phronesis.derive").joinpath("memory-types.md").read_text("utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in page.splitlines() if line.startswith("| `")]
    found = {cells[0].strip("`"): cells[2] for cells in rows}
    return {key: cast("Cardinality", said) for key, said in found.items() if said in get_args(Cardinality)}
