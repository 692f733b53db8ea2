"""Shortening a text to a number of tokens, around the part that was found, at a sentence's or a word's end."""

import re
import unicodedata
from collections.abc import Callable
from typing import Final

from phronesis.compose.cleaning import ELLIPSIS, clean

Count = Callable[[str], int]

MAX_CHARACTERS_PER_TOKEN: Final = 16
"""Beyond this many characters a token a text is cut before it is counted, so that a huge one costs no more than its
excerpt. Prose has 1 to 6."""

_SAMPLED_CHARACTERS_PER_TOKEN: Final = 4
"""So much of a huge text's beginning tells how many characters its tokens have."""

_SENTENCE_END: Final = re.compile(r"[。！？；…\n]|[.!?;](?=\s)")
_WORD_END: Final = re.compile(r"\s")
_OPENING_WINDOW: Final = 4
"""An opening is looked for in so many times its length: white space counts for little there."""
_SENTENCE_SHARE: Final = 0.6
"""A sentence's end is taken when at least this share of the room stays in use, else a word's."""
_WORD_SHARE: Final = 0.8
_CAUTION: Final = 0.97
"""Tokens are not spread evenly over a text: the first cut aims a little below the limit, which saves a count."""
_ATTEMPTS: Final = 6
_ZWJ: Final = "\u200d"


def excerpt(text: str, *, snippet: str = "", start: int | None = None, limit: int, count: Count) -> tuple[str, bool]:
    """Give at most ``limit`` tokens of ``text``, cleaned, and whether something was left out.

    A long text is shown from the sentence that holds ``snippet``; if the snippet is not part of it (a paraphrase, a
    claim), the snippet is shown instead. Where ``start`` says that a stretch of it was found, it is shown from there,
    unless the snippet would then be cut off. An ellipsis marks each end that was cut. Empty when not even that fits.
    """
    uncut = whole(text, limit=limit, count=count)
    if uncut is not None:
        return uncut, False
    if limit <= 0:
        return "", True
    window = limit * MAX_CHARACTERS_PER_TOKEN
    sample = clean(text if len(text) <= window else text[: limit * _SAMPLED_CHARACTERS_PER_TOKEN])
    room = len(sample) * limit / max(1, count(sample))
    if start is None:
        text, begin = _around(text, snippet, room)
    else:
        begin = _from(text, snippet.strip(ELLIPSIS), start, room)
    cut = text[begin : begin + window]
    return _shorten((ELLIPSIS if begin else "") + clean(cut), begin + len(cut) < len(text), limit, count), True


def _around(text: str, snippet: str, room: float) -> tuple[str, int]:
    """Give what is shown, the text or the snippet in its stead, and where that begins."""
    at = text.find(snippet)
    if at < 0:
        text, at = snippet, 0
    near = at + len(snippet) < room * _SENTENCE_SHARE
    return text, 0 if near else _sentence_start(text, at, reach=int(room / 4))


def _from(text: str, snippet: str, start: int, room: float) -> int:
    """Give where a stretch is shown from: its beginning, or the sentence of a snippet that ends beyond the room."""
    start = start if start < len(text) else 0
    at = text.find(snippet, start)
    if at < 0 or at + len(snippet) - start <= room:
        return start
    return max(start, _sentence_start(text, at, reach=int(room / 4)))


def opening(text: str, *, most: int) -> str:
    """Give the first sentence of ``text`` on one line, or as much of it as ``most`` characters hold."""
    flat = " ".join(text[: _OPENING_WINDOW * most].split())
    end = _SENTENCE_END.search(flat)
    first = (flat if end is None else flat[: end.end()]).strip()
    return first if len(first) <= most else first[: _before_marks(first, most - 1)].rstrip() + ELLIPSIS


def whole(text: str, *, limit: int, count: Count) -> str | None:
    """Give ``text`` cleaned, or None when it is longer than ``limit`` tokens; a huge one is not even counted."""
    if len(text) > max(0, limit) * MAX_CHARACTERS_PER_TOKEN:
        return None
    shown = clean(text)
    return shown if count(shown) <= limit else None


def _shorten(text: str, more: bool, limit: int, count: Count) -> str:
    """Give the longest prefix found in a few tries, with an ellipsis unless it is the whole and nothing follows."""
    shown = text + ELLIPSIS if more else text
    tokens = count(shown)
    end = len(text)
    for _ in range(_ATTEMPTS):
        if tokens <= limit:
            return shown if end > 0 else ""
        end = _good_end(text, max(1, int(end * _CAUTION * limit / tokens)))
        shown = text[:end].rstrip() + ELLIPSIS
        tokens = count(shown)
    # A text so uneven that proportion fails: halve what is left, which ends.
    while tokens > limit and end > 0:
        end //= 2
        shown = text[:end].rstrip() + ELLIPSIS
        tokens = count(shown)
    return shown if tokens <= limit and end > 0 else ""


def _good_end(text: str, end: int) -> int:
    """Give the last sentence's end up to ``end``, or a word's, or ``end`` itself but never within a character."""
    for pattern, share in ((_SENTENCE_END, _SENTENCE_SHARE), (_WORD_END, _WORD_SHARE)):
        found = [match.end() for match in pattern.finditer(text, int(end * share), end + 1) if match.end() <= end]
        if found:
            return found[-1]
    return _before_marks(text, end)


def _before_marks(text: str, end: int) -> int:
    lowest = max(0, end - MAX_CHARACTERS_PER_TOKEN)
    while lowest < end < len(text) and (
        unicodedata.category(text[end]).startswith("M") or _ZWJ in (text[end], text[end - 1])
    ):
        end -= 1
    return end


def _sentence_start(text: str, at: int, *, reach: int) -> int:
    """Give where the sentence around ``at`` begins, at most ``reach`` characters before it; else a word's start."""
    lowest = max(0, at - reach)
    for pattern in (_SENTENCE_END, _WORD_END):
        found = [match.end() for match in pattern.finditer(text, lowest, at)]
        if found:
            return found[-1] + len(text[found[-1] : at]) - len(text[found[-1] : at].lstrip())
    return at
