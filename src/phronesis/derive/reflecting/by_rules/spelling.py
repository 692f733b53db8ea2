"""How near memories are where no encoder looks: by the pieces of their words, the rarer the more.

It is the cosine of tf-idf over the pieces of each text (Salton & Buckley 1988; `word_pieces`), each counted once,
rarity among the user's own memories: "baking" is near "baked", 爬山 near 去爬了香山. On labelled users it finds twice
what the words that memories share do, and half of what an encoder does (docs/benchmarks.md).
"""

from collections import Counter
from collections.abc import Callable, Sequence
from math import log
from typing import Final

import numpy as np
import numpy.typing as npt

from phronesis.derive.reflecting.by_rules.reading import Reading
from phronesis.derive.reflecting.by_rules.showing import MAX_READ
from phronesis.derive.reflecting.by_rules.tables import the_tables
from phronesis.derive.reflecting.by_rules.terms import words_of
from phronesis.derive.word_pieces import bucket, folded, has_han, pieces

Floats = npt.NDArray[np.float32]

LEAST: Final = 16
"""Memories from which on pieces are compared; of fewer, shared words and behaviours say more."""

COLUMNS: Final = 1 << 13
"""Different shared pieces that are kept apart; of more, several share a column with a sign each (Weinberger et al.
2009), so that 5,000 memories take 160 MB. The cosines of 1,000 memories move by .01 for it."""


def by_pieces(readings: Sequence[Reading]) -> Callable[[Sequence[str]], Floats] | None:
    """Give what compares memories by their ids, as an encoder does; None of so few that it says nothing."""
    if len(readings) < LEAST:
        return None
    texts = {one.id: _telling(folded(one.text[:MAX_READ])) for one in readings}
    return lambda ids: cosines_of_pieces([texts[one] for one in ids])


def _telling(text: str) -> str:
    """Leave out of an English text the words that say little of what it is about: "out of the"."""
    if has_han(text):
        return text
    tables = the_tables()
    words = words_of(text, tables.irregular)
    return " ".join(one.written for one in words if one.stem not in tables.generic["en"])


def cosines_of_pieces(texts: Sequence[str]) -> Floats:
    """Give the matrix of cosines of folded texts; zeros beside the diagonal for one that shares nothing."""
    held = [pieces(text) for text in texts]
    counts = Counter(piece for one in held for piece in one)
    weight = {piece: log((len(texts) + 1.0) / count) for piece, count in counts.items()}
    shared = sorted(piece for piece, count in counts.items() if count > 1)
    columns = {piece: (n, 1.0) for n, piece in enumerate(shared)}
    if len(shared) > COLUMNS:
        columns = {piece: (row % COLUMNS, 1.0 if row & COLUMNS else -1.0)
                   for piece in shared for row in [bucket(piece)]}  # fmt: skip
    rows = np.zeros((len(texts), min(max(1, len(shared)), COLUMNS)), np.float32)
    for row, one in zip(rows, held, strict=True):
        length = sum(weight[piece] ** 2 for piece in one) ** 0.5 or 1.0
        for piece in one:
            if (known := columns.get(piece)) is not None:
                row[known[0]] += known[1] * weight[piece] / length
    out: Floats = rows @ rows.T
    np.fill_diagonal(out, 1.0)
    return out
