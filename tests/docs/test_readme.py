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


def test_commands_exist_with_their_options() -> None:
    for line in COMMANDS:
        name, *arguments = line.split()
        command = cli.commands[name]
        if isinstance(command, click.Group):
            inner = arguments.pop(0) if arguments and not arguments[0].startswith("-") else "list"
            command = command.commands[inner]
        known = {option for parameter in command.params for option in parameter.opts}
        assert [word for word in arguments if word.startswith("--") and word not in known] == [], line


def test_commands_that_are_named_in_the_text_exist() -> None:
    named = set(re.findall(r"`phronesis (\w[\w-]*)", README))
    assert named <= set(cli.commands)


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = re.findall(r"^make (\w+)", README, re.MULTILINE)
    assert targets == ["demo", "test"]
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert [link for link in links if not (ROOT / link).exists()] == []
