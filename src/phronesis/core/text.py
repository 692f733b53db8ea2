"""Make text safe to store and to show to a model: no invisible characters, nothing that imitates our markup (law 8).

Removed are control characters, bidirectional overrides, zero-width characters and invisible letters that can smuggle
instructions (Unicode tags, supplementary variation selectors). Joiners (ZWJ, ZWNJ) and the plain direction marks stay:
emoji and right-to-left scripts need them. Look-alikes of a delimiter, a citation or a chat template's control token are
respelled.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Final
from urllib.parse import unquote

from phronesis.errors import InputError, TooLarge

# Storable text. The log keeps every character; derived text holds only what every database can store.

MAX_ID_LENGTH: Final = 256
"""Characters of an id. Long enough for paths and e-mail addresses, short enough for an index key."""
MAX_TEXT_LENGTH: Final = 8_000_000
"""Characters of one text. A million-character turn is stored; beyond this a document belongs in a file."""
UNSPACED: Final = "\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af"
"""A range for regular expressions: Han, Kana and Hangul with their marks. ``\\w`` holds them, and so glues a Latin name
to the Chinese around it; a word of the spaced scripts is ``[^\\W{UNSPACED}]+``."""
_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def replace_unstorable(text: str) -> str:
    """Return ``text`` with NUL and lone surrogates replaced by U+FFFD: PostgreSQL and UTF-8 can hold neither."""
    return text if is_storable(text) else _UNSTORABLE.sub("�", text)


def is_storable(text: str) -> bool:
    """Return whether a text holds neither NUL nor a lone surrogate."""
    return "\0" not in text if text.isascii() else _UNSTORABLE.search(text) is None


def check_id(value: object, *, field: str) -> str:
    """Return an id as it was given, case and accents kept, or raise InputError saying what is wrong with it."""
    if not isinstance(value, str):
        raise InputError(f"{field} must be a string, not {type(value).__name__}", field=field)
    if not value.strip():
        raise InputError(f"{field} must not be empty; leave it out instead", field=field)
    if len(value) > MAX_ID_LENGTH:
        raise InputError(f"{field} has {len(value)} characters; at most {MAX_ID_LENGTH} are allowed", field=field)
    if _CONTROL.search(value):
        raise InputError(f"{field} holds control characters or lone surrogates: {value!r:.80}", field=field)
    return value


def check_text(value: object, *, field: str, allow_empty: bool = False) -> str:
    """Return a text as it was given, or raise InputError: not a string, empty, or too long."""
    if not isinstance(value, str):
        raise InputError(f"{field} must be a string, not {type(value).__name__}", field=field)
    if not allow_empty and not value.strip():
        raise InputError(f"{field} is empty; it needs some words", field=field)
    if len(value) > MAX_TEXT_LENGTH:
        raise TooLarge(
            f"{field} has {len(value):,} characters; at most {MAX_TEXT_LENGTH:,} are stored as one text."
            " Split it, or ingest it as a document",
            field=field,
        )
    return value


# Confusables: letters of other scripts, mapped to the letters they look like.

_PAIRS: Final = (
    # Cyrillic, Greek, Armenian
    ("аеорсухіјѕԁԛԝһӏкмтнгвьѵԍпи", "aeopcyxijsdqwhlkmthrbbvgnu"),
    ("οαιρτκυνχγηωβεϲϳσ", "oaiptkuvxynwbecjo"),
    ("ոօսհցզյ", "nouhgqj"),
    # Cherokee, as capitals
    ("ᎪᏴᏟᎠᎬᏀᎻᎥᎫᏦᏞᎷᏢᎡᏚᎢᏙᎳᏃ", "abcdeghijklmprstvwz"),
    # Latin letters of other alphabets, and small capitals
    ("ıɑɡɩʟɴʀʏʙɢʜɪᴀᴄᴅᴇᴊᴋᴍᴏᴘꜱᴛᴜᴠᴡᴢꜰ", "iagilnrybghiacdejkmopstuvwzf"),
)

_LETTERS: Final = "abcdefghijklmnopqrstuvwxyz"
_ENCLOSED: Final = (0x1F150, 0x1F170, 0x1F1E6)
"""Where letters in circles and squares, and those of regions, begin: NFKC leaves them as they are."""


def _table() -> Mapping[str, str]:
    found = {given: meant for pair in _PAIRS for given, meant in zip(*pair, strict=True)}
    found |= {given.lower(): meant for given, meant in found.items()}
    found |= {chr(start + n): letter for start in _ENCLOSED for n, letter in enumerate(_LETTERS)}
    return found


LOOKALIKES: Final[Mapping[str, str]] = _table()
"""From a letter in lower case to the Latin one that it looks like."""


def latin_letter(char: str) -> str:
    """Return the one character that a character is read as: narrow, in lower case, without its accent."""
    wide = unicodedata.normalize("NFKC", char)
    low = (wide if len(wide) == 1 else char).lower()
    base = unicodedata.normalize("NFD", low)[:1]
    low = base if base.isascii() and base.isalpha() else low if len(low) == 1 else char
    return LOOKALIKES.get(low, low)


def skeleton(text: str) -> str:
    """Return the visual skeleton of a short text: ``system`` in any script, width, case or accents."""
    whole = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text))
    return "".join(latin_letter(char) for char in whole if not unicodedata.category(char).startswith(("M", "C")))


LABEL_LENGTH: Final = 40
"""Characters of a speaker's name that are shown."""
PLACE_LENGTH: Final = 60
"""Characters of an address that are shown: a host and a file's name, with the folders before it where there is room."""
_ESCAPED: Final = 9
"""Characters that one of another script takes in an address (three bytes, ``%E6%B1%89``)."""
ELLIPSIS: Final = "…"
UNDER: Final = " › "
"""Between a document's title and its headings."""
TITLE_LENGTH: Final = 2 * LABEL_LENGTH + len(UNDER)
"""Characters of a title and headings together."""
_SAMPLED: Final = 4 * LABEL_LENGTH
_LINE_ENDS: Final = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
_INVISIBLE: Final = re.compile(
    "[\x01-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f"  # control characters but tab and line feed
    "\xad\u180e\u200b\ufeff"  # zero-width
    "\u202a-\u202e\u2060-\u206f"  # bidirectional overrides and isolates, invisible operators
    "\ufff9-\ufffb\U000e0000-\U000e01ef]"  # annotations, tags, supplementary variation selectors
)
_UNSEEN: Final = re.compile(r"[\s\u034f\u061c\u115f\u1160\u17b4\u17b5\u200c-\u200f\u3164\ufe00-\ufe0f\uffa0]+")
"""What may stand between the letters of a look-alike: white space, joiners, fillers."""
_REACH: Final = 48
"""Characters behind a bracket that may make it one of ours."""
_ANGLES: Final = "<＜﹤‹\u2329\u3008\u27e8\u27ea❮❬❰«《˂ᐸ≺≪⧼"
_TAG: Final = re.compile(rf"[{_ANGLES}](?=(.{{1,{_REACH}}}))", re.DOTALL)
_TAG_WORDS: Final = ("memory", "turn", "start_of_turn", "end_of_turn", "|", "sys>", "s>")
"""What follows `<` in our fences, and in the control tokens of chat templates (ChatML, Llama, DeepSeek, Gemma)."""
_SQUARES: Final = "\\[［﹇【〔⟦〚〖〘⁅❲⦋"
_CLOSING: Final = "\\]］﹈】〕⟧〛〗〙⁆❳⦌"
_TEMPLATE: Final = re.compile(rf"[{_SQUARES}](?=(.{{1,{_REACH}}}))", re.DOTALL)
_TEMPLATE_WORDS: Final = ("inst]", "system_prompt]", "tool_calls]", "tool_results]", "available_tools]")
"""What follows `[` or `[/` in the control tokens of Llama 2 and Mistral."""
_CITATION: Final = re.compile(rf"[{_SQUARES}]([^{_SQUARES}:：∶︰﹕︓⩴]{{3,{_REACH}}}?)[:：∶︰﹕︓⩴]")
_ALIASED: Final = re.compile(r"m\d+")
_ALIAS: Final = re.compile(rf"[{_SQUARES}]([^{_SQUARES}{_CLOSING}]{{2,{_REACH}}})[{_CLOSING}]")
_ROLES: Final = frozenset(
    """
    system developer user assistant tool function operator admin administrator human ai
    系统 系統 开发者 開發者 用户 用戶 助手 工具 管理员 管理員
    """.split()
)
_NAME_WORD: Final = re.compile(r"[^\W\d_]+")
_LABEL_MARKS: Final = re.compile(r"[\[\]()<>\"'`;,:=\\/{}|#*]")
_PLACE_MARKS: Final = re.compile(r"[\[\]()<>\"'`;,:=\\{}|#*]")


