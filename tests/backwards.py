"""A second encoder for tests: the hashing one of texts read backwards, which are other features of other words."""

from collections.abc import Sequence

from phronesis.models.embedder import Floats, HashingEmbedder


class Backwards(HashingEmbedder):
    """Sees what the hashing encoder sees, elsewhere."""

    @property
    def name(self) -> str:
        """Another than the hashing encoder's."""
        return "backwards-1"

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Encode each text from its end."""
        return super().embed_documents([text[::-1] for text in texts])
