"""Rerankers behind ``/rerank``: vLLM's, llama.cpp's, Jina's, Cohere's, text-embeddings-inference's."""

import math
from collections.abc import Sequence
from typing import Any, Final, Literal

from phronesis.models.calls import Limits
from phronesis.models.embedder import encodable
from phronesis.models.gateway import Gateway
from phronesis.models.http_faults import unreadable
from phronesis.models.transport import ModelHttp

RerankDialect = Literal["documents", "texts"]
"""What the texts are called in a request: ``texts`` for text-embeddings-inference, ``documents`` for all others."""

TEXT_CHARACTERS: Final = 4000
"""Characters of one text, and of the question: rerankers read 512 to 8192 tokens, and some servers refuse more."""
_ENTRIES: Final = ("results", "data")
"""Where the scores stand (Voyage says ``data``)."""
_SCORES: Final = ("relevance_score", "score")
"""What a score is called (text-embeddings-inference says ``score``)."""


class HttpReranker:
    """A reranker at a server. Thread-safe; close it when done.

    ``http`` shares connections with other roles of the gateway, and is then closed by whoever opened it.
    """

    def __init__(
        self,
        gateway: Gateway,
        model: str,
        *,
        dialect: RerankDialect = "documents",
        characters: int = TEXT_CHARACTERS,
        http: ModelHttp | None = None,
    ) -> None:
        self._gateway = gateway
        self._model = model
        self._dialect = dialect
        self._characters = characters
        self._http = ModelHttp(gateway) if http is None else http
        self._shared = http is not None

    @property
    def name(self) -> str:
        """Gateway and model, ``local/qwen3-reranker``."""
        return f"{self._gateway.name}/{self._model}"

    def rerank(self, query: str, texts: Sequence[str], *, limits: Limits) -> list[float]:
        """Give a score from 0 to 1 for each text, in the order of ``texts``; 0 where the server gives none.

        A text without content is not sent and scores 0. ModelUnavailable, ModelRefused, AnswerRejected (a score that
        is not a number, or for no text of these), ModelCancelled.
        """
        question = encodable(query, characters=self._characters)
        clean = [encodable(text, characters=self._characters) for text in texts]
        filled = [row for row, text in enumerate(clean) if text]
        scores = [0.0] * len(clean)
        if not question or not filled:
            return scores
        answer = self._http.post("/rerank", self._request(question, [clean[row] for row in filled]), limits=limits)
        for index, score in _as_probabilities(self._scores(answer, len(filled))).items():
            scores[filled[index]] = score
        return scores

    def close(self) -> None:
        """Close the connections, unless they are shared."""
        if not self._shared:
            self._http.close()

    def _request(self, question: str, texts: list[str]) -> dict[str, Any]:
        if self._dialect == "texts":
            return {"model": self._model, "query": question, "texts": texts, "truncate": True}
        return {"model": self._model, "query": question, "documents": texts, "top_n": len(texts)}

    def _scores(self, answer: Any, count: int) -> dict[int, float]:
        entries = answer
        if isinstance(answer, dict):
            entries = next((answer[name] for name in _ENTRIES if name in answer), None)
        if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
            raise unreadable(self._gateway.name, "holds no scores")
        by_position = len(entries) == count and all("index" not in entry for entry in entries)
        found: dict[int, float] = {}
        for position, entry in enumerate(entries):
            index = position if by_position else entry.get("index")
            if type(index) is not int or not 0 <= index < count or index in found:
                raise unreadable(self._gateway.name, "has a score for no text, or two for one")
            score = _number(next((entry[name] for name in _SCORES if name in entry), None))
            if score is None:
                raise unreadable(self._gateway.name, "has a score that is not a number")
            found[index] = score
        return found


def _number(value: Any) -> float | None:
    if type(value) not in {int, float}:
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _as_probabilities(scores: dict[int, float]) -> dict[int, float]:
    """Give scores from 0 to 1. One outside means that all are logits, as llama.cpp's are."""
    if all(0.0 <= score <= 1.0 for score in scores.values()):
        return scores
    return {index: _sigmoid(score) for index, score in scores.items()}


def _sigmoid(logit: float) -> float:
    if logit >= 0.0:
        return 1.0 / (1.0 + math.exp(-logit))
    grown = math.exp(logit)
    return grown / (1.0 + grown)
