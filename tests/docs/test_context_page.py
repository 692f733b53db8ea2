"""docs/context-package.md tells the truth: its Python runs, its tables name what there is."""

import re
from dataclasses import asdict
from pathlib import Path

from phronesis.compose.selection import COUNT_LIMIT, SHOWN_ALREADY, SLOT_BUDGET, TOTAL_BUDGET
from phronesis.core.context import SLOTS, Budget

PAGE = (Path(__file__).parents[2] / "docs" / "context-package.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_its_python_runs_in_order() -> None:
    assert len(BLOCKS) >= 5
    names: dict[str, object] = {}
    for block in BLOCKS:
        exec(compile(block, "context-package.md", "exec"), names)  # noqa: S102 - our own words


def test_the_slots_stand_in_their_order() -> None:
    rows = re.findall(r"^\| `(\w+)` \| [^|]+ \| [^|]+ \|$", PAGE, re.MULTILINE)
    assert tuple(rows[: len(SLOTS)]) == SLOTS


def test_every_budget_is_there_with_its_default() -> None:
    assert [name for name, default in asdict(Budget()).items() if f"| `{name}` | {default} |" not in PAGE] == []


def test_every_reason_is_there() -> None:
    assert all(f"`{reason}`" in PAGE for reason in (COUNT_LIMIT, SHOWN_ALREADY, SLOT_BUDGET, TOTAL_BUDGET))
