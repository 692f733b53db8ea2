"""Sentence encoders behind ``/v1/embeddings``: OpenAI's, Ollama's, vLLM's, llama.cpp's."""

import base64
import binascii
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from phronesis.models.call_policy import Limits
from phronesis.models.embedder import PREFIXES, Floats, PrefixScheme, encodable
from phronesis.models.transport import Gateway, ModelHttp, unreadable

BATCH_TEXTS: Final = 64
"""Texts per request: local servers process them one after the other, within one time-out."""
BATCH_CHARACTERS: Final = 100_000
"""Characters per request: at a token each still a third of OpenAI's limit of 300,000 tokens."""
TEXT_CHARACTERS: Final = 6000
"""Characters of one text: within OpenAI's 8192 tokens in Chinese too, where a character may take more than one."""
_PROBE: Final = "dimension"
"""The text whose vector is measured if the dimension is not given."""


class OpenAIEmbedder:
    """An encoder on a server. Thread-safe; close it when done.

    ``dimension`` is sent with every request, for models that can return shorter vectors; None accepts any.
    ``limits_for`` returns the limits of each request of a call without limits. ``characters`` is the maximum length of
    one text, lower for smaller models. ``http`` shares connections with other roles of the gateway; the code that
    opened it closes it.
    """

    def __init__(
        self,
        gateway: Gateway,
        model: str,
        *,
        dimension: int | None,
        prefix_scheme: PrefixScheme,
        limits_for: Callable[[], Limits],
        characters: int = TEXT_CHARACTERS,
        http: ModelHttp | None = None,
    ) -> None:
        self._gateway = gateway
        self._model = model
        self._dimension = dimension
        self._asked = dimension
        self._scheme: PrefixScheme = prefix_scheme
        self._limits_for = limits_for
        self._characters = characters
        self._probing = threading.Lock()
        self._http = ModelHttp(gateway) if http is None else http
        self._shared = http is not None

    @property
    def name(self) -> str:
        """Gateway and model, with the options that change its vectors: ``local/bge-m3``, ``lab/e5+e5@512``."""
        scheme = "" if self._scheme == "none" else f"+{self._scheme}"
        return f"{self._gateway.name}/{self._model}{scheme}{'' if self._asked is None else f'@{self._asked}'}"

    @property
    def dimension(self) -> int:
        """Numbers per vector. If it was not given, the server is asked once: ModelError."""
        return self._measured(None)

    def _measured(self, limits: Limits | None) -> int:
        if self._dimension is None:
            with self._probing:
                if self._dimension is None:
                    self._dimension = self._vectors([_PROBE], dimension=None, limits=limits).shape[1]
        return self._dimension

    @property
    def prefix_scheme(self) -> str:
        """``none``, ``e5``, ``qwen3`` or ``nomic``."""
        return self._scheme

    def embed_documents(self, texts: Sequence[str], *, limits: Limits | None = None) -> Floats:
        """Return a float32 matrix (n, dimension), rows of L2 length 1; a text without content has a zero row.

        ``limits`` bound the whole call, including the query for the dimension. ModelUnavailable, ModelRefused,
        AnswerRejected (vectors missing, of another length, not numbers), ModelCancelled.
        """
        return self._embedded(texts, PREFIXES[self._scheme][1], limits)

    def embed_query(self, text: str, *, limits: Limits | None = None) -> Floats:
        """Return a float32 vector (dimension,) of L2 length 1, or zeros for a text without content; errors as above."""
        vector: Floats = self._embedded([text], PREFIXES[self._scheme][0], limits)[0]
        return vector

    def close(self) -> None:
        """Close the connections, unless they are shared."""
        if not self._shared:
            self._http.close()

    def _embedded(self, texts: Sequence[str], prefix: str, limits: Limits | None) -> Floats:
        clean = [encodable(text, characters=self._characters) for text in texts]
        filled = [row for row, text in enumerate(clean) if text]
        dimension = self._measured(limits)
        matrix = np.zeros((len(clean), dimension), np.float32)
        for rows in _batches(filled, clean):
            matrix[rows] = self._vectors([prefix + clean[row] for row in rows], dimension=dimension, limits=limits)
        return matrix

    def _vectors(self, texts: Sequence[str], *, dimension: int | None, limits: Limits | None) -> Floats:
        body: dict[str, Any] = {"model": self._model, "input": texts, "encoding_format": "float"}
        if self._asked is not None:
            body["dimensions"] = self._asked
        bounds = self._limits_for() if limits is None else limits
        answer = self._http.post("/embeddings", body, limits=bounds)
        entries = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(entries, list) or len(entries) != len(texts):
            raise unreadable(self._gateway.name, f"does not hold {len(texts)} vectors")
        try:
            rows = [_numbers(entry["embedding"]) for entry in _in_order(entries)]
            matrix = np.stack(rows)
        except (KeyError, TypeError, ValueError):  # their messages show the response
            raise unreadable(self._gateway.name, "holds vectors that cannot be read, or two for one text") from None
        if matrix.ndim != 2 or matrix.shape[1] != (dimension or matrix.shape[1]) or not matrix.size:  # noqa: PLR2004
            raise unreadable(self._gateway.name, f"holds vectors of {matrix.shape[-1]} numbers, not {dimension}")
        if not np.isfinite(matrix).all():
            raise unreadable(self._gateway.name, "holds vectors with numbers that are not finite")
        return _unit(matrix)


def _batches(rows: Sequence[int], texts: Sequence[str]) -> Iterator[list[int]]:
    batch: list[int] = []
    characters = 0
    for row in rows:
        if batch and (len(batch) == BATCH_TEXTS or characters + len(texts[row]) > BATCH_CHARACTERS):
            yield batch
            batch, characters = [], 0
        batch.append(row)
        characters += len(texts[row])
    if batch:
        yield batch


def _in_order(entries: Sequence[Any]) -> Sequence[Any]:
    """Return the entries in the order of the texts; KeyError if their indexes are not 0 to n-1."""
    indexes = [entry.get("index") if isinstance(entry, dict) else None for entry in entries]
    if all(index is None for index in indexes):
        return entries
    placed = {index: entry for index, entry in zip(indexes, entries, strict=True) if type(index) is int}
    return [placed[index] for index in range(len(entries))]


def _numbers(vector: Any) -> npt.NDArray[np.float64]:
    """Return the numbers of a vector in either of OpenAI's forms: a list, or little-endian float32 in base64."""
    if isinstance(vector, str):
        try:
            return np.frombuffer(base64.b64decode(vector, validate=True), "<f4").astype(np.float64)
        except binascii.Error:
            raise ValueError("base64") from None
    if not isinstance(vector, list) or not all(type(number) in {int, float} for number in vector):
        raise TypeError("vector")
    try:
        return np.asarray(vector, np.float64)
    except OverflowError:
        raise ValueError("vector") from None


def _unit(matrix: npt.NDArray[np.float64]) -> Floats:
    # Scaled by the largest number first, so that no square overflows. A zero vector stays zero.
    largest = np.abs(matrix).max(axis=1, keepdims=True)
    scaled = matrix / np.where(largest > 0.0, largest, 1.0)
    lengths = np.linalg.norm(scaled, axis=1, keepdims=True)
    unit: Floats = (scaled / np.where(lengths > 0.0, lengths, 1.0)).astype(np.float32)
    return unit
