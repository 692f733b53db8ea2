"""Models behind OpenAI's protocol, ``/v1/chat/completions`` and ``/v1/embeddings``: OpenAI, Ollama, vLLM, llama.cpp."""

import base64
import binascii
import math
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeGuard, cast
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from phronesis.models.call_policy import Limits
from phronesis.models.embedder import PREFIXES, Floats, PrefixScheme, encodable
from phronesis.models.structured_client import AnswerSchema, Completion, Constraint, Message, TokenOdds
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

    ``temperature`` None leaves it to the server. ``extra`` are parameters of this server, added to every request:
    ``{"reasoning_effort": "none"}`` turns off the reasoning of a model behind Ollama. ``http`` shares connections with
    other roles of the gateway; the code that opened it closes it.
    """

    def __init__(
        self,
        gateway: Gateway,
        model: str,
        *,
        temperature: float | None = 0.0,
        extra: Mapping[str, Any] | None = None,
        http: ModelHttp | None = None,
    ) -> None:
        self._gateway = gateway
        self._model = model
        self._own = ModelHttp(gateway) if http is None else None
        self._http = http or cast("ModelHttp", self._own)
        self._settings: dict[str, Any] = {} if temperature is None else {"temperature": temperature}
        self._settings.update(extra or {})
        host = (urlsplit(gateway.base_url).hostname or "").lower()
        self._bound = "max_completion_tokens" if _OPENAI_HOST.fullmatch(host) else "max_tokens"

    @property
    def name(self) -> str:
        """Gateway and model, ``local/qwen3:4b``."""
        return f"{self._gateway.name}/{self._model}"

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
        elif constraint != "text":
            request["response_format"] = _response_format(answer, constraint)
        return self._completion(self._http.post("/chat/completions", {**request, **self._settings}, limits=limits))

    def _completion(self, body: Any) -> Completion:
        choices = body.get("choices") if isinstance(body, dict) else None
        choice = choices[0] if isinstance(choices, list) and choices else None
        message = choice.get("message") if isinstance(choice, dict) else None
        if not isinstance(choice, dict) or not isinstance(message, dict):
            raise unreadable(self._gateway.name, "holds no completion")
        refusal = message.get("refusal")
        refusal = refusal if isinstance(refusal, str) and refusal else None
        content = message.get("content")
        if not isinstance(content, str):
            if refusal is None or content is not None:
                raise unreadable(self._gateway.name, "holds a completion without text")
            content = ""
        reason = choice.get("finish_reason")
        usage = body.get("usage")
        text = without_thoughts(content)
        return Completion(
            text=text,
            finish_reason=reason if isinstance(reason, str) and _REASON.fullmatch(reason) else UNKNOWN_REASON,
            refusal=refusal,
            prompt_tokens=_count(usage, "prompt_tokens"),
            completion_tokens=_count(usage, "completion_tokens"),
            tokens=_tokens_of(choice, text),
        )

    def close(self) -> None:
        """Close the connections, unless they are shared."""
        if self._own is not None:
            self._own.close()


def _response_format(answer: AnswerSchema, constraint: Constraint) -> dict[str, Any]:
    if constraint == "json":
        return {"type": "json_object"}
    schema = {"name": answer.name, "schema": answer.schema, "strict": True}
    return {"type": "json_schema", "json_schema": schema}


def without_thoughts(text: str) -> str:
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
    found = [(one["token"], one) for one in _members(choice.get("logprobs"), "content") if _is_text(one.get("token"))]
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
        if _is_text(name) and isinstance(logprob, (int, float)) and math.isfinite(logprob):
            odds[name] = math.exp(min(float(logprob), 0.0))
    return odds


def _members(holder: object, name: str) -> Iterator[Mapping[str, Any]]:
    members = holder.get(name) if isinstance(holder, dict) else None
    yield from (one for one in members or () if isinstance(one, dict)) if isinstance(members, list) else ()


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str)


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
