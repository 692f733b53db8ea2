"""A language model that says yes or no orders texts as a reranker does."""

import contextlib
import math
import time
from collections.abc import Iterator
from typing import Any

import pytest

import model_server as servers
from model_server import Behaviour, ModelServer
from phronesis.errors import AnswerRejected
from phronesis.models.call_policy import Limits
from phronesis.models.rerankers import INSTRUCTIONS, ChatReranker
from phronesis.models.transport import Gateway


def limits(seconds: float = 10.0) -> Limits:
    return Limits(time.monotonic, time.monotonic() + seconds)


def said(content: Any, *tokens: tuple[str, dict[str, Any]]) -> Behaviour:
    """Say something; ``tokens`` each with the log-probabilities of what else might have been said."""
    choice: dict[str, Any] = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    if tokens:
        choice["logprobs"] = {
            "content": [
                {"token": token, "top_logprobs": [{"token": one, "logprob": value} for one, value in beside.items()]}
                for token, beside in tokens
            ]
        }
    return servers.reply_json({"choices": [choice]})


@contextlib.contextmanager
def asked(*behaviours: Behaviour) -> Iterator[tuple[ModelServer, ChatReranker]]:
    with ModelServer(*behaviours) as server:
        reranker = ChatReranker(Gateway("local", server.base_url), "qwen3-reranker")
        with contextlib.closing(reranker):
            yield server, reranker


def test_the_score_is_the_share_of_yes() -> None:
    likely = said("yes", ("yes", {"yes": math.log(0.6), "Yes": math.log(0.2), "no": math.log(0.2), "maybe": -1.0}))
    unlikely = said("no", ("<think>", {"<think>": 0.0}), (" no", {" no": math.log(0.9), " yes": math.log(0.1)}))
    with asked(likely, unlikely) as (server, reranker):
        assert reranker.rerank("tea?", ["green tea", "trains"], limits=limits()) == pytest.approx([0.8, 0.1])
    first = server.requests[0].body
    assert server.requests[0].path == "/v1/chat/completions"
    assert first["messages"][0]["content"] == INSTRUCTIONS
    assert first["messages"][1]["content"].endswith("<Query>: tea?\n<Document>: green tea")
    assert (first["logprobs"], first["top_logprobs"], first["temperature"]) == (True, 20, 0.0)
    assert reranker.name == "local/qwen3-reranker"


def test_without_probabilities_the_word_decides() -> None:
    cases: list[tuple[str, float]] = [
        ("yes", 1.0),
        ("No.", 0.0),
        ("<think>\n\n</think>\n\n**Yes**", 1.0),
        ("yes, because", 1.0),
    ]
    for content, score in cases:
        with asked(said(content)) as (_, reranker):
            assert reranker.rerank("tea?", ["x"], limits=limits()) == [score]


@pytest.mark.parametrize(
    "behaviour",
    [said("perhaps"), said(None), said("perhaps", ("perhaps", {"yes": 0.0})), said("x", ("yes", {"yes": "much"}))],
)
def test_what_is_neither_yes_nor_no_is_rejected(behaviour: Behaviour) -> None:
    with asked(behaviour) as (_, reranker), pytest.raises(AnswerRejected):
        reranker.rerank("tea?", ["x"], limits=limits())
