"""README.md tells the truth: its Python runs, its commands exist, its links lead somewhere."""

import re
from pathlib import Path

import pytest

from shown_commands import shown_commands, unknown_words

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text("utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)


def test_there_is_something_to_run() -> None:
    assert BLOCKS
    assert list(shown_commands(README))


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_python_runs(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    exec(compile(block, "README.md", "exec"), {})  # noqa: S102 - our own words


def test_commands_exist_with_their_options() -> None:
    assert [word for line in shown_commands(README) for word in unknown_words(line)] == []


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    targets = re.findall(r"^make (\w+)", README, re.MULTILINE)
    assert targets == ["demo", "test"]
    assert all(re.search(rf"^{target}:", makefile, re.MULTILINE) for target in targets)


@pytest.mark.parametrize("page", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "tests/README.md"])
def test_links_lead_somewhere(page: str) -> None:
    links = re.findall(r"\]\((?!https?:)([^)#]+)[^)]*\)", (ROOT / page).read_text("utf-8"))
    assert [link for link in links if not (ROOT / page).parent.joinpath(link).exists()] == []
