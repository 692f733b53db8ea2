"""A deterministic encoder without a model: hashed words and letter pairs (Weinberger et al. 2009, feature hashing).

It finds shared wording, not meaning. Tests and demonstrations use it: the same vectors on every machine, no download.
"""

import re
from collections.abc import Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import Final

import numpy as np

from phronesis.models.embedder import Floats, encodable

DIMENSION: Final = 256
CHARACTERS: Final = 20_000
"""Characters read of a text: hashing is linear, so this only bounds the time of one call (about 20 ms)."""
_WORD: Final = re.compile(r"[^\W_]+")
_WORD_WEIGHT: Final = 2.0  # a whole word says more than one of its pairs of letters


class HashingEmbedder:
    """An `Embedder` of 256 hashed features: words with weight 2, character bigrams inside words with weight 1."""

    @property
    def name(self) -> str:
        """Identity of the feature function; the number rises when the features change."""
        return f"hashing-{DIMENSION}-1"

    @property
    def dimension(self) -> int:
        """Always 256."""
        return DIMENSION

    @property
    def prefix_scheme(self) -> str:
        """Queries and documents are encoded alike."""
        return "none"

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Give a float32 matrix (n, 256), rows of L2 length 1; a text without a letter or digit has a zero row."""
        matrix = np.zeros((len(texts), DIMENSION), np.float32)
        for row, text in zip(matrix, texts, strict=True):
            for word in _WORD.findall(encodable(text, characters=CHARACTERS).casefold()):
                _add(row, word, weight=_WORD_WEIGHT)
                for first, second in pairwise(word):
                    _add(row, first + second, weight=1.0)
        # Signed features may cancel to zero; such a row stays zero, as an empty text's does.
        length = np.linalg.norm(matrix, axis=1, keepdims=True)
        np.divide(matrix, length, out=matrix, where=length > 0.0)
        return matrix

    def embed_query(self, text: str) -> Floats:
        """Give a float32 vector (256,), as `embed_documents` gives it for the same text."""
        vector: Floats = self.embed_documents([text])[0]
        return vector


def _add(row: Floats, feature: str, *, weight: float) -> None:
    # The lowest bit gives the sign, which makes collisions cancel on average; the next bits give the place.
    number = int.from_bytes(blake2b(feature.encode(), digest_size=8).digest(), "little")
    row[(number >> 1) % DIMENSION] += weight if number & 1 else -weight
