"""Regular expressions taken apart, as far as it takes to tell what a match must hold (``required``).

What is read is what the tables are written in: groups, alternatives, classes, counts, looks around and ``<macros>``.
Case does not count, for what is read from a part holds for either: strings are in small letters (``small``).
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Final

Need = frozenset[str]
"""Tokens of which one must stand in a text."""

EDGE: Final = "\0"
r"""Stands in strings for \b, ^ and $: no letter is beside it."""

LETTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyz")
"""What words are made of."""

_MOST: Final = 64
"""Strings that a part of an expression may stand for, to be joined with what stands beside it."""

_MOST_JOINED: Final = 512
"""The same where the words of both run together: "nurse" and "s?" are "nurse" and "nurses"."""

_CLASS_OF: Final = 40
"""Characters of a class that are taken one by one."""

_DIGITS: Final = frozenset("0123456789")
_SPACE: Final = frozenset(" ")
_NONE: Final = frozenset[str]()

_FOLDED: Final = {0x130: "i", 0x131: "i", 0x17F: "s", 0x212A: "k"}
"""The letters beyond ASCII that [a-z] matches where case does not count (documentation of ``re``, IGNORECASE)."""

_FOLDED_LETTERS: Final = frozenset(map(chr, _FOLDED))

_ATOM: Final = re.compile(
    r"(?P<flags>\(\?[a-zA-Z]+\))|(?P<look>\(\?<?[=!])|(?P<open>\((?:\?(?:P<\w+>|[a-z-]*:))?)|(?P<close>\))|(?P<bar>\|)"
    r"|(?P<macro><[a-z_]+>)|(?P<set>\[\^?\]?(?:\\.|[^\]\\])*\])|(?P<escape>\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.))"
    r"|(?P<edge>[\^$])|(?P<dot>\.)|(?P<plain>(?:[^\\\[().^$|*+?{}<](?![*+?{]))+|.)",
    re.DOTALL,
)
_COUNT: Final = re.compile(r"(?:[*+?]|\{(\d*),?\d*\})[?+]?")
_MEMBER: Final = re.compile(r"\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\?.", re.DOTALL)


@dataclass(slots=True, eq=False)
class Part:
    """A part of an expression: the ``strings`` it stands for, or else what it is made of.

    ``begins`` and ``ends`` tell whether a letter may stand there, ``empty`` whether it may take no character, ``void``
    whether it may then be no edge either. ``ways`` are its alternatives, ``row`` what stands in it one by one; where
    there is none of all these, ``first`` are the characters it may begin with, None: any.
    """

    strings: frozenset[str] | None = None
    ways: Sequence["Part"] = ()
    row: Sequence["Part"] = ()
    begins: bool = True
    ends: bool = True
    empty: bool = False
    void: bool = False
    first: frozenset[str] | None = None
    needs: dict[tuple[bool, bool], list[Need]] = field(default_factory=dict)


def small(text: str) -> str:
    """Return a text in small letters, with those beyond ASCII that count as one within it."""
    return text.lower() if text.isascii() else text.translate(_FOLDED).lower()


def letter_of(text: str, position: int) -> str:
    """Return the character at a position as ``Part.first`` has it.

    Small, any white space as one, foreign digits as 0.
    """
    char = small(text[position : position + 1])
    return " " if char.isspace() else "0" if char.isdecimal() and not char.isascii() else char


def parse(source: str, macros: Mapping[str, Part]) -> Part:
    """Read an expression; its macros are known by their parts. ValueError, when it is none."""
    part, at = _ways(source, 0, macros)
    if at < len(source):
        raise ValueError(source[at:])
    return part


def words(of: Iterable[str]) -> Part:
    """Return the part that is one of some words."""
    return _some(frozenset(map(small, of)))


def is_cased(char: str) -> bool:
    """Return whether a character beyond ASCII has another case: what matches it may be another."""
    return not char.isascii() and char.lower() != char.upper()


def _some(strings: frozenset[str]) -> Part:
    """Return the part that stands for one of some strings, in small letters."""
    return Part(
        strings=strings,
        begins=any(one[:1] in LETTERS for one in strings if one),
        ends=any(one[-1:] in LETTERS for one in strings if one),
        empty="" in strings or EDGE in strings or any(not one.strip(EDGE) for one in strings),
        void="" in strings,
    )


_NOTHING: Final = _some(frozenset([""]))


def _ways(source: str, at: int, macros: Mapping[str, Part]) -> tuple[Part, int]:
    """Read alternatives up to the end, or to the bracket that closes them."""
    ways: list[Part] = []
    while True:
        one, at = _row(source, at, macros)
        ways.append(one)
        if source[at : at + 1] != "|":
            break
        at += 1
    if len(ways) == 1:
        return ways[0], at
    strings = [one.strings for one in ways if one.strings is not None]
    if len(strings) == len(ways):
        return _some(frozenset().union(*strings)), at
    return Part(
        ways=ways,
        begins=any(one.begins for one in ways),
        ends=any(one.ends for one in ways),
        empty=any(one.empty for one in ways),
        void=any(one.void for one in ways),
    ), at


def _row(source: str, at: int, macros: Mapping[str, Part]) -> tuple[Part, int]:
    row: list[Part] = []
    while at < len(source) and source[at] not in "|)":
        match = _ATOM.match(source, at)
        if match is None:
            raise ValueError(source[at:])
        one, at = _atom(source, match, macros)
        if (count := _COUNT.match(source, at)) is not None:
            one, at = _counted(one, count), count.end()
        if row and _joins(row[-1], one):
            pairs = product(row[-1].strings or (), one.strings or ())
            row[-1] = _some(frozenset(map("".join, pairs)))
        else:
            row.append(one)
    if len(row) == 1:
        return row[0], at
    if not row:
        return _NOTHING, at
    return _rowed(row), at


def clear(beside: Iterable[tuple[bool, bool]]) -> bool | None:
    """Return whether no letter can stand beside something; None: it depends on what comes after all that is given.

    Of each part beside it, nearest first: whether a letter may stand at that end of it, and whether it is void.
    """
    for letter, void in beside:
        if letter:
            return False
        if not void:
            return True
    return None


def _rowed(row: Sequence[Part]) -> Part:
    return Part(
        row=row,
        begins=clear((one.begins, one.void) for one in row) is False,
        ends=clear((one.ends, one.void) for one in reversed(row)) is False,
        empty=all(one.empty for one in row),
        void=all(one.void for one in row),
    )


def _joins(one: Part, other: Part) -> bool:
    if one.strings is None or other.strings is None:
        return False
    return len(one.strings) * len(other.strings) <= (_MOST_JOINED if one.ends and other.begins else _MOST)


def _counted(one: Part, count: re.Match[str]) -> Part:
    may_lack = count[0][0] in "?*" or count[1] in {"", "0"}
    once = count[0][0] == "?"
    if once and one.strings is not None:
        return _some(one.strings | {""})
    more = Part(begins=one.begins, ends=one.ends, empty=True, void=True, ways=[one])
    return more if may_lack else _rowed([one, more])


def _atom(source: str, match: re.Match[str], macros: Mapping[str, Part]) -> tuple[Part, int]:
    kind, text, at = match.lastgroup, match[0], match.end()
    match kind:
        case "open" | "look" if text != "(" or source[at : at + 1] != "?":
            inner, at = _ways(source, at, macros)
            if source[at : at + 1] != ")":
                raise ValueError(source[at:])
            return (_NOTHING if kind == "look" else inner), at + 1
        case "macro":
            known = macros.get(text[1:-1])
            return (_some(frozenset([text])) if known is None else known), at
        case "set":
            return _class(text), at
        case "escape":
            return _escape(text), at
        case "edge":
            return _some(frozenset([EDGE])), at
        case "dot":
            return Part(), at
        case "flags" if "x" not in text:
            return _NOTHING, at
        case "plain" if text not in {"[", "*", "+", "?"}:
            return _some(frozenset([small(text)])), at
        case _:
            raise ValueError(text)


def _escape(text: str) -> Part:
    match text[1]:
        case "b":
            return _some(frozenset([EDGE]))
        case "B" | "A" | "Z":
            return _NOTHING
        case "d":
            return Part(begins=False, ends=False, first=_DIGITS)
        case "s":
            return Part(begins=False, ends=False, first=_SPACE)
        case "W":
            return Part(begins=False, ends=False)
        case "x" | "u" | "n" | "t" | "r":
            return _some(frozenset([small(text.encode().decode("unicode_escape"))]))
        case other if other.isalnum():
            return Part()
        case other:
            return _some(frozenset([other]))


def _class(text: str) -> Part:
    """Read a class of characters: one by one when they are few, else whether letters are among them."""
    if text[1] == "^":
        return Part()
    members = _MEMBER.findall(text[1:-1])
    single: set[str] = set()
    kinds: frozenset[str] = frozenset()
    letters = wide = False
    n = 0
    while n < len(members):
        one = members[n]
        if len(one) == 2 and one[1].isalnum():  # noqa: PLR2004 - a backslash and a letter
            kinds |= {"d": _DIGITS, "s": _SPACE}.get(one[1], _NONE)
            wide |= one[1] not in "ds"
            letters |= one[1] not in "dsWnrt"
            n += 1
            continue
        low = _char(one)
        if members[n + 1 : n + 2] == ["-"] and n + 2 < len(members):
            high = _char(members[n + 2])
            if ord(high) - ord(low) < _CLASS_OF:
                single |= {chr(code) for code in range(ord(low), ord(high) + 1)}
            else:
                wide = True
                letters |= any(low <= letter <= high for letter in {*"azAZ", *_FOLDED_LETTERS})
            n += 3
        else:
            single.add(low)
            n += 1
    chars = frozenset(map(small, single))
    if not kinds and not wide and len(chars) <= _CLASS_OF:
        return _some(chars)
    letters |= not LETTERS.isdisjoint(chars)
    heads = frozenset(letter_of(one, 0) for one in chars)
    first = None if wide or any(map(is_cased, chars)) else heads | kinds
    return Part(begins=letters, ends=letters, first=first)


def _char(member: str) -> str:
    return member.encode().decode("unicode_escape") if member[:2] in {"\\x", "\\u"} else member[-1]
