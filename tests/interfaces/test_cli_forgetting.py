"""The commands forget and unarchive: rows, reasons, what is kept, and the way back."""

from typing import Any

import pytest

LONG_AGO = "2020-01-01"


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


def test_an_expired_intention_is_told_put_away_and_brought_back(call: Any, wide: None) -> None:
    stated = call("add", "Visit the lantern festival", "--kind", "intention", "--expires", LONG_AGO, "--json").json
    one = stated["items"][0]["id"]
    foreseen = call("memory", "forget", "--dry-run").out
    assert f"would archive  intention  {one[-8:]}  expired  its time was over on 2020-01-01" in foreseen
    assert "1 archive" in foreseen
    assert "rollback" not in foreseen
    assert [item["id"] for item in call("list", "--json").json] == [one]
    done = call("memory", "forget", "--kind", "intention")
    assert "to take it back: phronesis rollback" in done.out
    assert call("memory", "forget").out.strip() == "nothing is to be forgotten"
    assert call("memory", "unarchive", one, "--reason", "still wanted").code == 0
    assert [item["id"] for item in call("list", "--json").json] == [one]
    wrong = call("memory", "forget", "--kind", "trait")
    assert (wrong.code != 0, "kinds must be a list" in wrong.err) == (True, True)
