"""Decode bytes to text: by byte order mark, by declared charset, or by guess.

Tried in this order: a byte order mark; UTF-16 without one; UTF-8, which other encodings hardly ever match; the charset
declared with or in the document; then Chinese in GB18030 or Big5 against Windows-1252. A text that looks like none of
these (Shift-JIS, EUC, Cyrillic) is refused: its sender has to name the charset. In GB 2312 (a subset of GB18030) a
character of prose is two bytes from A1 on, and the first bytes of the commonest 3,755 are B0 to D7 (level 1). In Big5
the 5,401 common ones begin with A4 to C6, and four in ten second bytes are below 7F. Accented letters seldom stand in
pairs.
"""

import codecs
import re
from typing import Final

from phronesis.errors import InputError

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # begins like UTF-16's
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SAMPLE: Final = 200_000
"""Bytes that are examined to detect an encoding."""

_DECLARED: Final = re.compile(
    rb"""(?:charset|encoding|coding)\s{0,3}[=:]\s{0,3}["']?([A-Za-z0-9_.:-]{2,40})""", re.IGNORECASE
)
_HEAD: Final = 2_048
"""First bytes in which a document may declare its charset (HTML's limit is 1,024, ``<meta charset>``)."""

_HIGH: Final = re.compile(rb"[\x80-\xff]")
_GB_PAIR: Final = re.compile(rb"[\xa1-\xa9\xb0-\xf7][\xa1-\xfe]")
_GB_COMMON: Final = re.compile(rb"[\xa1-\xa3\xb0-\xd7][\xa1-\xfe]")
_BIG5_PAIR: Final = re.compile(rb"[\xa1-\xf9][\x40-\x7e\xa1-\xfe]")
_BIG5_COMMON: Final = re.compile(rb"[\xa1-\xc6][\x40-\x7e\xa1-\xfe]")
_MOST: Final = 0.9
"""Share of the bytes above 7F that must be in pairs for Chinese text. In prose all are, accents seldom."""

_FEW_BROKEN: Final = 0.02
"""Share of UTF-8 sequences that may be invalid: a truncated or patched file is still UTF-8."""

_KANA: Final = frozenset((0xA4, 0xA5))
_SIGNS: Final = frozenset(range(0xA1, 0xAA))
_HANGUL: Final = frozenset(range(0xB0, 0xC9))
_ENOUGH: Final = 20
_ALL: Final = 0.97
"""Characters from which Korean is recognised by its rows, and the share in the rows of Hangul; two fifths of Chinese
are beyond these."""

_UNDEFINED: Final = re.compile(rb"[\x81\x8d\x8f\x90\x9d]")
_ASCII_LETTER: Final = re.compile(rb"[A-Za-z]")
_ACCENTED: Final = re.compile(rb"[\xc0-\xd6\xd8-\xf6\xf8-\xff\x8a\x8c\x8e\x9a\x9c\x9e\x9f]")
_SIGN_BESIDE: Final = re.compile(rb"[\x80-\xbf](?=[\x80-\xff])|[\xc0-\xff](?=[\x80-\xbf])")
_RARE: Final = 100
"""Bytes per byte above 7F from which a text is readable whatever that byte is: a log with a garbled line."""

_TOO_FEW: Final = 2
"""Bytes above 7F that do not suffice for detection: the text is read as Windows-1252."""

_CONTROLS: Final = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_FEW_CONTROLS: Final = 0.01
"""Share of control characters in text: logs have colours (ESC, not counted) and form feeds, programs a third."""

_ALIASES: Final = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "x-gbk": "gb18030",
    "iso-8859-1": "cp1252",
    "latin-1": "cp1252",
    "latin1": "cp1252",
    "us-ascii": "utf-8",
    "ascii": "utf-8",
    "unicode": "utf-16",
}
"""Charset names that are often used wrongly, mapped as browsers do (WHATWG, Encoding Standard)."""

_TEXTS: Final = frozenset(
    """
    big5 big5hkscs cp1250 cp1251 cp1252 cp1253 cp1254 cp1256 cp932 cp949 euc_jp euc_kr gb18030 iso8859-2 iso8859-5
    iso8859-7 iso8859-8 iso8859-9 iso8859-15 koi8-r koi8-u cp437 cp850 cp866 cp1255 cp1257 cp1258 cp874 shift_jis utf-8
    utf-16 utf-16-le utf-16-be
    """.split()
)
"""Charsets that may be declared; Python's other codecs decompress or rewrite and are no text encodings."""


