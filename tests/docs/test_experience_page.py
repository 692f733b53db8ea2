"""docs/experience.md tells the truth: its Python runs, its table names every source, its commands are there."""

import re
from pathlib import Path

from phronesis.experience.sources.registry import SOURCES
from phronesis.interfaces.cli import commands, experience

PAGE = (Path(__file__).parents[2] / "docs" / "experience.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_its_python_runs_in_order() -> None:
    assert len(BLOCKS) >= 6
    names: dict[str, object] = {}
    for block in BLOCKS:
        exec(compile(block, "experience.md", "exec"), names)  # noqa: S102 - our own words


def test_every_source_is_in_the_table() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", PAGE, re.MULTILINE)
    assert sorted(rows) == sorted(SOURCES) == sorted(experience.SOURCES)


def test_every_command_is_there() -> None:
    named = set(re.findall(r"phronesis (\w+)", PAGE.split("## On the command line")[1]))
    assert named == {"ingest", "aggregate", "abstract", "query", "feedback", "forget"}
    assert named <= set(commands.cli.commands)
