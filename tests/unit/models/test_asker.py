"""A role's model is asked within its budget, in a form, and every try and answer is written down."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any

import pydantic
import pytest

from fake_models import NOON, MemoryLedger, ScriptedModel, Step, asker
from phronesis.core.reports import Price
from phronesis.errors import AnswerRejected, ModelBudgetSpent, ModelCancelled, ModelRefused, ModelUnavailable
from phronesis.models import call_policy
from phronesis.models.call_policy import Allowance, CallPolicy, Limits
from phronesis.models.structured_client import KEPT_CHARACTERS, Completion, Task


class Form(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", strict=True)

    words: Annotated[list[str], pydantic.Field(max_length=3)]


TASK = Task("List the words.", "<data>tea</data>", Form)
GOOD = '{"words": ["tea"]}'


def test_an_answer_of_the_form_is_given_and_was_asked_for_by_its_schema() -> None:
    model = ScriptedModel([GOOD])
    answer = asker(model).ask("t", TASK)
    assert answer.value == Form(words=["tea"])
    assert answer.error is None
    ((messages, schema, constraint, max_tokens),) = model.asked
    assert [(one.role, one.content) for one in messages] == [("system", TASK.instructions), ("user", TASK.data)]
    assert (schema.name, schema.schema["additionalProperties"]) == ("form", False)
    assert (constraint, max_tokens) == ("schema", 100)
    assert [(one.constraint, one.text, one.problem) for one in answer.attempts] == [("schema", GOOD, None)]


def test_a_server_that_takes_no_schema_is_asked_for_json_with_the_schema_in_words() -> None:
    model = ScriptedModel([ModelRefused("no response_format", details={"status": 400}), f"```json\n{GOOD}\n```"])
    assert asker(model).ask("t", TASK).value == Form(words=["tea"])
    assert [constraint for _, _, constraint, _ in model.asked] == ["schema", "json"]
    assert '"maxItems": 3' in model.asked[1][0][0].content


def test_what_is_not_of_the_form_is_sent_back_once() -> None:
    cases: list[tuple[Step, str]] = [
        ("surely: tea", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ("[]", "it: model_type"),
        ('{"words": "tea"}', "words: list_type"),
        ('{"words": ["a", "b", "c", "d"]}', "words: too_long"),
        ('{"words": [1]}', "words.0: string_type"),
    ]
    for first, problem in cases:
        model = ScriptedModel([first, GOOD])
        answer = asker(model).ask("t", TASK)
        assert answer.value == Form(words=["tea"])
        assert [attempt.problem for attempt in answer.attempts] == [problem, None]
        repair, _, constraint, _ = model.asked[1]
        assert constraint == "json"
        assert [one.role for one in repair] == ["system", "user", "assistant", "user"]
        assert problem in repair[3].content


def test_what_is_wrong_twice_is_rejected_and_both_answers_are_kept() -> None:
    model = ScriptedModel(["no " * KEPT_CHARACTERS, '{"secret": 1}'])
    answer = asker(model).ask("t", TASK)
    assert answer.value is None
    assert isinstance(answer.error, AnswerRejected)
    assert "secret" not in str(answer.error)
    assert [len(attempt.text) for attempt in answer.attempts] == [KEPT_CHARACTERS, 13]
    assert len(model.asked) == 2


def test_a_refusal_is_not_argued_with() -> None:
    cases: list[Completion] = [
        Completion(text="", finish_reason="stop", refusal="I cannot"),
        Completion(text=GOOD, finish_reason="content_filter"),
    ]
    for said in cases:
        model = ScriptedModel([said])
        answer = asker(model).ask("t", TASK)
        assert isinstance(answer.error, AnswerRejected)
        assert len(model.asked) == len(answer.attempts) == 1


def test_every_try_is_in_the_ledger() -> None:
    ledger = MemoryLedger()
    steps: list[Step] = [
        ModelUnavailable("busy", details={"retry_after": 0.01}),
        "garbage",
        Completion(text=GOOD, finish_reason="stop", prompt_tokens=1_000, completion_tokens=100),
    ]
    model = ScriptedModel(steps)
    prices = {"model": Price(input=1.0, output=10.0)}
    assert asker(model, ledger, tries=2, prices=prices).ask("acme", TASK).value is not None
    assert [(tenant, call.role, call.model, call.status) for tenant, call in ledger.calls] == [
        ("acme", "extract", "test/model", "model.unavailable"),
        ("acme", "extract", "test/model", "ok"),
        ("acme", "extract", "test/model", "ok"),
    ]
    last = ledger.calls[-1][1]
    assert (last.prompt_tokens, last.completion_tokens, last.cost) == (1_000, 100, 0.002)
    assert last.at == NOON
    assert ledger.calls[0][1].completion_tokens == 0
    assert ledger.calls[1][1].completion_tokens > 0  # counted here: the server did not


BROKE: list[tuple[dict[str, Any], str]] = [
    ({"tokens_per_call": 110}, "tokens_per_call"),
    ({"tokens_per_day": 280}, "tokens_per_day"),
    ({"cost_per_day": 0.0002}, "cost_per_day"),
]


@pytest.mark.parametrize(("allowed", "told"), BROKE)
def test_what_is_not_allowed_is_not_asked(allowed: dict[str, Any], told: str) -> None:
    ledger = MemoryLedger()
    model = ScriptedModel([Completion(text=GOOD, finish_reason="stop", prompt_tokens=100, completion_tokens=50)])
    prices = {"test/model": Price(input=1.0, output=1.0)}
    rich = asker(model, ledger, prices=prices)
    poor = asker(model, ledger, allowance=Allowance(**allowed), prices=prices)
    if "tokens_per_call" not in allowed:
        rich.ask("t", TASK)
        assert len(model.asked) == 1
    before = len(model.asked)
    answer = poor.ask("t", TASK)
    assert isinstance(answer.error, ModelBudgetSpent)
    assert told in str(answer.error)
    assert len(model.asked) == before
    if "tokens_per_call" not in allowed:
        assert poor.ask("another tenant", TASK).value is not None
        tomorrow = asker(
            model, ledger, allowance=Allowance(**allowed), prices=prices, clock=lambda: NOON.replace(day=2)
        )
        assert tomorrow.ask("t", TASK).value is not None


# Calls to a server keep their time, their number and their tries.


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(call_policy, "FIRST_WAIT_SECONDS", 0.01)


def failing(*errors: Exception) -> tuple[Callable[[Limits], str], list[float]]:
    times: list[float] = []

    def call(_limits: Limits) -> str:
        times.append(time.monotonic())
        if len(times) <= len(errors):
            raise errors[len(times) - 1]
        return "said"

    return call, times


def run(conduct: CallPolicy, call: Callable[[Limits], str]) -> str:
    return conduct.run(call, conduct.limits())


def test_only_what_may_pass_is_tried_again_and_when_the_server_says(caplog: pytest.LogCaptureFixture) -> None:
    call, times = failing(ModelUnavailable("a"), ModelUnavailable("busy", details={"retry_after": 0.2}))
    assert run(CallPolicy(timeout=5, tries=3, concurrency=1), call) == "said"
    assert times[2] - times[1] >= 0.2
    assert not caplog.records, "a server's log tells of no retry: the ledger has them"
    call, times = failing(ModelRefused("key"))
    with pytest.raises(ModelRefused):
        run(CallPolicy(timeout=5, tries=3, concurrency=1), call)
    assert len(times) == 1


def test_all_tries_end_with_the_time() -> None:
    began = time.monotonic()
    with pytest.raises(ModelUnavailable):
        run(CallPolicy(timeout=0.3, tries=10_000, concurrency=1), failing(*[ModelUnavailable("down")] * 10_000)[0])
    assert time.monotonic() - began < 3


def test_no_more_at_once_than_agreed() -> None:
    conduct = CallPolicy(timeout=10, tries=1, concurrency=2)
    under_way: list[int] = []

    def call(_limits: Limits) -> str:
        places.append(1)
        under_way.append(len(places))
        time.sleep(0.02)
        places.pop()
        return "said"

    places: list[int] = []
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda _: run(conduct, call), range(8))) == ["said"] * 8
    assert max(under_way) == 2


def test_nothing_is_asked_for_whoever_has_gone() -> None:
    call, times = failing()
    with pytest.raises(ModelCancelled):
        run(CallPolicy(timeout=5, tries=5, concurrency=1, cancelled=lambda: True), call)
    assert times == []
