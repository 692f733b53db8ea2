"""Texts as sets of pieces, for models that learned from labelled texts: English words and Chinese letters alike.

A text is the set of its pieces: English words, pairs of words and what 3 to 5 letters of a word spell; of Chinese, 1 to
3 letters in a row. Each piece has one of `BUCKETS` rows of weights (feature hashing: Weinberger et al., 2009).
"""

import re
import unicodedata
import zlib
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from phronesis.derive.extracting.script import simplified

BUCKETS: Final = 1 << 16
"""Rows of weights: of some 60,000 pieces of 2,000 texts two seldom share one."""

MAX_SCANNED: Final = 20_000
"""Characters of a text that are looked at: some 0.15 s. What stands behind them is not found."""

_MARKS: Final = str.maketrans("‘’“”‐‑‒–—", "''\"\"-----")
_INVISIBLE: Final = re.compile(
    "[\x00-\x08\x0e-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]+"
)
_BLANKS: Final = re.compile(r"[ \t\v\f\u3000]+")
_HAN: Final = "\u3400-\u4dbf\u4e00-\u9fff"
_HAN_GAP: Final = re.compile(rf"(?<=[{_HAN}]) (?=[{_HAN}])")
_HAS_HAN: Final = re.compile(f"[{_HAN}]")
_DIGITS: Final = re.compile(r"[0-9]+")
_WORD: Final = re.compile(r"[a-z0-9']+")
_ENGLISH: Final = (3, 4, 5)
_CHINESE: Final = (1, 2, 3)


def folded(text: str) -> str:
    """Give a text as it is matched, its first `MAX_SCANNED` characters: small, narrow, simplified, single spaces."""
    narrow = unicodedata.normalize("NFKC", text[:MAX_SCANNED])[:MAX_SCANNED]
    seen = simplified(_INVISIBLE.sub("", narrow)).translate(_MARKS).replace("\u0130", "i").lower()
    return _HAN_GAP.sub("", _BLANKS.sub(" ", seen))


def has_han(text: str) -> bool:
    """Tell whether a text has Chinese letters."""
    return _HAS_HAN.search(text) is not None


def language_of(text: str) -> str:
    """Give whose model reads a text: one with Chinese letters is Chinese."""
    return "zh" if has_han(text) else "en"


def pieces(text: str) -> Sequence[str]:
    """Give the different pieces of a folded text, in the order of their code points; numbers are all the same."""
    seen = _DIGITS.sub("0", text)
    if has_han(seen):
        return sorted({seen[n : n + size] for size in _CHINESE for n in range(len(seen) - size + 1)})
    words = _WORD.findall(seen)
    found = set(words)
    found.update(f"{one} {other}" for one, other in pairwise(words))
    for word in found & set(words):
        marked = f"<{word}>"
        found.update(f"<{marked[n : n + size]}" for size in _ENGLISH for n in range(len(marked) - size + 1))
    return sorted(found)


def rows_of(text: str) -> list[int]:
    """Give the rows of a folded text's pieces, each once."""
    return sorted({bucket(piece) for piece in pieces(text)})


def bucket(piece: str) -> int:
    """Give the row of a piece's weights."""
    return zlib.crc32(piece.encode("utf-8", "surrogatepass")) % BUCKETS
