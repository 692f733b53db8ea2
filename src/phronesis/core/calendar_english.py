"""Time expressions in English."""

import re
from datetime import date, timedelta
from functools import partial
from typing import Final, cast

from phronesis.core.calendar_spans import (
    FEW,
    NUMBERS,
    YEAR,
    Grammar,
    Parts,
    Reference,
    Rule,
    Span,
    Unit,
    day_span,
    days,
    month_span,
    nearest_day,
    nearest_month,
    nearest_of_month,
    nearest_part,
    nearest_season,
    nearest_weekday,
    parse_number,
    part_of_year,
    season_span,
    shift_half,
    shift_unit,
    third_of_month,
    unit_range,
    week_span,
    weekend_span,
    year_span,
)

_MONTHS: Final = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_WEEKDAYS: Final = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"]
_ORDINALS: Final = """
    first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth
    sixteenth seventeenth eighteenth nineteenth twentieth twenty-first twenty-second twenty-third twenty-fourth
    twenty-fifth twenty-sixth twenty-seventh twenty-eighth twenty-ninth thirtieth thirty-first
    """.split()
_HOLIDAYS: Final = {
    "christmas eve": (12, 24),
    "christmas": (12, 25),
    "new year's eve": (12, 31),
    "new year's": (1, 1),
    "valentine's": (2, 14),
    "halloween": (10, 31),
}

_MONTH: Final = (
    "(?P<m>jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)\b(?:\.(?= \d))?"
)
_WEEKDAY: Final = "(?P<w>monday|tuesday|wednesday|thursday|friday|saturday|sunday)"
_ABBREVIATED: Final = r"(?P<v>mon|tues?|wed|thu(?:rs?)?|fri|sat)\b(?!')"
_CLOCK: Final = (
    r"(?= (?:at )?(?:\d{1,2}(?:[:.]\d\d|\s?[ap]m|h\d{0,2})|[012]\d[0-5]\d)\b| (?:the )?\d{1,2}(?:st|nd|rd|th)\b"
    r"| at \d{1,2}\b| \d{1,2}(?= ?(?:[,;.]|$))"
    r"| (?:noon|midday|morning|arvo|afternoon|evening|night|lunchtime|half (?:past|\w+))\b)"
)
_PART_OF_DAY: Final = (
    r"(?: (?:morning|afternoon|arvo|evening|night|lunchtime|[ap]m)\b| the (?P<d>\d{1,2}(?:st|nd|rd|th))\b)?"
)
_JOINED: Final = r"[-\s]"
_NTH: Final = (
    "(?P<d>"
    r"\d{1,2}(?:st|nd|rd|th)?" + "".join(f"|{word.replace('-', _JOINED)}" for word in reversed(_ORDINALS)) + r")\b"
)
_TO_TENTH: Final = "(?:" + "|".join(word.replace("-", _JOINED) for word in reversed(_ORDINALS[3:])) + ")"
"""Fourth to thirty-first, in words: "on the second" is rarely a day."""
_THROUGH: Final = r"(?: ?(?:-|–|to|through) ?(?:the )?(?P<e>\d{1,2})(?:st|nd|rd|th)?\b(?!:))?"
_COUNT: Final = (
    r"(?P<n>\d{1,3}|an?(?: couple of| few)?|a couple|couple of|few|several|one|two|three|four|five|six|seven|eight|"
    "nine|ten|eleven|twelve|fifteen|twenty|thirty|forty|fifty|half an?)"
)
_BRIEF: Final = {"wk": "week", "wkend": "weekend", "mth": "month", "yr": "year"}
_UNIT: Final = r"(?P<u>days?|weeks?|months?|years?|wks?|mths?|yrs?)\b"
_SEASON: Final = r"(?P<s>spring|summer|autumn|fall|winter)\b"
_OPENED: Final = "(?:in|since|during|by|until|till|from|of|before|after|around|throughout|for|back in|sometime in)"
_PART: Final = r"(?:(?P<p>early|mid|late|(?:the )?(?:start|beginning|middle|end) of)(?: |-))?"
_ENDS: Final = r"(?!,? (?:of )?(?:\d|(?:last|this|next) year))"
_SIDE: Final = "(?P<q>last|previous|past|this past|this|the coming|this coming|coming|next)"


def _month_number(name: str | None) -> int:
    return _MONTHS.index((name or "")[:3].casefold()) + 1


