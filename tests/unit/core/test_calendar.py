"""Times in a text, in English and Chinese, against the day it was written."""

from datetime import UTC, date, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.core import calendar, calendar_chinese, calendar_english
from phronesis.core.calendar import TimeSpan, find_times, names_time, read_times
from phronesis.core.calendar_spans import Grammar, Reference, parse_number

AT = datetime(2024, 9, 11, 15, 30, tzinfo=UTC)
"""A Wednesday."""

ENGLISH = [
    # Written dates.
    ("on May 4 we met", "May 4", "2024-05-04", "2024-05-04", "day"),
    ("May 4, 2023 was fine", "May 4, 2023", "2023-05-04", "2023-05-04", "day"),
    ("it was 4 May 2023", "4 May 2023", "2023-05-04", "2023-05-04", "day"),
    ("the 4th of May", "the 4th of May", "2024-05-04", "2024-05-04", "day"),
    ("May fourth, 2023", "May fourth, 2023", "2023-05-04", "2023-05-04", "day"),
    ("June 5-7, 2024", "June 5-7, 2024", "2024-06-05", "2024-06-07", "day"),
    ("Friday, May 3", "Friday, May 3", "2024-05-03", "2024-05-03", "day"),
    ("13/4/2023", "13/4/2023", "2023-04-13", "2023-04-13", "day"),
    ("4/13/2023", "4/13/2023", "2023-04-13", "2023-04-13", "day"),
    ("6/6/2023", "6/6/2023", "2023-06-06", "2023-06-06", "day"),
    ("4.5.2023", "4.5.2023", "2023-05-04", "2023-05-04", "day"),
    ("2023-05-04T10:00:00Z", "2023-05-04", "2023-05-04", "2023-05-04", "day"),
    ("2023/5/4", "2023/5/4", "2023-05-04", "2023-05-04", "day"),
    ("released 2023-05", "2023-05", "2023-05-01", "2023-05-31", "month"),
    ("in May 2023", "May 2023", "2023-05-01", "2023-05-31", "month"),
    ("in May of last year", "May of last year", "2023-05-01", "2023-05-31", "month"),
    ("I left in March.", "March", "2024-03-01", "2024-03-31", "month"),
    ("on Mar. 4", "Mar. 4", "2025-03-04", "2025-03-04", "day"),
    ("since May 4", "May 4", "2024-05-04", "2024-05-04", "day"),
    ("in the summer of 2019", "the summer of 2019", "2019-06-01", "2019-08-31", "season"),
    ("in March", "March", "2024-03-01", "2024-03-31", "month"),
    ("January was cold", "January", "2025-01-01", "2025-01-31", "month"),
    ("early May", "early May", "2024-05-01", "2024-05-10", "week"),
    ("mid-June 2023", "mid-June 2023", "2023-06-11", "2023-06-20", "week"),
    ("the end of May", "the end of May", "2024-05-21", "2024-05-31", "week"),
    ("since 2019", "2019", "2019-01-01", "2019-12-31", "year"),
    ("in the 90s", "the 90s", "1990-01-01", "1999-12-31", "year"),
    ("since the 1980s", "the 1980s", "1980-01-01", "1989-12-31", "year"),
    ("summer of 2019", "summer of 2019", "2019-06-01", "2019-08-31", "season"),
    ("Christmas 2022", "Christmas 2022", "2022-12-25", "2022-12-25", "day"),
    ("February 29", "February 29", "2024-02-29", "2024-02-29", "day"),
    ("between 3 and 7 June", "3 and 7 June", "2024-06-03", "2024-06-07", "day"),
    ("between the 3rd and 7th of June 2023", "the 3rd and 7th of June 2023", "2023-06-03", "2023-06-07", "day"),
    ("between June 3 and 7, 2023", "June 3 and 7, 2023", "2023-06-03", "2023-06-07", "day"),
    ("the third quarter of 2023", "the third quarter of 2023", "2023-07-01", "2023-09-30", "season"),
    ("Q1 2023", "Q1 2023", "2023-01-01", "2023-03-31", "season"),
    ("the second half of last year", "the second half of last year", "2023-07-01", "2023-12-31", "season"),
    # Against the day it was written.
    ("sales in Q2", "Q2", "2024-04-01", "2024-06-30", "season"),
    ("today", "today", "2024-09-11", "2024-09-11", "day"),
    ("dentist thurs 4pm", "thurs", "2024-09-12", "2024-09-12", "day"),
    ("call me tmrw", "tmrw", "2024-09-12", "2024-09-12", "day"),
    ("on Sunday night", "Sunday night", "2024-09-08", "2024-09-08", "day"),
    ("Monday the 23rd", "Monday the 23rd", "2024-09-23", "2024-09-23", "day"),
    ("last wk", "last wk", "2024-09-02", "2024-09-08", "week"),
    ("2 yrs ago", "2 yrs ago", "2022-01-01", "2022-12-31", "year"),
    ("by the 20th", "the 20th", "2024-09-20", "2024-09-20", "day"),
    ("yesterday morning", "yesterday morning", "2024-09-10", "2024-09-10", "day"),
    ("last night", "last night", "2024-09-10", "2024-09-10", "day"),
    ("this evening", "this evening", "2024-09-11", "2024-09-11", "day"),
    ("Tomorrow", "Tomorrow", "2024-09-12", "2024-09-12", "day"),
    ("the day before yesterday", "the day before yesterday", "2024-09-09", "2024-09-09", "day"),
    ("the day after tomorrow", "the day after tomorrow", "2024-09-13", "2024-09-13", "day"),
    ("two weeks ago", "two weeks ago", "2024-08-26", "2024-09-01", "week"),
    ("three days back", "three days back", "2024-09-08", "2024-09-08", "day"),
    ("a few days ago", "a few days ago", "2024-09-06", "2024-09-09", "day"),
    ("a couple of months ago", "a couple of months ago", "2024-07-01", "2024-07-31", "month"),
    ("a year ago", "a year ago", "2023-01-01", "2023-12-31", "year"),
    ("half a year ago", "half a year ago", "2024-03-01", "2024-03-31", "month"),
    ("half a month ago", "half a month ago", "2024-08-27", "2024-08-27", "day"),
    ("in three days", "in three days", "2024-09-14", "2024-09-14", "day"),
    ("in 2 weeks' time", "in 2 weeks' time", "2024-09-23", "2024-09-29", "week"),
    ("a month from now", "a month from now", "2024-10-01", "2024-10-31", "month"),
    ("the week before last", "the week before last", "2024-08-26", "2024-09-01", "week"),
    ("the month after next", "the month after next", "2024-11-01", "2024-11-30", "month"),
    ("last week", "last week", "2024-09-02", "2024-09-08", "week"),
    ("next month", "next month", "2024-10-01", "2024-10-31", "month"),
    ("this year", "this year", "2024-01-01", "2024-12-31", "year"),
    ("this weekend", "this weekend", "2024-09-14", "2024-09-15", "day"),
    ("last quarter", "last quarter", "2024-04-01", "2024-06-30", "season"),
    ("over the weekend", "the weekend", "2024-09-14", "2024-09-15", "day"),
    ("over the past two weeks", "the past two weeks", "2024-08-28", "2024-09-11", "week"),
    ("the next 3 months", "the next 3 months", "2024-09-11", "2024-12-31", "month"),
    ("the end of the month", "the end of the month", "2024-09-21", "2024-09-30", "week"),
    ("by the end of next year", "the end of next year", "2025-12-01", "2025-12-31", "month"),
    ("at the beginning of this week", "the beginning of this week", "2024-09-09", "2024-09-09", "day"),
    ("last March", "last March", "2024-03-01", "2024-03-31", "month"),
    ("next November", "next November", "2024-11-01", "2024-11-30", "month"),
    ("this May", "this May", "2024-05-01", "2024-05-31", "month"),
    ("March of last year", "March of last year", "2023-03-01", "2023-03-31", "month"),
    ("last summer", "last summer", "2024-06-01", "2024-08-31", "season"),
    ("next summer", "next summer", "2025-06-01", "2025-08-31", "season"),
    ("this winter", "this winter", "2024-12-01", "2025-02-28", "season"),
    ("the spring of next year", "the spring of next year", "2025-03-01", "2025-05-31", "season"),
    ("in the fall", "the fall", "2024-09-01", "2024-11-30", "season"),
    ("last Friday", "last Friday", "2024-09-06", "2024-09-06", "day"),
    ("last Wednesday", "last Wednesday", "2024-09-04", "2024-09-04", "day"),
    ("this coming Wednesday", "this coming Wednesday", "2024-09-18", "2024-09-18", "day"),
    ("next Friday", "next Friday", "2024-09-20", "2024-09-20", "day"),
    ("this Friday", "this Friday", "2024-09-13", "2024-09-13", "day"),
    ("on Friday", "Friday", "2024-09-13", "2024-09-13", "day"),
    ("on Saturday", "Saturday", "2024-09-14", "2024-09-14", "day"),
    ("on Sunday", "Sunday", "2024-09-08", "2024-09-08", "day"),
    ("Friday last week", "Friday last week", "2024-09-06", "2024-09-06", "day"),
    ("on Mon", "Mon", "2024-09-09", "2024-09-09", "day"),
    ("on the 5th.", "the 5th", "2024-09-05", "2024-09-05", "day"),
    ("last Christmas", "last Christmas", "2023-12-25", "2023-12-25", "day"),
    ("on New Year’s Eve", "New Year’s Eve", "2024-12-31", "2024-12-31", "day"),
]

