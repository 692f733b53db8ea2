"""Encoders and rerankers in this process, of the packages `fastembed` and `sentence-transformers`; no text leaves it.

Weights are not in the packages: creating an object downloads them once to the package's or the hub's cache. Code that
comes with a model is never run.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from phronesis.errors import AnswerRejected, InputError, MissingExtra, ModelUnavailable
from phronesis.models.call_policy import Limits
from phronesis.models.embedder import PREFIXES, Floats, LocalEmbedder, PrefixScheme, encodable

CHARACTERS: Final = 8000
"""Characters read of a text. Most models truncate at 512 tokens, some at 8192: minutes of CPU for one batch."""
BATCH: Final = 16
"""Texts per batch, all padded to the longest: more gain little on a CPU and take gigabytes of memory."""
THREADS: Final = 2
"""Threads of one call of fastembed."""

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


def _load_weights(load: Callable[..., Any], model: str, *, field: str, **options: Any) -> Any:
    """Return what ``load`` makes of a model's name; ModelUnavailable if the weights are not available."""
    try:
        return load(model, **options)
    except (OSError, RuntimeError, ValueError) as error:
        # Hubs' own messages may contain addresses with tokens: only the type of error is repeated.
        raise ModelUnavailable(
            f"{field}: the weights of {model} could not be loaded ({type(error).__name__}); they are downloaded when"
            " they are first used: look to the connection, or choose a model that is there",
            field=field,
        ) from error


def _unit_rows(encode: Callable[[list[str]], Any], dimension: int, texts: list[str]) -> Floats:
    """Return a float32 matrix (n, dimension) of L2 length 1 from the vectors of ``encode``.

    AnswerRejected if they are wrong in number or length, or not finite.
    """
    # Half precision would lose accuracy in the vector's length.
    vectors = np.asarray(encode(texts), np.float32)
    if vectors.shape != (len(texts), dimension) or not np.isfinite(vectors).all():
        raise AnswerRejected(f"the encoder gave {vectors.shape} for {len(texts)} texts of {dimension} numbers each")
    length = np.linalg.norm(vectors, axis=1, keepdims=True)
    rows: Floats = np.divide(vectors, length, out=np.zeros_like(vectors), where=length > 0.0)
    return rows


@dataclass(frozen=True, slots=True)
class LocalReranker:
    """A `Reranker` of a cross-encoder; ``logits`` is called with a query and 16 texts."""

    name: str
    logits: Callable[[str, list[str]], Any]

    def rerank(self, query: str, texts: Sequence[str], *, limits: Limits) -> list[float]:
        """Return a score from 0 to 1 for each text, in the order of ``texts``; 0 if text or query has no content.

        ModelUnavailable and ModelCancelled between batches of 16, which are not interrupted; AnswerRejected if a score
        is missing or not finite.
        """
        asked = encodable(query, characters=CHARACTERS)
        clean = [encodable(text, characters=CHARACTERS) for text in texts]
        filled = [place for place, text in enumerate(clean) if text and asked]
        found = [0.0] * len(clean)
        for start in range(0, len(filled), BATCH):
            limits.check()
            batch = filled[start : start + BATCH]
            values = np.asarray(self.logits(asked, [clean[place] for place in batch]), np.float64)
            if values.shape != (len(batch),) or not np.isfinite(values).all():
                raise AnswerRejected(f"the reranker gave {values.shape}, not {(len(batch),)} finite numbers")
            values = 0.5 + 0.5 * np.tanh(0.5 * values)  # the sigmoid, in the form that never overflows
            for place, value in zip(batch, values, strict=True):
                found[place] = float(value)
        return found


# `fastembed`: ONNX models.


def load_fastembed_embedder(model: str) -> LocalEmbedder:
    """Return the encoder of fastembed's `TextEmbedding`; its prefix is chosen by the model's family."""
    try:
        from fastembed import TextEmbedding  # noqa: PLC0415 - onnxruntime, optional
    except ImportError as error:
        raise _missing("fastembed", "embedder") from error
    described = _describe_model(model, TextEmbedding.list_supported_models(), field="embedder")
    name, dimension = described["model"], described["dim"]
    encoder = _load_weights(TextEmbedding, name, field="embedder", threads=THREADS)
    scheme = scheme_of(name)
    query, document = PREFIXES[scheme]

    def encode_documents(texts: list[str]) -> Any:
        return list(encoder.passage_embed([document + text for text in texts], batch_size=BATCH))

    def encode_queries(texts: list[str]) -> Any:
        return list(encoder.query_embed([query + text for text in texts]))

    return LocalEmbedder(
        name=f"fastembed/{name}",
        dimension=dimension,
        prefix_scheme=scheme,
        documents=partial(_unit_rows, encode_documents, dimension),
        queries=partial(_unit_rows, encode_queries, dimension),
        characters=CHARACTERS,
    )


