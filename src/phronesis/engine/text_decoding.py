"""Decode obfuscated text: base64, hexadecimal, bits, percent escapes, rot13, reversed and spaced-out letters."""

import base64
import binascii
import codecs
import html
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final
from urllib.parse import unquote

MAX_DECODED: Final = 100_000
"""Characters from the beginning of a text in which encodings are decoded."""

_LEAST: Final = 8
"""Minimum length of an encoded run, in characters."""

_BASE64: Final = re.compile(r"(?<![A-Za-z0-9+/_-])(?:[A-Za-z0-9+/_-]{4}(?:\r?\n)?+){4,}+[A-Za-z0-9+/_-]{0,3}={0,2}")
_BASE32: Final = re.compile(r"(?<![A-Z2-7])[A-Z2-7]{24,}+=*+")
_HEX: Final = re.compile(r"(?:(?:0x|\\x|=|%)?[0-9A-Fa-f]{2}[ \t:,]?+){10,}+")
_BINARY: Final = re.compile(r"(?:[01]{8}[ \t,]?+){8,}+")
_CODES: Final = re.compile(r"(?:\d{2,3}[ \t]?,?[ \t]?+){10,}+")
_ESCAPES: Final = re.compile(r"\\u\{?([0-9A-Fa-f]{4,6})\}?")
_PERCENT: Final = re.compile(r"(?:%[0-9A-Fa-f]{2})")
_ENTITY: Final = re.compile(r"&#(?:\d{2,6}|[xX][0-9A-Fa-f]{2,6});?")
_APART: Final = re.compile(r"(?<![^\W\d_])[^\W\d_](?:(?:[^\w\n]|_){1,4}+[^\W\d_](?![^\W\d_])){7,}+")
_BETWEEN: Final = re.compile(r"([\W_]+)")
_LEET: Final = str.maketrans("013457@$!|", "oieastasil")
_DIGIT_IN_WORD: Final = re.compile(r"[A-Za-z][013457@$!|]+[A-Za-z]")


def decode_parts(text: str) -> Iterator[str]:
    """Return the decoded parts of a text, joined; most texts have none."""
    shown = text[:MAX_DECODED]
    for pattern, decode in _RUNS:
        for run in pattern.finditer(shown):
            said = decode(run[0])
            if said is not None and len(said) >= _LEAST:
                yield said
    for pattern, read in _WHOLE:
        if len(pattern.findall(shown[:_SAMPLE])) >= _OFTEN:
            yield read(shown)


def letter_variants(text: str) -> Iterator[str]:
    """Return a text with its letters exchanged: digits as letters, rot13, reversed."""
    shown = text[:MAX_DECODED]
    if _DIGIT_IN_WORD.search(shown) is not None:
        yield shown.translate(_LEET)
    if shown.isascii():
        yield codecs.encode(shown, "rot13")
    yield shown[::-1]


def apart(text: str) -> Iterator[str]:
    """Return the runs of spaced-out letters (``i g n o r e  a l l``), joined.

    Word boundaries are kept where wider gaps show them. The string between most letters is taken as the separator;
    anything longer ends a word.
    """
    for run in _APART.finditer(text[:MAX_DECODED]):
        parts = _BETWEEN.split(run[0])  # letters, and what stands between them, in turn
        usual = Counter(parts[1::2]).most_common(1)[0][0]
        gaps = ["" if gap == usual else " " for gap in parts[1::2]]
        yield "".join(map("".join, zip(parts[::2], [*gaps, ""], strict=True)))


def _text_of(raw: bytes) -> str | None:
    """Return bytes as text; None if they are not text."""
    for encoding in ("utf-8", "utf-16-le"):
        try:
            text = raw.decode(encoding)
        except UnicodeDecodeError:
            continue
        if text and sum(char.isprintable() or char.isspace() for char in text) == len(text):
            return text
    return None


def _of_base64(run: str) -> str | None:
    body = "".join(run.split()).rstrip("=").replace("-", "+").replace("_", "/")
    body = body[: len(body) - (len(body) % 4 == 1)]
    try:
        return _text_of(base64.b64decode(body + "=" * (-len(body) % 4), validate=True))
    except (binascii.Error, ValueError):
        return None


def _of_base32(run: str) -> str | None:
    body = run.rstrip("=")
    try:
        return _text_of(base64.b32decode(body + "=" * (-len(body) % 8)))
    except (binascii.Error, ValueError):
        return None


def _of_hex(run: str) -> str | None:
    return _text_of(bytes.fromhex("".join(re.findall(r"[0-9A-Fa-f]{2}", re.sub(r"0x|\\x", "", run)))))


def _of_binary(run: str) -> str | None:
    return _text_of(bytes(int(one, 2) for one in re.findall("[01]{8}", run)))


def _of_codes(run: str) -> str | None:
    codes = [int(one) for one in re.findall(r"\d+", run)]
    return _text_of(bytes(codes)) if max(codes) < 256 else None  # noqa: PLR2004 - a byte


def _unescape(text: str) -> str:
    return _ESCAPES.sub(lambda found: chr(min(int(found[1], 16), 0x10FFFF)), text)


_RUNS: Final[tuple[tuple[re.Pattern[str], Callable[[str], str | None]], ...]] = (
    (_BASE64, _of_base64),
    (_BASE32, _of_base32),
    (_HEX, _of_hex),
    (_BINARY, _of_binary),
    (_CODES, _of_codes),
)
_WHOLE: Final[tuple[tuple[re.Pattern[str], Callable[[str], str]], ...]] = (
    (_ESCAPES, _unescape),
    (_PERCENT, unquote),
    (_ENTITY, html.unescape),
)
_SAMPLE: Final = 20_000
_OFTEN: Final = 4
"""Occurrences that an escape must have in the beginning of a text before the text is decoded with it."""