def _ordinal(text: str | None) -> int:
    word = "-".join((text or "").casefold().split())
    return _ORDINALS.index(word) + 1 if word in _ORDINALS else int(word.rstrip("stndrh"))


def _side(text: str | None) -> int:
    """Return -1 for last and past, 1 for next and coming, 0 for this."""
    word = (text or "").casefold()
    return -1 if word.endswith(("last", "past", "previous")) else 1 if word.endswith(("next", "coming")) else 0


def _third_in(text: str | None) -> int:
    word = (text or "").casefold()
    return 0 if "early" in word or "start" in word or "beginning" in word else 1 if "mid" in word else 2


def _dated(parts: Parts, reference: Reference) -> Span:
    month, day, year = _month_number(parts.get("m")), _ordinal(parts.get("d")), parts.get("y")
    first = day_span(date(int(year), month, day), relative=False) if year else nearest_day(reference, month, day)
    last = parts.get("e")
    return Span(first.first, first.first.replace(day=int(last)), "day", first.relative) if last else first


def _between_days(parts: Parts, reference: Reference) -> Span | None:
    """Read "between 3 and 7 June" and "between June 3 and 7"."""
    first = _dated({**parts, "e": None}, reference)
    last = first.first.replace(day=_ordinal(parts.get("f")))
    return Span(first.first, last, "day", first.relative) if first.first <= last else None


def _part_of_year(parts: Parts, reference: Reference) -> Span:
    """Read "Q3", "the third quarter of 2024" and "the first half of last year"."""
    months, word = (3, parts.get("n") or "") if parts.get("n") else (6, parts.get("h") or "")
    n = int(word) if word.isdecimal() else _ordinal(word)
    year = parts.get("y") or ""
    if year[:1].isdecimal():
        return part_of_year(int(year), n, months, relative=False)
    if year:
        return part_of_year(reference.day.year + _side(year.split()[0]), n, months)
    return nearest_part(reference, n, months)


def _month_of_year(parts: Parts, reference: Reference) -> Span:
    year = parts.get("y") or ""
    month = _month_number(parts.get("m"))
    if year[:1].isdecimal():
        span = month_span(int(year), month, relative=False)
    elif year:
        span = month_span(reference.day.year + _side(year.split()[0]), month)
    elif parts.get("q"):
        span = _select(
            reference, [month_span(reference.day.year + n, month) for n in (-1, 0, 1)], _side(parts.get("q"))
        )
    else:
        span = nearest_month(reference, month)
    return third_of_month(span, _third_in(parts.get("p"))) if parts.get("p") else span


def _select(reference: Reference, spans: list[Span], side: int) -> Span:
    """Return the last span that has ended, the first that has not begun, or the one of this year."""
    if side < 0:
        return [span for span in spans if span.last < reference.day][-1]
    return next(span for span in spans if span.first > reference.day) if side else spans[1]


def _season_of_year(parts: Parts, reference: Reference) -> Span:
    season = (parts.get("s") or "").casefold().replace("fall", "autumn")
    year = parts.get("y") or ""
    if year[:1].isdecimal():
        return season_span(int(year), season, relative=False)
    if year:
        return season_span(reference.day.year + _side(year.split()[0]), season)
    if parts.get("q"):
        seasons = [season_span(reference.day.year + n, season) for n in (-2, -1, 0, 1)]
        return _select(reference, seasons if _side(parts.get("q")) < 0 else seasons[1:], _side(parts.get("q")))
    return nearest_season(reference, season)


def _named_day(parts: Parts, reference: Reference) -> Span:
    words = re.split(r"\s+", (parts.get("r") or "").casefold())
    ahead = {"yesterday": -1, "yday": -1, "last": -1, "today": 0, "tonight": 0, "this": 0}.get(words[0], 1)
    if words[0] == "the":
        ahead = -2 if words[-1] == "yesterday" else 2
    return shift_unit(reference.day, "day", ahead)


def _count_range(parts: Parts) -> tuple[int, int]:
    word = re.sub(r"\s+", " ", (parts.get("n") or "").casefold())
    if word.endswith(("few", "several")):
        return FEW
    n = 2 if "couple" in word else 1 if word in {"a", "an"} else int(parse_number(word) or 0)
    return n, n


def _unit(parts: Parts) -> Unit:
    unit = (parts.get("u") or "").casefold().rstrip("s")
    return cast("Unit", _BRIEF.get(unit, unit))


