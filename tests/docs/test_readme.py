"""README.md tells the truth: its Python runs, its commands exist, its links lead somewhere."""

import re
from pathlib import Path

import click
import pytest

from phronesis.interfaces.cli.commands import cli

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
COMMANDS = re.findall(r"^phronesis (.+?)(?: +#.*)?$", README, re.MULTILINE)


def test_there_is_something_to_run() -> None:
    assert BLOCKS
    assert COMMANDS


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_python_runs(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {})  # noqa: S102 - our own words


def test_the_example_has_ten_lines() -> None:
    assert len([line for line in BLOCKS[0].splitlines() if line.strip()]) <= 11


@pytest.mark.parametrize("line", COMMANDS)
def test_command_exists_with_its_options(line: str) -> None:
    name, *arguments = line.split()
    command = cli.commands[name]
    if isinstance(command, click.Group):
        inner = arguments.pop(0) if arguments and not arguments[0].startswith("-") else "list"
        command = command.commands[inner]
    known = {option for parameter in command.params for option in parameter.opts}
    assert [word for word in arguments if word.startswith("--") and word not in known] == []


def test_commands_that_are_named_in_the_text_exist() -> None:
    named = set(re.findall(r"`phronesis (\w[\w-]*)", README))
    assert named <= set(cli.commands)


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = re.findall(r"^make (\w+)", README, re.MULTILINE)
    assert targets == ["demo", "test"]
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)


@pytest.mark.parametrize("link", re.findall(r"\]\((?!https?:)([^)#]+)\)", README))
def test_link_leads_somewhere(link: str) -> None:
    assert (ROOT / link).exists()


def test_the_command_line_is_a_group_of_commands() -> None:
    assert all(isinstance(command, click.Command) for command in cli.commands.values())
