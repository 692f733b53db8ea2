"""The port of rerankers: how well each of some texts answers a question."""

from collections.abc import Sequence
from typing import Protocol

from phronesis.models.calls import Limits


class Reranker(Protocol):
    """Scores texts against a question. Thread-safe."""

    @property
    def name(self) -> str:
        """Gateway and model, ``local/qwen3-reranker``."""
        ...

    def rerank(self, query: str, texts: Sequence[str], *, limits: Limits) -> list[float]:
        """Give a score from 0 to 1 for each text, in the order of ``texts``; higher is better.

        ModelUnavailable, ModelRefused, AnswerRejected (a score missing or not a number), ModelCancelled.
        """
        ...
