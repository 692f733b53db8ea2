"""Structured answers from a language model: strict schema, then JSON mode, then one repair attempt; and metering.

An answer is accepted only if the model finished by itself and the text is one JSON object that matches the form, sizes
included. Rejected answers are recorded and never used. The prompts are files, one for each role.

"""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any, Final, Generic, Literal, Protocol, TypeVar

import pydantic

from phronesis.core.reports import ModelUsage
from phronesis.errors import AnswerRejected, ModelError, ModelRefused
from phronesis.models.call_policy import CallPolicy, Limits, SpendingLimit, Tally
from phronesis.models.token_counter import MESSAGE_OVERHEAD, PRIMING_OVERHEAD, TokenCounter
from phronesis.telemetry import model_span

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


KEPT_CHARACTERS: Final = 20_000
"""Characters kept of an answer: more than any role's schema allows."""
TOLD_PROBLEMS: Final = 5
"""Maximum number of problems listed in a repair request."""
_FORM = TypeVar("_FORM", bound=pydantic.BaseModel)


@dataclass(frozen=True, slots=True)
class Task(Generic[_FORM]):
    """A request to a model: its instructions, the data (fenced), and the form of the answer."""

    instructions: str
    data: str
    form: type[_FORM]

    @property
    def answer(self) -> AnswerSchema:
        """The form as a JSON schema."""
        return _schema_of(self.form)


# Building a schema is the slowest part of a call after the model; the number of forms is fixed by the code.
@cache
def _schema_of(form: type[pydantic.BaseModel]) -> AnswerSchema:
    schema = form.model_json_schema()
    for one in (schema, *schema.get("$defs", {}).values()):
        if one.get("type") == "object":  # what servers ask of a strict schema, also where a member may be left out
            one["required"], one["additionalProperties"] = list(one["properties"]), False
    return AnswerSchema(schema["title"].lower(), schema)


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One answer, and its error; None if there is none."""

    constraint: Constraint
    text: str
    finish_reason: str
    problem: str | None


Say = Callable[[Sequence[Message], Constraint], Completion]
"""A function that asks once, including connection retries."""
REFUSED_PARAMETER: Final = frozenset({400, 415, 422, 501})
"""HTTP statuses with which servers refuse a ``response_format``, or another parameter."""


def _converse(task: Task[_FORM], say: Say, attempts: list[Attempt]) -> _FORM | None:
    """Return the answer, or None if none was valid; every attempt is added to ``attempts``.

    ModelError if the server gave no answer. A server that refuses the schema is asked for JSON, with the schema in the
    prompt. An invalid answer is sent back once with its problems. A model that refuses to answer is not asked again.
    """
    described = Message(
        "system",
        f"{task.instructions}\n\nAnswer with one JSON object and nothing else. It must be of this JSON schema:\n"
        f"{json.dumps(task.answer.schema)}",
    )
    data = Message("user", task.data)
    constraint: Constraint = "schema"
    try:
        completion = say([Message("system", task.instructions), data], constraint)
    except ModelRefused as refusal:
        if refusal.details.get("status") not in REFUSED_PARAMETER:
            raise
        constraint = "json"
        completion = say([described, data], constraint)
    value = _judge(task, completion, constraint, attempts)
    if value is not None or completion.refusal is not None or completion.finish_reason == "content_filter":
        return value
    problem = attempts[-1].problem
    again = [
        described,
        data,
        Message("assistant", completion.text[:KEPT_CHARACTERS]),
        Message("user", f"That was not of the form asked for: {problem}. Answer again, with JSON alone."),
    ]
    return _judge(task, say(again, "json"), "json", attempts)


def _judge(task: Task[_FORM], completion: Completion, constraint: Constraint, attempts: list[Attempt]) -> _FORM | None:
    """Return the parsed answer, if it is valid, and add the attempt."""
    value: _FORM | None = None
    problem: str | None = None
    if completion.refusal is not None:
        problem = "the model refused"
    elif completion.finish_reason != FINISHED:
        problem = f"it did not finish by itself ({completion.finish_reason[:40]})"
    else:
        value, problem = _read(task.form, completion.text)
    text, reason = completion.refusal or completion.text, completion.finish_reason[:40]
    attempts.append(Attempt(constraint=constraint, text=text[:KEPT_CHARACTERS], finish_reason=reason, problem=problem))
    return value


def _read(form: type[_FORM], text: str) -> tuple[_FORM | None, str | None]:
    body = text.strip()
    if body.startswith("```"):  # small models fence their JSON despite the instructions
        body = body.partition("\n")[2].rpartition("```")[0]
    try:
        found: Any = json.loads(body)
    except (ValueError, RecursionError):
        return None, "it is not JSON"
    try:
        return form.model_validate(found), None
    except pydantic.ValidationError as error:
        told = error.errors(include_input=False, include_url=False)
        return None, "; ".join(_format_place(one["loc"], one["type"]) for one in told[:TOLD_PROBLEMS])


def _format_place(where: Sequence[int | str], what: str) -> str:
    """Return the name of a position in an answer, without unknown field names, which are the model's own text."""
    known = where[:-1] if what == "extra_forbidden" else where
    return f"{'.'.join(map(str, known)) or 'it'}: {what}"


