"""docs/forgetting.md tells the truth: its Python runs, its policy is the one that holds, its commands are there."""

import re
from pathlib import Path

import yaml

from phronesis.config import Policy
from phronesis.config.conversation import ForgettingRules
from phronesis.interfaces.cli import commands

PAGE = (Path(__file__).parents[2] / "docs" / "forgetting.md").read_text("utf-8")


def _blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def test_its_python_runs_in_order() -> None:
    assert _blocks("python")
    names: dict[str, object] = {}
    for block in _blocks("python"):
        exec(compile(block, "forgetting.md", "exec"), names)  # noqa: S102 - our own words


def test_its_policy_names_the_defaults() -> None:
    [block] = _blocks("yaml")
    told = yaml.safe_load(block)["forgetting"]
    assert ForgettingRules.model_validate(told) == Policy().forgetting
    assert set(told) == set(ForgettingRules.model_fields) - {"hours"}


def test_every_command_is_there() -> None:
    named = set(re.findall(r"^phronesis (\w+)", PAGE, re.MULTILINE))
    assert named == {"forget", "unarchive"}
    assert named <= set(commands.cli.commands)
