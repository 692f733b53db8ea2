"""Decide whether a number is a phone number, by its structure and by the words before it."""

import re
from typing import Final

from phronesis.core.personal_numbers import find_numbers

_LEAST: Final = 5
_MOST: Final = 15
"""Maximum number of digits (ITU-T E.164); short local numbers have five."""

_REACH: Final = 48
"""Characters before a number that may name its kind."""

_SEPARATED: Final = re.compile(r"\+?\(?\d{1,5}\)?(?:[ .\-/]{1,2}\(?\d{1,8}\)?){1,6}")
_SHAPES_OF_OTHERS: Final = re.compile(
    r"\d{3}-\d{2}-\d{4}|\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|\d{1,3}(?:\.\d{1,3}){3}"
)
"""Shapes of a social security number, a date, and a network address."""

_PHONE: Final = re.compile(
    r"phone|mobile|\bcell|\btel\b|landline|line\b|\bsim\b|whatsapp|telegram|signal\b|\bfax\b|contact|\bext\b|extension"
    r"|\bcall|\btext\b|\breach|\bring\b|\bdial|手机|手機|电话|電話|座机|热线|传真|微信|分机|联系|聯繫|拨|打给",
    re.IGNORECASE,
)
"""Words that mark a number as a phone number."""

_CALLED: Final = re.compile(
    r"(?P<name>[^\s,.;:!?，。；：！？]{1,24}?)[ ]?(?:numbers?|num|no\.?|nr\.?|#|id|ids|code|码|号码?|编号|單號|单号"
    r"|帳號|账号)(?:[ ]?(?:is|are|was|是|为|為|[:：=#]))?[ ]{0,2}[\"“'(]?$",
    re.IGNORECASE,
)
"""The kind that the words directly before a number give it: ``order number is``, ``订单号是``."""

_OWN: Final = re.compile(
    r"my|our|your|his|her|their|its|the|a|new|old|other|main|same|work|home|office|personal|private|business|direct|best"
    r"|\w+['’]s|.*(?:[的我你他她新旧老]|[这那]个)|是",
    re.IGNORECASE,
)
"""Possessives, which say nothing about the kind."""


def is_phone(value: str, before: str) -> bool:
    """Return whether a number may be a phone number; ``before`` are the words before it.

    It is not if it has the digits of a card or an identity document, the shape of a date or another non-phone number,
    or a name of another kind (an order, an account). Digits without separator or country code count only if they are
    called a phone number, or form a Chinese mobile number.
    """
    text, digits = value.strip(), "".join(one for one in value if one.isdigit())
    if not digits or re.match(r"(?i)ext", text):
        return True  # words, or an extension: nothing to judge by
    if not _LEAST <= len(digits.removeprefix("00")) <= _MOST or _SHAPES_OF_OTHERS.fullmatch(text):
        return False
    near = before[-_REACH:]
    called = _CALLED.search(near)
    if called is not None and _PHONE.search(called[0]) is None and _OWN.fullmatch(called["name"]) is None:
        return False
    if text.startswith(("+", "00")) or _SEPARATED.fullmatch(text):
        return next(find_numbers(text), None) is None
    if re.fullmatch(r"1[3-9]\d{9}", digits):
        return True
    return _PHONE.search(near) is not None or called is not None
