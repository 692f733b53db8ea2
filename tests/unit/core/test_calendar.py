"""Times in a text, in English and Chinese, against the day it was written."""

from datetime import UTC, date, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core import calendar, calendar_chinese, calendar_english
from phronesis.core.calendar import TimeSpan, find_times, read_times
from phronesis.core.calendar_spans import NUMBERS as DIGITS
from phronesis.core.calendar_spans import Grammar, Parts, Reference, Rule, Span, parse_number

AT = datetime(2024, 9, 11, 15, 30, tzinfo=UTC)
"""A Wednesday."""

ENGLISH = [
    ("4/13/2023", "4/13/2023", "2023-04-13", "2023-04-13", "day"),
    ("in May of last year", "May of last year", "2023-05-01", "2023-05-31", "month"),
    ("in the summer of 2019", "the summer of 2019", "2019-06-01", "2019-08-31", "season"),
    ("since 2019", "2019", "2019-01-01", "2019-12-31", "year"),
    ("in the 90s", "the 90s", "1990-01-01", "1999-12-31", "year"),
    ("Christmas 2022", "Christmas 2022", "2022-12-25", "2022-12-25", "day"),
    ("the third quarter of 2023", "the third quarter of 2023", "2023-07-01", "2023-09-30", "season"),
    ("the first half of last year", "the first half of last year", "2023-01-01", "2023-06-30", "season"),
    ("sales in Q2", "Q2", "2024-04-01", "2024-06-30", "season"),
    ("today", "today", "2024-09-11", "2024-09-11", "day"),
    ("dentist thurs 4pm", "thurs", "2024-09-12", "2024-09-12", "day"),
    ("Monday the 23rd", "Monday the 23rd", "2024-09-23", "2024-09-23", "day"),
    ("last wk", "last wk", "2024-09-02", "2024-09-08", "week"),
    ("2 yrs ago", "2 yrs ago", "2022-01-01", "2022-12-31", "year"),
    ("the day before yesterday", "the day before yesterday", "2024-09-09", "2024-09-09", "day"),
    ("a few days ago", "a few days ago", "2024-09-06", "2024-09-09", "day"),
    ("half a year ago", "half a year ago", "2024-03-01", "2024-03-31", "month"),
    ("in three days", "in three days", "2024-09-14", "2024-09-14", "day"),
    ("this weekend", "this weekend", "2024-09-14", "2024-09-15", "day"),
    ("last quarter", "last quarter", "2024-04-01", "2024-06-30", "season"),
    ("over the weekend", "the weekend", "2024-09-14", "2024-09-15", "day"),
    ("over the past two weeks", "the past two weeks", "2024-08-28", "2024-09-11", "week"),
    ("the next 3 months", "the next 3 months", "2024-09-11", "2024-12-31", "month"),
    ("the end of the month", "the end of the month", "2024-09-21", "2024-09-30", "week"),
    ("by the end of next year", "the end of next year", "2025-12-01", "2025-12-31", "month"),
    ("at the beginning of this week", "the beginning of this week", "2024-09-09", "2024-09-09", "day"),
    ("last March", "last March", "2024-03-01", "2024-03-31", "month"),
    ("next summer", "next summer", "2025-06-01", "2025-08-31", "season"),
    ("the spring of next year", "the spring of next year", "2025-03-01", "2025-05-31", "season"),
    ("in the fall", "the fall", "2024-09-01", "2024-11-30", "season"),
    ("this coming Wednesday", "this coming Wednesday", "2024-09-18", "2024-09-18", "day"),
    ("last Christmas", "last Christmas", "2023-12-25", "2023-12-25", "day"),
    ("on New Year’s Eve", "New Year’s Eve", "2024-12-31", "2024-12-31", "day"),
]

