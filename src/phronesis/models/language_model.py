"""The port of language models, and its records."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

from phronesis.models.call_policy import Limits

Constraint = Literal["schema", "json", "text", "choice"]
"""How the server is told the form of the answer: the schema itself, only that it is JSON, or nothing; ``choice``:
nothing too, and the probabilities of the answer's tokens are asked for."""

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


@dataclass(frozen=True, slots=True)
class TokenOdds:
    """A token of an answer, and how probable it and its alternatives were."""

    token: str
    odds: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Completion:
    """The unvalidated result of one call.

    ``finish_reason`` is the server's own: ``stop``, ``length``, ``content_filter`` …; ``refusal`` is the text of a
    model's refusal. Token counts are None where the server reports none. ``tokens`` are those of ``text``, where their
    probabilities were asked for and the server gives them.
    """

    text: str
    finish_reason: str
    refusal: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    tokens: Sequence[TokenOdds] = ()


def plain_word(token: str) -> str:
    """Return a token without case, blanks and punctuation around it."""
    return token.strip(" \n\t.,:;!()\"'*").casefold()


def word_odds(completion: Completion, words: Collection[str]) -> dict[str, float] | None:
    """Return how probable each of ``words`` was, in sum 1, at the first token that is one of them.

    None if no token is, or the server gave no probabilities. ``words`` are in lower case.
    """
    for one in completion.tokens:
        if plain_word(one.token) not in words:
            continue
        mass = dict.fromkeys(words, 0.0)
        for token, probability in one.odds.items():
            word = plain_word(token)
            if word in mass:
                mass[word] += probability
        total = sum(mass.values())
        return {word: part / total for word, part in mass.items()} if total > 0.0 else None
    return None


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
