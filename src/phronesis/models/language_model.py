"""The port of language models, and its records."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

from phronesis.models.call_policy import Limits

Constraint = Literal["schema", "json", "text"]
"""How the server is told the form of the answer: the schema itself, only that it is JSON, or nothing."""

FINISHED: Final = "stop"
"""The ``finish_reason`` of an answer that the model ended by itself."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a prompt."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class AnswerSchema:
    """The schema of an answer: a name that a server may show, and a JSON schema of an object, every size bounded."""

    name: str
    schema: Mapping[str, Any]


PLAIN: Final = AnswerSchema("text", {"type": "string"})
"""The schema of an answer in plain text, under the constraint ``text``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """The unvalidated result of one call.

    ``finish_reason`` is the server's own: ``stop``, ``length``, ``content_filter`` …; ``refusal`` is the text of a
    model's refusal. Token counts are None where the server reports none.
    """

    text: str
    finish_reason: str
    refusal: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


class LanguageModel(Protocol):
    """A model that completes a conversation. Thread-safe."""

    @property
    def name(self) -> str:
        """Gateway and model, ``local/qwen3:4b``, as recorded in outcomes."""
        ...

    def complete(
        self,
        messages: Sequence[Message],
        *,
        answer: AnswerSchema,
        constraint: Constraint,
        max_tokens: int,
        limits: Limits,
    ) -> Completion:
        """Call the model once, without retries.

        ModelUnavailable, ModelRefused, AnswerRejected (not a completion), ModelCancelled. ``max_tokens`` bounds the
        answer. A ModelUnavailable with a server's retry-after has ``details["retry_after"]`` in seconds.
        """
        ...
