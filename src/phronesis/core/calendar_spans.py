"""Days, weeks, months, seasons and years as date spans, the grammar that finds them, and written numbers.

Weeks begin on Monday. Seasons are those of the northern hemisphere by whole months (spring March to May); a winter
belongs to the year it begins in.
"""

import calendar
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from typing import Final, Literal

Precision = Literal["day", "week", "month", "season", "year"]
Unit = Literal["day", "week", "month", "year"]
FEW: Final = (2, 5)
"""The range of "a few" and 几: two to five."""
_SEASON_BEGINS: Final[Mapping[str, int]] = {"spring": 3, "summer": 6, "autumn": 9, "winter": 12}
_LEAP: Final = 8
"""Maximum number of years between two 29th of February (1896 to 1904)."""


@dataclass(frozen=True, slots=True)
class Span:
    """A span between two dates, both included, as precise as the text; ``relative`` if it needs a reference day."""

    first: date
    last: date
    precision: Precision
    relative: bool = True


@dataclass(frozen=True, slots=True)
class Reference:
    """The day that a text was written, and the direction in which recurring times are resolved.

    ``lean`` 0 takes the occurrence nearest to the day, -1 the last one up to it, 1 the next one from it on.
    """

    day: date
    lean: int = 0


Parts = Mapping[str, str | None]
Resolve = Callable[[Parts, Reference], Span | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """A pattern of times, and a function from its named groups to a span; None: it is no date.

    A group ``t`` is the time itself, where the pattern matches more than that ("in [March]").
    """

    name: str
    pattern: str
    resolve: Resolve


class Grammar:
    """Rules joined to one regular expression over a lower-case text: the first matching rule wins at each place.

    It is compiled on first use, since that takes a twentieth of a second.
    """

    def __init__(self, rules: Sequence[Rule], *, before: str = "") -> None:
        self._rules = {rule.name: rule for rule in rules}
        self._before = before

    @cached_property
    def _pattern(self) -> re.Pattern[str]:
        named = [f"(?P<{rule.name}>{_rename_groups(rule)})" for rule in self._rules.values()]
        return re.compile(self._before + "(?:" + "|".join(named) + ")")

    @cached_property
    def _parts(self) -> Mapping[str, Mapping[str, int]]:
        groups = self._pattern.groupindex
        return {
            rule: {name.partition("__")[2]: n for name, n in groups.items() if name.startswith(f"{rule}__")}
            for rule in self._rules
        }

    def find(self, text: str, reference: Reference) -> Iterator[tuple[int, int, Span]]:
        """Return the times of a text with their positions."""
        for match in self._pattern.finditer(text):
            name = match.lastgroup or ""  # the outermost group closes last, and every rule is one
            numbers = self._parts[name]
            parts = {part: match[n] for part, n in numbers.items()}
            try:
                span = self._rules[name].resolve(parts, reference)
            except (ValueError, OverflowError):  # the 31st of June, the year 0
                continue
            if span is not None:
                place = numbers["t"] if parts.get("t") else 0
                yield match.start(place), match.end(place), span

    def holds(self, text: str) -> bool:
        """Return whether a text holds any of the forms."""
        return self._pattern.search(text) is not None


def _rename_groups(rule: Rule) -> str:
    spaced = rule.pattern.replace(" ?", r"\s?").replace(" ", r"\s{1,2}")
    return spaced.replace("(?P<", f"(?P<{rule.name}__").replace("(?P=", f"(?P={rule.name}__")


def day_span(day: date, *, relative: bool = True) -> Span:
    """Return a day."""
    return Span(day, day, "day", relative)


def days(first: date, last: date, precision: Precision = "day") -> Span:
    """Return a run of days."""
    return Span(first, last, precision)


def week_span(day: date) -> Span:
    """Return the week that a day lies in."""
    monday = day - timedelta(days=day.weekday())
    return Span(monday, monday + timedelta(days=6), "week")


def weekend_span(day: date) -> Span:
    """Return the Saturday and Sunday of the week that a day lies in."""
    week = week_span(day)
    return Span(week.last - timedelta(days=1), week.last, "day")


def month_span(year: int, month: int, *, relative: bool = True) -> Span:
    """Return a month; months beyond December or below January belong to the next or the previous year."""
    year, month = year + (month - 1) // 12, (month - 1) % 12 + 1
    return Span(date(year, month, 1), date(year, month, calendar.monthrange(year, month)[1]), "month", relative)


def third_of_month(month: Span, part: int) -> Span:
    """Return the 1st to 10th (part 0), 11th to 20th (1) or the rest (2) of a month."""
    first = month.first.replace(day=1 + 10 * part)
    last = month.last if part == 2 else month.first.replace(day=10 + 10 * part)  # noqa: PLR2004 - the last third
    return Span(first, last, "week", month.relative)


def season_span(year: int, season: str, *, relative: bool = True) -> Span:
    """Return a season; winter begins in December of the year."""
    begins = _SEASON_BEGINS[season]
    return Span(month_span(year, begins).first, month_span(year, begins + 2).last, "season", relative)


def part_of_year(year: int, n: int, months: int, *, relative: bool = True) -> Span:
    """Return the ``n``-th part of a year, from 1, of so many months: 3 a quarter, 6 a half."""
    begins = months * (n - 1) + 1
    return Span(month_span(year, begins).first, month_span(year, begins + months - 1).last, "season", relative)


def year_span(year: int, *, relative: bool = True) -> Span:
    """Return a year."""
    return Span(date(year, 1, 1), date(year, 12, 31), "year", relative)


def shift_unit(day: date, unit: Unit, n: int) -> Span:
    """Return the day, week, month or year ``n`` units after that of a day."""
    if unit == "day":
        return day_span(day + timedelta(days=n))
    if unit == "week":
        return week_span(day + timedelta(weeks=n))
    return month_span(day.year, day.month + n) if unit == "month" else year_span(day.year + n)


def shift_half(day: date, unit: Unit, side: int) -> Span:
    """Return what lies half a unit before (side -1) or after a day: six months of a year, fifteen days of a month."""
    return shift_unit(day, "month", 6 * side) if unit == "year" else shift_unit(day, "day", 15 * side)


def unit_range(day: date, unit: Unit, low: int, high: int) -> Span:
    """Return the span from the ``low``-th to the ``high``-th unit after that of a day, the smaller number first."""
    return Span(shift_unit(day, unit, low).first, shift_unit(day, unit, high).last, unit)


def nearest_day(reference: Reference, month: int, day: int) -> Span:
    """Return the nearest occurrence of a day of the year; ValueError when no year has it."""
    years = range(reference.day.year - _LEAP, reference.day.year + _LEAP + 1)
    there = [date(year, month, day) for year in years if day <= calendar.monthrange(year, month)[1]]
    return day_span(_nearest(reference, there))


def nearest_month(reference: Reference, month: int) -> Span:
    """Return the nearest occurrence of a month; of two as near, the past one."""
    here = 12 * reference.day.year + reference.day.month
    months = [month_span(reference.day.year + n, month) for n in (-1, 0, 1)]
    return min(months, key=lambda span: _distance(12 * span.first.year + span.first.month - here, reference))


def nearest_season(reference: Reference, season: str) -> Span:
    """Return the season that a day lies in or is nearest to."""
    return _nearest_span(reference, [season_span(reference.day.year + n, season) for n in (-1, 0, 1)])


def nearest_part(reference: Reference, n: int, months: int) -> Span:
    """Return the n-th quarter or half that a day lies in or is nearest to."""
    return _nearest_span(reference, [part_of_year(reference.day.year + year, n, months) for year in (-1, 0, 1)])


def _nearest_span(reference: Reference, spans: Sequence[Span]) -> Span:
    def far(span: Span) -> tuple[bool, int]:
        ahead = max((span.first - reference.day).days, 0) - max((reference.day - span.last).days, 0)
        return _distance(ahead, reference)

    return min(spans, key=far)


def nearest_weekday(reference: Reference, weekday: int) -> Span:
    """Return the nearest occurrence of a weekday, 0 for Monday: at most three days away."""
    ahead = (weekday - reference.day.weekday()) % 7
    return day_span(_nearest(reference, [reference.day + timedelta(days=ahead + 7 * n) for n in (-1, 0)]))


def nearest_of_month(reference: Reference, day: int) -> Span:
    """Return the nearest occurrence of a day of the month; ValueError when none has it."""
    months = [shift_unit(reference.day, "month", n) for n in (-2, -1, 0, 1, 2)]
    return day_span(_nearest(reference, [span.first.replace(day=day) for span in months if day <= span.last.day]))


def _nearest(reference: Reference, there: Sequence[date]) -> date:
    return min(there, key=lambda day: _distance((day - reference.day).days, reference))


def _distance(ahead: int, reference: Reference) -> tuple[bool, int]:
    """Return how far a time lies ahead or behind, those of the wrong side last."""
    return ahead * reference.lean < 0, abs(ahead)


# Dates of digits alone, which all languages share.

YEAR: Final = r"(?:19|20)\d\d"


def _iso(parts: Parts, _reference: Reference) -> Span:
    year, month, day = int(parts.get("y") or 0), int(parts.get("m") or 0), parts.get("d")
    return day_span(date(year, month, int(day)), relative=False) if day else month_span(year, month, relative=False)


def _numbers(parts: Parts, _reference: Reference) -> Span | None:
    """Read 13/4/2023 and 4/13/2023, which are unambiguous; 4.13.2023 is invalid, 4.5.2023 is the 4th of May."""
    first, second, year = int(parts.get("a") or 0), int(parts.get("b") or 0), int(parts.get("y") or 0)
    if parts.get("s") == "." or first > 12 or first == second:  # noqa: PLR2004 - months
        return day_span(date(year, second, first), relative=False)
    return day_span(date(year, first, second), relative=False) if second > 12 else None  # noqa: PLR2004 - months


NUMBERS: Final = [
    Rule("iso", rf"(?P<y>{YEAR})(?P<s>[-/.])(?P<m>\d{{1,2}})(?P=s)(?P<d>\d{{1,2}})(?!\d)", _iso),
    Rule("iso_month", rf"(?P<y>{YEAR})-(?P<m>0[1-9]|1[0-2])(?![\d-])", _iso),
    Rule("numbers", rf"(?P<a>\d{{1,2}})(?P<s>[-/.])(?P<b>\d{{1,2}})(?P=s)(?P<y>{YEAR})(?!\d)", _numbers),
]
"""Dates of digits alone; 5/4/2023 is ambiguous and not matched."""


# Written numbers: digits, English words, Chinese numerals.

_ONES: Final = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
    eighteen nineteen
    """.split()
_ENGLISH: Final = {word: n for n, word in enumerate(_ONES)} | {
    word: 10 * n for n, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)
}
_DIGITS: Final = (
    {digit: n for n, digit in enumerate("零一二三四五六七八九")} | {"〇": 0, "○": 0} | dict.fromkeys("两兩俩", 2)
)
_TENS: Final = {"十": 10, "百": 100, "千": 1000}
_MYRIADS: Final = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}
CHINESE_DIGITS: Final = "".join([*_DIGITS, *_TENS, *_MYRIADS])
"""The characters of Chinese numerals, for a regular expression's class."""
MAX_NUMERAL: Final = 40
"""Maximum length of a numeral."""


def parse_number(text: str) -> float | None:
    """Return the number in a text, or None: "34", "1,200", "3.5", "thirty-four", "二十三", "二零二三", "3万".

    Only plain numbers: no unit, no sign but a leading minus.
    """
    word = text.strip()
    if not word or len(word) > MAX_NUMERAL:
        return None
    plain = word.replace(",", "").replace("，", "")
    if plain[-1] in _MYRIADS and (head := _digits(plain[:-1])) is not None:
        return head * _MYRIADS[plain[-1]]
    if (number := _digits(plain)) is not None:
        return number
    return _chinese(word) if word[0] in CHINESE_DIGITS else _english(word)


def _digits(text: str) -> float | None:
    body = text.removeprefix("-")
    whole, dot, rest = body.partition(".")
    if not (whole.isdecimal() and (rest.isdecimal() if dot else True)):
        return None
    return float(text) if dot else int(text)


def _english(text: str) -> int | None:
    """Return the value of "seven", "thirty four" or "thirty-four"."""
    words = text.casefold().replace("-", " ").split()
    numbers = [_ENGLISH.get(word) for word in words]
    match numbers:
        case [int(one)]:
            return one
        case [int(tens), int(ones)] if tens >= 20 and 0 < ones < 10:  # noqa: PLR2004 - twenty and more, one to nine
            return tens + ones
        case _:
            return None


def _chinese(text: str) -> int | None:
    """Return the value of 三十四, 一百零五, 二零二三 or 两万三千."""
    if all(char in _DIGITS for char in text):
        return int("".join(str(_DIGITS[char]) for char in text))
    total = section = 0
    digit: int | None = None
    for char in text:
        if char in _DIGITS:
            digit = _DIGITS[char]
        elif char in _TENS:
            section += (1 if digit is None else digit) * _TENS[char]
            digit = None
        elif char in _MYRIADS:
            total += (section + (digit or 0) or 1) * _MYRIADS[char]
            section, digit = 0, None
        else:
            return None
    return total + section + (digit or 0)
