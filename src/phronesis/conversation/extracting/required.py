"""What a text must hold for a regular expression to match in it, worked out from the expression itself.

Most patterns of a table match nothing in a clause, and that is seen fastest by the words the clause lacks:
``(?:live|lives) in {home_city}`` needs "live" or "lives", and "in". A *need* is a set of tokens of which a text must
hold one (``tokens_of``): whole words of the letters a to z, pairs of Han characters, and other characters alone; or a
word whose end is open, "hypothetical*", whose letters must stand in the text. What cannot be read off an expression
(``parts``) is left out, so that needs are always true.
"""

import re
from collections.abc import Iterable, Iterator
from operator import add
from typing import Final

from phronesis.conversation.extracting.parts import EDGE, LETTERS, Need, Part, clear, is_cased, letter_of

_OPEN: Final = 3
"""Letters of a word whose end is open, at the least, to be sought within words."""

_COMMON: Final = frozenset(
    """
    i a the to and is my in of it you for on am at that with have are so be this was we your but not do me as or all
    , . ' ! ?
    """.split()
)
"""What many texts hold: the commonest words of English, and marks. It decides what is asked, not what is found."""

_WEIGHTS: Final = (0, 200, 120, 80, 30, 15)
"""How often a word is met by its letters; longer ones less than these. No more than an order is needed."""

_TOKEN: Final = re.compile(r"[a-z]+|[^a-z\s]")


def tokens_of(text: str) -> list[str]:
    """Return the tokens that a text in small letters holds, some more than once."""
    found = _TOKEN.findall(text)
    if not text.isascii():
        found += map(add, text, text[1:])
    return found


def needs_of(part: Part, *, begins: bool, ends: bool) -> list[Need]:
    """Return what a text must hold, the rarest first.

    ``begins`` and ``ends``: no letter stands right before or after what is matched.
    """
    return sorted(set(_needs(part, left=begins, right=ends)), key=lambda need: (weight(need), sorted(need)))


def is_open(need: Iterable[str]) -> bool:
    """Return whether a need holds a word whose end is open."""
    return any(len(token) > 1 and token[-1] == "*" for token in need)


def first_of(part: Part) -> frozenset[str] | None:
    """Return the characters that what matches may begin with (``letter_of``); None: any, or none at all."""
    return None if part.empty else _first(part)


def _first(part: Part) -> frozenset[str] | None:
    if part.strings is not None:
        heads = frozenset(letter_of(one, 0) for one in {one.strip(EDGE)[:1] for one in part.strings} if one)
        return None if any(map(is_cased, heads)) else heads
    if not part.ways and not part.row:
        return part.first
    found = frozenset[str]()
    for one in part.ways or part.row:
        more = _first(one)
        if more is None:
            return None
        found |= more
        if part.row and not one.empty:
            break
    return found


def starts_of(part: Part) -> str | None:
    """Return the class of the characters that a match begins with; None where a letter, any or none may."""
    first = first_of(part)
    if first is None or not first.isdisjoint(LETTERS):
        return None
    return "[" + "".join({" ": r"\s", "0": r"\d"}.get(char, re.escape(char)) for char in sorted(first)) + "]"


def weight(need: Need) -> int:
    """Return about how often a need is met, in no unit: short words and single characters stand in many texts."""
    return sum(map(_weight, need))


def _weight(token: str) -> int:
    if token in _COMMON:
        return 1000
    if token[0] in LETTERS:
        return 60 if token[-1] == "*" else _WEIGHTS[len(token)] if len(token) < len(_WEIGHTS) else 4
    return 100 if len(token) == 1 else 8


def _needs(part: Part, *, left: bool, right: bool) -> list[Need]:
    known = part.needs.get((left, right))
    if known is None:
        known = part.needs[left, right] = list(_found(part, left=left, right=right))
    return known


def _found(part: Part, *, left: bool, right: bool) -> Iterator[Need]:
    if part.empty:
        return
    if part.strings is not None:
        found = [_tokens(one, left=left, right=right) for one in part.strings]
        if len(found) > 1 and all(found):
            yield frozenset(min(tokens, key=lambda token: (_weight(token), token)) for tokens in found)
        yield from (frozenset([token]) for token in sorted(set(found[0]).intersection(*found[1:])))
    elif part.ways:
        best = [min(_needs(way, left=left, right=right), key=weight, default=None) for way in part.ways]
        if all(best):
            yield frozenset().union(*(need for need in best if need is not None))
    for n, one in enumerate(part.row):
        before = clear((other.ends, other.void) for other in reversed(part.row[:n]))
        after = clear((other.begins, other.void) for other in part.row[n + 1 :])
        yield from _needs(one, left=left if before is None else before, right=right if after is None else after)


def _tokens(text: str, *, left: bool, right: bool) -> list[str]:
    """Return the tokens that any text must have that holds a string.

    Its edges are words' edges where they are clear.
    """
    found: list[str] = []
    for match in _TOKEN.finditer(text):
        token, start, end = match[0], match.start(), match.end()
        if token in LETTERS or len(token) > 1:
            if start == 0 and not left:
                continue
            if end < len(text) or right:
                found.append(token)
            elif len(token) >= _OPEN:
                found.append(token + "*")
        elif token != EDGE and not is_cased(token):
            following = text[end : end + 1]
            pair = _is_han(token) and bool(following) and _is_han(following)
            found += [token + following, token] if pair else [token]
    return found


def _is_han(char: str) -> bool:
    return "\u4e00" <= char <= "\u9fff"