def load_fastembed_reranker(model: str) -> LocalReranker:
    """Return the reranker of fastembed's `TextCrossEncoder`, which gives logits."""
    try:
        from fastembed.rerank.cross_encoder import TextCrossEncoder  # noqa: PLC0415 - onnxruntime, optional
    except ImportError as error:
        raise _missing("fastembed", "rerank") from error
    name = _describe_model(model, TextCrossEncoder.list_supported_models(), field="rerank")["model"]
    encoder = _load_weights(TextCrossEncoder, name, field="rerank", threads=THREADS)
    return LocalReranker(f"fastembed/{name}", lambda query, texts: list(encoder.rerank(query, texts, batch_size=BATCH)))


def _describe_model(model: str, known: Sequence[Mapping[str, Any]], *, field: str) -> Mapping[str, Any]:
    """Return fastembed's description of a model; fastembed ignores case, but vectors' names must not."""
    for description in known:
        if str(description["model"]).casefold() == model.casefold():
            return description
    names = ", ".join(sorted(str(description["model"]) for description in known))
    raise InputError(f"{field}: fastembed does not know {model!r}; it knows {names}", field=field)


# `sentence-transformers`: PyTorch models.


def load_sentence_transformer(model: str) -> LocalEmbedder:
    """Return the encoder of a `SentenceTransformer`, which makes one call at a time.

    The model's own prompts are used if it has any, else those of its family. The hub's newest weights are used, which
    may change under the same name.
    """
    try:
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - PyTorch, optional
    except ImportError as error:
        raise _missing("sentence-transformers", "embedder") from error
    encoder = _load_weights(SentenceTransformer, model, field="embedder")
    dimension = encoder.get_embedding_dimension() or 0
    if not dimension:
        raise InputError(f"embedder: {model} does not say how long its vectors are", field="embedder")
    options: dict[str, Any] = {"batch_size": BATCH, "show_progress_bar": False}
    prompts: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
    scheme = "prompts"
    if not any(encoder.prompts.get(kind) for kind in ("query", "document", "passage", "corpus")):
        scheme = scheme_of(model)
        # Set even if empty: a model may have a default prompt that is neither for queries nor for documents.
        prompts = {"prompt": PREFIXES[scheme][0]}, {"prompt": PREFIXES[scheme][1]}
    lock = threading.Lock()  # its tokenizer is stateful: it keeps the padding length between two steps

    def encode_documents(texts: list[str]) -> Any:
        with lock:
            return encoder.encode_document(texts, **options, **prompts[1])

    def encode_queries(texts: list[str]) -> Any:
        with lock:
            return encoder.encode_query(texts, **options, **prompts[0])

    return LocalEmbedder(
        name=f"sentence-transformers/{model}",
        dimension=dimension,
        prefix_scheme=scheme,
        documents=partial(_unit_rows, encode_documents, dimension),
        queries=partial(_unit_rows, encode_queries, dimension),
        characters=CHARACTERS,
    )


def load_cross_encoder(model: str) -> LocalReranker:
    """Return the reranker of a `CrossEncoder`, which makes one call at a time."""
    try:
        from sentence_transformers import CrossEncoder  # noqa: PLC0415 - PyTorch, optional
    except ImportError as error:
        raise _missing("sentence-transformers", "rerank") from error
    encoder = _load_weights(CrossEncoder, model, field="rerank")
    if encoder.num_labels != 1:
        raise InputError(
            f"rerank: {model} sorts into {encoder.num_labels} classes; choose a cross-encoder with one score",
            field="rerank",
        )
    lock = threading.Lock()

    def logits(query: str, texts: list[str]) -> Any:
        pairs = [(query, text) for text in texts]
        with lock:  # the logits unchanged: None would select the model's own activation
            return encoder.predict(pairs, batch_size=BATCH, show_progress_bar=False, activation_fn=lambda given: given)

    return LocalReranker(f"sentence-transformers/{model}", logits)


def _missing(package: str, field: str) -> MissingExtra:
    return MissingExtra(f'{field}: {package} is not installed; pip install "phronesis[{package}]"', field=field)
