"""Locate secrets and personal numbers in a text, by format and by the name of their field, and replace them.

A field (``password: hunter22``, ``密码是abc12345``) is a name that configuration files, headers and forms use for
credentials, an assignment mark (``:``, ``=``, ``is``, ``是``) and a value. A value is judged by its characters only: it
must mix more than letters, and must not be an expression of a program, an address, a version or a placeholder.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, Final, Literal

from phronesis.core.personal_numbers import find_numbers
from phronesis.core.secret_formats import NUMBERS, SECRETS, Span, find_formats, lower_in_place, places

Class = Literal["password", "pin", "token", "number"]
_PASSWORDS: Final = (
    "password|passwd|passphrase|passcode|pwd|pw|pass|密码|密碼|口令|contraseña|passwort|mot de passe|senha|пароль"
    "|パスワード|비밀번호"
)
_KEYS: Final = (
    "secret|secret key|secret_key|secretkey|private key|private_key|encryption key|encryption_key|signing key"
    "|signing_key|license key|密钥|密鑰|秘钥"
)
_TABLE: Final[tuple[tuple[str, Class, str], ...]] = (
    # kind, what its value looks like, names in small letters
    ("password", "password", _PASSWORDS),
    ("pin", "pin", "pin|pin code|pin码"),
    ("card_code", "pin", "cvv|cvc"),
    ("access_token", "token", "token|令牌"),
    ("api_key", "token", "api key|api_key|api-key|apikey|access key|access_key|accesskey"),
    ("secret", "token", _KEYS),
    ("social_security_number", "number", "social security number|social security no|ssn"),
    ("passport_number", "number", "passport number|passport no|passport|护照号|护照号码"),
    ("licence_number", "number", "license number|licence number|驾驶证号"),
    ("identity_number", "number", "national id|national insurance number|社保号"),
    ("resident_id", "number", "身份证号|身份证号码|身份證號"),
    ("card_number", "number", "card number|银行卡号|信用卡号"),
)
_NAMES: Final = tuple((name, kind, form) for kind, form, names in _TABLE for name in names.split("|"))
SECRET_KINDS: Final = tuple(sorted({kind for _, kind, form in _NAMES if form in {"password", "token", "pin"}}))
NUMBER_KINDS: Final = tuple(sorted({kind for _, kind, form in _NAMES if form == "number"}))
LITERALS: Final = tuple(
    name for name, _, _ in _NAMES if not any(other != name and other in name for other, _, _ in _NAMES)
)
"""Lower-case literals of which a text holds one if it has any of these fields."""
_S: Final = r"[^\S\n]"
_AFTER_NAME: Final = rf"""
    (?:
      (?:{_S}(?:for|of|to|on){_S}[^\n.,;:=?!，。：]{{1,40}}?)?                  # what it is for
      (?:\\?["'`*\]]){{0,3}}                                                  # the name's own quotation ends
      (?:{_S}(?i:value)(?==["']))?                                           # an attribute of XML
      (?::{_S}?(?:str|String|string|&str){_S}?(?==))?                         # a type
      (?:{_S}{{0,3}}(?:=>|:=|={{1,3}}|[:：＝]){_S}{{0,8}}
        |['’]s{_S}
        |{_S}[-–—]{_S}
        |{_S}{{1,3}}(?i:is|was|are|to|es|ist|est){_S}?:?{_S}{{1,3}}(?:(?i:now|still|just|currently){_S})?
        |{_S}{{0,3}}(?:现在|現在|已|还|還|就)?(?:是|为|為|改成了?|改为|设成了?|设为|は|は、){_S}{{0,3}}[:：]?{_S}{{0,3}}
        |(?P<bare>(?<=[\u3400-\u9fff]){_S}{{0,3}}|(?i:(?<=cv[vc])){_S}))
      |(?P<option>{_S}))
    (?P<quote>\\?["'`]|[“‘「『]|\*{{1,2}}{_S}?)?
"""
"""What may separate a field's name from its value."""
_OPTION: Final = re.compile(r"(?:--[\w-]*|\blogin[ ]\S{1,40}[ ])$")
"""What marks the next word as the value of a name: a command's option, a line of a netrc file."""
_RUN: Final = re.compile(r"[!-~]{1,200}")
_STOPS: Final = re.compile(r"[\"'`<>]|\\[nrt\"']")
_SEPARATORS: Final = re.compile(r"[,;&|]")
_CLOSERS: Final = ".,;:?)]}*"
_NUMBER: Final = re.compile(r"[A-Z]{0,3}\d(?:[ -]?\d){3,20}[A-Z]?(?![A-Za-z0-9])")
_LETTER: Final = re.compile(r"[A-Za-z]")
_DIGIT: Final = re.compile(r"\d")
_NOT_A_VALUE: Final = re.compile(
    r"""(?ix)
    .*[()\[\]{}].* | \$[A-Za-z_][\w:.-]* | %.* | .*\\.*                               # code, a variable
    | /.* | \.{1,2}/.* | ~/.* | .*://.*                                                # a path, an address
    | [a-z_]\w*(?:\.[a-z_]\w*)+                                                         # a member of an object
    | [^@\s]+@[\w-]+(?:\.[\w-]+)+                                                       # an address of mail
    | v?\d+(?:\.\d+)+\w* | \d{4}-\d\d-\d\d.* | \d{1,2}:\d\d.*                           # a version, a time
    | \d{1,4}[-+]?(?:bits?|bytes?|char(?:acter)?s?|digits?|letters?|words?|symbols?|th|st|nd|rd|ms|s|k|m|g|[kmg]b|px)
    | [a-z]+[-_]\d{1,2}
    | .*\*\*\*.* | .*\.\.\..* | (?:your|my|the|some|insert|replace|enter|new|old)[-_].*  # a placeholder
    | (?:base|sha|md|utf|aes|rsa|oauth|argon|pbkdf|bcrypt|hs|rs|es|latin|cp|iso)[-_]?\d{1,4}(?:[-_/]\w+){0,4}
    """
)
"""Values that are no credentials: expressions, addresses, versions, placeholders, names of algorithms."""
_TYPES: Final = frozenset(
    """
    string str text none null nil true false required optional password passwd secret token varchar char bool boolean
    bytes any object undefined hidden redacted encrypted masked empty default unknown invalid incorrect wrong missing
    """.split()
)
"""Type names that forms and schemas have in place of a value."""
_WORDY: Final = re.compile(r"(?i)[a-z]+(?:[-_ ][a-z]+)*[-_ ]?\d{0,3}|[a-z0-9]{1,12}(?:-[a-z0-9]{1,12}){1,8}(?<!\d{4})")
_WORDS_DRAWN: Final = re.compile(r"[a-z]{3,12}(?:-[a-z]{3,12}){3,9}", re.IGNORECASE)
"""A passphrase of random words."""
_CLASS_NAME: Final = re.compile(r"(?:[A-Z][a-z]*\d?){2,}")
_WORD_IN_IT: Final = re.compile(r"[A-Z]?[a-z]{3,}")
_SYMBOL: Final = re.compile(r"(?<=[A-Za-z])[!@$%^*](?=.)")
_USER: Final = re.compile(
    r"(?:(?i:user(?:[ _-]?name)?|login|e-?mail|account)[\"']?|账号|用户名?|帳號)\s{0,3}[:=：是为]\s{0,3}"
    r"[\"']?[\w.@+-]{1,40}[\"']?[\s,;，。/|]{1,8}(?:and )?[\"']?$"
)
"""The user name field directly before that of the password."""
_USER_REACH: Final = 80
_WEAK_PREFIX: Final = re.compile(
    r"(?i)(?:page|next|sync|continuation|cursor|pad|eos|bos|unk|sep|cls|mask|csrf|prompt|public[-_ ]?key)[-_ ]?$"
)
"""Names before ``token`` that mean a page token or a text token."""
_BY_ENDING: Final = tuple(
    sorted(
        (*_NAMES, ("authorization", "access_token", "token"), ("credential", "secret", "token")),
        key=lambda row: -len(row[0]),
    )
)
_NAME_READ: Final = 64
_LONGEST: Final = 512
_SHORTEST: Final = 5
_SHORTEST_TOKEN: Final = 10
_LONG_TOKEN: Final = 20
_WORDS_MAKE: Final = 0.7
"""The share of a name's letters that belong to words."""
_PIN: Final = re.compile(r"\d{3,8}")
_DIGITS: Final = re.compile(r"\d{4,16}")


@cache
def _after_name() -> re.Pattern[str]:
    return re.compile(_AFTER_NAME, re.VERBOSE)


def find_fields(text: str, low: str) -> Iterator[Span]:
    """Return the values in a text under the name of a credential; ``low`` is the lower-case text."""
    for name, kind, form in _NAMES:
        for at in places(low, name):
            if not _is_name(text, at, name):
                continue
            found = _after_name().match(text, at + len(name))
            if found is None or (
                found["option"] is not None and _OPTION.search(text, max(0, at - _NAME_READ), at) is None
            ):
                continue
            value = _number(text, found) if form == "number" else _value(text, found)
            if value is not None and (form == "number" or _is_secret(text, at, (kind, form), found, value)):
                yield Span(value[0], value[1], kind)


def _is_name(text: str, at: int, name: str) -> bool:
    """Return whether a place holds a name of its own, not letters within another word."""
    if not name.isascii():
        return True
    before = text[at - 1 : at]
    short = name in {"pin", "pw", "pass", "ssn", "cvv", "cvc", "pin code", "passport"}
    if short and before.isascii() and before.isalnum():
        return False
    return not (name == "token" and _WEAK_PREFIX.search(text[max(0, at - 16) : at]))


def _value(text: str, found: re.Match[str]) -> tuple[int, int] | None:
    """Return the bounds of the value: to the closing quotation mark, or the next space."""
    start = found.end()
    run = _RUN.match(text, start)
    if run is None:
        return None
    shown = run[0]
    stop = _STOPS.search(shown)
    shown = shown if stop is None else shown[: stop.start()]
    if found["quote"] is None and ("=" in found[0] or ":" in found[0]) and (cut := _SEPARATORS.search(shown)):
        shown = shown[: cut.start()]
    if found["quote"] is not None and found["quote"].lstrip("\\") in {'"', "'", "`"}:
        closed = text[start + len(shown) : start + len(shown) + 2].lstrip("\\")[:1] == found["quote"][-1]
        return (start, start + len(shown)) if shown and closed else None
    shown = shown.rstrip(_CLOSERS)
    return (start, start + len(shown)) if shown else None


def _number(text: str, found: re.Match[str]) -> tuple[int, int] | None:
    """Return the bounds of the number in a field of a card or an identity document."""
    number = _NUMBER.match(text, found.end())
    return number.span() if number is not None and len(_DIGIT.findall(number[0])) >= _SHORTEST else None


def _is_secret(text: str, at: int, field: tuple[str, Class], found: re.Match[str], value: tuple[int, int]) -> bool:
    shown = text[value[0] : value[1]]
    kind, form = field
    if form == "pin":
        return _PIN.fullmatch(shown) is not None and (
            kind == "card_code" or (found["bare"] is None and " to" not in found[0])
        )
    if text[value[1] : value[1] + 1] in {"(", "[", ">"} or is_placeholder(shown):
        return False
    if form == "token":
        return is_random(shown)
    if found["bare"] is not None and not (_LETTER.search(shown) and _DIGIT.search(shown)):
        return False
    if _WORDS_DRAWN.fullmatch(shown) is not None:
        return True
    if is_password(shown):
        return not (text[at : at + 4].lower() == "pass" and shown.isdigit() and text[at + 4 : at + 5] in ":= ")
    assigned = any(one in found[0] for one in ":=：") and shown.isalpha() and shown.islower()
    return assigned and len(shown) >= _SHORTEST and _USER.search(text[max(0, at - _USER_REACH) : at]) is not None


def is_placeholder(value: str) -> bool:
    """Return whether a value is a placeholder: a variable, an expression, an address, a type name."""
    if len(set(value)) <= 2 and not value.isdigit():  # noqa: PLR2004 - xxxx, ****, -_-_
        return True
    return value.lower() in _TYPES or _NOT_A_VALUE.fullmatch(value) is not None


def is_password(value: str) -> bool:
    """Return whether a value mixes character classes, as passwords do."""
    if value.isdigit():
        return _DIGITS.fullmatch(value) is not None
    if len(value) < _SHORTEST or _LETTER.search(value) is None:
        return False
    return _DIGIT.search(value) is not None or _SYMBOL.search(value.strip("!?*")) is not None


def is_random(value: str) -> bool:
    """Return whether a value looks random, as keys and tokens do."""
    if len(value) < _SHORTEST_TOKEN or _WORDY.fullmatch(value) is not None:
        return False
    words = sum(map(len, _WORD_IN_IT.findall(value)))
    if _CLASS_NAME.fullmatch(value) is not None and words > _WORDS_MAKE * len(value):
        return False
    figures, letters = len(_DIGIT.findall(value)), len(_LETTER.findall(value))
    mixed = len(value) >= _LONG_TOKEN and value != value.lower() and value != value.upper()
    return figures >= (1 if mixed else 2) and letters >= 2 and len(set(value)) >= 6  # noqa: PLR2004 - few are a pattern


def named_kind(name: str, value: str) -> str | None:
    """Return the kind of a structured value by its member name, or None if it is no credential.

    ``{"password": "swordfish"}``: any value under such a name is a credential unless it is a placeholder. A token or
    key must look random.
    """
    low = lower_in_place(name)[-_NAME_READ:]
    for ending, kind, form in _BY_ENDING:
        if not low.endswith(ending) or not _is_name(low, len(low) - len(ending), ending):
            continue
        if form == "number":
            whole = _NUMBER.fullmatch(value)
            return kind if whole is not None and len(_DIGIT.findall(value)) >= _SHORTEST else None
        if form == "pin":
            return kind if _PIN.fullmatch(value) else None
        if len(value) > _LONGEST or value.startswith("[") or is_placeholder(value):
            return None
        if form == "password":
            return kind if len(value) >= _SHORTEST and not any(map(str.isspace, value)) else None
        issued = is_random(value) or (kind != "access_token" and len(value) > _SHORTEST and is_password(value))
        return kind if issued and not any(map(str.isspace, value)) else None
    return None


_MARKER: Final = re.compile(
    rf"\[(?:(?:secret: )?(?:{'|'.join(one.replace('_', ' ') for one in (*SECRETS, *NUMBERS))}))\]"
)
Skip = Callable[[str], bool]
"""A predicate for kinds that are not redacted."""


def marker(kind: str) -> str:
    """Return the marker of a kind: ``[secret: github token]``, ``[card number]``."""
    name = kind.replace("_", " ")
    return f"[{name}]" if kind in NUMBERS else f"[secret: {name}]"


def markers(text: str) -> list[tuple[int, int]]:
    """Return the positions of markers in a text."""
    return [found.span() for found in _MARKER.finditer(text)] if "[" in text else []


def find_private(text: str) -> list[Span]:
    """Return the secrets and personal numbers in a text in order, without nesting.

    Overlapping ones are merged under the more specific kind: a token of a known issuer before the value of a field.
    Time is linear in the text.
    """
    low = lower_in_place(text)
    found = find_formats(text, low)
    found += find_numbers(text)
    if any(one in low for one in LITERALS):
        found += find_fields(text, low)
    if len(found) < 2:  # noqa: PLR2004 - nothing to join
        return found
    ranked = sorted(enumerate(found), key=lambda one: (one[1].start, one[0]))
    out: list[tuple[int, Span]] = []
    for rank, span in ranked:
        if not out or span.start >= out[-1][1].end:
            out.append((rank, span))
            continue
        before, last = out[-1]
        kind = last.kind if before < rank else span.kind
        out[-1] = (min(before, rank), Span(last.start, max(last.end, span.end), kind))
    return [span for _, span in out]


def redact(text: str, spans: Sequence[Span]) -> str:
    """Return a text with a marker in the place of each span; line breaks of redacted text are kept."""
    out, at = [], 0
    for span in spans:
        out += [text[at : span.start], marker(span.kind), "\n" * text.count("\n", span.start, span.end)]
        at = span.end
    return "".join([*out, text[at:]])


def mask(text: str) -> str:
    """Return a text without its secrets and personal numbers."""
    spans = find_private(text)
    return redact(text, spans) if spans else text


def mask_value(value: Any, name: str = "") -> Any:
    """Return plain JSON data without the secrets and personal numbers of its texts.

    ``name`` is the member name of the value.
    """
    return redact_value(value, lambda _kind: False, lambda _kind, _place: None, name=name)


def redact_value(value: Any, skip: Skip, note: Callable[[str, str], None], *, name: str = "", place: str = "") -> Any:
    """Return plain JSON data with a marker for each secret and personal number; the same object if there are none.

    A text under the name of a credential (``{"password": "swordfish"}``) is one. ``note`` is called with the kind and
    the place (``tool_calls[0].args.password``) of each.
    """
    if isinstance(value, str):
        return _redacted_text(value, skip, note, name=name, place=place)
    if isinstance(value, Mapping):
        named = next((one for one in (value.get("key"), value.get("name")) if isinstance(one, str)), None)
        changed = {}
        for key, member in value.items():
            under = str(named) if named is not None and key == "value" else str(key)
            made = redact_value(member, skip, note, name=under, place=f"{place}.{key}" if place else str(key))
            if made is not member:
                changed[key] = made
        return {**value, **changed} if changed else value
    if isinstance(value, list | tuple):
        made = [redact_value(one, skip, note, name=name, place=f"{place}[{n}]") for n, one in enumerate(value)]
        return value if all(one is other for one, other in zip(made, value, strict=True)) else made
    if isinstance(value, int) and not isinstance(value, bool) and name:
        kind = named_kind(name, str(value))
        if kind is not None and not skip(kind):
            note(kind, place)
            return marker(kind)
    return value


def _redacted_text(text: str, skip: Skip, note: Callable[[str, str], None], *, name: str, place: str) -> str:
    spans = [span for span in find_private(text) if not skip(span.kind)]
    kind = named_kind(name, text) if name and not spans else None
    if kind is not None and not skip(kind):
        spans = [Span(0, len(text), kind)]
    for span in spans:
        note(span.kind, place)
    return redact(text, spans) if spans else text
