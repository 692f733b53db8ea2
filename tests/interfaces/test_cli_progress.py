"""Progress is shown on a terminal, and nowhere else."""

import io
import sys

import pytest

from phronesis.interfaces.cli.output import Progress, show_waiting


class Terminal(io.StringIO):
    """Says that it is a terminal."""

    def isatty(self) -> bool:
        return True


def test_a_pipe_sees_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with Progress() as progress, show_waiting("working"):
        progress("encoding", 1, 2)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_sees_a_bar_for_each_thing_done(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with Progress() as progress:
        for done in (1, 2):
            progress("encoding", done, 2)
        progress("searching", 3, 3)
    assert "encoding" in terminal.getvalue()
    assert "100%" in terminal.getvalue()
    assert "searching" in terminal.getvalue()


def test_a_terminal_sees_what_is_waited_for_and_then_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    with show_waiting("replaying"):
        assert terminal.getvalue() == "replaying …"
    assert terminal.getvalue().endswith("\r\x1b[K")
