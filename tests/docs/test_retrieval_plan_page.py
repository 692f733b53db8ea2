"""docs/retrieval-plan.md tells the truth: its Python runs, its JSON is a plan, its table names every field."""

import json
import re
from dataclasses import fields
from pathlib import Path

from phronesis.core.retrieval_plan import INTENTS, MODES, ORIGINS, RetrievalPlan
from phronesis.interfaces.cli import commands

PAGE = (Path(__file__).parents[2] / "docs" / "retrieval-plan.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_its_python_runs_in_order() -> None:
    assert len(BLOCKS) == 2
    names: dict[str, object] = {}
    for block in BLOCKS:
        exec(compile(block, "retrieval-plan.md", "exec"), names)  # noqa: S102 - our own words


def test_its_json_is_a_plan_with_every_field() -> None:
    [text] = re.findall(r"^```json\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)
    given = json.loads(text)
    assert RetrievalPlan.from_dict(given).to_dict() == given
    assert list(given) == [one.name for one in fields(RetrievalPlan)]


def test_its_table_names_every_field_and_word() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE, re.MULTILINE)
    assert [name for name, _ in rows] == [one.name for one in fields(RetrievalPlan)]
    told = dict(rows)
    for name, words in (("intent", INTENTS), ("modes", MODES), ("queries", ORIGINS)):
        assert all(f"`{word}`" in told[name] for word in words)
    assert "plan" in commands.cli.commands
