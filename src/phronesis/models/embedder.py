"""The port of sentence encoders, and the one clean-up that all of them share."""

import re
from collections.abc import Callable, Sequence
from typing import Final, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from phronesis.errors import AnswerRejected, ModelBudgetSpent, ModelError, ModelRefused, ModelUnavailable

Floats = npt.NDArray[np.float32]

_SURROGATE: Final = re.compile("[\ud800-\udfff]")

_OF_THE_SERVER: Final = frozenset({"api_key", "model", "base_url"})
"""Fields of a ModelRefused that are the same for every text."""
_FAILED: Final = 500
"""The HTTP status that llama.cpp's server gives a text longer than its batch, among servers' other failures."""


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors whose dot product is their cosine.

    ``name``, ``dimension`` and ``prefix_scheme`` are stored with every vector: vectors of different values never meet
    in one comparison. Cosines of different encoders lie on different scales, so callers rank or standardise them and
    set no absolute threshold.
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
        """Give a float32 matrix (n, dimension), rows of L2 length 1; a text without content has a zero row."""
        ...

    def embed_query(self, text: str) -> Floats:
        """Give a float32 vector (dimension,) of L2 length 1, or zeros for a text without content."""
        ...


def encodable(text: str, *, characters: int) -> str:
    """Give what an encoder can take: ``characters`` at most, NUL a space, lone surrogates U+FFFD, edges stripped.

    C encoders end a text at NUL and refuse lone surrogates; NUL becomes a space so that it still parts words.
    """
    return _SURROGATE.sub("\ufffd", text[:characters].replace("\0", " ")).strip()


def encoded_filled(
    texts: Sequence[str], encode: Callable[[list[str]], Floats], *, characters: int, dimension: int
) -> Floats:
    """Give the vectors of texts, ``characters`` of each, and a row of zeros for one without content.

    Encoders give an empty text a vector of its prefix alone, near to everything.
    """
    clean = [encodable(text, characters=characters) for text in texts]
    filled = [row for row, text in enumerate(clean) if text]
    matrix = np.zeros((len(clean), dimension), np.float32)
    if filled:
        matrix[filled] = encode([clean[row] for row in filled])
    return matrix


def may_be_the_text(error: ModelError) -> bool:
    """Tell whether an encoder's error may come of the text, so that another one would have its vector."""
    if isinstance(error, ModelRefused):
        return error.field not in _OF_THE_SERVER
    if isinstance(error, ModelUnavailable):
        return error.details.get("status") == _FAILED
    if isinstance(error, ModelBudgetSpent):
        return error.field == "limits.tokens_per_call"
    return isinstance(error, AnswerRejected)
