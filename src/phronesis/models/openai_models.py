"""Models behind OpenAI's protocol, ``/v1/chat/completions`` and ``/v1/embeddings``: OpenAI, Ollama, vLLM, llama.cpp."""

import base64
import binascii
import math
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from phronesis.errors import AnswerRejected
from phronesis.models.call_policy import CallPolicy, Limits, SpendingLimit, run_metered
from phronesis.models.embedder import PREFIXES, Floats, PrefixScheme, encodable
from phronesis.models.embedders import ROLE as EMBED
from phronesis.models.structured_client import AnswerSchema, Completion, Constraint, Message, TokenOdds
from phronesis.models.token_counter import TokenCounter
from phronesis.models.transport import Gateway, ModelHttp, unreadable

_OPENAI_HOST: Final = re.compile(r"(?<![a-z0-9.-])(?:[a-z0-9-]++\.)*openai\.com")
"""OpenAI itself, whose newer models accept ``max_completion_tokens`` only; other servers know ``max_tokens``."""
_THOUGHTS: Final = (("<think>", "</think>"), ("<thinking>", "</thinking>"), ("<reasoning>", "</reasoning>"))
"""Delimiters of models' reasoning before the answer (qwen3, DeepSeek-R1 and similar)."""
_REASON: Final = re.compile(r"[a-z_]{1,40}")
"""A finish reason that is safe to repeat in a message: a word of an API, not text of a model."""
ALTERNATIVES: Final = 20
"""Number of alternative tokens with probabilities: the maximum of such servers."""
UNKNOWN_REASON: Final = "unknown"
"""The ``finish_reason`` of an answer with a missing or invalid one."""


class OpenAIChat:
    """A model that completes conversations over the wire format of OpenAI's API. Thread-safe; close it when done.

    ``temperature`` None leaves it to the server.
    """

    def __init__(self, gateway: Gateway, model: str, *, temperature: float | None = 0.0) -> None:
        self.name = f"{gateway.name}/{model}"
        self._model = model
        self._http = ModelHttp(gateway)
        self._settings: dict[str, Any] = {} if temperature is None else {"temperature": temperature}
        host = (urlsplit(gateway.base_url).hostname or "").lower()
        self._bound = "max_completion_tokens" if _OPENAI_HOST.fullmatch(host) else "max_tokens"

    def complete(
        self,
        messages: Sequence[Message],
        *,
        answer: AnswerSchema,
        constraint: Constraint,
        max_tokens: int,
        limits: Limits,
    ) -> Completion:
        """Call the model once. ModelUnavailable, ModelRefused, AnswerRejected (not a completion), ModelCancelled."""
        request: dict[str, Any] = {
            "model": self._model,
            "messages": [{"role": one.role, "content": one.content} for one in messages],
            self._bound: max_tokens,
        }
        if constraint == "choice":
            request |= {"logprobs": True, "top_logprobs": ALTERNATIVES}
        elif constraint == "json":
            request["response_format"] = {"type": "json_object"}
        elif constraint == "schema":
            schema = {"name": answer.name, "schema": answer.schema, "strict": True}
            request["response_format"] = {"type": "json_schema", "json_schema": schema}
        return self._completion(self._http.post("/chat/completions", {**request, **self._settings}, limits=limits))

    def _completion(self, body: Any) -> Completion:
        choices = body.get("choices") if isinstance(body, dict) else None
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(choice, dict) or not isinstance(message, dict):
            raise unreadable(self._http.gateway.name, "holds no completion")
        refusal = message.get("refusal")
        refusal = refusal if isinstance(refusal, str) and refusal else None
        content = message.get("content")
        if not isinstance(content, str):
            if refusal is None or content is not None:
                raise unreadable(self._http.gateway.name, "holds a completion without text")
            content = ""
        reason, usage, text = choice.get("finish_reason"), body.get("usage"), strip_reasoning(content)
        return Completion(
            text=text,
            finish_reason=reason if isinstance(reason, str) and _REASON.fullmatch(reason) else UNKNOWN_REASON,
            refusal=refusal,
            prompt_tokens=_count(usage, "prompt_tokens"),
            completion_tokens=_count(usage, "completion_tokens"),
            tokens=_tokens_of(choice, text),
        )

    def close(self) -> None:
        """Close the connections."""
        self._http.close()


def strip_reasoning(text: str) -> str:
    """Return the text after the model's reasoning; empty if it did not get further.

    Some servers drop the opening delimiter, so a closing one alone ends the reasoning too, except in a JSON answer,
    where it is inside a string.
    """
    start = text.lstrip()
    for opening, closing in _THOUGHTS:
        if start.startswith(opening):
            return start.partition(closing)[2].lstrip()
    if not start.startswith(("{", "[", "```")):
        for _, closing in _THOUGHTS:
            if closing in start:
                return start.partition(closing)[2].lstrip()
    return text


