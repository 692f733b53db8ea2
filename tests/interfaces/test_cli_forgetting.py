"""The commands forget and unarchive: rows, reasons, what is kept, and the way back."""

from typing import Any

import pytest

from phronesis.experience.laws.records import ForgetResult, Forgotten
from phronesis.interfaces.cli.writing import MAX_KEPT, say_forgotten

LONG_AGO = "2020-01-01"


def _row(n: int, action: str = "archive", **given: Any) -> Forgotten:
    words = f"{action}: retention 0.10 below 0.25, 900 days without use"
    return Forgotten(f"item-{n}", "fact", action, words, why="low use", **given)


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def test_an_expired_intention_is_told_put_away_and_brought_back(call: Any, wide: None) -> None:
    stated = call("add", "Visit the lantern festival", "--kind", "intention", "--expires", LONG_AGO, "--json").json
    one = stated["items"][0]["id"]
    foreseen = call("forget", "--dry-run").out
    assert f"would archive  intention  mem:{one}  expired  its time was over on 2020-01-01" in foreseen
    assert "1 archive" in foreseen
    assert "rollback" not in foreseen
    assert [item["id"] for item in call("list", "--json").json] == [one]
    done = call("forget", "--kind", "intention")
    assert "to take it back: phronesis rollback" in done.out
    assert call("forget").out.strip() == "nothing is to be forgotten"
    assert call("unarchive", one, "--reason", "still wanted").code == 0
    assert [item["id"] for item in call("list", "--json").json] == [one]
    wrong = call("forget", "--kind", "trait")
    assert (wrong.code != 0, "kinds must be a list" in wrong.err) == (True, True)


def test_what_is_kept_is_told_with_what_keeps_it(capsys: pytest.CaptureFixture[str], wide: None) -> None:
    kept = tuple(_row(n, "keep", protected_by="pinned") for n in range(MAX_KEPT + 3))
    say_forgotten(ForgetResult(None, (_row(99),), {"archive": 1}, dry_run=True, kept=kept, more=True))
    told = capsys.readouterr().out.splitlines()
    assert told[0].startswith("would archive  fact  mem:item-99  low use  retention 0.10")
    assert told[2] == "1 archive; there may be more: call again"
    assert told[4] == "faded, and kept:"
    assert told[-1] == "and 3 more"
    assert len(told) == 5 + MAX_KEPT + 1


def test_what_is_recorded_and_not_yet_interpreted_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    say_forgotten(ForgetResult("e-1", pending=True))
    assert capsys.readouterr().out == "recorded as entry e-1; it will be interpreted later\n"
