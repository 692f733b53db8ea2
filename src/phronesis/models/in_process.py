"""Encoders and rerankers in this process, of the packages `fastembed` and `sentence-transformers`; no text leaves it.

Weights are not in the packages: creating an object downloads them once to the package's or the hub's cache, unless
``offline``. Code that comes with a model is never run.
"""

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

import numpy as np

from phronesis.errors import AnswerRejected, InputError, MissingExtra, ModelUnavailable
from phronesis.models.call_policy import Limits
from phronesis.models.embedder import PREFIXES, Floats, PrefixScheme, encodable

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
    query: str, texts: Sequence[str], score: Callable[[str, list[str]], Any], *, limits: Limits, logits: bool
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


# `fastembed`: ONNX models.


class _FastEmbedEncoder(Protocol):
    def query_embed(self, query: str) -> Iterable[Floats]: ...
    def passage_embed(self, texts: Iterable[str], *, batch_size: int) -> Iterable[Floats]: ...


class _FastEmbedCrossEncoder(Protocol):
    def rerank(self, query: str, documents: Iterable[str], batch_size: int) -> Iterable[float]: ...


class FastEmbedEmbedder:
    """An `Embedder` of fastembed's `TextEmbedding`. Thread-safe.

    fastembed adds no prefix; the prefix is chosen by the model's family. ``threads`` are those of one call.
    """

    def __init__(self, model: str, *, threads: int = 2, offline: bool = False) -> None:
        try:
            from fastembed import TextEmbedding  # noqa: PLC0415 - onnxruntime, optional
        except ImportError as error:
            raise _missing_fastembed("embedder") from error
        described = _describe_model(model, TextEmbedding.list_supported_models(), field="embedder")
        self._model_name: str = described["model"]
        self._dimension: int = described["dim"]
        self._scheme = scheme_of(self._model_name)
        self._model: _FastEmbedEncoder = load_weights(
            lambda: TextEmbedding(model_name=self._model_name, threads=threads, local_files_only=offline),
            model=self._model_name,
            field="embedder",
        )

    @property
    def name(self) -> str:
        """``fastembed/`` and the model's name in fastembed's own spelling."""
        return f"fastembed/{self._model_name}"

    @property
    def dimension(self) -> int:
        """Numbers per vector, from fastembed's list of models."""
        return self._dimension

    @property
    def prefix_scheme(self) -> str:
        """The key in `PREFIXES` of the prefix scheme."""
        return self._scheme

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return a float32 matrix (n, dimension), rows of L2 length 1; a text without content has a zero row."""
        prefix = PREFIXES[self._scheme][1]
        return unit_rows(
            texts,
            lambda filled: list(self._model.passage_embed([prefix + text for text in filled], batch_size=BATCH)),
            dimension=self._dimension,
        )

    def embed_query(self, text: str) -> Floats:
        """Return a float32 vector (dimension,) of L2 length 1, or zeros for a text without content."""
        prefix = PREFIXES[self._scheme][0]
        rows = unit_rows(
            [text], lambda filled: list(self._model.query_embed(prefix + filled[0])), dimension=self._dimension
        )
        vector: Floats = rows[0]
        return vector


class FastEmbedReranker:
    """A `Reranker` of fastembed's `TextCrossEncoder`. Thread-safe.

    fastembed returns logits. Set ``logits=False`` for a model that was added to it and returns scores between 0 and 1;
    the scores alone do not show which they are.
    """

    def __init__(self, model: str, *, threads: int = 2, offline: bool = False, logits: bool = True) -> None:
        try:
            from fastembed.rerank.cross_encoder import TextCrossEncoder  # noqa: PLC0415 - onnxruntime, optional
        except ImportError as error:
            raise _missing_fastembed("rerank") from error
        self._model_name: str = _describe_model(model, TextCrossEncoder.list_supported_models(), field="rerank")[
            "model"
        ]
        self._logits = logits
        self._model: _FastEmbedCrossEncoder = load_weights(
            lambda: TextCrossEncoder(model_name=self._model_name, threads=threads, local_files_only=offline),
            model=self._model_name,
            field="rerank",
        )

    @property
    def name(self) -> str:
        """``fastembed/`` and the model's name in fastembed's own spelling."""
        return f"fastembed/{self._model_name}"

    def rerank(self, query: str, texts: Sequence[str], *, limits: Limits) -> list[float]:
        """Return a score from 0 to 1 for each text, in the order of ``texts``; 0 if text or query has no content.

        ModelUnavailable and ModelCancelled between batches of 16, which are not interrupted; AnswerRejected.
        """
        return scores(
            query,
            texts,
            lambda asked, batch: list(self._model.rerank(asked, batch, batch_size=BATCH)),
            limits=limits,
            logits=self._logits,
        )


def _describe_model(model: str, known: Sequence[Mapping[str, Any]], *, field: str) -> Mapping[str, Any]:
    """Return fastembed's description of a model; fastembed ignores case, but vectors' names must not."""
    for description in known:
        if str(description["model"]).casefold() == model.casefold():
            return description
    names = ", ".join(sorted(str(description["model"]) for description in known))
    raise InputError(f"{field}: fastembed does not know {model!r}; it knows {names}", field=field)


def _missing_fastembed(field: str) -> MissingExtra:
    return MissingExtra(f'{field}: fastembed is not installed; pip install "phronesis[fastembed]"', field=field)


# `sentence-transformers`: PyTorch models.

TURN_SECONDS: Final = 0.05
"""Interval in seconds at which a waiting call checks for cancellation."""


class _Encoder(Protocol):
    @property
    def prompts(self) -> Mapping[str, str]: ...
    def get_embedding_dimension(self) -> int | None: ...
    def encode_query(self, inputs: list[str], **options: Any) -> Any: ...
    def encode_document(self, inputs: list[str], **options: Any) -> Any: ...


class _CrossEncoder(Protocol):
    @property
    def num_labels(self) -> int: ...
    def predict(self, inputs: list[tuple[str, str]], **options: Any) -> Any: ...


class SentenceTransformerEmbedder:
    """An `Embedder` of a `SentenceTransformer`. Thread-safe; one call at a time.

    The model's own prompts are used if it has any, else those of its family. ``revision`` is a commit or tag of the
    hub; without one the newest weights are used, which may change under the same name. ``device`` is PyTorch's.
    """

    def __init__(
        self, model: str, *, revision: str | None = None, device: str | None = None, offline: bool = False
    ) -> None:
        try:
            from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - PyTorch, optional
        except ImportError as error:
            raise _missing_sentence_transformers("embedder") from error
        self._model: _Encoder = load_weights(
            lambda: SentenceTransformer(model, revision=revision, device=device, local_files_only=offline),
            model=model,
            field="embedder",
        )
        self._dimension: int = self._model.get_embedding_dimension() or 0
        if not self._dimension:
            raise InputError(f"embedder: {model} does not say how long its vectors are", field="embedder")
        self._name = _name_model(model, revision)
        prompted = any(self._model.prompts.get(kind) for kind in ("query", "document", "passage", "corpus"))
        self._scheme = "prompts" if prompted else scheme_of(model)
        self._lock = threading.Lock()  # its tokenizer is stateful: it keeps the padding length between two steps

    @property
    def name(self) -> str:
        """``sentence-transformers/``, the model's name, and ``@revision`` if one was given."""
        return self._name

    @property
    def dimension(self) -> int:
        """Numbers per vector, from the model."""
        return self._dimension

    @property
    def prefix_scheme(self) -> str:
        """``prompts`` for those that come with the model, else the key in `PREFIXES` of the prefix scheme."""
        return self._scheme

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return a float32 matrix (n, dimension), rows of L2 length 1; a text without content has a zero row."""
        return unit_rows(texts, self._documents, dimension=self._dimension)

    def embed_query(self, text: str) -> Floats:
        """Return a float32 vector (dimension,) of L2 length 1, or zeros for a text without content."""
        vector: Floats = unit_rows([text], self._queries, dimension=self._dimension)[0]
        return vector

    def _documents(self, texts: list[str]) -> Any:
        with self._lock:
            return self._model.encode_document(texts, **self._options(document=True))

    def _queries(self, texts: list[str]) -> Any:
        with self._lock:
            return self._model.encode_query(texts, **self._options(document=False))

    def _options(self, *, document: bool) -> dict[str, Any]:
        options: dict[str, Any] = {"batch_size": BATCH, "show_progress_bar": False}
        if self._scheme != "prompts":
            # Set even if empty: a model may have a default prompt that is neither for queries nor for documents.
            options["prompt"] = PREFIXES[self._scheme][document]
        return options


class CrossEncoderReranker:
    """A `Reranker` of a `CrossEncoder`. Thread-safe; one call at a time.

    The model's logits are read and a sigmoid is applied here, so that scores of all models mean the same.
    """

    def __init__(
        self, model: str, *, revision: str | None = None, device: str | None = None, offline: bool = False
    ) -> None:
        try:
            from sentence_transformers import CrossEncoder  # noqa: PLC0415 - PyTorch, optional
        except ImportError as error:
            raise _missing_sentence_transformers("rerank") from error
        self._model: _CrossEncoder = load_weights(
            lambda: CrossEncoder(model, revision=revision, device=device, local_files_only=offline),
            model=model,
            field="rerank",
        )
        if self._model.num_labels != 1:
            raise InputError(
                f"rerank: {model} sorts into {self._model.num_labels} classes; choose a cross-encoder with one score",
                field="rerank",
            )
        self._name = _name_model(model, revision)
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        """``sentence-transformers/``, the model's name, and ``@revision`` if one was given."""
        return self._name

    def rerank(self, query: str, texts: Sequence[str], *, limits: Limits) -> list[float]:
        """Return a score from 0 to 1 for each text, in the order of ``texts``; 0 if text or query has no content.

        ModelUnavailable and ModelCancelled between batches of 16, which are not interrupted; AnswerRejected.
        """
        while not self._lock.acquire(timeout=min(TURN_SECONDS, limits.left)):
            limits.check()
        try:
            return scores(query, texts, self._logits, limits=limits, logits=True)
        finally:
            self._lock.release()

    def _logits(self, query: str, texts: list[str]) -> Any:
        pairs = [(query, text) for text in texts]
        return self._model.predict(pairs, batch_size=BATCH, show_progress_bar=False, activation_fn=_unchanged)


def _unchanged(logits: Any) -> Any:
    """Return the logits unchanged; None would select the model's own activation."""
    return logits


def _name_model(model: str, revision: str | None) -> str:
    return f"sentence-transformers/{model}" + (f"@{revision}" if revision else "")


def _missing_sentence_transformers(field: str) -> MissingExtra:
    return MissingExtra(
        f'{field}: sentence-transformers is not installed; pip install "phronesis[sentence-transformers]"', field=field
    )