CHINESE = [
    ("五月四日见", "五月四日", "2024-05-04", "2024-05-04", "day"),
    ("2023年5月", "2023年5月", "2023-05-01", "2023-05-31", "month"),
    ("3月3号", "3月3号", "2025-03-03", "2025-03-03", "day"),
    ("二零二三年夏天", "二零二三年夏天", "2023-06-01", "2023-08-31", "season"),
    ("2019年", "2019年", "2019-01-01", "2019-12-31", "year"),
    ("2023-05-04开会", "2023-05-04", "2023-05-04", "2023-05-04", "day"),
    ("昨天", "昨天", "2024-09-10", "2024-09-10", "day"),
    ("前天我去了", "前天", "2024-09-09", "2024-09-09", "day"),
    ("大后天", "大后天", "2024-09-14", "2024-09-14", "day"),
    ("明晚", "明晚", "2024-09-12", "2024-09-12", "day"),
    ("上个月", "上个月", "2024-08-01", "2024-08-31", "month"),
    ("下个月五号", "下个月五号", "2024-10-05", "2024-10-05", "day"),
    ("下个月初", "下个月初", "2024-10-01", "2024-10-10", "week"),
    ("上周三", "上周三", "2024-09-04", "2024-09-04", "day"),
    ("下礼拜天", "下礼拜天", "2024-09-22", "2024-09-22", "day"),
    ("上上周", "上上周", "2024-08-26", "2024-09-01", "week"),
    ("下周", "下周", "2024-09-16", "2024-09-22", "week"),
    ("這個週末", "這個週末", "2024-09-14", "2024-09-15", "day"),
    ("周末去", "周末", "2024-09-14", "2024-09-15", "day"),
    ("周五九点的飞机", "周五", "2024-09-13", "2024-09-13", "day"),
    ("星期天", "星期天", "2024-09-08", "2024-09-08", "day"),
    ("三天前", "三天前", "2024-09-08", "2024-09-08", "day"),
    ("两个星期后", "两个星期后", "2024-09-23", "2024-09-29", "week"),
    ("三个月前", "三个月前", "2024-06-01", "2024-06-30", "month"),
    ("一年多以前", "一年多以前", "2023-01-01", "2023-12-31", "year"),
    ("半年后", "半年后", "2025-03-01", "2025-03-31", "month"),
    ("半个月前", "半个月前", "2024-08-27", "2024-08-27", "day"),
    ("好几天前", "好几天前", "2024-09-06", "2024-09-09", "day"),
    ("前几天", "前几天", "2024-09-06", "2024-09-10", "day"),
    ("这几天", "这几天", "2024-09-09", "2024-09-13", "day"),
    ("过两天", "过两天", "2024-09-12", "2024-09-16", "day"),
    ("去年冬天", "去年冬天", "2023-12-01", "2024-02-29", "season"),
    ("去年年底", "去年年底", "2023-12-01", "2023-12-31", "month"),
    ("明年初", "明年初", "2025-01-01", "2025-01-31", "month"),
    ("今年年中", "今年年中", "2024-06-01", "2024-06-30", "month"),
    ("今年三月初", "今年三月初", "2024-03-01", "2024-03-10", "week"),
    ("明年五月四号", "明年五月四号", "2025-05-04", "2025-05-04", "day"),
    ("去年", "去年", "2023-01-01", "2023-12-31", "year"),
    ("月底交", "月底", "2024-09-21", "2024-09-30", "week"),
    ("年底", "年底", "2024-12-01", "2024-12-31", "month"),
    ("五月", "五月", "2024-05-01", "2024-05-31", "month"),
    ("十二月底", "十二月底", "2024-12-21", "2024-12-31", "week"),
    ("5号去", "5号", "2024-09-05", "2024-09-05", "day"),
    ("夏天", "夏天", "2024-06-01", "2024-08-31", "season"),
    ("国庆节", "国庆节", "2024-10-01", "2024-10-01", "day"),
    ("去年圣诞节", "去年圣诞节", "2023-12-25", "2023-12-25", "day"),
    ("最近三天", "最近三天", "2024-09-08", "2024-09-11", "day"),
    ("过去两个星期", "过去两个星期", "2024-08-28", "2024-09-11", "week"),
    ("近几个月", "近几个月", "2024-04-01", "2024-09-11", "month"),
    ("最近半年", "最近半年", "2024-03-01", "2024-09-11", "month"),
    ("过去半个月", "过去半个月", "2024-08-27", "2024-09-11", "day"),
    ("未来三天", "未来三天", "2024-09-11", "2024-09-14", "day"),
    ("接下来的两年", "接下来的两年", "2024-09-11", "2026-12-31", "year"),
    ("去年第三季度", "去年第三季度", "2023-07-01", "2023-09-30", "season"),
    ("2023年Q4", "2023年Q4", "2023-10-01", "2023-12-31", "season"),
    ("今年上半年", "今年上半年", "2024-01-01", "2024-06-30", "season"),
    ("二季度的营收", "二季度", "2024-04-01", "2024-06-30", "season"),
    ("上个季度", "上个季度", "2024-04-01", "2024-06-30", "season"),
    ("下季度", "下季度", "2024-10-01", "2024-12-31", "season"),
]


