"""Find numbers of cards, accounts and identity documents by structure and check digits, and recognise phone numbers.

Sources: ISO/IEC 7812 (cards, Luhn), ISO 13616 (IBAN, mod 97-10), GB 11643-1999 (resident identity, mod 11-2), SSA POMS
RM 10201.035 (areas of social security numbers), ITU-T E.164 (phones), and the issuers' pages of the others.
"""

import re
from collections.abc import Callable, Iterator
from datetime import date
from functools import cache
from typing import Final

from phronesis.core.secret_formats import Span

_BEFORE: Final = r"(?<![A-Za-z0-9_.\-])"
_AFTER: Final = r"(?![A-Za-z0-9_]|[.\-][A-Za-z0-9])"
_FIGURES: Final = re.compile(r"\d{3}")
"""A digit, which all these numbers contain."""
_IBAN_LENGTH: Final = {
    country[:2]: int(country[2:])
    for country in """
    AD24 AE23 AL28 AT20 AZ28 BA20 BE16 BG22 BH22 BR29 BY28 CH21 CR22 CY28 CZ24 DE22 DK18 DO28 EE20 EG29 ES24 FI18
    FO18 FR27 GB22 GE22 GI23 GL18 GR27 GT28 HR21 HU28 IE22 IL23 IQ23 IS26 IT27 JO30 KW30 KZ20 LB28 LC32 LI21 LT20
    LU20 LV21 MC27 MD24 ME22 MK19 MR27 MT31 MU30 NL18 NO15 PK24 PL28 PS29 PT25 QA29 RO24 RS22 SA24 SE24 SI19 SK24
    SM27 TN24 TR26 UA29 VA22 VG24 XK20
    """.split()
}
"""Characters of an IBAN by country (SWIFT's registry)."""
_IBAN: Final = re.compile(r"[A-Z]{2}\d{2}(?: ?[A-Z0-9]){11,31}")
_JOINED: Final = re.compile(r"[A-Za-z0-9]")
_PROVINCES: Final = re.compile("1[1-5]|2[1-3]|3[1-7]|4[1-6]|5[0-4]|6[1-5]|71|8[1-3]")
_RESIDENT_WEIGHTS: Final = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_FIRST_YEAR: Final = 1880
_LAST_YEAR: Final = 2100
_ISSUERS: Final = re.compile(
    r"4(?:\d{15}|\d{18})|5[1-5]\d{14}|2(?:22[1-9]|2[3-9]\d|[3-6]\d\d|7[01]\d|720)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}"
    r"|35(?:2[89]|[3-8]\d)\d{12}|6(?:011|5\d\d|4[4-9]\d)\d{12}|62\d{14,17}"
)
"""Visa, Mastercard, American Express, Diners Club, JCB, Discover, UnionPay: first figures and lengths."""
_IS_AN_ID: Final = re.compile(
    r"(?:(?:(?<![A-Za-z])|_)(?:id|ids|uid|uuid|sku|isbn|ean|imei|seed|(?:order|invoice|trace|tracking|ticket|serial)"
    r"(?:[ _-]?(?:no\.?|num|number|id))?)|单号|編號|编号|流水号)[\"'\])]{0,2}\s{0,2}[:=#：]?\s{0,2}[\"']?$",
    re.IGNORECASE,
)
"""Words before a number that mark it as a record's identifier."""
_NAME_REACH: Final = 24


def luhn(digits: str) -> bool:
    """Return whether a number ends with its check digit by Luhn's rule."""
    total = sum(int(one) for one in digits[-1::-2])
    return (total + sum((0, 2, 4, 6, 8, 1, 3, 5, 7, 9)[int(one)] for one in digits[-2::-2])) % 10 == 0


def _is_card(found: re.Match[str], text: str) -> int:
    whole = found[0]
    for shown in (whole, whole[: found.end("short") - found.start()] if found["short"] else whole):
        digits = re.sub(r"\D", "", shown)
        if _ISSUERS.fullmatch(digits) and luhn(digits) and len(set(digits)) > 1:
            grouped = len(digits) < len(shown)
            named = _IS_AN_ID.search(text[max(0, found.start() - _NAME_REACH) : found.start()])
            return len(shown) if grouped or named is None else 0
    return 0


def _is_resident(found: re.Match[str], _text: str) -> int:
    digits = found[0].upper()
    try:
        born = date(int(digits[6:10]), int(digits[10:12]), int(digits[12:14]))
    except ValueError:
        return 0
    total = sum(weight * int(one) for weight, one in zip(_RESIDENT_WEIGHTS, digits, strict=False))
    real = (
        _PROVINCES.match(digits) is not None
        and _FIRST_YEAR < born.year < _LAST_YEAR
        and digits[17] == "10X98765432"[total % 11]
    )
    return len(digits) if real else 0


