"""One embedder for every system of a run, so that what is compared is the memory and not the model."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from phronesis.models.embedder import Embedder, Floats
from phronesis_benchmarks.stopwatch import Duration, Stopwatch, per_second

_BATCH: Final = 64


@dataclass(frozen=True, slots=True)
class EncodingCost:
    """What it took to encode ``texts`` distinct texts ahead of the measurements."""

    texts: int
    duration: Duration

    def to_dict(self) -> dict[str, float]:
        """Return the number of texts, and texts per second of wall and of CPU time."""
        return {
            "texts": self.texts,
            "texts_per_second": per_second(self.texts, self.duration.wall),
            "texts_per_cpu_second": per_second(self.texts, self.duration.cpu),
        }


class CachedEmbedder:
    """An embedder that encodes a text once in a run and then looks it up; safe to share between threads.

    ``misses`` counts the texts that the embedder itself had to take: an interval in which it did not move was spent
    without the embedder.
    """

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._documents: dict[str, Floats] = {}
        self._queries: dict[str, Floats] = {}
        self._lock = threading.Lock()
        self.name = embedder.name
        self.dimension = embedder.dimension
        self.prefix_scheme = embedder.prefix_scheme
        self.misses = 0

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return an array (texts, dimension), float32."""
        with self._lock:
            missing = [text for text in dict.fromkeys(texts) if text not in self._documents]
            if missing:
                self.misses += len(missing)
                self._documents |= dict(zip(missing, self._embedder.embed_documents(missing), strict=True))
            if not texts:
                return np.empty((0, self.dimension), np.float32)
            return np.stack([self._documents[text] for text in texts])

    def embed_query(self, text: str) -> Floats:
        """Return an array (dimension,), float32."""
        with self._lock:
            if text not in self._queries:
                self.misses += 1
                self._queries[text] = self._embedder.embed_query(text)
            return self._queries[text]

    def warm(
        self, documents: Sequence[str], queries: Sequence[str], on_progress: Callable[[int, int], None] | None = None
    ) -> EncodingCost:
        """Encode all of them in batches, and give what it cost; ``on_progress`` is called with (done, total)."""
        total = len(documents) + len(queries)
        before = self.misses
        watch = Stopwatch()
        for start in range(0, len(documents), _BATCH):
            self.embed_documents(documents[start : start + _BATCH])
            if on_progress:
                on_progress(min(start + _BATCH, len(documents)), total)
        for done, query in enumerate(queries, start=len(documents) + 1):
            self.embed_query(query)
            if on_progress:
                on_progress(done, total)
        return EncodingCost(self.misses - before, watch.read())
