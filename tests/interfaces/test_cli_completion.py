"""``phronesis --completion``: what it prints is what click's shells read, and what they then ask is answered."""

from pathlib import Path
from typing import Any

import pytest

from phronesis.interfaces.cli.commands import COMPLETED
from phronesis.interfaces.cli.dispatch import run


def test_it_prints_a_script_that_asks_this_command(call: Any) -> None:
    for shell in ("bash", "zsh", "fish"):
        shown = call("--completion", shell)
        assert shown.code == 0
        assert f"{COMPLETED}={shell}_complete" in shown.out
        assert "phronesis" in shown.out
    assert call("completion", "tcsh").code == 2


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("phronesis sea", ["plain,search"]),
        ("phronesis search tea --kind prin", ["plain,principle"]),
        ("phronesis runs ba", ["plain,batch"]),
        ("phronesis runs batch ", ["file,"]),
        ("phronesis batch ", ["file,"]),
        ("phronesis serve ke", ["plain,keys"]),
        ("phronesis serve --por", ["plain,--port"]),
        ("phronesis serve --host x --por", ["plain,--port"]),
        ("phronesis learn traits --min-stage em", ["plain,emerging"]),
        ("phronesis search --explai", ["plain,--explain"]),
    ],
)
def test_what_a_shell_asks_is_answered(
    *,
    line: str,
    found: list[str],
    store: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.setenv(COMPLETED, "bash_complete")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
    with pytest.raises(SystemExit) as left:
        run([])
    assert left.value.code == 0
    assert capsys.readouterr().out.split() == found
    assert not (tmp_path / "cli.db").exists(), "no key press opens a store"
