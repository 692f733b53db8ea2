"""JSON read so that nothing is lost or guessed: no member twice, no NaN, nothing too deep, nothing unstorable."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any, Final

from phronesis.core.canonical import MAX_DEPTH
from phronesis.core.text import is_storable

# Possessive, and the closing mark may be missing: however it is broken, each character is looked at once.
STRING: Final = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_BRACKET: Final = re.compile(r"[\[\]{}]")
_LARGEST: Final = 1 << 63


class Unreadable(ValueError):
    """Not JSON as it is kept here; the message says what and where."""


def read_json(text: str) -> Any:
    """Give the value of a JSON text, or raise Unreadable.

    Python's reader would take NaN, keep the last of two members of a name, and recurse as deep as the text says.
    """
    _check_depth(text)
    try:
        value = json.loads(text, object_pairs_hook=_distinct, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise Unreadable(f"no JSON at character {error.pos + 1}: {error.msg}") from error
    except Unreadable:
        raise
    except ValueError as error:  # an integer of thousands of digits
        raise Unreadable(f"no JSON: {error}") from error
    for inner in leaves(value):
        _check_leaf(inner)
    return value


def leaves(value: Any) -> Iterator[Any]:
    """Give every string, number, truth value and null in a JSON value, and the names of members, in their order."""
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, dict):
            for name, member in reversed(inner.items()):
                waiting += (member, name)
        elif isinstance(inner, list):
            waiting += reversed(inner)
        else:
            yield inner


def _check_depth(text: str) -> None:
    depth = 0
    for bracket in _BRACKET.finditer(STRING.sub('""', text)):
        depth += 1 if bracket[0] in "[{" else -1
        if depth > MAX_DEPTH:
            raise Unreadable(f"nested more than {MAX_DEPTH} levels deep")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    value = dict(pairs)
    if len(value) < len(pairs):
        counted = Counter(name for name, _ in pairs)
        twice = max(counted, key=counted.__getitem__)
        raise Unreadable(f"an object has the member {twice!r:.80} twice")
    return value


def _no_constant(name: str) -> float:
    raise Unreadable(f"{name} is no JSON number")


def _check_leaf(value: Any) -> None:
    if isinstance(value, str):
        if not is_storable(value):
            raise Unreadable(f"a text holds NUL or half a surrogate pair: {value!r:.60}")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise Unreadable("a number is too large for a double")
    elif isinstance(value, int) and abs(value) >= _LARGEST:
        raise Unreadable("an integer has more than 64 bits; write it as a string")
