"""What text may hold. The log keeps every character it was given; derived text holds what every database can."""

import re
from collections.abc import Iterable
from typing import Final

from phronesis.errors import InputError, TooLarge

MAX_ID_LENGTH: Final = 256
"""Characters of an id. Long enough for paths and e-mail addresses, short enough for an index key."""

MAX_TEXT_LENGTH: Final = 8_000_000
"""Characters of one text. A million-character turn is stored; beyond this a document belongs in a file."""

UNSPACED: Final = "\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff66-\uff9f\U00020000-\U000323af"
"""A range for regular expressions: Han, Kana and Hangul with their marks. ``\\w`` holds them, and so glues a Latin name
to the Chinese around it; a word of the spaced scripts is ``[^\\W{UNSPACED}]+``."""

_UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
_CONTROL: Final = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")


def storable(text: str) -> str:
    """Give ``text`` with NUL and lone surrogates replaced by U+FFFD: PostgreSQL and UTF-8 can hold neither."""
    return text if is_storable(text) else _UNSTORABLE.sub("�", text)


def is_storable(text: str) -> bool:
    """Tell whether a text holds neither NUL nor a lone surrogate."""
    return "\0" not in text if text.isascii() else _UNSTORABLE.search(text) is None


def one_of(words: Iterable[str]) -> str:
    """Give the source of a regular expression that finds any of ``words``, none of them empty; their order is lost.

    What several begin with stands there once: the engine tries one alternative after the other at every place, and so
    the hundred words of a table cost it a third of what they would.
    """
    rests: dict[str, list[str]] = {}
    for word in sorted(set(words)):
        rests.setdefault(word[0], []).append(word[1:])
    found: list[str] = []
    for first, more in rests.items():
        if "" in more:  # where this is found, what goes on from it need not be
            found.append(re.escape(first))
        elif len(more) == 1:
            found.append(re.escape(first + more[0]))
        else:
            found.append(f"{re.escape(first)}(?:{one_of(more)})")
    return "|".join(found)


def check_id(value: object, *, field: str) -> str:
    """Give an id as it was given, case and accents kept, or raise InputError saying what is wrong with it."""
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
    """Give a text as it was given, or raise InputError: not a string, empty, or too long."""
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
