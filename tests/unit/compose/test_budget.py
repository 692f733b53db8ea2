"""The arithmetic of shares and of lending."""

from phronesis.compose.budget_selection import SlotLedger, shares


def test_caps_are_kept_when_there_is_room_and_cut_in_proportion_when_not() -> None:
    assert shares(100, {"a": 30, "b": 10}) == {"a": 30, "b": 10}
    assert shares(20, {"a": 30, "b": 10}) == {"a": 15, "b": 5}
    assert shares(0, {"a": 30, "b": 0}) == {"a": 0, "b": 0}


def test_evidence_and_turns_borrow_beyond_their_cap_and_others_never() -> None:
    ledger = SlotLedger(100, {"system_blocks": 80, "recent_turns": 40, "evidence": 80})
    assert (ledger.own("system_blocks"), ledger.own("recent_turns"), ledger.own("evidence")) == (40, 20, 40)
    ledger.use("system_blocks", 10)
    assert (ledger.spare(), ledger.own("system_blocks"), ledger.room("system_blocks")) == (90, 30, 30)
    assert ledger.room("evidence") == ledger.room("recent_turns") == 90
    assert (ledger.room("evidence", held=20), ledger.room("evidence", held=-5), ledger.room("evidence", held=95)) == (
        70,
        90,
        0,
    )
    ledger.use("evidence", 85)
    assert (ledger.own("recent_turns"), ledger.own("evidence"), ledger.room("system_blocks")) == (5, 0, 5)
    assert ledger.report() == {
        "system_blocks": {"cap": 80, "share": 40, "used": 10, "borrowed": 0},
        "recent_turns": {"cap": 40, "share": 20, "used": 0, "borrowed": 0},
        "evidence": {"cap": 80, "share": 40, "used": 85, "borrowed": 45},
    }
    ledger.use("evidence", -85)
    assert ledger.spare() == 90
