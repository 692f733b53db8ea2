"""Plain BM25 in memory: the floor that every memory must stand above."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

from phronesis.index.tokens import tokenize
from phronesis_benchmarks.datasets import Turn

_K1: Final = 1.2
_B: Final = 0.75


class Bm25System:
    """Robertson and Zaragoza's BM25 (2009) with idf ln(1 + (N - df + .5) / (df + .5)), over "speaker: text".

    The tokenizer is the one of the product; nothing else of the product is used. Nothing is written to disk.
    """

    def __init__(self) -> None:
        self._ids: list[str] = []
        self._lengths: list[int] = []
        self._postings: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)

    def add(self, turns: Sequence[Turn]) -> None:
        """Index the turns."""
        for turn in turns:
            counts = Counter(tokenize(turn.line()))
            for term, count in counts.items():
                self._postings[term].append((len(self._ids), count))
            self._ids.append(turn.id)
            self._lengths.append(counts.total())

    def settle(self) -> None:
        """Nothing is pending."""

    def search(self, query: str, limit: int) -> Sequence[str]:
        """Return the turns that share a term with the query; equal scores in the order they were added."""
        total = len(self._ids)
        average = sum(self._lengths) / total if total else 1.0
        scores: defaultdict[int, float] = defaultdict(float)
        for term, asked in Counter(tokenize(query)).items():
            postings = self._postings.get(term, [])
            weight = asked * math.log(1 + (total - len(postings) + 0.5) / (len(postings) + 0.5))
            for row, count in postings:
                norm = _K1 * (1 - _B + _B * self._lengths[row] / average)
                scores[row] += weight * count / (count + norm)
        best = sorted(scores, key=lambda row: (-scores[row], row))[:limit]
        return [self._ids[row] for row in best]

    def close(self) -> None:
        """Nothing is held open."""