def clean(text: str) -> str:
    """Return ``text`` without invisible characters, line ends as line feeds, look-alikes of our tags respelled."""
    if text.isascii() and "<" not in text and "[" not in text and text.replace("\n", "").isprintable():
        return text  # most English text: the patterns need not look for what is not there
    shown = _INVISIBLE.sub("", _LINE_ENDS.sub("\n", replace_unstorable(text)))
    return _TEMPLATE.sub(_without_square, _TAG.sub(_without_angle, shown))


def escape_citations(text: str) -> str:
    """Return cleaned text in which ``[mem:`` reads ``[quoted mem:`` and ``[m1]`` likewise, so that text cannot cite."""
    if text.isascii() and "[" not in text:
        return text
    return _ALIAS.sub(_quoted_alias, _CITATION.sub(_quote_alias, text))


def label(text: str) -> str:
    """Return a speaker's name on one line, without the marks of our headings; may be empty."""
    # The marks go first: what is left of a look-alike that they stood in is looked at as well.
    return " ".join(clean(_LABEL_MARKS.sub(" ", text[:_SAMPLED])).split())[:LABEL_LENGTH].strip()


def place(address: str) -> str:
    """Return an address likewise: slashes kept, escapes read, no scheme, a long one without its middle.

    Empty where it reads like a role.
    """
    reach = _ESCAPED * PLACE_LENGTH
    sample = address if len(address) <= 2 * reach else f"{address[:reach]}{ELLIPSIS}{address[-reach:]}"
    read = unquote(sample.partition("://")[2] or sample)
    shown = " ".join(escape_citations(clean(_PLACE_MARKS.sub(" ", read))).split())
    if len(shown) > PLACE_LENGTH:
        head = PLACE_LENGTH // 3
        shown = f"{shown[:head]}{ELLIPSIS}{shown[head + 1 - PLACE_LENGTH :]}"
    return "" if _read(shown) in _ROLES else shown


