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
"""Prefixes of a query and of a document, as the models' cards specify."""


Floats = npt.NDArray[np.float32]

_SURROGATE: Final = re.compile("[\ud800-\udfff]")

_OF_THE_SERVER: Final = frozenset({"api_key", "model", "base_url"})
"""Fields of a ModelRefused that are the same for every text."""
_FAILED: Final = 500
"""The HTTP status of llama.cpp's server for a text longer than its batch, among other failures."""


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors whose dot product is their cosine.

    ``name``, ``dimension`` and ``prefix_scheme`` are stored with every vector; vectors that differ in one of them are
    never compared. Cosines of different encoders have different scales, so callers rank or standardise them and set no
    absolute threshold.
    """

    @property
    def name(self) -> str:
        """The model's identity: package, model, version, quantisation; different values mean incomparable vectors."""
        ...

    @property
    def dimension(self) -> int:
        """Numbers per vector."""
        ...

    @property
    def prefix_scheme(self) -> str:
        """The prefix scheme of queries and documents: ``none``, ``e5``, ``qwen3`` or another."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return a float32 matrix (n, dimension), rows of L2 length 1; a text without content has a zero row."""
        ...

    def embed_query(self, text: str) -> Floats:
        """Return a float32 vector (dimension,) of L2 length 1, or zeros for a text without content."""
        ...


def encodable(text: str, *, characters: int) -> str:
    """Return the text that is encoded: at most ``characters``, NUL a space, lone surrogates U+FFFD, stripped.

    C encoders end a text at NUL and refuse lone surrogates; NUL becomes a space so that it still separates words.
    """
    return _SURROGATE.sub("\ufffd", text[:characters].replace("\0", " ")).strip()


def encoded_filled(
    texts: Sequence[str], encode: Callable[[list[str]], Floats], *, characters: int, dimension: int
) -> Floats:
    """Return the vectors of texts, ``characters`` of each, with a row of zeros for one without content.

    An encoder gives an empty text the vector of its prefix alone, which is similar to everything.
    """
    clean = [encodable(text, characters=characters) for text in texts]
    filled = [row for row, text in enumerate(clean) if text]
    matrix = np.zeros((len(clean), dimension), np.float32)
    if filled:
        matrix[filled] = encode([clean[row] for row in filled])
    return matrix


def may_be_the_text(error: ModelError) -> bool:
    """Return whether an error may be caused by the text, so that other texts can still be encoded."""
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
"""Characters read of a text, to bound the time of one call (about 20 ms; hashing is linear)."""
_WORD: Final = re.compile(r"[^\W_]+")
_WORD_WEIGHT: Final = 2.0  # a whole word is more informative than one of its bigrams


class HashingEmbedder:
    """An `Embedder` of 256 hashed features: words with weight 2, character bigrams inside words with weight 1."""

    @property
    def name(self) -> str:
        """Identity of the feature function; the number changes with the features."""
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
        # Signed features may cancel to zero; such a row stays zero, as for an empty text.
        length = np.linalg.norm(matrix, axis=1, keepdims=True)
        np.divide(matrix, length, out=matrix, where=length > 0.0)
        return matrix

    def embed_query(self, text: str) -> Floats:
        """Return a float32 vector (256,), as `embed_documents` gives it for the same text."""
        vector: Floats = self.embed_documents([text])[0]
        return vector


def _add(row: Floats, feature: str, *, weight: float) -> None:
    # The lowest bit gives the sign, so that collisions cancel on average; the next bits give the index.
    number = int.from_bytes(blake2b(feature.encode(), digest_size=8).digest(), "little")
    row[(number >> 1) % DIMENSION] += weight if number & 1 else -weight
