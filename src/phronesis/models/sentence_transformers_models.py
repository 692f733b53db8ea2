"""Encoders and rerankers of the `sentence-transformers` package: PyTorch models in this process; no text leaves it.

Weights are not in the package: creating an object downloads them once to the hub's cache, unless ``offline``. Code that
comes with a model is never run.
"""

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final, Protocol

from phronesis.errors import InputError, MissingExtra
from phronesis.models.call_policy import Limits
from phronesis.models.embedder import PREFIXES, Floats
from phronesis.models.in_process import BATCH, load_weights, scheme_of, scores, unit_rows

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
            raise _missing("embedder") from error
        self._model: _Encoder = load_weights(
            lambda: SentenceTransformer(model, revision=revision, device=device, local_files_only=offline),
            model=model,
            field="embedder",
        )
        self._dimension: int = self._model.get_embedding_dimension() or 0
        if not self._dimension:
            raise InputError(f"embedder: {model} does not say how long its vectors are", field="embedder")
        self._name = _named(model, revision)
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
            raise _missing("rerank") from error
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
        self._name = _named(model, revision)
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


def _named(model: str, revision: str | None) -> str:
    return f"sentence-transformers/{model}" + (f"@{revision}" if revision else "")


def _missing(field: str) -> MissingExtra:
    return MissingExtra(
        f'{field}: sentence-transformers is not installed; pip install "phronesis[sentence-transformers]"', field=field
    )
