"""Asking a model for a role: within the budget, with the manners of its server, and every try written down."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import pydantic

from phronesis.core.model_calls import Spent
from phronesis.errors import AnswerRejected, ModelError
from phronesis.models.calls import Limits
from phronesis.models.conduct import Conduct
from phronesis.models.language import PLAIN, AnswerSchema, Completion, Constraint, LanguageModel, Message
from phronesis.models.purse import Purse, Tally
from phronesis.models.structured import Attempt, Task, climb, rejected
from phronesis.models.token_counter import MESSAGE_OVERHEAD, PRIMING_OVERHEAD, TokenCounter

_FORM = TypeVar("_FORM", bound=pydantic.BaseModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer(Generic[_FORM]):
    """What asking came to: the value, or the error that says why there is none; what was said, and what it took."""

    value: _FORM | None
    error: ModelError | None
    attempts: Sequence[Attempt]
    spent: Spent = field(default_factory=Spent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """A language model in a role. Thread-safe."""

    role: str
    model: LanguageModel
    conduct: Conduct
    purse: Purse
    counter: TokenCounter
    max_tokens: int

    @property
    def name(self) -> str:
        """Gateway and model."""
        return self.model.name

    def ask(self, tenant: str, task: Task[_FORM]) -> Answer[_FORM]:
        """Give an answer of the task's form, or why there is none. It raises nothing that a model or server causes."""
        limits = self.conduct.limits()
        attempts: list[Attempt] = []
        tallies: list[Tally] = []

        def say(messages: Sequence[Message], constraint: Constraint) -> Completion:
            return self._say(tenant, task.answer, messages, constraint, limits, tallies=tallies)

        value, problem = None, None
        try:
            value = climb(task, say, attempts)
        except ModelError as error:
            problem = error
        if value is None and problem is None:
            problem = rejected(attempts)
        return Answer(value=value, error=problem, attempts=attempts, spent=self.purse.spent(self.name, tallies))

    def talk(self, tenant: str, messages: Sequence[Message]) -> str:
        """Give the model's answer to a conversation, in plain words; ModelError when there is none."""
        completion = self._say(tenant, PLAIN, messages, "text", self.conduct.limits(), tallies=[])
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

        return self.conduct.run(once, limits)