def _tokens_of(choice: Mapping[str, Any], text: str) -> tuple[TokenOdds, ...]:
    """Return the tokens of a completion with their probabilities, without those of the reasoning before ``text``."""
    members = _members(choice.get("logprobs"), "content")
    found = [(one["token"], one) for one in members if isinstance(one.get("token"), str)]
    start, at = "".join(token for token, _ in found).rfind(text), 0
    tokens: list[TokenOdds] = []
    for token, one in found if start >= 0 else ():
        at += len(token)
        if at > start:
            tokens.append(TokenOdds(token, _odds_of(one)))
    return tuple(tokens)


def _odds_of(token: Mapping[str, Any]) -> dict[str, float]:
    odds: dict[str, float] = {}
    for other in _members(token, "top_logprobs"):
        name, logprob = other.get("token"), other.get("logprob")
        if isinstance(name, str) and isinstance(logprob, (int, float)) and math.isfinite(logprob):
            odds[name] = math.exp(min(float(logprob), 0.0))
    return odds


def _members(holder: object, name: str) -> Iterator[Mapping[str, Any]]:
    members = holder.get(name) if isinstance(holder, dict) else None
    yield from (one for one in members or () if isinstance(one, dict)) if isinstance(members, list) else ()


def _count(usage: Any, name: str) -> int | None:
    value = usage.get(name) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


# Sentence encoders.

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

    ``dimension`` is sent with every request, for models that can return shorter vectors; None accepts any. Each request
    is bounded by the server's call policy and charged to ``tenant``, since the port has no tenant.
    """

    def __init__(
        self,
        gateway: Gateway,
        model: str,
        *,
        dimension: int | None,
        prefix_scheme: PrefixScheme,
        conduct: CallPolicy,
        purse: SpendingLimit,
        counter: Callable[[], TokenCounter],
        tenant: str,
    ) -> None:
        self._http = ModelHttp(gateway)
        self._priced = f"{gateway.name}/{model}"
        self._request = {"model": model, "encoding_format": "float"} | (
            {} if dimension is None else {"dimensions": dimension}
        )
        self._dimension = dimension
        self._conduct, self._purse, self._counter, self._tenant = conduct, purse, counter, tenant
        self._probing = threading.Lock()
        self._prefixes = PREFIXES[prefix_scheme]
        self.prefix_scheme = prefix_scheme
        scheme = "" if prefix_scheme == "none" else f"+{prefix_scheme}"
        self.name = f"{self._priced}{scheme}{'' if dimension is None else f'@{dimension}'}"
        """Gateway and model, with the options that change its vectors: ``local/bge-m3``, ``lab/e5+e5@512``."""

    @property
    def dimension(self) -> int:
        """Numbers per vector. If no vector was had yet, the server is asked for one: ModelError."""
        with self._probing:
            return self._dimension or self._vectors([_PROBE]).shape[1]

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return a float32 matrix (n, dimension), rows of L2 length 1; a text without content has a zero row.

        ModelUnavailable, ModelRefused, AnswerRejected (vectors missing, of another length, not numbers),
        ModelCancelled, ModelBudgetSpent.
        """
        return self._embedded(texts, self._prefixes[1])

    def embed_query(self, text: str) -> Floats:
        """Return a float32 vector (dimension,) of L2 length 1, or zeros for a text without content; errors as above."""
        vector: Floats = self._embedded([text], self._prefixes[0])[0]
        return vector

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def _embedded(self, texts: Sequence[str], prefix: str) -> Floats:
        clean = [encodable(text, characters=TEXT_CHARACTERS) for text in texts]
        filled = [row for row, text in enumerate(clean) if text]
        found = [(rows, self._vectors([prefix + clean[row] for row in rows])) for rows in _batches(filled, clean)]
        matrix = np.zeros((len(clean), self.dimension), np.float32)
        for rows, vectors in found:
            matrix[rows] = vectors
        return matrix

    def _vectors(self, texts: Sequence[str]) -> Floats:
        counter = self._counter()
        answer = run_metered(
            partial(self._http.post, "/embeddings", {**self._request, "input": texts}),
            self._conduct,
            self._purse,
            tenant=self._tenant,
            role=EMBED,
            model=self._priced,
            prompt_tokens=sum(map(counter.count, texts)),
        )
        entries = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(entries, list) or len(entries) != len(texts):
            raise self._unreadable(f"does not hold {len(texts)} vectors")
        try:
            matrix = np.stack([_numbers(entry["embedding"]) for entry in _in_order(entries)])
        except (KeyError, TypeError, ValueError):  # their messages show the response
            raise self._unreadable("holds vectors that cannot be read, or two for one text") from None
        if matrix.ndim != 2 or matrix.shape[1] != (self._dimension or matrix.shape[1]) or not matrix.size:  # noqa: PLR2004
            raise self._unreadable(f"holds vectors of {matrix.shape[-1]} numbers, not {self._dimension}")
        if not np.isfinite(matrix).all():
            raise self._unreadable("holds vectors with numbers that are not finite")
        self._dimension = matrix.shape[1]
        return _unit(matrix)

    def _unreadable(self, problem: str) -> AnswerRejected:
        return unreadable(self._http.gateway.name, problem)


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