@pytest.mark.parametrize(("text", "surface", "first", "last", "precision"), [*ENGLISH, *CHINESE])
def test_a_time_is_found_and_dated(text: str, surface: str, first: str, last: str, precision: str) -> None:
    found = find_times(text, AT)
    assert [(text[time.start : time.end], str(time.first), str(time.last), time.precision) for time in found] == [
        (surface, first, last, precision)
    ]
    assert names_time(text)


@pytest.mark.parametrize(
    "text",
    [
        "between 7 and 3 June", "最近零天",
        "I may go and march on", "I fall down", "5/4/2023", "2019 people came", "on the 5th floor",
        "Feb 30",
        "every Friday", "on Fridays", "He sat in the sun", "the last 0 days",
         "2023-13-40", "the 3.14.2023 release", "this three days",
        "for 0 days ago", "三个月", "5号线", "我天天喝茶", "每周三", "零天前", "二月三十日", "今年二月三十日", "第5号",
    ],
)  # fmt: skip
def test_what_is_no_date_is_not_dated(text: str) -> None:
    assert find_times(text, AT) == []


@pytest.mark.parametrize(
    "text", ["in the morning", "at 9", "I once climbed it", "see you at 5pm", "every Friday", "the other day", "早上见",
             "九点开会", "最近很忙", "我曾经去过", "on Fridays", "2023-05", "每周三"],
)  # fmt: skip
def test_clock_times_and_times_of_day_name_a_time(text: str) -> None:
    assert names_time(text)