def _distance(parts: Parts, reference: Reference, *, side: int) -> Span | None:
    unit = _unit(parts)
    if (parts.get("n") or "").casefold().startswith("half"):
        return shift_half(reference.day, unit, side)
    low, high = _count_range(parts)
    return unit_range(reference.day, unit, *sorted((side * low, side * high))) if low else None


def _beside_unit(parts: Parts, reference: Reference) -> Span:
    unit = (parts.get("u") or "").casefold()
    unit = _BRIEF.get(unit, unit)
    side = 2 * _side(parts.get("z")) or _side(parts.get("q"))  # the week before last, the month after next
    if unit == "weekend":
        return weekend_span(reference.day + timedelta(weeks=side))
    if unit == "quarter":
        begins = reference.day.month - (reference.day.month - 1) % 3 + 3 * side
        span = month_span(reference.day.year, begins)
        return days(span.first, month_span(span.first.year, span.first.month + 2).last, "season")
    return shift_unit(reference.day, cast("Unit", unit), side)


def _stretch(parts: Parts, reference: Reference) -> Span | None:
    unit, side = _unit(parts), _side(parts.get("q"))
    _, high = _count_range(parts)
    if not high:
        return None
    far, near = shift_unit(reference.day, unit, side * high), reference.day
    if unit == "week":  # the last two weeks are fourteen days
        far = day_span(near + timedelta(weeks=side * high))
    return days(far.first, near, unit) if side < 0 else days(near, far.last, unit)


def _unit_part(parts: Parts, reference: Reference) -> Span:
    unit = cast("Unit", (parts.get("u") or "").casefold())
    whole = shift_unit(reference.day, unit, _side(parts.get("q")))
    third = _third_in(parts.get("p"))
    if unit == "year":
        return month_span(whole.first.year, (1, 6, 12)[third])
    if unit == "month":
        return third_of_month(whole, third)
    return day_span(whole.first + timedelta(days=(0, 2, 4)[third]))  # the end of a week is Friday


def _weekday(parts: Parts, reference: Reference) -> Span:
    day = _WEEKDAYS.index((parts.get("w") or parts.get("v") or "")[:3].casefold())
    if parts.get("d"):  # Monday the 5th
        return nearest_of_month(reference, _ordinal(parts.get("d")))
    here, side = reference.day, _side(parts.get("q"))
    week = parts.get("k") or (parts.get("q") if (parts.get("q") or "").casefold() in {"this", "next"} else None)
    if week:
        monday = week_span(here + timedelta(weeks=_side(week))).first
        return day_span(monday + timedelta(days=day))
    if side:  # the last one before today, the first one after
        ahead = (day - here.weekday() - 1) % 7 + 1 if side > 0 else -((here.weekday() - day - 1) % 7) - 1
        return day_span(here + timedelta(days=ahead))
    return nearest_weekday(reference, day)


def _of_month(parts: Parts, reference: Reference) -> Span:
    return nearest_of_month(reference, _ordinal(parts.get("d")))


def _weekend(_parts: Parts, reference: Reference) -> Span:
    """Return the nearest weekend, measured by its Saturday."""
    return weekend_span(nearest_weekday(reference, 5).first)


def _holiday(parts: Parts, reference: Reference) -> Span:
    name = re.sub(r"\s+", " ", (parts.get("h") or "").casefold().replace("’", "'"))
    month, day = _HOLIDAYS[name]
    if parts.get("y"):
        return day_span(date(int(parts.get("y") or 0), month, day), relative=False)
    if parts.get("q"):
        there = [day_span(date(reference.day.year + n, month, day)) for n in (-1, 0, 1)]
        return _select(reference, there, _side(parts.get("q")))
    return nearest_day(reference, month, day)


def _decade(parts: Parts, _reference: Reference) -> Span:
    tens = int(parts.get("x") or 0)
    begins = tens if tens > 100 else (1900 if tens > 20 else 2000) + tens  # noqa: PLR2004 - the 20s are ours
    return Span(date(begins, 1, 1), date(begins + 9, 12, 31), "year", relative=False)


_OF_YEAR: Final = rf"(?:,? (?:of )?(?P<y>{YEAR}|(?:last|this|next) year)\b)"

