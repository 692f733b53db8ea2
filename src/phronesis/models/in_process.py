"""Shared by in-process encoders and rerankers: prefixes, loading, and validation of vectors and scores."""

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from phronesis.errors import AnswerRejected, ModelUnavailable
from phronesis.models.call_policy import Limits
from phronesis.models.embedder import Floats, PrefixScheme, encodable

CHARACTERS: Final = 8000
"""Characters read of a text. Most models truncate at 512 tokens, some at 8192: minutes of CPU for one batch."""
BATCH: Final = 16
"""Texts per batch, all padded to the longest: more gain little on a CPU and take gigabytes of memory."""

_FAMILIES: Final[Sequence[tuple[str, PrefixScheme]]] = (
    ("intfloat/multilingual-e5-", "e5"),
    ("intfloat/e5-", "e5"),
    ("baai/bge-small-en", "bge"),
    ("baai/bge-base-en", "bge"),
    ("baai/bge-large-en", "bge"),
    ("mixedbread-ai/mxbai-embed-", "bge"),
    ("snowflake/snowflake-arctic-embed-", "bge"),
    ("nomic-ai/nomic-embed-text-v1", "nomic"),
    ("google/embeddinggemma-", "gemma"),
    ("qwen/qwen3-embedding-", "qwen3"),
)


def scheme_of(model: str) -> PrefixScheme:
    """Return the prefix scheme that a hub's model (``owner/model``) was trained with, if known."""
    name = model.casefold()
    # Version 1.5 needs no prefix, says its card; instruction models have the task in their prefix.
    if (name.startswith("baai/bge-") and name.endswith("-v1.5")) or name.endswith("-instruct"):
        return "none"
    return next((scheme for family, scheme in _FAMILIES if name.startswith(family)), "none")


def load_weights(load: Callable[[], Any], *, model: str, field: str) -> Any:
    """Return the result of ``load``; ModelUnavailable if the weights are not available."""
    try:
        return load()
    except (OSError, RuntimeError, ValueError) as error:
        # Hubs' own messages may contain addresses with tokens: only the type of error is repeated.
        raise ModelUnavailable(
            f"{field}: the weights of {model} could not be loaded ({type(error).__name__}); they are downloaded when"
            " they are first used: look to the connection, or choose a model that is there",
            field=field,
        ) from error


def unit_rows(texts: Sequence[str], encode: Callable[[list[str]], Any], *, dimension: int) -> Floats:
    """Return a float32 matrix (n, dimension) of L2 length 1 from the vectors of ``encode``, zero rows for empty texts.

    ``encode`` gets only texts with content, cut to 8000 characters. AnswerRejected if its vectors are wrong in number
    or length, or not finite.
    """
    clean = [encodable(text, characters=CHARACTERS) for text in texts]
    filled = [row for row, text in enumerate(clean) if text]
    matrix = np.zeros((len(clean), dimension), np.float32)
    if filled:
        # Half precision would lose accuracy in the vector's length.
        vectors = np.asarray(encode([clean[row] for row in filled]), np.float32)
        if vectors.shape != (len(filled), dimension) or not np.isfinite(vectors).all():
            raise AnswerRejected(
                f"the encoder gave {vectors.shape} for {len(filled)} texts of {dimension} numbers each"
            )
        length = np.linalg.norm(vectors, axis=1, keepdims=True)
        matrix[filled] = np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0.0)
    return matrix


def scores(
    query: str,
    texts: Sequence[str],
    score: Callable[[str, list[str]], Any],
    *,
    limits: Limits,
    logits: bool,
) -> list[float]:
    """Return 0 to 1 for each text from ``score``, called with a query and 16 texts; logits through a sigmoid.

    Texts without content get 0, and all texts if the query has none. ModelUnavailable and ModelCancelled between
    batches; AnswerRejected if a score is missing, not finite, or, without ``logits``, not between 0 and 1.
    """
    asked = encodable(query, characters=CHARACTERS)
    clean = [encodable(text, characters=CHARACTERS) for text in texts]
    filled = [place for place, text in enumerate(clean) if text and asked]
    found = [0.0] * len(clean)
    for start in range(0, len(filled), BATCH):
        limits.check()
        batch = filled[start : start + BATCH]
        values = np.asarray(score(asked, [clean[place] for place in batch]), np.float64)
        if values.shape != (len(batch),) or not np.isfinite(values).all():
            raise AnswerRejected(f"the reranker gave {values.shape}, not {(len(batch),)} finite numbers")
        if logits:
            values = 0.5 + 0.5 * np.tanh(0.5 * values)  # the sigmoid, in the form that never overflows
        elif values.min() < 0.0 or values.max() > 1.0:
            raise AnswerRejected("the reranker's scores do not lie between 0 and 1: they are logits")
        for place, value in zip(batch, values, strict=True):
            found[place] = float(value)
    return found