@pytest.mark.parametrize("text", ["I like tea", "我喜欢喝茶", "", "the sundial maybe", "天真", "a 7% rise in price"])
def test_most_texts_name_none(text: str) -> None:
    assert not names_time(text)
    assert find_times(text, AT) == []


def test_what_is_relative_is_said() -> None:
    times = find_times("May 4, 2023, then May 4, then 2020年, then 昨天", AT)
    assert [time.relative for time in times] == [False, True, False, True]
    assert [time.start for time in times] == sorted(time.start for time in times)


@pytest.mark.parametrize(
    ("text", "past", "future"),
    [
        ("on Friday", "2024-09-06", "2024-09-13"),
        ("on Wednesday", "2024-09-11", "2024-09-11"),
        ("May 4", "2024-05-04", "2025-05-04"),
        ("in October", "2023-10-01", "2024-10-01"),
        ("in the spring", "2024-03-01", "2025-03-01"),
        ("on the 5th.", "2024-09-05", "2024-10-05"),
        ("周一", "2024-09-09", "2024-09-16"),
        ("Q4", "2023-10-01", "2024-10-01"),
        ("上半年", "2024-01-01", "2025-01-01"),
    ],
)
def test_a_text_may_lean_to_the_past_or_the_future(text: str, past: str, future: str) -> None:
    assert [str(find_times(text, AT, lean=lean)[0].first) for lean in (-1, 1)] == [past, future]


