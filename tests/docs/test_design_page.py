"""docs/design.md tells the truth: its Python runs in order, its links lead somewhere, the verbs that it names exist."""

import re
from pathlib import Path

import pytest

from phronesis.core.context import SLOTS

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "design.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_its_python_runs_in_order() -> None:
    assert len(BLOCKS) >= 5
    names: dict[str, object] = {}
    for number, block in enumerate(BLOCKS):
        exec(compile(block, f"design.md, block {number}", "exec"), names)  # noqa: S102 - our own words


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\(([\w./-]+)\)", PAGE))))
def test_a_link_leads_somewhere(link: str) -> None:
    assert (DOCS / link).exists()


def test_the_slots_are_named_in_their_order() -> None:
    assert ", ".join(f"`{slot}`" for slot in SLOTS) in PAGE


def test_it_has_a_summary_in_chinese() -> None:
    summary = PAGE.partition("## 中文摘要")[2]
    assert len(re.findall(r"[\u4e00-\u9fff]", summary)) > 300
    assert all(f"`{verb}`" in summary for verb in ("commit_turn", "plan", "retrieve", "compose_context", "erase"))
