"""Rerankers and chat models behind servers: every shape of answer gives the same scores, a wrong one none."""

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import pytest

from fake_models import limits
from model_server import Behaviour, ModelServer, garbage, letter, reply_json, reranked, shown
from phronesis.errors import AnswerRejected
from phronesis.models.rerankers import INSTRUCTIONS, ChatReranker, HttpReranker
from phronesis.models.transport import Gateway

KEY = "sk-very-secret-0123456789"
QUERY = "what did the patient say"
TEXTS = ["the patient's diagnosis", "the weather", "the patient's words"]
SHAPES = ["vllm", "llama.cpp", "jina", "cohere", "tei"]


@contextlib.contextmanager
def opened(*behaviours: Behaviour, root: str = "/v1") -> Iterator[tuple[ModelServer, HttpReranker]]:
    with ModelServer(*behaviours) as server:
        gateway = Gateway("local", server.base_url.removesuffix("/v1") + root, KEY)
        with contextlib.closing(HttpReranker(gateway, "qwen3-reranker")) as reranker:
            yield server, reranker


@pytest.mark.parametrize("shape", SHAPES)
def test_probabilities_and_logits_come_back_as_scores_in_the_order_of_the_texts(shape: str) -> None:
    logits = reranked({0: 0.5, 1: -4.0, 2: 800.0}, shape=shape)
    with opened(reranked({0: 0.25, 1: 0.0, 2: 1.0}, shape=shape), logits) as (_, reranker):
        assert reranker.rerank(QUERY, TEXTS, limits=limits()) == [0.25, 0.0, 1.0]
        assert reranker.name == "local/qwen3-reranker"
        scores = reranker.rerank(QUERY, TEXTS, limits=limits())
    assert scores == pytest.approx([1 / (1 + math.exp(-0.5)), 1 / (1 + math.exp(4.0)), 1.0])


def test_the_request_is_what_these_servers_take() -> None:
    cases: list[tuple[str, str]] = [("/v1", "/v1/rerank"), ("", "/rerank"), ("/v2/", "/v2/rerank")]
    for root, path in cases:
        with opened(reranked({0: 0.1, 1: 0.2, 2: 0.3}, shape="vllm"), root=root) as (server, reranker):
            reranker.rerank(QUERY, TEXTS, limits=limits())
        (request,) = server.requests
        assert request.path == path
        assert request.body == {"model": "qwen3-reranker", "query": QUERY, "documents": TEXTS, "top_n": 3}
        assert request.headers["authorization"] == f"Bearer {KEY}"


def test_a_text_that_the_server_leaves_out_scores_nothing() -> None:
    with opened(
        reranked({2: 0.75}, shape="cohere"), reranked({2: 3.0}, shape="cohere"), reply_json({"results": [{"score": 1}]})
    ) as (_, reranker):
        assert reranker.rerank(QUERY, TEXTS, limits=limits()) == [0.0, 0.0, 0.75]
        assert reranker.rerank(QUERY, TEXTS, limits=limits()) == [0.0, 0.0, pytest.approx(1 / (1 + math.exp(-3.0)))]
        with pytest.raises(AnswerRejected):  # which text, nobody knows
            reranker.rerank(QUERY, TEXTS, limits=limits())


def test_a_text_without_content_is_not_sent() -> None:
    with opened(reranked({0: 0.5, 1: 0.75}, shape="jina")) as (server, reranker):
        assert reranker.rerank(QUERY, ["", "a", " \n\x00", "b\ud800"], limits=limits()) == [0.0, 0.5, 0.0, 0.75]
        assert reranker.rerank(QUERY, ["", " "], limits=limits()) == [0.0, 0.0]
        assert reranker.rerank(QUERY, [], limits=limits()) == []
        assert reranker.rerank("  ", TEXTS, limits=limits()) == [0.0, 0.0, 0.0]
    (request,) = server.requests
    assert (request.body["documents"], request.body["top_n"]) == (["a", "b\ufffd"], 2)


def entries(*given: Any) -> Behaviour:
    return reply_json({"results": list(given)})


def scored(*indexes: Any) -> Behaviour:
    return entries(*({"index": index, "relevance_score": 0.5} for index in indexes))


SAID = "the patient's diagnosis"
WRONG: dict[str, Behaviour] = {
    "no results": reply_json({"id": SAID}),
    "entries of another type": entries(0.5, 0.5, 0.5),
    "index out of range": scored(0, 1, 3),
    "index twice": scored(0, 1, 1),
    "index a truth": scored(True, False, 2),
    "index missing once": entries({"index": 0, "score": 1}, {"score": 1}, {"index": 2, "score": 1}),
    "score missing": entries({"index": 0}, {"index": 1}, {"index": 2}),
    "score a text": entries({"index": 0, "relevance_score": "0.5"}),
    "score NaN": garbage(b'{"results":[{"index":0,"relevance_score":NaN}]}'),
    "score beyond floats": garbage(b'{"results":[{"index":0,"relevance_score":1' + b"0" * 400 + b"}]}"),
}


@pytest.mark.parametrize("behaviour", WRONG.values(), ids=WRONG)
def test_what_are_no_scores_is_rejected_unshown(behaviour: Behaviour) -> None:
    with opened(behaviour) as (_, reranker), pytest.raises(AnswerRejected) as fault:
        reranker.rerank(QUERY, TEXTS, limits=limits(max_bytes=1 << 20))
    assert not [secret for secret in (KEY, QUERY, *TEXTS) if secret in shown(fault.value)]


# A language model that says yes or no orders texts as a reranker does.


@contextlib.contextmanager
def asked_by_chat(*behaviours: Behaviour) -> Iterator[tuple[ModelServer, ChatReranker]]:
    with ModelServer(*behaviours) as server:
        reranker = ChatReranker(Gateway("local", server.base_url), "qwen3-reranker")
        with contextlib.closing(reranker):
            yield server, reranker


def test_the_score_is_the_share_of_yes() -> None:
    likely = letter("yes", {"yes": 0.6, "Yes": 0.2, "no": 0.2, "maybe": 0.3})
    unlikely = letter("no", {" no": 0.9, " yes": 0.1})
    with asked_by_chat(likely, unlikely) as (server, reranker):
        assert reranker.rerank("tea?", ["green tea", "trains"], limits=limits()) == pytest.approx([0.8, 0.1])
    first = server.requests[0].body
    assert server.requests[0].path == "/v1/chat/completions"
    assert first["messages"][0]["content"] == INSTRUCTIONS
    assert first["messages"][1]["content"].endswith("<Query>: tea?\n<Document>: green tea")
    assert (first["logprobs"], first["top_logprobs"], first["temperature"]) == (True, 20, 0.0)
    assert reranker.name == "local/qwen3-reranker"


def test_without_probabilities_the_word_decides() -> None:
    cases = {"yes": 1.0, "No.": 0.0, "<think>\n\n</think>\n\n**Yes**": 1.0, "yes, because": 1.0}
    with asked_by_chat(*map(letter, cases)) as (_, reranker):
        assert reranker.rerank("tea?", ["x"] * len(cases), limits=limits()) == list(cases.values())


@pytest.mark.parametrize("behaviour", [letter("perhaps"), letter(None), letter("perhaps", {"yes": 1.0})])
def test_what_is_neither_yes_nor_no_is_rejected(behaviour: Behaviour) -> None:
    with asked_by_chat(behaviour) as (_, reranker), pytest.raises(AnswerRejected):
        reranker.rerank("tea?", ["x"], limits=limits())