CHINESE = [
    ("五月四日见", "五月四日", "2024-05-04", "2024-05-04", "day"),
    ("2023年5月", "2023年5月", "2023-05-01", "2023-05-31", "month"),
    ("二零二三年夏天", "二零二三年夏天", "2023-06-01", "2023-08-31", "season"),
    ("2023-05-04开会", "2023-05-04", "2023-05-04", "2023-05-04", "day"),
    ("昨天", "昨天", "2024-09-10", "2024-09-10", "day"),
    ("上个月", "上个月", "2024-08-01", "2024-08-31", "month"),
    ("下个月五号", "下个月五号", "2024-10-05", "2024-10-05", "day"),
    ("上周三", "上周三", "2024-09-04", "2024-09-04", "day"),
    ("上上周", "上上周", "2024-08-26", "2024-09-01", "week"),
    ("周末去", "周末", "2024-09-14", "2024-09-15", "day"),
    ("周五九点的飞机", "周五", "2024-09-13", "2024-09-13", "day"),
    ("半年后", "半年后", "2025-03-01", "2025-03-31", "month"),
    ("前几天", "前几天", "2024-09-06", "2024-09-10", "day"),
    ("这几天", "这几天", "2024-09-09", "2024-09-13", "day"),
    ("过两天", "过两天", "2024-09-12", "2024-09-16", "day"),
    ("去年年底", "去年年底", "2023-12-01", "2023-12-31", "month"),
    ("明年五月四号", "明年五月四号", "2025-05-04", "2025-05-04", "day"),
    ("月底交", "月底", "2024-09-21", "2024-09-30", "week"),
    ("年底", "年底", "2024-12-01", "2024-12-31", "month"),
    ("十二月底", "十二月底", "2024-12-21", "2024-12-31", "week"),
    ("5号去", "5号", "2024-09-05", "2024-09-05", "day"),
    ("夏天", "夏天", "2024-06-01", "2024-08-31", "season"),
    ("国庆节", "国庆节", "2024-10-01", "2024-10-01", "day"),
    ("去年圣诞节", "去年圣诞节", "2023-12-25", "2023-12-25", "day"),
    ("最近半年", "最近半年", "2024-03-01", "2024-09-11", "month"),
    ("未来三天", "未来三天", "2024-09-11", "2024-09-14", "day"),
    ("去年第三季度", "去年第三季度", "2023-07-01", "2023-09-30", "season"),
    ("上个季度", "上个季度", "2024-04-01", "2024-06-30", "season"),
]


@pytest.mark.parametrize("rows", [ENGLISH, CHINESE], ids=["English", "Chinese"])
def test_a_time_is_found_and_dated(rows: list[tuple[str, str, str, str, str]]) -> None:
    for text, surface, first, last, precision in rows:
        found = find_times(text, AT)
        assert [(text[time.start : time.end], str(time.first), str(time.last), time.precision) for time in found] == [
            (surface, first, last, precision)
        ], text
        assert read_times(text, AT)[1], text


def test_what_is_no_date_is_not_dated() -> None:
    cases: list[str] = [
        "between 7 and 3 June",
        "I may go and march on",
        "Feb 30",
        "every Friday",
        "the last 0 days",
        "the 3.14.2023 release",
        "三个月",
        "零天前",
    ]
    for text in cases:
        assert find_times(text, AT) == [], text


def test_clock_times_times_of_day_and_impossible_dates_name_a_time() -> None:
    cases: list[str] = ["in the morning", "see you at 5pm", "早上见", "我曾经去过", "每周三", "Feb 30", "零天前"]
    for text in cases:
        assert read_times(text, AT)[1], text


def test_most_texts_name_none() -> None:
    cases: list[str] = ["I like tea", "我喜欢喝茶", "", "the sundial maybe", "天真", "a 7% rise in price"]
    for text in cases:
        assert not read_times(text, AT)[1], text
        assert find_times(text, AT) == [], text


def test_what_is_relative_is_said() -> None:
    times = find_times("May 4, 2023, then May 4, then 2020年, then 昨天", AT)
    assert [time.relative for time in times] == [False, True, False, True]
    assert [time.start for time in times] == sorted(time.start for time in times)


def test_a_text_may_lean_to_the_past_or_the_future() -> None:
    cases: list[tuple[str, str, str]] = [
        ("on Friday", "2024-09-06", "2024-09-13"),
        ("in October", "2023-10-01", "2024-10-01"),
        ("on the 5th.", "2024-09-05", "2024-10-05"),
        ("上半年", "2024-01-01", "2025-01-01"),
    ]
    for text, past, future in cases:
        assert [str(find_times(text, AT, lean=lean)[0].first) for lean in (-1, 1)] == [past, future], text


