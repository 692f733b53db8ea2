"""A chat model behind a server: what it is asked, what is believed of its answer, and what becomes of its faults."""

import contextlib
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from fake_models import limits
from model_server import Behaviour, ModelServer, chat, garbage, reply_json, shown, slow
from phronesis.errors import AnswerRejected, Closed, ModelUnavailable
from phronesis.models.call_policy import Limits
from phronesis.models.openai_models import OpenAIChat, strip_reasoning
from phronesis.models.structured_client import AnswerSchema, Completion, Constraint, Message
from phronesis.models.transport import Gateway

KEY = "sk-very-secret-0123456789"
TEXT = "the patient's diagnosis"
SAID = "what the model answered"
ANSWER = AnswerSchema("facts", {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]})


@contextlib.contextmanager
def opened(*behaviours: Behaviour) -> Iterator[tuple[ModelServer, OpenAIChat]]:
    with ModelServer(*behaviours) as server:
        model = OpenAIChat(Gateway("local", server.base_url, KEY), "qwen3:4b")
        with contextlib.closing(model):
            yield server, model


def complete(
    model: OpenAIChat, bounds: Limits | None = None, *, constraint: Constraint = "schema", text: str = TEXT
) -> Completion:
    messages = [Message("system", "Extract."), Message("user", text)]
    return model.complete(messages, answer=ANSWER, constraint=constraint, max_tokens=77, limits=bounds or limits())


def test_the_server_is_asked_for_the_schema_and_gives_text_reason_and_tokens() -> None:
    usage = {"prompt_tokens": 11, "completion_tokens": 3, "total_tokens": 14}
    with opened(chat('{"a": "b"}', usage=usage)) as (server, model):
        assert complete(model) == Completion(
            text='{"a": "b"}', finish_reason="stop", prompt_tokens=11, completion_tokens=3
        )
        assert model.name == "local/qwen3:4b"
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.body == {
        "model": "qwen3:4b",
        "messages": [{"role": "system", "content": "Extract."}, {"role": "user", "content": TEXT}],
        "max_tokens": 77,
        "temperature": 0.0,
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": "facts", "schema": ANSWER.schema, "strict": True},
        },
    }


def test_a_refusal_is_handed_on() -> None:
    with opened(chat(None, refusal="I cannot."), chat("", finish_reason="content_filter")) as (_, model):
        assert complete(model) == Completion(text="", finish_reason="stop", refusal="I cannot.")
        assert complete(model) == Completion(text="", finish_reason="content_filter")


def test_what_a_model_thinks_aloud_is_not_its_answer() -> None:
    cases: list[tuple[str, str]] = [
        ("<think>hm {</think>\n\n{}", "{}"),
        ("<think>no end", ""),
        ("<thinking>a</thinking> {}", "{}"),
        ("hm, well</think>{}", "{}"),
        ('{"a": "</think>"}', '{"a": "</think>"}'),
        ("```json\n</think>```", "```json\n</think>```"),
        ("", ""),
    ]
    for said, text in cases:
        assert strip_reasoning(said) == text


NO_COMPLETION: dict[str, Behaviour] = {
    "no choices": reply_json({"choices": []}),
    "choices of another type": reply_json({"choices": {"0": {}}}),
    "no message": reply_json({"choices": [{"finish_reason": "stop"}]}),
    "null content": chat(None),
    "content of another type": chat([{"type": "text", "text": SAID}]),
    "a call of a tool": chat(None, tool_calls=[{"id": "1", "function": {"name": SAID, "arguments": "{}"}}]),
    "an error with success": reply_json({"error": {"message": SAID, "code": 502}}),
    "garbage": garbage(),
}


@pytest.mark.parametrize("behaviour", NO_COMPLETION.values(), ids=NO_COMPLETION)
def test_what_is_no_completion_is_rejected_unshown(behaviour: Behaviour) -> None:
    with opened(behaviour) as (server, model):
        with pytest.raises(AnswerRejected) as fault:
            complete(model, limits(max_bytes=1 << 20))
        assert len(server.requests) == 1
    assert not [secret for secret in (KEY, TEXT, SAID) if secret in shown(fault.value)]


def test_closing_ends_what_is_under_way() -> None:
    with opened(slow(30.0, chat("{}"))) as (server, model), ThreadPoolExecutor(1) as pool:
        call = pool.submit(complete, model, limits(20.0))
        while not server.requests:
            time.sleep(0.005)
        began = time.monotonic()
        model.close()
        with pytest.raises(ModelUnavailable):
            call.result()
        assert time.monotonic() - began < 10
        with pytest.raises(Closed):
            complete(model)
