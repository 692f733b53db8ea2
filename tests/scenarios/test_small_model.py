"""A server with a real small model takes the schema of every role's answer, and its probabilities are read."""

import contextlib
import json
import time
from collections.abc import Iterator

import pydantic
import pytest

from phronesis.conversation.extraction.proposed import ExtractionAnswer
from phronesis.conversation.summaries import SummaryAnswer
from phronesis.experience.abstraction import AbstractionAnswer
from phronesis.models.call_policy import Limits
from phronesis.models.openai_models import OpenAIChat
from phronesis.models.structured_client import PLAIN, AnswerSchema, Completion, Constraint, Message, Task
from phronesis.models.transport import Gateway
from phronesis.reasoning.learn_prompt import Lesson, RewriteAnswer
from phronesis.recall.planner import ProposedPlan
from phronesis.traits.llm_reflection import Questions, ReflectionAnswer, RevisionAnswer
from small_model import MODEL, small_model

FORMS: tuple[type[pydantic.BaseModel], ...] = (
    *(ExtractionAnswer, SummaryAnswer, AbstractionAnswer, Lesson, RewriteAnswer, ProposedPlan),
    *(Questions, ReflectionAnswer, RevisionAnswer),
)


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with small_model() as address:
        yield address


def complete(url: str, text: str, *, answer: AnswerSchema, constraint: Constraint, max_tokens: int) -> Completion:
    limits = Limits(time.monotonic, time.monotonic() + 240)
    with contextlib.closing(OpenAIChat(Gateway("here", url), MODEL)) as model:
        return model.complete(
            [Message("user", text)], answer=answer, constraint=constraint, max_tokens=max_tokens, limits=limits
        )


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_the_form_of_an_answer_is_one_that_a_server_takes(url: str, form: type[pydantic.BaseModel]) -> None:
    answer = Task("", "", form).answer
    said = complete(url, "Answer.", answer=answer, constraint="schema", max_tokens=8)
    assert said.text.lstrip().startswith("{")
    first = next(iter(answer.schema["properties"]))
    assert json.dumps(first)[:4] in said.text


@pytest.mark.slow
def test_the_probabilities_that_a_server_gives_are_read(url: str) -> None:
    question = "Is tea a drink? Answer yes or no."
    said = complete(url, question, answer=PLAIN, constraint="choice", max_tokens=4)
    assert "".join(one.token for one in said.tokens).strip() == said.text.strip()
    assert [len(one.odds) for one in said.tokens] == [20] * len(said.tokens) != []
    assert all(0.0 < max(one.odds.values()) <= sum(one.odds.values()) <= 1.001 for one in said.tokens)
