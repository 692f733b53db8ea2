"""The arithmetic of shares and of lending."""

from hypothesis import given
from hypothesis import strategies as st

from phronesis.compose.budget_selection import SlotLedger, shares

CAPS = st.dictionaries(
    st.sampled_from(["system_blocks", "working_summary", "recent_turns", "evidence"]), st.integers(-10, 5_000)
)


@given(available=st.integers(-10, 10_000), caps=CAPS)
def test_shares_never_exceed_what_is_there_nor_their_caps(available: int, caps: dict[str, int]) -> None:
    given_out = shares(available, caps)
    assert set(given_out) == set(caps)
    assert sum(given_out.values()) <= max(0, available)
    assert all(0 <= share <= max(0, caps[slot]) for slot, share in given_out.items())


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
    ledger.release("evidence", 85)
    assert ledger.spare() == 90


@given(
    available=st.integers(-10, 2_000),
    caps=CAPS,
    asked=st.lists(
        st.tuples(
            st.sampled_from(["system_blocks", "working_summary", "recent_turns", "evidence"]),
            st.booleans(),
            st.integers(0, 900),
        ),
        max_size=12,
    ),
)
def test_who_asks_first_never_uses_more_than_is_there(
    available: int, caps: dict[str, int], asked: list[tuple[str, bool, int]]
) -> None:
    ledger = SlotLedger(available, caps)
    for slot, own, wished in asked:
        if slot in caps:
            room = ledger.own(slot) if own else ledger.room(slot)
            assert 0 <= room <= ledger.spare()
            ledger.use(slot, min(room, wished))
    report = ledger.report()
    assert sum(row["used"] for row in report.values()) <= max(0, available)
    assert ledger.spare() >= 0