def unreadable(problem: str) -> InputError:
    """Return the error for a document that cannot be read; ``problem`` says why, and what to do."""
    return InputError(f"document: {problem}", field="document")


def decoded(data: bytes, charset: str | None = None) -> str:
    """Return the text of ``data``, with the sender's ``charset`` if given; InputError for bytes that are not text."""
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _text(data.decode(encoding, "replace"))
    sample = data[:_SAMPLE]
    even, odd = sample[::2].count(0), sample[1::2].count(0)
    if 2 * (even + odd) > len(sample) // 2 and min(even, odd) * 10 < max(even, odd):
        # About every other byte is NUL: Latin letters in UTF-16.
        return _text(data.decode("utf-16-be" if even > odd else "utf-16-le", "replace"))
    declared = _DECLARED.search(data, 0, _HEAD)
    # Hardly anything that is not UTF-8 reads as if it were.
    for named in ("utf-8", charset, declared and declared[1].decode("ascii")):
        try:
            known = codecs.lookup(_ALIASES.get(named.lower(), named)).name if named else None
            text = data.decode(known) if known in _TEXTS else None
        except (LookupError, ValueError):  # unknown or wrong charset
            continue
        if text is not None:
            return _text(text)
    guessed = _guess_encoding(sample)
    if guessed is None:
        _text(sample.decode("latin-1"))  # input that is no text is refused as such
        raise unreadable(
            "the encoding of these bytes cannot be told; give them as UTF-8, or name their charset"
            " (media_type 'text/csv; charset=shift_jis')"
        )
    return _text(data.decode(guessed, "replace"))


def _guess_encoding(sample: bytes) -> str | None:
    """Return the detected encoding; None if no supported one fits."""
    high = len(_HIGH.findall(sample))
    whole = sample.decode("utf-8", "ignore")
    sequences = sum(not char.isascii() for char in whole)
    broken = sample.decode("utf-8", "replace").count("\ufffd")
    if sequences and broken <= _FEW_BROKEN * sequences:
        return "utf-8"
    pairs, common = _GB_PAIR.findall(sample), _GB_COMMON.findall(sample)
    if 2 * len(pairs) >= _MOST * high and 2 * len(common) >= len(pairs):
        # Japanese has a tenth in the kana rows 4 and 5, Korean nearly all in 25 rows.
        kana = sum(pair[0] in _KANA for pair in pairs)
        letters = [pair[0] for pair in pairs if pair[0] not in _SIGNS]
        hangul = sum(row in _HANGUL for row in letters)
        other = 10 * kana > len(pairs) or (len(letters) >= _ENOUGH and hangul > _ALL * len(letters))
        return None if other else "gb18030"
    fives, usual = _BIG5_PAIR.findall(sample), _BIG5_COMMON.findall(sample)
    in_pairs = sum(1 + (pair[1] >= 0x80) for pair in fives)  # noqa: PLR2004 - the first byte that is no ASCII
    low = sum(pair[1] < 0x80 for pair in fives)  # noqa: PLR2004
    if in_pairs >= _MOST * high and len(usual) >= _MOST * len(fives) and 5 * low >= len(fives) and len(fives) > low:
        return "big5"
    if _is_western(sample, high):
        return "cp1252"
    return "utf-8" if _RARE * high <= len(sample) else None  # invalid bytes become U+FFFD


def _is_western(sample: bytes, high: int) -> bool:
    """Return whether bytes look like Windows-1252: few accented letters, hardly any signs beside them.

    In Cyrillic, Greek, Arabic and Hebrew nearly every letter is above 7F; Shift-JIS and EUC have such bytes in
    sequence.
    """
    if _UNDEFINED.search(sample):
        return False
    if high <= _TOO_FEW:
        return True
    plain, accented = len(_ASCII_LETTER.findall(sample)), len(_ACCENTED.findall(sample))
    beside = len(_SIGN_BESIDE.findall(sample))
    return 2 * accented <= plain + accented and 5 * beside <= high


def _text(text: str) -> str:
    """Return a decoded text if it looks like text."""
    head = text[:_SAMPLE]
    if len(_CONTROLS.findall(head)) > _FEW_CONTROLS * len(head):
        raise unreadable(
            "these bytes are no text; give the document itself, with its media_type or a name that ends as"
            " its form does (.pdf, .docx, .html)"
        )
    return text
