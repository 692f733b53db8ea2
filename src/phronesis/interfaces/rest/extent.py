"""How much a JSON body holds, found in its bytes before it is parsed."""

import re
from itertools import accumulate
from typing import Final

from phronesis.config.serving import Serving
from phronesis.errors import TooLarge

_STRING: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_OPENING: Final = b"[{"
_CLOSING: Final = b"]}"
_OTHERS: Final = bytes(sorted(set(range(256)) - set(_OPENING + _CLOSING)))
_STEP: Final = tuple((code in _OPENING) - (code in _CLOSING) for code in range(256))
_QUOTES_OF_MEMBER: Final = 4
"""A member has at most two strings: its name and its value."""


def check_extent(body: bytes, serving: Serving) -> None:
    """Refuse a body with more members than the server takes, or nested deeper. TooLarge names the setting.

    Members are those of all its objects and lists together. The time is linear in the bytes. What is no JSON passes:
    whoever parses it refuses it.
    """
    if _members(body) > serving.max_members or _deepest(body, serving.max_depth) > serving.max_depth:
        # There are no more strings than quotation marks that no backslash precedes.
        if body.count(b'"') - body.count(b'\\"') > _QUOTES_OF_MEMBER * serving.max_members:
            raise _too_many(serving)
        structure = _STRING.sub(b"", body)
        if _members(structure) > serving.max_members:
            raise _too_many(serving)
        if _deepest(structure, serving.max_depth) > serving.max_depth:
            raise TooLarge(
                f"the body is nested more than {serving.max_depth} levels deep (server.max_depth); flatten it",
                field="body",
            )


def _members(structure: bytes) -> int:
    """Give a bound of the members: one more than the commas in each object or list."""
    return structure.count(b",") + structure.count(b"[") + structure.count(b"{")


def _deepest(structure: bytes, enough: int) -> int:
    """Give how deep brackets are nested; not above ``enough`` where there are too few of them, or more that close."""
    opened = structure.count(b"[") + structure.count(b"{")
    if opened <= enough or structure.count(b"]") + structure.count(b"}") > opened:
        return min(opened, enough)
    return max(accumulate(map(_STEP.__getitem__, structure.translate(None, _OTHERS))))


def _too_many(serving: Serving) -> TooLarge:
    return TooLarge(
        f"the body has more than {serving.max_members:,} members (server.max_members); send it in several parts, or"
        " keep data in a file and refer to it",
        field="body",
    )
