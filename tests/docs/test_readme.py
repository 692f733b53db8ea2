"""README.md tells the truth: its Python runs, its commands exist, its links lead somewhere."""

import re
from pathlib import Path

import click
import pytest

from phronesis.interfaces.cli.commands import find_command

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
        command, rest = find_command(line.split())
        known = {option for parameter in command.params for option in parameter.opts}
        if isinstance(command, click.Group):  # its default command
            known |= {option for one in command.commands.values() for item in one.params for option in item.opts}
        assert [word for word in rest if word.startswith("--") and word not in known] == [], line


def test_commands_that_are_named_in_the_text_exist() -> None:
    for named in set(re.findall(r"`phronesis (\w[\w-]*)", README)):
        find_command([named])


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = re.findall(r"^make (\w+)", README, re.MULTILINE)
    assert targets == ["demo", "test"]
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert [link for link in links if not (ROOT / link).exists()] == []
