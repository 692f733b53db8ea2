"""Rerankers: the port, metering, servers with ``/rerank`` (vLLM, llama.cpp, Jina, Cohere), and chat models."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Protocol

from phronesis.models.call_policy import CallPolicy, Limits, SpendingLimit, run_metered
from phronesis.models.embedder import encodable
from phronesis.models.openai_models import OpenAIChat
from phronesis.models.structured_client import PLAIN, Message, plain_word, word_odds
from phronesis.models.token_counter import TokenCounter
from phronesis.models.transport import Gateway, ModelHttp, unreadable

# The reranker port: scores how well each text answers a question.


class Reranker(Protocol):
    """Scores texts against a question. Thread-safe."""

    @property
    def name(self) -> str:
        """Gateway and model, ``local/qwen3-reranker``."""
        ...

    def rerank(self, query: str, texts: Sequence[str], *, limits: Limits) -> list[float]:
        """Return a score from 0 to 1 for each text, in the order of ``texts``; higher is better.

        ModelUnavailable, ModelRefused, AnswerRejected (a score missing or not a number), ModelCancelled.
        """
        ...


# Calling a reranker: budgeted, under the server's call policy, every attempt recorded.

ROLE: Final = "rerank"
"""The role's name in the policy and the ledger."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """A reranker in its role; ``candidates`` is the maximum number of texts it is shown. Thread-safe."""

    reranker: Reranker
    conduct: CallPolicy
    purse: SpendingLimit
    counter: TokenCounter
    candidates: int

    @property
    def name(self) -> str:
        """Gateway and model."""
        return self.reranker.name

    def judge(self, tenant: str, query: str, texts: Sequence[str]) -> list[float]:
        """Return a score from 0 to 1 for each text; ModelError if the call fails."""
        # A reranker reads the question once with every text.
        read = self.counter.count(query) * len(texts) + sum(self.counter.count(text) for text in texts)
        score = partial(self.reranker.rerank, query, texts)
        return run_metered(
            score, self.conduct, self.purse, tenant=tenant, role=ROLE, model=self.name, prompt_tokens=read
        )


TEXT_CHARACTERS: Final = 4000
"""Characters of one text, and of the question: rerankers read 512 to 8192 tokens, and some servers refuse more."""
_ENTRIES: Final = ("results", "data")
"""Response fields that hold the scores (Voyage uses ``data``)."""
_SCORES: Final = ("relevance_score", "score")
"""Names of a score (text-embeddings-inference's is ``score``)."""


class HttpReranker:
    """A reranker on a server. Thread-safe; close it when done."""

    def __init__(self, gateway: Gateway, model: str) -> None:
        self.name = f"{gateway.name}/{model}"
        self._model = model
        self._http = ModelHttp(gateway)

    def rerank(self, query: str, texts: Sequence[str], *, limits: Limits) -> list[float]:
        """Return a score from 0 to 1 for each text, in the order of ``texts``; 0 if the server returns none.

        A text without content is not sent and scores 0. ModelUnavailable, ModelRefused, AnswerRejected (a score that is
        not a number, or of an unknown text), ModelCancelled.
        """
        question = encodable(query, characters=TEXT_CHARACTERS)
        clean = [encodable(text, characters=TEXT_CHARACTERS) for text in texts]
        filled = [row for row, text in enumerate(clean) if text]
        scores = [0.0] * len(clean)
        if not question or not filled:
            return scores
        documents = [clean[row] for row in filled]
        request = {"model": self._model, "query": question, "documents": documents, "top_n": len(documents)}
        answer = self._http.post("/rerank", request, limits=limits)
        for index, score in _as_probabilities(self._scores(answer, len(filled))).items():
            scores[filled[index]] = score
        return scores

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _scores(self, answer: Any, count: int) -> dict[int, float]:
        entries = answer
        if isinstance(answer, dict):
            entries = next((answer[name] for name in _ENTRIES if name in answer), None)
        if not isinstance(entries, list) or not entries or not all(isinstance(entry, dict) for entry in entries):
            raise unreadable(self._http.gateway.name, "holds no scores")
        by_position = len(entries) == count and all("index" not in entry for entry in entries)
        found: dict[int, float] = {}
        for position, entry in enumerate(entries):
            index = position if by_position else entry.get("index")
            if type(index) is not int or not 0 <= index < count or index in found:
                raise unreadable(self._http.gateway.name, "has a score for no text, or two for one")
            score = _number(next((entry[name] for name in _SCORES if name in entry), None))
            if score is None:
                raise unreadable(self._http.gateway.name, "has a score that is not a number")
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
    """Return scores from 0 to 1. If one is outside, all are logits, as from llama.cpp."""
    if all(0.0 <= score <= 1.0 for score in scores.values()):
        return scores
    # The sigmoid, in the form that never overflows.
    return {index: 0.5 + 0.5 * math.tanh(0.5 * score) for index, score in scores.items()}


# Reranking by a language model that answers yes or no, for servers without ``/rerank``, such as Ollama.

INSTRUCTIONS: Final = (
    "Judge whether the Document meets the requirements based on the Query and the Instruct provided."
    ' Note that the answer can only be "yes" or "no".'
)
"""Qwen3-Reranker's training prompt (source: its model card)."""
TASK: Final = "Given a question, retrieve passages that answer it"
"""The task description in the prompt."""
MAX_TOKENS: Final = 16
"""Maximum tokens of an answer: the word, and the empty reasoning that some templates put before it."""
_ANSWERS: Final = ("yes", "no")


class ChatReranker:
    """A language model as a `Reranker`. Thread-safe; close it when done.

    Where the server returns no probabilities, the answer alone gives the score: 1 or 0.
    """

    def __init__(self, gateway: Gateway, model: str) -> None:
        self._gateway = gateway
        self._chat = OpenAIChat(gateway, model)
        self.name = self._chat.name

    def rerank(self, query: str, texts: Sequence[str], *, limits: Limits) -> list[float]:
        """Return a score from 0 to 1 for each text, in the order of ``texts``; a text without content scores 0.

        ModelUnavailable, ModelRefused, AnswerRejected (an answer that is neither yes nor no), ModelCancelled.
        """
        question = encodable(query, characters=TEXT_CHARACTERS)
        clean = [encodable(text, characters=TEXT_CHARACTERS) for text in texts]
        return [self._score(question, text, limits) if question and text else 0.0 for text in clean]

    def close(self) -> None:
        """Close the connections."""
        self._chat.close()

    def _score(self, question: str, text: str, limits: Limits) -> float:
        messages = [
            Message("system", INSTRUCTIONS),
            Message("user", f"<Instruct>: {TASK}\n<Query>: {question}\n<Document>: {text}"),
        ]
        said = self._chat.complete(messages, answer=PLAIN, constraint="choice", max_tokens=MAX_TOKENS, limits=limits)
        odds = word_odds(said, _ANSWERS)
        if odds is not None:
            return odds["yes"]
        word = plain_word(next(iter(said.text.split()), ""))
        if word not in _ANSWERS:
            raise unreadable(self._gateway.name, "says neither yes nor no")
        return float(word == "yes")