def _is_iban(found: re.Match[str], text: str) -> int:
    length = _IBAN_LENGTH.get(found[0][:2])
    if length is None:
        return 0
    shown = _IBAN.match(text, found.start())
    read = "" if shown is None else shown[0].replace(" ", "")
    if shown is None or len(read) < length:
        return 0
    turned = read[4:length] + read[:4]
    if int("".join(str(int(one, 36)) for one in turned)) % 97 != 1:
        return 0
    end = length
    while len(shown[0][:end].replace(" ", "")) < length:
        end += 1
    return 0 if _JOINED.match(text, found.start() + end) else end


def _is_social_security(found: re.Match[str], _text: str) -> int:
    area, group, serial = found[0].split("-")
    real = area not in {"000", "666"} and area < "900" and group != "00" and serial != "0000"
    return len(found[0]) if real else 0


def _is_cpf(found: re.Match[str], _text: str) -> int:
    digits = [int(one) for one in found[0] if one.isdigit()]
    for count in (9, 10):
        rest = sum((count + 1 - n) * digits[n] for n in range(count)) * 10 % 11 % 10
        if rest != digits[count]:
            return 0
    return len(found[0]) if len(set(digits)) > 1 else 0


def _is_aadhaar(found: re.Match[str], _text: str) -> int:
    return len(found[0]) if _verhoeff([int(one) for one in found[0] if one.isdigit()]) else 0


def _verhoeff(digits: list[int]) -> bool:
    """Return whether a number ends with its check digit by Verhoeff's rule, over the dihedral group of order ten."""
    check, turn = 0, (1, 5, 7, 6, 2, 8, 3, 0, 9, 4)
    for place, one in enumerate(reversed(digits)):
        figure = one
        for _ in range(place % 8):
            figure = turn[figure]
        flips, rest = divmod(check, 5)
        other, steps = divmod(figure, 5)
        moved = (rest - steps) % 5 if flips else (rest + steps) % 5
        check = moved + 5 * (flips ^ other)
    return check == 0


def _is_hong_kong(found: re.Match[str], _text: str) -> int:
    letters, figures, mark = found["letters"], found["figures"], found["mark"]
    codes = [36, *(ord(one) - 55 for one in letters)][-2:] + [int(one) for one in figures]
    total = sum(weight * one for weight, one in zip(range(9, 1, -1), codes, strict=True))
    return len(found[0]) if "0123456789A"[-total % 11] == mark else 0


def _is_codice_fiscale(found: re.Match[str], _text: str) -> int:
    odd = (1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23)
    ranks = [int(one) if one.isdigit() else ord(one) - 65 for one in found[0]]
    total = sum(odd[rank] if n % 2 == 0 else rank for n, rank in enumerate(ranks[:15]))
    return len(found[0]) if total % 26 == ranks[15] else 0


_CARD: Final = (
    r"(?<![0-9A-Fa-f]{4} )(?:\d{4}(?P<s>[ -])\d{4}(?P=s)\d{4}(?P=s)(?P<short>\d{4})(?:(?P=s)\d{1,3})?"
    r"|\d{4}(?P<t>[ -])\d{6}(?P=t)\d{4,5}|\d{14,19})(?! [0-9A-Fa-f]{4,6}(?![0-9A-Za-z]))"
)
"""A card number as printed or without spaces; not within further groups of four, as in a table of codes."""
_CHECKS: Final[tuple[tuple[str, str, Callable[[re.Match[str], str], int]], ...]] = (
    ("card_number", _CARD, _is_card),
    ("resident_id", r"[1-8]\d{16}[\dXx]", _is_resident),
    ("social_security_number", r"\d{3}-\d{2}-\d{4}", _is_social_security),
    ("cpf_number", r"\d{3}\.\d{3}\.\d{3}-\d{2}", _is_cpf),
    ("aadhaar_number", r"(?<![0-9A-Fa-f] )[2-9]\d{3} \d{4} \d{4}(?! [0-9A-Fa-f])", _is_aadhaar),
    ("hong_kong_id", r"(?P<letters>[A-Z]{1,2})(?P<figures>\d{6})\((?P<mark>[0-9A])\)", _is_hong_kong),
    ("codice_fiscale", r"[A-Z]{6}\d{2}[A-EHLMPRST]\d{2}[A-Z]\d{3}[A-Z]", _is_codice_fiscale),
)
KINDS: Final = (*(kind for kind, _, _ in _CHECKS), "iban")
"""Kinds of numbers that are recognised by check digits or structure."""


@cache
def _patterns() -> tuple[tuple[str, re.Pattern[str], Callable[[re.Match[str], str], int]], ...]:
    rows = [(kind, re.compile(f"{_BEFORE}{pattern}{_AFTER}"), check) for kind, pattern, check in _CHECKS]
    return (*rows, ("iban", re.compile(r"(?<![A-Za-z0-9_])[A-Z]{2}\d{2}(?=[ ]?[A-Z0-9]{4})"), _is_iban))


def find_numbers(text: str) -> Iterator[Span]:
    """Return the numbers of cards, accounts and identity documents in a text."""
    if _FIGURES.search(text) is None:
        return
    for kind, pattern, check in _patterns():
        for found in pattern.finditer(text):
            length = check(found, text)
            if length:
                yield Span(found.start(), found.start() + length, kind)


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
