"""The time that a question asks about, as whole UTC days, until not included."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth import assert_cut_off, repeated
from phronesis.recall.plan_queries import MAX_SCANNED, read_window

NOW = datetime(2025, 11, 20, 15, tzinfo=UTC)
"""A Thursday."""

PAST = [
    ("between March and May", "2025-03-01", "2025-06-01"),
    ("between last Monday and yesterday", "2025-11-17", "2025-11-20"),
    ("between Christmas and New Year's", "2024-12-25", "2025-01-02"),
    ("from the 3rd to the 7th of June", "2025-06-03", "2025-06-08"),
    ("6月3号到7号", "2025-06-03", "2025-06-08"),
    ("since the beginning of the year", "2025-01-01", "2025-11-21"),
    ("did I sleep better this week than last week", "2025-11-10", "2025-11-24"),
    ("in the last three days", "2025-11-17", "2025-11-21"),
    ("去年夏天", "2024-06-01", "2024-09-01"),
    ("上个月", "2025-10-01", "2025-11-01"),
]


def test_what_was() -> None:
    for text, since, until in PAST:
        window = read_window(text, NOW)
        assert window is not None, text
        assert (window.since.isoformat(), window.until.isoformat()) == (
            f"{since}T00:00:00+00:00",
            f"{until}T00:00:00+00:00",
        ), text
        assert window.words, text
        assert window.words in text, text


def test_what_is_to_come() -> None:
    cases: list[tuple[str, str, str]] = [
        ("what do I have on Saturday", "2025-11-22", "2025-11-23"),
        ("what is due by Friday", "2025-11-20", "2025-11-22"),
        ("周五前要交什么", "2025-11-20", "2025-11-21"),
        ("下周", "2025-11-24", "2025-12-01"),
    ]
    for text, since, until in cases:
        window = read_window(text, NOW, ahead=True)
        assert window is not None, text
        assert (str(window.since.date()), str(window.until.date())) == (since, until), text


def test_what_is_no_window() -> None:
    cases = [
        "who am I",
        "until May",
        "2015年版",
        "after tomorrow",
        "every Thursday",
        "between us and them",
        "Who sang Yesterday?",
    ]
    for text in cases:
        assert read_window(text, NOW) is None, text


WORDS = st.sampled_from([*(text for text, *_ in PAST), "from", "to", "between", "and", "5月", "到", "自", "起", " "])


@given(
    st.lists(WORDS | st.text(max_size=5), max_size=6).map(" ".join),
    st.booleans(),
    st.datetimes(datetime(1900, 1, 2), datetime(2100, 1, 1)),  # noqa: DTZ001 - days
)
def test_a_window_is_some_days_of_the_text(text: str, ahead: bool, now: datetime) -> None:
    window = read_window(text, now.replace(tzinfo=UTC), ahead=ahead)
    if window is not None:
        assert window.since < window.until
        assert window.words in text
        assert all(at.hour == at.minute == at.second == 0 for at in (window.since, window.until))


@pytest.mark.parametrize("piece", ["between from to and ", "from a to ", "周一到", "in March and ", "1 ", "- "])
def test_no_text_takes_long(piece: str) -> None:
    assert_cut_off(lambda text: read_window(text, NOW), repeated(piece), MAX_SCANNED)
