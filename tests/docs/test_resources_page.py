"""docs/resources.md tells the truth: its Python runs, and its commands are there."""

import re
from pathlib import Path

from phronesis.interfaces.cli import commands

PAGE = (Path(__file__).parents[2] / "docs" / "resources.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_its_python_runs_in_order() -> None:
    assert len(BLOCKS) >= 5
    names: dict[str, object] = {}
    for block in BLOCKS:
        exec(compile(block, "resources.md", "exec"), names)  # noqa: S102 - our own words


def test_every_command_is_there() -> None:
    told = set(re.findall(r"phronesis (\w+) (\w+)?", PAGE.split("## On the command line")[1]))
    group = commands.cli.commands["resource"]
    assert {name for name, _ in told} == {"resource", "plan"}
    assert {sub for name, sub in told if name == "resource"} == set(group.commands)  # type: ignore[attr-defined]
