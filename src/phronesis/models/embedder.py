"""The port of sentence encoders, the text normalisation they share, prefix schemes, and the hashing encoder."""

import re
from collections.abc import Callable, Mapping, Sequence
from hashlib import blake2b
from itertools import pairwise
from typing import Final, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from phronesis.errors import AnswerRejected, ModelBudgetSpent, ModelError, ModelRefused, ModelUnavailable

# Prefix schemes: the texts that models expect before questions and documents.

PrefixScheme = Literal["bge", "e5", "gemma", "nomic", "qwen3", "none"]

PREFIXES: Final[Mapping[PrefixScheme, tuple[str, str]]] = {
    "bge": ("Represent this sentence for searching relevant passages: ", ""),
    "e5": ("query: ", "passage: "),
    "gemma": ("task: search result | query: ", "title: none | text: "),
    "nomic": ("search_query: ", "search_document: "),
    "qwen3": ("Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:", ""),
    "none": ("", ""),
}
"""What stands before a query and before a document, as the models' cards ask for."""


Floats = npt.NDArray[np.float32]

_SURROGATE: Final = re.compile("[\ud800-\udfff]")

_OF_THE_SERVER: Final = frozenset({"api_key", "model", "base_url"})
"""Fields of a ModelRefused that are the same for every text."""
_FAILED: Final = 500
"""The HTTP status that llama.cpp's server gives a text longer than its batch, among servers' other failures."""


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors whose dot product is their cosine.

    ``name``, ``dimension`` and ``prefix_scheme`` are stored with every vector; vectors that differ in one of them are
    never compared. Cosines of different encoders have different scales, so callers rank or standardise them and set no
    absolute threshold.
    """

    @property
    def name(self) -> str:
        """The model's identity: package, model, version, quantisation; another value means other vectors."""
        ...

    @property
    def dimension(self) -> int:
        """Numbers per vector."""
        ...

    @property
    def prefix_scheme(self) -> str:
        """How queries and documents are told apart before encoding: ``none``, ``e5``, ``qwen3`` or another."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return a float32 matrix (n, dimension), rows of L2 length 1; a text without content has a zero row."""
        ...

    def embed_query(self, text: str) -> Floats:
        """Return a float32 vector (dimension,) of L2 length 1, or zeros for a text without content."""
        ...


def encodable(text: str, *, characters: int) -> str:
    """Return what an encoder can take: ``characters`` at most, NUL a space, lone surrogates U+FFFD, edges stripped.

    C encoders end a text at NUL and refuse lone surrogates; NUL becomes a space so that it still parts words.
    """
    return _SURROGATE.sub("\ufffd", text[:characters].replace("\0", " ")).strip()


def encoded_filled(
    texts: Sequence[str], encode: Callable[[list[str]], Floats], *, characters: int, dimension: int
) -> Floats:
    """Return the vectors of texts, ``characters`` of each, and a row of zeros for one without content.

    Encoders give an empty text a vector of its prefix alone, near to everything.
    """
    clean = [encodable(text, characters=characters) for text in texts]
    filled = [row for row, text in enumerate(clean) if text]
    matrix = np.zeros((len(clean), dimension), np.float32)
    if filled:
        matrix[filled] = encode([clean[row] for row in filled])
    return matrix


def may_be_the_text(error: ModelError) -> bool:
    """Return whether an encoder's error may come of the text, so that another one would have its vector."""
    if isinstance(error, ModelRefused):
        return error.field not in _OF_THE_SERVER
    if isinstance(error, ModelUnavailable):
        return error.details.get("status") == _FAILED
    if isinstance(error, ModelBudgetSpent):
        return error.field == "limits.tokens_per_call"
    return isinstance(error, AnswerRejected)


# A deterministic encoder without a model: hashed words and character bigrams (Weinberger et al. 2009, feature hashing).

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
        """Return a float32 matrix (n, 256), rows of L2 length 1; a text without a letter or digit has a zero row."""
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
        """Return a float32 vector (256,), as `embed_documents` gives it for the same text."""
        vector: Floats = self.embed_documents([text])[0]
        return vector


def _add(row: Floats, feature: str, *, weight: float) -> None:
    # The lowest bit gives the sign, which makes collisions cancel on average; the next bits give the place.
    number = int.from_bytes(blake2b(feature.encode(), digest_size=8).digest(), "little")
    row[(number >> 1) % DIMENSION] += weight if number & 1 else -weight
