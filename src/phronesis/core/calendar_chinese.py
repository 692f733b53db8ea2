"""Time expressions in Chinese, simplified and traditional."""

from datetime import date, timedelta
from typing import Final

from phronesis.core.calendar_spans import (
    FEW,
    NUMBERS,
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

_NUMERAL: Final = r"[\d零〇一二三四五六七八九十两兩廿]"
_DAY: Final = rf"(?P<d>{_NUMERAL}{{1,3}})[日号號](?!线|楼|門|门|院|店|机|位|房|车|库|球|選|选)"
_MONTH: Final = r"(?P<m>1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九]|正|腊)月(?!天(?!气)|饼|薪|嫂|卡|租|亮|光|球)"
_YEAR: Final = r"(?P<y>(?:19|20)\d\d|[一二][零〇九][零〇一二三四五六七八九]{2})年"
_WEEK: Final = "(?:周|週|星期|礼拜|禮拜)"
_WEEKDAY: Final = rf"{_WEEK}(?P<w>[一二三四五六日天1-7])(?!\d)"
_SIDE: Final = "(?P<q>上上|下下|上|这|這|本|下)(?:一)?[个個]?"
_SEASON: Final = "(?P<s>春|夏|秋|冬)[天季]"
_YEAR_NAMES: Final = {"大前年": -3, "前年": -2, "去年": -1, "今年": 0, "明年": 1, "后年": 2, "後年": 2}
_NAMED_YEAR: Final = "(?P<n>大前年|前年|去年|今年|明年|[后後]年)"
_DAYS: Final = {"大前": -3, "前": -2, "昨": -1, "今": 0, "明": 1, "后": 2, "後": 2, "大后": 3, "大後": 3}
_UNITS: Final[dict[str, Unit]] = {"天": "day", "日": "day", "月": "month", "年": "year"}
_COUNT: Final = rf"(?P<c>{_NUMERAL}{{1,4}}|几|幾|半|好几|好幾)"
_UNIT: Final = "(?P<h>多)?[个個]?(?P<u>天|日|周|週|星期|礼拜|禮拜|(?<=[个個])月|年)多?"
_SIDES: Final = {"上上": -2, "上": -1, "这": 0, "這": 0, "本": 0, "下": 1, "下下": 2}
_PARTS: Final = {"初": 0, "上旬": 0, "中": 1, "中旬": 1}
_PART: Final = "(?P<p>初|中旬|上旬|下旬|中(?![国文学午风药医考奖毒标签餐式秋])|底|末)"
_SEASONS: Final = {"春": "spring", "夏": "summer", "秋": "autumn", "冬": "winter"}
_HOLIDAYS: Final = {
    "元旦": (1, 1),
    "情人节": (2, 14),
    "五一": (5, 1),
    "劳动节": (5, 1),
    "儿童节": (6, 1),
    "国庆": (10, 1),
    "圣诞": (12, 25),
    "平安夜": (12, 24),
}


def _number(text: str | None) -> int:
    word = (text or "").replace("正", "一").replace("腊", "十二").replace("廿", "二十")
    return int(parse_number(word) or 0)


def _side(parts: Parts) -> int:
    return _SIDES[parts.get("q") or "这"]


def _parse_dated(parts: Parts, reference: Reference) -> Span:
    """Read a date with a year: 2023年, 二零二三年五月, 去年五月四号, 今年夏天, 明年年底."""
    name = parts.get("n")
    relative = name is not None
    year = reference.day.year + _YEAR_NAMES[name] if name is not None else _number(parts.get("y"))
    month, day, season = parts.get("m"), parts.get("d"), parts.get("s")
    if season:
        return season_span(year, _SEASONS[season], relative=relative)
    if month:
        if day:
            return day_span(date(year, _number(month), _number(day)), relative=relative)
        return _third_of(month_span(year, _number(month), relative=relative), parts)
    if parts.get("e"):
        return month_span(year, 1 if parts.get("e") == "初" else 6 if parts.get("e") == "中" else 12, relative=relative)
    return year_span(year, relative=relative)


def _third_of(month: Span, parts: Parts) -> Span:
    """Return the part of a month that is named, else all of it."""
    part = parts.get("p")
    return third_of_month(month, _PARTS.get(part, 2)) if part else month


def _beside_month(parts: Parts, reference: Reference) -> Span:
    span = shift_unit(reference.day, "month", _side(parts))
    if parts.get("d"):
        return day_span(span.first.replace(day=_number(parts.get("d"))))
    return _third_of(span, parts)


def _named_day(parts: Parts, reference: Reference) -> Span:
    return shift_unit(reference.day, "day", _DAYS[parts.get("r") or "今"])


def _weekday(parts: Parts, reference: Reference) -> Span:
    word = parts.get("w") or ""
    day = (_number(word) if word not in "日天" else 7) - 1
    if parts.get("q"):
        return day_span(week_span(reference.day + timedelta(weeks=_side(parts))).first + timedelta(days=day))
    return nearest_weekday(reference, day)


def _week(parts: Parts, reference: Reference) -> Span:
    day = reference.day + timedelta(weeks=_side(parts))
    return weekend_span(day) if parts.get("e") else week_span(day)


def _weekend(_parts: Parts, reference: Reference) -> Span:
    """Return the nearest weekend, measured by its Saturday."""
    return weekend_span(nearest_weekday(reference, 5).first)


def _parse_distance(parts: Parts, reference: Reference) -> Span | None:
    """Read 三天前, 两个星期后, 几个月前, 半年后, 一年多以前."""
    side = -1 if parts.get("a") == "前" else 1
    unit = _UNITS.get(parts.get("u") or "", "week")
    word = parts.get("c") or ""
    if word == "半":
        return shift_half(reference.day, unit, side)
    low, high = FEW if word[-1] in "几幾" else (_number(word), _number(word))
    return unit_range(reference.day, unit, *sorted((side * low, side * high))) if low else None


def _stretch(parts: Parts, reference: Reference) -> Span | None:
    """Read 最近三天, 过去两个星期, 近半年, 未来三个月, like "the last three days" in English."""
    side = 1 if parts.get("f") else -1
    unit, word, here = _UNITS.get(parts.get("u") or "", "week"), parts.get("c") or "", reference.day
    if word == "半":
        unit, n = ("month", 6) if unit == "year" else ("day", 15)
    else:
        n = FEW[1] if word[-1] in "几幾" else _number(word)
    far = day_span(here + timedelta(weeks=side * n)) if unit == "week" else shift_unit(here, unit, side * n)
    return (days(far.first, here, unit) if side < 0 else days(here, far.last, unit)) if n else None


def _part_of_year(parts: Parts, reference: Reference) -> Span:
    """Read 第三季度, 去年四季度, 上个季度, 今年上半年."""
    if parts.get("q"):
        here = reference.day.month - (reference.day.month - 1) % 3 + 3 * _side(parts)
        begins = month_span(reference.day.year, here).first
        return part_of_year(begins.year, (begins.month + 2) // 3, 3)
    months, n = (6, 1 + (parts.get("b") == "下")) if parts.get("b") else (3, _number(parts.get("k") or parts.get("l")))
    name, year = parts.get("n"), parts.get("y")
    if name is None and year is None:
        return nearest_part(reference, n, months)
    return part_of_year(
        reference.day.year + _YEAR_NAMES[name] if name else _number(year), n, months, relative=name is not None
    )


def _parse_few_days(parts: Parts, reference: Reference) -> Span:
    """Read 前几天 and 前两天 (lately), 过几天 (soon), 这几天."""
    low, high = FEW
    match parts.get("b"):
        case "前":
            return unit_range(reference.day, "day", -high, -low + 1)
        case "这" | "這":
            return days(reference.day - timedelta(days=low), reference.day + timedelta(days=low))
        case _:
            return unit_range(reference.day, "day", low - 1, high)


def _parse_part_of_unit(parts: Parts, reference: Reference) -> Span:
    """Read 月底 and 年初 as those of the month and year in which the text was written."""
    part = _PARTS.get(parts.get("p") or "", 2)
    if parts.get("u") == "月":
        return third_of_month(shift_unit(reference.day, "month", 0), part)
    return month_span(reference.day.year, (1, 6, 12)[part])


def _holiday(parts: Parts, reference: Reference) -> Span:
    month, day = _HOLIDAYS[parts.get("h") or "元旦"]
    if parts.get("n"):
        return day_span(date(reference.day.year + _YEAR_NAMES[parts.get("n") or "今年"], month, day))
    return nearest_day(reference, month, day)


_QUARTER: Final = "(?:第?(?P<k>[一二三四1-4])季度|q(?P<l>[1-4])(?![a-z0-9])|(?P<b>上|下)半年)"

_CHINESE_RULES: Final = [
    Rule("part", rf"(?:{_YEAR}|{_NAMED_YEAR})?的?{_QUARTER}", _part_of_year),
    Rule("beside_quarter", rf"{_SIDE}季度", _part_of_year),
    Rule(
        "stretch",
        rf"(?:(?P<r>最近|过去|過去|近)|(?P<f>未来|未來|接下来|接下來|今后|今後))的?(?:这|這)?{_COUNT}"
        rf"{_UNIT}(?![前后後])",
        _stretch,
    ),
    Rule("written", rf"{_YEAR}(?:的?{_SEASON}|{_MONTH}(?:份?{_PART}|{_DAY})?)?", _parse_dated),
    Rule("holiday", f"(?P<n>去年|今年|明年)?的?(?P<h>{'|'.join(_HOLIDAYS)})(?:节|假期)?", _holiday),
    Rule(
        "named_year",
        rf"{_NAMED_YEAR}(?:的?{_SEASON}|的?{_MONTH}(?:份?{_PART}|{_DAY})?|年?(?P<e>初|中|底|末))?",
        _parse_dated,
    ),
    Rule(
        "month_day",
        rf"{_MONTH}{_DAY}",
        lambda parts, reference: nearest_day(reference, _number(parts.get("m")), _number(parts.get("d"))),
    ),
    Rule("beside_month", rf"{_SIDE}月(?!饼|亮|光|球)(?:份?{_PART}|的?{_DAY})?", _beside_month),
    Rule("weekday", rf"(?<!每)(?<!每[个個])(?:{_SIDE})?{_WEEKDAY}", _weekday),
    Rule("week", rf"{_SIDE}(?:{_WEEK}(?P<e>末)?|(?P<x>周末))", _week),
    Rule("weekend", "(?<![每到])(?:周|週)末(?!都|总|一般|经常|常)", _weekend),
    Rule("away", rf"{_COUNT}{_UNIT}(?:之|以)?(?P<a>前|[后後](?!悔|备))", _parse_distance),
    Rule("few_days", "(?P<b>前|这|這|过|過)[几幾两]天", _parse_few_days),
    Rule(
        "named_day",
        "(?P<r>大前|大[后後]|(?<![以之])前|昨|今|明|(?<![以之今往最])[后後])(?:[天日](?!真|气|赋)|晚|早|夜)",
        _named_day,
    ),
    Rule("named_day_spoken", "(?P<r>昨|(?<![一-鿿])明)(?:儿个?|个儿?)(?![子女媳童科人月性])", _named_day),
    Rule("end_of", "(?P<u>月|年)(?P<p>初|中(?![国文学午风药医考奖毒标签餐式秋])|底|末)", _parse_part_of_unit),
    Rule(
        "month",
        rf"(?<![个個\d]){_MONTH}份?{_PART}?",
        lambda parts, reference: _third_of(nearest_month(reference, _number(parts.get("m"))), parts),
    ),
    Rule(
        "of_month",
        rf"(?:(?<!\w)|(?<=[到在是前于这我们])){_DAY}",
        lambda parts, reference: nearest_of_month(reference, _number(parts.get("d"))),
    ),
    Rule("season", _SEASON, lambda parts, reference: nearest_season(reference, _SEASONS[parts.get("s") or "春"])),
]

GRAMMAR: Final = Grammar([*NUMBERS, *_CHINESE_RULES])
