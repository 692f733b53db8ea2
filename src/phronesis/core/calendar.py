"""Resolve time expressions in English and Chinese text to dates, relative to the day the text was written.

Ambiguous expressions take the simplest reading. A date without a year, a weekday without a week and a season are the
nearest ones to that day; ``lean`` chooses the previous or the next instead, for a text known to be about the past or
the future. "Last Friday" is the last one before that day and "next Friday" the one of the next week; 上周三 and
下周三 are those of the last and next week. "5/4/2023" is ambiguous and gives no date. Clock times and times of day
("in the morning") give no dates; ``read_times`` detects them.
"""

import re
from dataclasses import dataclass
from datetime import date, datetime
from typing import Final, NamedTuple, Self

from phronesis.core import calendar_chinese, calendar_english
from phronesis.core.calendar_spans import (
    Precision,
    Reference,
)

MAX_SCANNED: Final = 20_000
"""Characters of a text that are scanned for times."""

# Every form of the grammars holds one of these words or signs: most texts hold none of them, and it is found fast.
_WORDS: Final = re.compile("[a-z]+")
_DIGIT: Final = re.compile(r"\d")
_ENGLISH_DIGITS: Final = re.compile(r"(?:19|20)\d\d|\d(?:st|nd|rd|th)|0['’]?s\b|\bq[1-4]\b")
_CHINESE_HINT: Final = re.compile(
    "[年月日号號周週天晚早夜末季]|[昨明][儿个]|星期|[礼禮]拜|元旦|情人节|五一|劳动节|儿童节|国庆|圣诞"
    "|(?:19|20)[0-9]{2}[-/.]|q[1-4]"
)
_OTHER_ENGLISH: Final = re.compile(
    r"\b(?:\d{1,2}(?::\d\d)?\s?(?:am|pm|a\.m|p\.m)\b|\d{1,2}:\d\d\b|\d{1,2}\so'?clock|noon|midnight|morning|mornings"
    r"|afternoons?|evenings?|tonight|night|nights|at\s(?:\d{1,2}|one|two|three|four|five|six|seven|eight|nine|ten|eleven"
    r"|twelve)\b(?!\s?%)|once|recently|lately|nowadays|soon|someday|(?:the\s)?other\sday|(?:every|each)\s(?:other\s)?"
    r"(?:day|week|month|year|morning|night|evening|weekend)|daily|weekly|monthly|yearly|weekdays?|weekends?"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|when\si\swas|years?\sold|ago)\b"
)
_OTHER_WORDS: Final = frozenset(
    """
    noon midnight morning mornings afternoon afternoons evening evenings tonight night nights
    once recently lately nowadays soon someday daily weekly monthly yearly ago
    day week month year years weekday weekdays weekend weekends
    monday tuesday wednesday thursday friday saturday sunday
    mondays tuesdays wednesdays thursdays fridays saturdays sundays
    """.split()
)
_HOURS: Final = frozenset("one two three four five six seven eight nine ten eleven twelve".split())
_OTHER_CHINESE: Final = re.compile(
    "早上|早晨|清晨|上午|中午|下午|傍晚|晚上|夜里|半夜|凌晨|[0-9零一二三四五六七八九十两]点(?!儿|了|头)|刚才|刚刚|最近|近来|以前|从前|曾经|之前|将来"
    "|以后|平时|平常|每[天日周年晚]|每个?(?:月|星期|礼拜|周末)|周末|工作日|小时候|前段时间|当时|那时"
)


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A time in a text at [start, end): from ``first`` to ``last``, both included, as precise as the text.

    ``relative``: it has a date only relative to the day that the text was written.
    """

    start: int
    end: int
    first: date
    last: date
    precision: Precision
    relative: bool


def find_times(text: str, at: datetime, *, lean: int = 0) -> list[TimeSpan]:
    """Return the times named in a text written at ``at``, in order, without overlaps.

    ``lean`` 0 takes the nearest occurrence of recurring times (a weekday, a month, a day of the year), -1 the last one
    up to ``at``, 1 the next one. Days are those of ``at``'s own time zone. Impossible dates are skipped.
    """
    return _times(_Prefiltered.at(text), Reference(at.date(), lean))


def read_times(text: str, at: datetime) -> tuple[list[TimeSpan], bool]:
    """Return the times of ``find_times``, and whether the text names any time.

    Clock times, "in the morning", "once" and 最近 are such names too.
    """
    looked = _Prefiltered.at(text)
    times = _times(looked, Reference(at.date()))
    return times, bool(times) or _names(looked)


class _Prefiltered(NamedTuple):
    """A lower-case text of the same length, with the results of a quick prefilter."""

    text: str
    words: frozenset[str]
    digits: bool

    @classmethod
    def at(cls, text: str) -> Self:
        scanned = text[:MAX_SCANNED]
        lowered = scanned.lower()
        if len(lowered) != len(scanned):  # a few letters (İ) become two: all is left as it is
            lowered = scanned
        return cls(lowered, frozenset(_WORDS.findall(lowered)), _DIGIT.search(lowered) is not None)

    @property
    def english(self) -> bool:
        """Return whether the English grammar may match."""
        dated = self.digits and _ENGLISH_DIGITS.search(self.text) is not None
        return dated or not self.words.isdisjoint(calendar_english.WORDS)

    @property
    def other_english(self) -> bool:
        """Return whether another English time may occur."""
        words = self.words
        return (
            self.digits
            or not words.isdisjoint(_OTHER_WORDS)
            or ("at" in words and not words.isdisjoint(_HOURS))
            or ("when" in words and "was" in words)
        )


def _times(looked: _Prefiltered, reference: Reference) -> list[TimeSpan]:
    text = looked.text
    found = list(calendar_english.GRAMMAR.find(text, reference)) if looked.english else []
    if not text.isascii() and _CHINESE_HINT.search(text) is not None:
        taken = [(start, end) for start, end, _ in found]
        chinese = calendar_chinese.GRAMMAR.find(text, reference)
        found += [one for one in chinese if not any(one[0] < end and start < one[1] for start, end in taken)]
        found.sort(key=lambda one: one[0])
    return [TimeSpan(start, end, one.first, one.last, one.precision, one.relative) for start, end, one in found]


def _names(looked: _Prefiltered) -> bool:
    text = looked.text
    if looked.other_english and _OTHER_ENGLISH.search(text) is not None:
        return True
    if looked.english and calendar_english.GRAMMAR.holds(text):
        return True
    if text.isascii():
        return False
    if _OTHER_CHINESE.search(text) is not None:
        return True
    return _CHINESE_HINT.search(text) is not None and calendar_chinese.GRAMMAR.holds(text)