def test_a_date_of_digits_in_chinese_text_is_found_once() -> None:
    text = "2023-05-04和三月五号"
    assert [text[time.start : time.end] for time in find_times(text, AT)] == ["2023-05-04", "三月五号"]


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
    assert not times or names_time(text)


BESIDE = "in on the of a an at one two last next this early 2019 31st 5pm 90s"
WORDS = st.sampled_from([*sorted(calendar_english.WORDS), *BESIDE.split(), "-", "’s"])


@given(words=st.lists(WORDS, max_size=6), joined=st.sampled_from([" ", "-", ", ", "."]))
def test_the_first_looks_lose_nothing_and_both_answers_come_at_once(words: list[str], joined: str) -> None:
    text = joined.join(words)
    plain = Grammar([*calendar_english.NUMBERS, *calendar_english.RULES], before=r"(?<![\w.])")
    expected = [(start, end) for start, end, _ in plain.find(text, Reference(AT.date()))]
    times = find_times(text, AT)
    assert [(time.start, time.end) for time in times] == expected
    assert read_times(text, AT) == (times, names_time(text))
    assert names_time(text) or not plain.holds(text)


def test_letters_that_change_length_in_small_do_not_move_a_time() -> None:
    text = "İzmir yesterday"
    assert [text[time.start : time.end] for time in find_times(text, AT)] == ["yesterday"]


def test_a_long_text_is_scanned_so_far() -> None:
    assert find_times("x" * calendar.MAX_SCANNED + " yesterday", AT) == []


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("34", 34), ("1,200", 1200), ("3.5", 3.5), ("-2", -2), ("thirty-four", 34), ("Seven", 7), ("twenty one", 21),
        ("三十四", 34), ("二零二三", 2023), ("十二", 12), ("一百零五", 105), ("两万三千", 23000),
        ("3万", 30000), ("万", 10000),
        ("3.5万", 35000.0), ("五千", 5000),
        ("", None), ("three men", None), ("a few", None), ("三个", None), ("1.2.3", None),
        ("thirty forty", None), ("9" * 50, None), ("万x", None), ("一万二", 10002), ("-", None),
    ],
)  # fmt: skip
def test_numbers_as_people_write_them(text: str, number: float | None) -> None:
    assert parse_number(text) == number