RULES: Final = [
    Rule(
        "between_days",
        rf"between (?P<t>(?:the )?{_NTH} and (?P<f>\d{{1,2}})(?:st|nd|rd|th)?(?: of)? {_MONTH}"
        rf"(?:,? (?P<y>{YEAR})\b)?)",
        _between_days,
    ),
    Rule(
        "between_dates",
        rf"between (?P<t>{_MONTH} {_NTH} and (?P<f>\d{{1,2}})(?:st|nd|rd|th)?\b(?:,? (?P<y>{YEAR})\b)?)",
        _between_days,
    ),
    Rule("quarter", rf"(?:q(?P<n>[1-4]))\b{_OF_YEAR}?", _part_of_year),
    Rule("named_quarter", rf"the (?P<n>first|second|third|fourth) quarter\b{_OF_YEAR}?", _part_of_year),
    Rule("half", rf"the (?P<h>first|second) half{_OF_YEAR}", _part_of_year),
    Rule("month_day", rf"(?:{_WEEKDAY},? )?{_MONTH} {_NTH}(?![:%]){_THROUGH}(?:,? (?P<y>{YEAR})\b)?", _dated),
    Rule("day_month", rf"(?:{_WEEKDAY},? )?(?:the )?{_NTH}{_THROUGH}(?: of)? {_MONTH}(?:,? (?P<y>{YEAR})\b)?", _dated),
    Rule("month_year", rf"{_PART}{_MONTH},? (?:of )?(?P<y>{YEAR}|(?:last|this|next) year)\b", _month_of_year),
    Rule("month_beside", rf"{_PART}{_SIDE} {_MONTH}(?! \d)", _month_of_year),
    Rule("month_opened", rf"{_OPENED} (?P<t>{_PART}{_MONTH}){_ENDS}", _month_of_year),
    Rule("month_part", _PART.removesuffix("?") + _MONTH, _month_of_year),
    Rule("month", r"(?P<m>january|february|july|september|october|november|december)\b", _month_of_year),
    Rule("season_year", rf"(?:the )?{_SEASON} (?:of )?(?P<y>{YEAR}|(?:last|this|next) year)\b", _season_of_year),
    Rule("season_beside", rf"{_SIDE} {_SEASON}", _season_of_year),
    Rule(
        "season", rf"(?:in|during|over|since|until|by|before|after) (?P<t>(?:the )?{_SEASON}){_ENDS}", _season_of_year
    ),
    Rule(
        "named_day",
        r"(?P<r>the day (?:before yesterday|after tomorrow)"
        r"|(?:yesterday|yday|tomorrow|tmrw|tmr|tmw|tomoz|2moro|today)"
        r"(?: (?:morning|afternoon|evening|night))?|tonight|last night|this (?:morning|afternoon|evening))\b",
        _named_day,
    ),
    Rule("ago", rf"{_COUNT} {_UNIT} (?:ago|back|earlier|before now)\b", partial(_distance, side=-1)),
    Rule("ahead", rf"in {_COUNT} {_UNIT}(?:['’]s?)?(?: time\b)?(?! of\b)", partial(_distance, side=1)),
    Rule("from_now", rf"{_COUNT} {_UNIT} from (?:now|today)\b", partial(_distance, side=1)),
    Rule("before_last", r"the (?P<u>week|weekend|month|year) (?P<z>before last|after next)\b", _beside_unit),
    Rule("beside_unit", rf"{_SIDE} (?P<u>weekend|week|month|year|quarter|wkend|wk|mth|yr)\b", _beside_unit),
    Rule("stretch", rf"(?:the )?(?P<q>last|past|previous|next|coming) {_COUNT} {_UNIT}", _stretch),
    Rule(
        "end_of",
        r"(?:the )?(?P<p>start|beginning|middle|end) of (?P<q>the|this|next|last) (?P<u>week|month|year)\b",
        _unit_part,
    ),
    Rule(
        "recurring",
        rf"(?:every|each|most)(?: other)? {_WEEKDAY}s?\b|{_WEEKDAY}s\b".replace("?P<w>", "?:"),
        lambda *_: None,
    ),
    Rule("weekday", rf"(?:{_SIDE} )?{_WEEKDAY}\b(?: (?:of )?(?P<k>last|this|next) week\b|{_PART_OF_DAY})", _weekday),
    Rule("weekday_beside", rf"{_SIDE} (?P<v>mon|tues?|weds?|thu(?:rs?)?|fri|sat|sun)\b(?!['’])", _weekday),
    Rule("weekday_last", r"(?P<v>mon|tue|weds|thur?|fri)\b(?=\s*(?:[,.;!?\n]|$))", _weekday),
    Rule("weekday_brief", rf"(?P<v>tues|weds|thurs|fri)\b(?!['’]){_PART_OF_DAY}", _weekday),
    Rule("weekday_clock", rf"(?P<v>mon|tue|wed|thur?|fri|sat|sun)\b{_CLOCK}{_PART_OF_DAY}", _weekday),
    Rule("weekday_paired", r"(?P<v>mon|tue|wed|thu)\b(?= (?:and|&|\+) (?:tue|wed|thu|fri)s?\b)", _weekday),
    Rule("weekday_short", rf"(?:on|by|until|till|from|since|to|for|{_SIDE}) (?P<t>{_ABBREVIATED})", _weekday),
    Rule("weekend", r"(?:on|over|during|at) (?P<t>the weekend)\b", _weekend),
    Rule(
        "of_month",
        rf"(?:on|by|before|until|till|from|for) (?P<t>the (?P<d>\d{{1,2}}(?:st|nd|rd|th)|{_TO_TENTH}))\b"
        r"(?= ?(?:[.,;!?)]|$|(?:of the month|at|in|and|for|to|about|with|so|but|or|pls|please|is|was|has|got"
        r"|\d{1,2}[ap]m)\b))",
        _of_month,
    ),
    Rule(
        "is_of_month",
        r"(?:(?<=\bis\s)|(?<=\bare\s)|(?<=['’]s\s)|(?<=\bnow\s)|(?<=\bb4\s))"
        rf"the (?P<d>\d{{1,2}}(?:st|nd|rd|th)|{_TO_TENTH})\b(?= ?(?:[.,;!?)]|$|(?:at|so|but|and i|\d{{1,2}}[ap]m)\b))",
        _of_month,
    ),
    Rule(
        "beside_of_month",
        r"(?<=[a-z]\s)(?:the )?(?P<d>\d{1,2}(?:st|nd|rd|th))\b"
        r"(?= ?(?:[,;]|$|at \d| ?[012]\d[0-5]\d\b))",
        _of_month,
    ),
    Rule(
        "holiday",
        rf"(?:{_SIDE} )?(?P<h>christmas(?: eve)?|new year['’]s(?: eve)?|valentine['’]s|halloween)"
        rf"(?: day)?\b(?: (?P<y>{YEAR})\b)?",
        _holiday,
    ),
    Rule("decade", r"(?:in|since) (?P<t>the (?:early |mid |late )?(?P<x>(?:(?:19|20)\d|[2-9])0)['’]?s)\b", _decade),
    Rule(
        "year",
        rf"{_OPENED} (?P<t>(?P<y>{YEAR}))(?![\d:%/-])\b",
        lambda parts, _reference: year_span(int(parts.get("y") or 0), relative=False),
    ),
]

