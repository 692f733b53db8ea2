"""The letters that what a regular expression matches can begin with."""

import re
from typing import Final

_CLASS: Final = {"d": "0123456789"}
_HARD: Final = "any letter"


def first_letters(pattern: str) -> frozenset[str] | None:
    """Give the letters a match can begin with, or None when that is not plain (a class, a dot, nothing at all).

    The expression must be one that compiles. It is read once, from its beginning, no further than to what must match.
    """
    try:
        letters, empty, _ = _branches(pattern, 0)
    except ValueError:
        return None
    return None if empty else frozenset(letters)


_ONE_OF: Final = re.compile(r"(?:\(\?:){1,2}([^()]*?)\){1,2}(?=[ ]|$)")
_PLAIN: Final = re.compile(r"([a-z]+)(s\?)?(?=[ ]|$)")


def words_after_slot(pattern: str) -> frozenset[str] | None:
    """Give the words of which one must stand in what a pattern with a slot in front matches; None where not plain.

    "{thing} (?:is|are) my hobby" holds for nothing that has neither "is" nor "are". The pattern's macros are expanded.
    """
    depth = end = 0
    while end < len(pattern) and (end == 0 or depth > 0):
        depth += (pattern[end] == "{") - (pattern[end] == "}")
        end += 1
    if pattern[:1] != "{" or pattern[end : end + 1] != " ":
        return None
    rest = pattern[end + 1 :]
    group = _ONE_OF.match(rest)
    words: set[str] = set()
    for branch in group[1].split("|") if group is not None else [rest]:
        plain = _PLAIN.match(branch)
        if plain is None:
            return None
        words.add(plain[1])
        if plain[2]:
            words.add(f"{plain[1]}s")
    return frozenset(words)


def _branches(text: str, at: int) -> tuple[set[str], bool, int]:
    """Read alternatives up to the end or a closing bracket: their letters, whether one may be empty, and where."""
    letters: set[str] = set()
    empty = False
    while True:
        found, may_be_empty, at = _sequence(text, at)
        letters |= found
        empty |= may_be_empty
        if at >= len(text) or text[at] == ")":
            return letters, empty, at
        at += 1


def _sequence(text: str, at: int) -> tuple[set[str], bool, int]:
    letters: set[str] = set()
    open_ = True
    while at < len(text) and text[at] not in "|)":
        found, empty, at = _atom(text, at, needed=open_)
        count = re.compile(r"[?*+]|\{\d*,?\d*\}").match(text, at)
        if count is not None:
            at = count.end() + (text[count.end() : count.end() + 1] == "?")
            empty |= count[0] in "?*" or count[0].startswith(("{0", "{,"))
        if open_:
            letters |= found
            open_ = empty
    return letters, open_, at


def _atom(text: str, at: int, *, needed: bool) -> tuple[set[str], bool, int]:
    """Read one letter, class or group; ValueError when its letters are needed and not plain."""
    char = text[at]
    if char == "(":
        head = re.compile(r"\((?:\?(?:P<\w+>|[:=!]|<[=!]))?").match(text, at)
        begins = at + 1 if head is None else head.end()
        look = head is not None and head[0].endswith(("=", "!"))
        letters, empty, at = _branches(text, begins) if needed and not look else (set(), look, _closed(text, begins))
        return (set(), True, at + 1) if look else (letters, empty, at + 1)
    if char == "\\":
        if text[at + 1] == "b":
            return set(), True, at + 2
        if text[at + 1].isalnum() and text[at + 1] not in _CLASS and needed:
            raise ValueError(_HARD)
        return set(_CLASS.get(text[at + 1], text[at + 1])), False, at + 2
    if char == "[":
        end = text.index("]", at + 2)
        if needed:
            raise ValueError(_HARD)
        return set(), False, end + 1
    if char in ".^$" and needed:
        raise ValueError(_HARD)
    return {char}, False, at + 1


def _closed(text: str, at: int) -> int:
    """Give where the group ends that was opened before ``at``."""
    depth = 1
    while True:
        char = text[at]
        if char == "\\":
            at += 1
        elif char == "[":
            at = text.index("]", at + 2)
        elif char in "()":
            depth += 1 if char == "(" else -1
            if depth == 0:
                return at
        at += 1
