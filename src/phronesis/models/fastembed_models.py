"""Encoders and rerankers of the `fastembed` package: ONNX models in this process; no text leaves it.

Weights are not in the package: creating an object downloads them once to fastembed's cache folder, unless ``offline``.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from phronesis.errors import InputError, MissingExtra
from phronesis.models.call_policy import Limits
from phronesis.models.embedder import PREFIXES, Floats
from phronesis.models.in_process import BATCH, load_weights, scheme_of, scores, unit_rows


class _Encoder(Protocol):
    def query_embed(self, query: str) -> Iterable[Floats]: ...
    def passage_embed(self, texts: Iterable[str], *, batch_size: int) -> Iterable[Floats]: ...


class _CrossEncoder(Protocol):
    def rerank(self, query: str, documents: Iterable[str], batch_size: int) -> Iterable[float]: ...


class FastEmbedEmbedder:
    """An `Embedder` of fastembed's `TextEmbedding`. Thread-safe.

    fastembed adds no prefix; the prefix is chosen by the model's family. ``threads`` are those of one call.
    """

    def __init__(self, model: str, *, threads: int = 2, offline: bool = False) -> None:
        try:
            from fastembed import TextEmbedding  # noqa: PLC0415 - onnxruntime, optional
        except ImportError as error:
            raise _missing("embedder") from error
        described = _described(model, TextEmbedding.list_supported_models(), field="embedder")
        self._model_name: str = described["model"]
        self._dimension: int = described["dim"]
        self._scheme = scheme_of(self._model_name)
        self._model: _Encoder = load_weights(
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
            raise _missing("rerank") from error
        self._model_name: str = _described(model, TextCrossEncoder.list_supported_models(), field="rerank")["model"]
        self._logits = logits
        self._model: _CrossEncoder = load_weights(
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


def _described(model: str, known: Sequence[Mapping[str, Any]], *, field: str) -> Mapping[str, Any]:
    """Return fastembed's description of a model; fastembed ignores case, but vectors' names must not."""
    for description in known:
        if str(description["model"]).casefold() == model.casefold():
            return description
    names = ", ".join(sorted(str(description["model"]) for description in known))
    raise InputError(f"{field}: fastembed does not know {model!r}; it knows {names}", field=field)


def _missing(field: str) -> MissingExtra:
    return MissingExtra(f'{field}: fastembed is not installed; pip install "phronesis[fastembed]"', field=field)