def test_times_at_the_ends_of_the_calendar_are_passed_over() -> None:
    assert find_times("next year, last year", datetime(9999, 5, 1, tzinfo=UTC)) == [
        TimeSpan(11, 20, date(9998, 1, 1), date(9998, 12, 31), "year", relative=True)
    ]
    assert find_times("100 years ago", datetime(50, 5, 1, tzinfo=UTC)) == []


PIECES = st.sampled_from([text for text, *_ in [*ENGLISH, *CHINESE]] + ["I like tea", "我", " ", ",", "2", "May", "周"])


@given(pieces=st.lists(PIECES, max_size=6), at=st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1)))  # noqa: DTZ001 - days
def test_times_stand_in_the_text_in_order_and_the_hints_lose_none(pieces: list[str], at: datetime) -> None:
    text = " ".join(pieces)
    times = find_times(text, at)
    assert all(0 <= time.start < time.end <= len(text) and time.first <= time.last for time in times)
    assert all(one.end <= other.start for one, other in pairwise(times))
    reference = Reference(at.date())
    english = [(start, end) for start, end, _ in calendar_english.GRAMMAR.find(text.lower(), reference)]
    chinese = [(start, end) for start, end, _ in calendar_chinese.GRAMMAR.find(text.lower(), reference)]
    lost = [(start, end) for start, end in english + chinese if not any(start < t.end and t.start < end for t in times)]
    assert lost == []
    assert not times or read_times(text, AT)[1]


BESIDE = "in on the of a an at one two last next this early 2019 31st 5pm 90s"
WORDS = st.sampled_from([*sorted(calendar_english.WORDS), *BESIDE.split(), "-", "’s"])


@given(words=st.lists(WORDS, max_size=6), joined=st.sampled_from([" ", "-", ", ", "."]))
def test_the_first_looks_lose_nothing_and_both_answers_come_at_once(words: list[str], joined: str) -> None:
    text = joined.join(words)
    plain = Grammar([*DIGITS, *calendar_english.RULES], before=r"(?<![\w.])")
    expected = [(start, end) for start, end, _ in plain.find(text, Reference(AT.date()))]
    times = find_times(text, AT)
    assert [(time.start, time.end) for time in times] == expected
    assert read_times(text, AT)[0] == times
    assert read_times(text, AT)[1] or not plain.holds(text)


def test_a_long_text_is_scanned_so_far() -> None:
    assert find_times("x" * calendar.MAX_SCANNED + " yesterday", AT) == []


NUMBERS: list[tuple[str, float | None]] = [
    ("34", 34),
    ("3.5", 3.5),
    ("thirty-four", 34),
    ("三十四", 34),
    ("二零二三", 2023),
    ("两万三千", 23000),
    ("3万", 30000),
    ("3.5万", 35000.0),
    ("three men", None),
    ("1.2.3", None),
    ("9" * 50, None),
    ("万x", None),
]


def test_numbers_as_people_write_them() -> None:
    for text, number in NUMBERS:
        assert parse_number(text) == number, text


def test_letters_that_change_length_in_small_do_not_move_a_time() -> None:
    text = "İzmir yesterday"
    assert [text[time.start : time.end] for time in find_times(text, AT)] == ["yesterday"]


def test_the_part_that_is_the_time_has_the_place_and_what_is_no_date_is_passed_over() -> None:
    def day(parts: Parts, reference: Reference) -> Span:
        on = reference.day.replace(day=int(parts["n"] or 0))
        return Span(on, on, "day", relative=False)

    grammar = Grammar([Rule("on", r"on the (?P<t>(?P<n>\d+)(?:st|nd|rd|th))", day)])
    found = list(grammar.find("on the 3rd, not on the 31st", Reference(date(2026, 6, 1))))
    assert found == [(7, 10, Span(date(2026, 6, 3), date(2026, 6, 3), "day", relative=False))]
