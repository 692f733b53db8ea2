"""Values in the form in which they are compared (docs/memory-types.md): what is the same is written the same.

Every form is a fixed point: bringing it into form again changes nothing. What a form cannot read stays as a text, so
that it still equals itself.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Final

from phronesis.core.calendar import TimeSpan, find_times
from phronesis.core.languages import language_code
from phronesis.core.numerals import CHINESE_DIGITS, parse_number

MAX_VALUE: Final = 512
"""Characters of a value that are compared: NFKC makes eighteen of some single ones."""

_ENDS: Final = " \t\n.,;:!?。，、；：！？…~～\"'“”‘’「」『』《》()（）[]【】*_`"
_ARTICLE: Final = re.compile(
    r"(?:an?|the)\s+(?=\S)|[一这那這][个個位名只隻条條辆輛台部本杯家间間所份款种種张張把棵](?=\w)"
)
_PARTICLE: Final = re.compile(r"(?<=\w)(?:[了啦呢啊呀哦吧嘛哈]|的)$")
_CITY: Final = re.compile(r"(?<=\w\w)市$|(?<!\s)\s+city$")
_NUMBER: Final = re.compile(
    rf"(?<![\d,])-?(?:[\d,]++(?<=\d)(?:\.\d++)?|[\d,]*+\.\d++)\s?[万萬亿億k]?|[{CHINESE_DIGITS}]+|[a-z]+(?:[ -][a-z]+)?"
)
_AGE: Final = re.compile(r"(?<!\s)\s*+(?:years?(?:\s++old)?|yrs?|岁|歲|周岁|個|个)\s*$")
_DATE: Final = re.compile(r"-?-?\d{2}-\d{2}|\d{4}(?:-\d{2}(?:-\d{2})?)?")
_ANCHORS: Final = (datetime(2000, 7, 1, tzinfo=UTC), datetime(2040, 9, 15, tzinfo=UTC))
"""Two days that agree in nothing: a date found the same against both, but for its year, is one of every year."""


def normal_value(form: str, value: str, *, at: datetime | None = None) -> str:
    """Give a value in a form of memory-types.md. KeyError: there is no such form.

    ``at`` is when it was said: a date such as "next Friday" is read against it, and stays a text without.
    """
    if form == "date":
        return _date(value, at)
    return NORMALISERS[form](value)


def _folded(value: str) -> str:
    """Give a value without what never tells two apart: width, case, spaces and punctuation around it."""
    wide = unicodedata.normalize("NFKC", value[:MAX_VALUE])
    text = unicodedata.normalize("NFKC", wide.casefold())
    return " ".join(text.split())[:MAX_VALUE].strip(_ENDS)


def _settled(value: str, step: Callable[[str], str]) -> str:
    """Repeat a step that only ever shortens a text, until it changes nothing."""
    while (shorter := step(value)) != value:
        value = shorter
    return value


def normal_text(value: str) -> str:
    """Give a text without its case, width, end punctuation, leading article and closing particle."""

    def step(text: str) -> str:
        text = _folded(text)
        text = _ARTICLE.sub("", text, count=1) if _ARTICLE.match(text) else text
        return _folded(_PARTICLE.sub("", text))

    return _settled(value, step)


def _name(value: str) -> str:
    return _settled(value, _folded)


def _place(value: str) -> str:
    def step(text: str) -> str:
        text = _folded(text)
        return _CITY.sub("", text.removeprefix("the ").removeprefix("city of "))

    return _settled(value, step)


def _number(value: str) -> str:
    text = _AGE.sub("", _folded(value))
    if _NUMBER.fullmatch(text) is None:
        return normal_text(value)
    number = parse_number(text.removesuffix("k").strip())
    if number is None:
        return normal_text(value)
    number *= 1000 if text.endswith("k") else 1
    return str(int(number)) if number == int(number) else str(number)


def _language(value: str) -> str:
    text = normal_text(value)
    return language_code(text) or text


def _email(value: str) -> str:
    return _name(value).removeprefix("mailto:").strip(_ENDS)


def _phone(value: str) -> str:
    """Keep the digits, and the plus of an international number; 00 before it is a plus."""
    text = _folded(value)
    digits = "".join(char for char in text if char.isdecimal())
    if not digits:
        return normal_text(value)
    plain = "".join(str(int(char)) for char in digits)
    return f"+{plain.removeprefix('00')}" if text.startswith(("+", "00")) and plain.strip("0") else plain


def _url(value: str) -> str:
    text = unicodedata.normalize("NFKC", value[:MAX_VALUE]).strip(_ENDS + "<>").rstrip("/")
    scheme, _, rest = text.partition("://")
    if not rest:
        return _settled(value, lambda one: _folded(one).rstrip("/"))
    host, slash, path = rest.partition("/")
    return f"{scheme.casefold()}://{host.casefold()}{slash}{path}"


def _date(value: str, at: datetime | None) -> str:
    """Give 2023-05-04, 2023-05, 2023, or --05-04 for a day of every year; a text where there is no date."""
    text = _folded(value)
    if _DATE.fullmatch(text):
        return text
    one, other = (find_times(text, anchor) for anchor in _ANCHORS)
    if len(one) != 1 or len(other) != 1:
        return normal_text(value)
    if not one[0].relative:
        return _dated(one[0])
    day = one[0].first.isoformat()[5:]
    if one[0].precision == "day" and day == other[0].first.isoformat()[5:]:
        return f"--{day}"
    return normal_text(value) if at is None else _dated(find_times(text, at)[0])


def _dated(time: TimeSpan) -> str:
    return time.first.isoformat()[: {"year": 4, "month": 7}.get(time.precision, 10)]


NORMALISERS: Final[Mapping[str, Callable[[str], str]]] = {
    "text": normal_text, "name": _name, "place": _place, "date": lambda value: _date(value, None), "number": _number,
    "language": _language, "email": _email, "phone": _phone, "url": _url,
}  # fmt: skip
"""By the form's name in memory-types.md, column value."""