def title(names: Sequence[str]) -> str:
    """Return a document's title and headings likewise, each once: the first and the last, others as far as they fit.

    Empty where that reads like a role.
    """
    told = list(dict.fromkeys(filter(None, (escape_citations(label(one)) for one in names))))
    while told[1:-1] and len(UNDER.join(told)) > TITLE_LENGTH:
        del told[1]
    shown = UNDER.join(told)
    return "" if _read(shown) in _ROLES else shown


def name_of(text: str) -> str:
    """Return a speaker's name as ``label`` does; empty for the name of a role, so that no name imitates the system."""
    name = label(text)
    return "" if _reads_as_role(name) else name


def _reads_as_role(name: str) -> bool:
    """Return whether a name is that of one or several roles: ``SYSTEM``, ``ѕystem``, ``system 2``, ``System Admin``."""
    seen = skeleton(name)
    if _read(name) in _ROLES or _read(seen) in _ROLES:
        return True
    words = _NAME_WORD.findall(seen)
    return bool(words) and all(word in _ROLES for word in words)


def _read(text: str) -> str:
    """Return text as a model may read it, whatever its width, case and what is between its letters."""
    return _UNSEEN.sub("", unicodedata.normalize("NFKC", _UNSEEN.sub("", text))).casefold()


def _without_angle(found: re.Match[str]) -> str:
    return "&lt;" if _read(found[1]).lstrip("/⁄∕<").startswith(_TAG_WORDS) else found[0]


def _without_square(found: re.Match[str]) -> str:
    return "&#91;" if _read(found[1]).lstrip("/⁄∕").startswith(_TEMPLATE_WORDS) else found[0]


def _quote_alias(found: re.Match[str]) -> str:
    return "[quoted mem:" if _read(found[1]) == "mem" else found[0]


def _quoted_alias(found: re.Match[str]) -> str:
    return f"[quoted {found[1].strip()}]" if _ALIASED.fullmatch(_read(found[1])) else found[0]
