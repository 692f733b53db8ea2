"""The time that a question asks about, as whole UTC days, until not included."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth import assert_cut_off, repeated
from phronesis.core.retrieval_plan import TimeWindow
from phronesis.recall.planning.time_range import MAX_SCANNED, read_window

NOW = datetime(2025, 11, 20, 15, tzinfo=UTC)
"""A Thursday."""

PAST = [
    # Between two.
    ("between March and May", "2025-03-01", "2025-06-01"),
    ("from March to May 2024", "2024-03-01", "2024-06-01"),
    ("between last Monday and yesterday", "2025-11-17", "2025-11-20"),
    ("from June to August last year", "2024-06-01", "2024-09-01"),
    ("between Christmas and New Year's", "2024-12-25", "2025-01-02"),
    ("between 3 and 7 June", "2025-06-03", "2025-06-08"),
    ("from the 3rd to the 7th of June", "2025-06-03", "2025-06-08"),
    ("上周三到周五", "2025-11-12", "2025-11-15"),
    ("6月3号到7号", "2025-06-03", "2025-06-08"),
    ("去年三月到五月", "2024-03-01", "2024-06-01"),
    # From one on.
    ("since Tuesday", "2025-11-18", "2025-11-21"),
    ("since the beginning of the year", "2025-01-01", "2025-11-21"),
    ("after May", "2025-06-01", "2025-11-21"),
    # Several, and one.
    ("did I sleep better this week than last week", "2025-11-10", "2025-11-24"),
    ("昨天和前天", "2025-11-18", "2025-11-20"),
    ("in the last three days", "2025-11-17", "2025-11-21"),
    ("最近三天", "2025-11-17", "2025-11-21"),
    ("去年夏天", "2024-06-01", "2024-09-01"),
    ("last quarter", "2025-07-01", "2025-10-01"),
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


AHEAD: list[tuple[str, str, str]] = [
    ("what do I have on Saturday", "2025-11-22", "2025-11-23"),
    ("from Monday to Wednesday", "2025-11-24", "2025-11-27"),
    ("what is due by Friday", "2025-11-20", "2025-11-22"),
    ("what is due before Saturday", "2025-11-20", "2025-11-22"),
    ("周五前要交什么", "2025-11-20", "2025-11-21"),
    ("截至月底", "2025-11-20", "2025-12-01"),
    ("下周", "2025-11-24", "2025-12-01"),
]


def test_what_is_to_come() -> None:
    for text, since, until in AHEAD:
        window = read_window(text, NOW, ahead=True)
        assert window is not None, text
        assert (str(window.since.date()), str(window.until.date())) == (since, until), text


NO_WINDOW: list[str] = [
    "who am I",
    "六月之前",
    "until May",
    "API version 2024-05-01",
    "2015年版",
    "after tomorrow",
    "from yesterday to last May",
    "every Thursday",
    "since tomorrow",
    "between us and them",
]


def test_what_is_no_window() -> None:
    for text in NO_WINDOW:
        assert read_window(text, NOW) is None, text


def test_a_range_ends_where_the_calendar_does() -> None:
    window = read_window("in the 9990s or 31.12.2099", datetime(9999, 12, 31, tzinfo=UTC))
    assert window == TimeWindow(datetime(2099, 12, 31, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC), "31.12.2099")
    assert read_window("today", datetime(9999, 12, 31, tzinfo=UTC)) is None


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
