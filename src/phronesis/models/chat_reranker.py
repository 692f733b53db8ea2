"""Reranking by a language model that says yes or no: for servers, such as Ollama, that have no ``/rerank``.

Qwen3-Reranker is such a model: its score is the probability of "yes" against "no" (Zhang et al. 2025, 'Qwen3
Embedding'). Each text is a call of its own.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from phronesis.models.calls import Limits
from phronesis.models.embedder import encodable
from phronesis.models.gateway import Gateway
from phronesis.models.http_faults import unreadable
from phronesis.models.openai_chat import without_thoughts
from phronesis.models.rerank_http import TEXT_CHARACTERS
from phronesis.models.transport import ModelHttp

INSTRUCTIONS: Final = (
    "Judge whether the Document meets the requirements based on the Query and the Instruct provided."
    ' Note that the answer can only be "yes" or "no".'
)
"""The words that Qwen3-Reranker was trained with (source: its model card)."""

TASK: Final = "Given a question, retrieve passages that answer it"
"""What the model is told to look for."""

MAX_TOKENS: Final = 16
"""Tokens of an answer: the word, and the empty thoughts that some templates put before it."""

ALTERNATIVES: Final = 20
"""Tokens whose probability is asked for beside the chosen one: the most that servers of this kind give."""

_ANSWERS: Final = ("yes", "no")


class ChatReranker:
    """A language model as a `Reranker`. Thread-safe; close it when done.

    Where the server gives no probabilities, the word alone decides: 1 or 0.
    """

    def __init__(self, gateway: Gateway, model: str, *, characters: int = TEXT_CHARACTERS) -> None:
        self._gateway = gateway
        self._model = model
        self._characters = characters
        self._http = ModelHttp(gateway)

    @property
    def name(self) -> str:
        """Gateway and model, ``local/qwen3-reranker``."""
        return f"{self._gateway.name}/{self._model}"

    def rerank(self, query: str, texts: Sequence[str], *, limits: Limits) -> list[float]:
        """Give a score from 0 to 1 for each text, in the order of ``texts``; a text without content scores 0.

        ModelUnavailable, ModelRefused, AnswerRejected (an answer that is neither yes nor no), ModelCancelled.
        """
        question = encodable(query, characters=self._characters)
        clean = [encodable(text, characters=self._characters) for text in texts]
        return [self._score(question, text, limits) if question and text else 0.0 for text in clean]

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _score(self, question: str, text: str, limits: Limits) -> float:
        body = {
            "model": self._model,
            "messages": [
                {"role": "system", "content": INSTRUCTIONS},
                {"role": "user", "content": f"<Instruct>: {TASK}\n<Query>: {question}\n<Document>: {text}"},
            ],
            "max_tokens": MAX_TOKENS,
            "temperature": 0.0,
            "logprobs": True,
            "top_logprobs": ALTERNATIVES,
        }
        answer = self._http.post("/chat/completions", body, limits=limits)
        choices = answer.get("choices") if isinstance(answer, dict) else None
        choice = choices[0] if isinstance(choices, list) and choices else None
        if not isinstance(choice, dict):
            raise unreadable(self._gateway.name, "holds no completion")
        score = _by_probability(choice)
        if score is None:
            score = _by_word(choice)
        if score is None:
            raise unreadable(self._gateway.name, "says neither yes nor no")
        return score


def _by_probability(choice: Mapping[str, Any]) -> float | None:
    """Give p(yes) / (p(yes) + p(no)) at the first token that is one of them; None when there are no probabilities."""
    for token in _members(choice.get("logprobs"), "content"):
        if _word(token.get("token")) not in _ANSWERS:
            continue
        mass = dict.fromkeys(_ANSWERS, 0.0)
        for other in _members(token, "top_logprobs"):
            word, logprob = _word(other.get("token")), other.get("logprob")
            if word in mass and isinstance(logprob, (int, float)) and math.isfinite(logprob):
                mass[word] += math.exp(min(float(logprob), 0.0))
        total = sum(mass.values())
        return mass["yes"] / total if total > 0.0 else None
    return None


def _by_word(choice: Mapping[str, Any]) -> float | None:
    message = choice.get("message")
    said = message.get("content") if isinstance(message, dict) else None
    words = without_thoughts(said).split() if isinstance(said, str) else []
    word = _word(words[0]) if words else ""
    return None if word not in _ANSWERS else float(word == "yes")


def _members(holder: object, name: str) -> Iterator[Mapping[str, Any]]:
    members = holder.get(name) if isinstance(holder, dict) else None
    yield from (one for one in members or () if isinstance(one, dict)) if isinstance(members, list) else ()


def _word(token: object) -> str:
    return token.strip(" \n\t.,!\"'*").casefold() if isinstance(token, str) else ""
