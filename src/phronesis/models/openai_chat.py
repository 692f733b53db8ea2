"""Language models behind ``/v1/chat/completions``: OpenAI's, Ollama's, vLLM's, llama.cpp's."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeGuard, cast
from urllib.parse import urlsplit

from phronesis.models.call_policy import Limits
from phronesis.models.language_model import AnswerSchema, Completion, Constraint, Message, TokenOdds
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