# Calling a model for a role: budgeted, under the server's call policy, every attempt recorded.


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Generic[_FORM]):
    """The result of a call: the value, or the error that explains its absence; the answers, and the cost."""

    value: _FORM | None
    error: ModelError | None
    attempts: Sequence[Attempt]
    spent: ModelUsage = field(default_factory=ModelUsage)

    @property
    def reason(self) -> str:
        """The code of the error that explains the absence of a value."""
        return ModelError.code if self.error is None else self.error.code


@dataclass(frozen=True, slots=True, kw_only=True)
class StructuredClient:
    """A language model in a role. Thread-safe."""

    role: str
    model: LanguageModel
    conduct: CallPolicy
    purse: SpendingLimit
    counter: TokenCounter
    max_tokens: int

    @property
    def name(self) -> str:
        """Gateway and model."""
        return self.model.name

    def ask(self, tenant: str, task: Task[_FORM]) -> Answer[_FORM]:
        """Return an answer of the task's form, or the reason for its absence.

        No model or server failure makes it raise.
        """
        limits = self.conduct.limits()
        attempts: list[Attempt] = []
        tallies: list[Tally] = []

        def say(messages: Sequence[Message], constraint: Constraint) -> Completion:
            return self._say(tenant, task.answer, messages, constraint, limits, tallies=tallies)

        value: _FORM | None = None
        error: ModelError | None = None
        try:
            value = _converse(task, say, attempts)
            if value is None:  # the error quotes nothing of the answer
                error = AnswerRejected(f"the model's answer was rejected: {attempts[-1].problem}")
        except ModelError as caught:
            error = caught
        return Answer(value=value, error=error, attempts=attempts, spent=self.purse.spent(self.name, tallies))

    def complete(self, tenant: str, messages: Sequence[Message], constraint: Constraint = "text") -> Completion:
        """Return the model's answer to a conversation in plain text, unvalidated; ModelError if there is none."""
        return self._say(tenant, PLAIN, messages, constraint, self.conduct.limits(), tallies=[])

    def chat_completion(self, tenant: str, messages: Sequence[Message]) -> str:
        """Return the model's answer to a conversation, in plain text; ModelError if there is none."""
        completion = self.complete(tenant, messages)
        said = completion.text.strip()
        if completion.refusal is not None or not said:
            raise AnswerRejected(f"the model gave no answer ({completion.finish_reason[:40]})")
        return said

    def _say(
        self,
        tenant: str,
        answer: AnswerSchema,
        messages: Sequence[Message],
        constraint: Constraint,
        limits: Limits,
        *,
        tallies: list[Tally],
    ) -> Completion:
        asked = sum(self.counter.count(one.content) + MESSAGE_OVERHEAD for one in messages) + PRIMING_OVERHEAD
        self.purse.allow(tenant, model=self.name, prompt_tokens=asked, max_tokens=self.max_tokens)

        def once(limits: Limits) -> Completion:
            with self.purse.recorded(tenant, role=self.role, model=self.name, prompt_tokens=asked) as tally:
                tallies.append(tally)
                completion = self.model.complete(
                    messages, answer=answer, constraint=constraint, max_tokens=self.max_tokens, limits=limits
                )
                if completion.prompt_tokens is not None:
                    tally.prompt_tokens = completion.prompt_tokens
                said = completion.completion_tokens
                tally.completion_tokens = self.counter.count(completion.text) if said is None else said
                return completion

        with model_span("chat", self.name, max_tokens=self.max_tokens) as span:
            completion = self.conduct.run(once, limits)
            if span is not None:
                span.set(
                    gen_ai__usage__input_tokens=tallies[-1].prompt_tokens,
                    gen_ai__usage__output_tokens=tallies[-1].completion_tokens,
                    gen_ai__response__finish_reasons=[completion.finish_reason],
                )
            return completion


def drop_invalid(form: type[pydantic.BaseModel]) -> pydantic.BeforeValidator:
    """Return a validator that leaves rows out of a list that are not of ``form``, unless none is."""

    def valid(rows: object) -> object:
        if not isinstance(rows, list):
            return rows
        return [one for one in map(parsed, rows) if one is not None] or rows

    def parsed(row: object) -> pydantic.BaseModel | None:
        try:
            return form.model_validate(row)
        except pydantic.ValidationError:
            return None

    return pydantic.BeforeValidator(valid)


def prompt(name: str) -> str:
    """Return the text of ``prompts/<name>.md``."""
    return resources.files(__package__).joinpath("prompts", f"{name}.md").read_text(encoding="utf-8").strip()