_FIRST: Final = "|".join(
    """
    a an after around at back beginning before between by christmas coming couple during each early eight eighteenth
    eighth eleven eleventh end every few fifteen fifteenth fifth fifty first five for forty four fourteenth fourth from
    half halloween in last late mid middle most new next nine nineteenth ninth of on one over past previous second seven
    seventeenth seventh several since six sixteenth sixth sometime start ten tenth the third thirteenth thirtieth
    thirty this three throughout till today tomorrow tonight twelfth twelve twentieth twenty two until valentine
    yesterday spring summer autumn fall winter january february march april may june july august september october
    november december jan feb mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday
    saturday sunday mon tue tues wed thu thur thurs fri sat sun weds tmrw tmr tmw tomoz yday
    """.split()
)
"""Every form begins with a digit or one of these words; this check costs a tenth of trying all forms."""
GRAMMAR: Final = Grammar([*NUMBERS, *RULES], before=rf"(?<![\w.])(?=\d|q[1-4]\b|(?:{_FIRST})s?\b)")

WORDS: Final = frozenset(
    """
    january february march april may june july august september october november december
    jan feb mar apr jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday
    mondays tuesdays wednesdays thursdays fridays saturdays sundays mon tue tues wed weds thu thur thurs fri sat sun
    today tomorrow tonight yesterday night morning afternoon evening tmrw tmr tmw tomoz moro yday
    day days week weeks weekend month months quarter year years wk wks wkend mth mths yr yrs
    spring summer autumn fall winter christmas valentine halloween
    fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth seventeenth
    eighteenth nineteenth twentieth twenty thirty thirtieth
    """.split()
)
"""Every form of the grammar contains one of these words, or a date in digits."""
