"""A model chooses among options, with a probability where its server gives one."""

import contextlib
from collections.abc import Iterator, Mapping
from typing import Any

import pydantic
import pytest

import model_server as servers
from fake_models import NOON, MemoryLedger
from model_server import Behaviour, ModelServer
from phronesis.config import Policy
from phronesis.errors import AnswerRejected, ModelError, ModelRefused, ModelUnavailable
from phronesis.models.decision import Decider, Decision, Question
from phronesis.models.model_registry import ModelRegistry, try_role
from phronesis.models.token_counter import ByteBound

QUESTION = Question(
    kind="drink",
    instructions="What is the text about?",
    options={"tea": "about tea", "coffee": "about coffee", "neither": "about something else"},
    texts={"text": "Green leaves, steeped."},
    seed="e1",
)
FORM_B = servers.chat('{"option": "B"}')


@contextlib.contextmanager
def opened(
    *behaviours: Behaviour, kind: str = "openai", ledger: MemoryLedger | None = None, **manners: Any
) -> Iterator[tuple[ModelServer, ModelRegistry]]:
    with ModelServer(*behaviours) as server:
        gateway = {"kind": kind, "base_url": server.base_url, "timeout": 5.0, "tries": 1, **manners}
        policy = Policy.model_validate(
            {"gateways": {"lab": gateway}, "roles": {"decide": {"gateway": "lab", "model": "m"}}}
        )
        model_registry = ModelRegistry(
            policy, {}, tenant="acme", ledger=ledger or MemoryLedger(), clock=lambda: NOON, counter=ByteBound
        )
        with contextlib.closing(model_registry):
            yield server, model_registry


def decide(model_registry: ModelRegistry, question: Question = QUESTION) -> Decision:
    decider: Decider | None = model_registry.decider()
    assert decider is not None
    assert decider.name == "lab/m"
    return decider.decide("acme", question)


def test_the_probability_is_the_share_of_the_options_letters() -> None:
    ledger = MemoryLedger()
    said = servers.letter(" B", {" B": 0.4, "b": 0.2, "A": 0.2, "Maybe": 0.2})
    with opened(said, ledger=ledger) as (server, model_registry):
        decision = decide(model_registry)
        assert decision.option == "coffee"
        assert decision.probability == pytest.approx(0.75)
    [request] = server.requests
    system, user = (message["content"] for message in request.body["messages"])
    assert "A: about tea\nB: about coffee\nC: about something else\n" in system
    assert user.startswith("<turn-")
    assert 'part="text">\nGreen leaves, steeped.\n</turn-' in user
    assert (request.body["logprobs"], request.body["top_logprobs"], request.body["max_tokens"]) == (True, 20, 16)
    assert [(tenant, call.role, call.model, call.status) for tenant, call in ledger.calls] == [
        ("acme", "decide", "lab/m", "ok")
    ]


@pytest.mark.parametrize("content", ["B", "b.", "B) about coffee", "**B**", "<think>A cup of tea?</think>\n\nB"])
def test_without_probabilities_the_letter_stands_alone(content: str) -> None:
    with opened(servers.letter(content)) as (server, model_registry):
        assert decide(model_registry) == Decision("coffee")
    assert len(server.requests) == 1


@pytest.mark.parametrize("first", [servers.status(400), servers.letter("A drink, I think."), servers.letter("D")])
def test_what_takes_no_letters_is_asked_in_a_form_from_then_on(first: Behaviour) -> None:
    with opened(first, FORM_B) as (server, model_registry):
        assert [decide(model_registry), decide(model_registry)] == [Decision("coffee")] * 2
    assert ["response_format" in one.body for one in server.requests] == [False, True, True]


def test_words_of_the_reasoning_are_no_answer() -> None:
    tokens = [("<think>", {}), ("A", {"A": 0.0}), ("</think>", {}), ("B", {"B": 0.0})]
    content = [
        {"token": token, "top_logprobs": [{"token": one, "logprob": value} for one, value in beside.items()]}
        for token, beside in tokens
    ]
    message = {"role": "assistant", "content": "<think>A</think>B"}
    choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": {"content": content}}
    with opened(servers.reply_json({"choices": [choice]})) as (_, model_registry):
        assert decide(model_registry) == Decision("coffee", 1.0)


FAILURES: list[tuple[Behaviour, dict[str, Any], type[ModelError]]] = [
    (servers.chat(None, refusal="I would rather not"), {}, AnswerRejected),
    (servers.letter("D"), {}, AnswerRejected),  # in the form too
    (servers.status(401), {}, ModelRefused),
    (servers.slow(3.0, servers.letter("A")), {"timeout": 0.3}, ModelUnavailable),
]


@pytest.mark.parametrize(("behaviour", "manners", "error"), FAILURES)
def test_no_answer_is_an_error(behaviour: Behaviour, manners: Mapping[str, Any], error: type[ModelError]) -> None:
    with opened(behaviour, **manners) as (_, model_registry), pytest.raises(error):
        try_role(model_registry, "decide", "acme")


def test_only_a_sure_choice_counts() -> None:
    assert Decision("tea", 0.8).is_surely("tea", "coffee")
    assert Decision("tea").is_surely("tea")
    assert not Decision("tea", 0.79).is_surely("tea")
    assert not Decision("tea", 0.99).is_surely("coffee")


ANSWERS: list[tuple[Any, Decision | None]] = [
    ({"option": "tea", "probability": 0.9}, Decision("tea", 0.9)),
    ({"option": "tea"}, Decision("tea")),
    ({"probabilities": {"tea": 0.125, "coffee": 0.375, "milk": 0.5}}, Decision("coffee", 0.75)),
    ({"option": "milk", "probability": 0.9}, None),
    ({"option": "tea", "probability": 9}, None),
    ({"probabilities": {"tea": "much"}}, None),
    ({"probabilities": {"milk": 1.0}}, None),
    (["tea"], None),
]


@pytest.mark.parametrize(("answer", "decision"), ANSWERS)
def test_a_decision_server_is_given_the_options(answer: Any, decision: Decision | None) -> None:
    ledger = MemoryLedger()
    with opened(servers.reply_json(answer), kind="decision", ledger=ledger) as (server, model_registry):
        if decision is None:
            with pytest.raises(AnswerRejected):
                decide(model_registry)
        else:
            assert decide(model_registry) == decision
    [request] = server.requests
    assert request.path == "/v1/decide"
    assert {name: request.body[name] for name in ("model", "question", "options")} == {
        "model": "m",
        "question": QUESTION.instructions,
        "options": QUESTION.options,
    }
    assert "Green leaves, steeped." in request.body["data"]
    [(_, call)] = ledger.calls
    assert (call.role, call.prompt_tokens > 0) == ("decide", True)


def test_a_decision_server_takes_no_other_role() -> None:
    gateways = {"lab": {"kind": "decision", "base_url": "http://127.0.0.1:9"}}
    for role in ("extract", "rerank"):
        with pytest.raises(pydantic.ValidationError, match="takes the role decide alone"):
            Policy.model_validate({"gateways": gateways, "roles": {role: {"gateway": "lab", "model": "m"}}})
    with pytest.raises(pydantic.ValidationError, match="needs a base_url"):
        Policy.model_validate({"gateways": {"lab": {"kind": "decision"}}})
