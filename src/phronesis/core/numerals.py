"""Numbers as people write them: digits, English words, Chinese numerals."""

from typing import Final

_ENGLISH: Final = {
    "zero": 0, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9,
    "ten": 10, "eleven": 11, "twelve": 12, "thirteen": 13, "fourteen": 14, "fifteen": 15, "sixteen": 16,
    "seventeen": 17, "eighteen": 18, "nineteen": 19, "twenty": 20, "thirty": 30, "forty": 40, "fifty": 50,
    "sixty": 60, "seventy": 70, "eighty": 80, "ninety": 90,
}  # fmt: skip
_DIGITS: Final = {digit: n for n, digit in enumerate("零一二三四五六七八九")} | {
    "〇": 0,
    "○": 0,
    "两": 2,
    "兩": 2,
    "俩": 2,
}
_TENS: Final = {"十": 10, "百": 100, "千": 1000}
_MYRIADS: Final = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}

CHINESE_DIGITS: Final = "".join([*_DIGITS, *_TENS, *_MYRIADS])
"""The characters a Chinese numeral is made of, for a regular expression's class."""

MAX_NUMERAL: Final = 40
"""Characters of a numeral: what is longer counts nothing that people talk about."""


def parse_number(text: str) -> float | None:
    """Give the number a text says, or None: "34", "1,200", "3.5", "thirty-four", "二十三", "二零二三", "3万".

    Only numbers that stand alone: no unit, no sign but a leading minus.
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
    """Give what "seven", "thirty four" or "thirty-four" says."""
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
    """Give what 三十四, 一百零五, 二零二三 or 两万三千 says."""
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
