"""An encoder behind a server keeps the port's promises, whatever order and form its vectors come in."""

import base64
import contextlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from fake_models import NOON, MemoryLedger
from model_server import Behaviour, ModelServer, embed_each, embeddings, garbage, reply_json, shown
from phronesis.errors import AnswerRejected
from phronesis.models.call_policy import CallPolicy, SpendingLimit
from phronesis.models.embedder import Embedder, PrefixScheme
from phronesis.models.openai_models import OpenAIEmbedder
from phronesis.models.token_counter import ByteBound
from phronesis.models.transport import Gateway

KEY = "sk-very-secret-0123456789"
TEXT = "the patient's diagnosis"


@contextlib.contextmanager
def opened(
    *behaviours: Behaviour,
    dimension: int | None = 3,
    scheme: PrefixScheme = "none",
    ledger: MemoryLedger | None = None,
) -> Iterator[tuple[ModelServer, OpenAIEmbedder]]:
    with ModelServer(*behaviours) as server:
        embedder = OpenAIEmbedder(
            Gateway("local", server.base_url, KEY),
            "bge-m3",
            dimension=dimension,
            prefix_scheme=scheme,
            conduct=CallPolicy(timeout=20.0, tries=1, concurrency=2),
            purse=SpendingLimit(ledger or MemoryLedger(), lambda: NOON),
            counter=ByteBound,
            tenant="acme",
        )
        with contextlib.closing(embedder):
            yield server, embedder


def letters(text: str) -> list[float]:
    return [1.0 + text.count("a"), 2.0 * text.count("b"), float(len(text))]


def test_the_port_is_kept() -> None:
    hostile = ["", "   \n", "\x00", "a\x00b", "x\ud800y", "\ud800", "🎉", "word " * 4000, "今天天气很好"]
    with opened(embed_each(letters)) as (_, embedder):
        assert isinstance(embedder, Embedder)
        matrix = embedder.embed_documents(hostile)
        assert matrix.dtype == np.float32
        assert matrix.shape == (9, 3)
        assert not matrix[:3].any()
        np.testing.assert_allclose(np.linalg.norm(matrix[3:], axis=1), 1.0, atol=1e-6)
        assert embedder.embed_documents([]).shape == (0, 3)
        assert not embedder.embed_query(" ").any()
        np.testing.assert_array_equal(embedder.embed_query("ab"), embedder.embed_documents(["ab"])[0])
        assert (embedder.name, embedder.dimension, embedder.prefix_scheme) == ("local/bge-m3@3", 3, "none")


def test_questions_and_documents_are_told_apart() -> None:
    cases: list[tuple[PrefixScheme, str, str]] = [
        ("none", "a", "a"),
        ("e5", "query: a", "passage: a"),
        ("qwen3", "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:a", "a"),
        ("nomic", "search_query: a", "search_document: a"),
    ]
    for scheme, query, document in cases:
        with opened(embed_each(letters), scheme=scheme) as (server, embedder):
            embedder.embed_query("a")
            embedder.embed_documents(["a"])
            assert embedder.prefix_scheme == scheme
        assert [request.body["input"] for request in server.requests] == [[query], [document]]


AXES = [[2.0, 0.0, 0.0], [0.0, 3.0, 0.0], [0, 0, 4]]


def test_vectors_go_where_their_index_says_and_may_be_base64() -> None:
    packed = [base64.b64encode(np.asarray(axis, "<f4").tobytes()).decode() for axis in AXES]
    answers = embeddings(AXES, order=[2, 0, 1]), embeddings(AXES, index=False), embeddings(packed)
    with opened(*answers) as (server, embedder):
        for _ in answers:
            np.testing.assert_array_equal(embedder.embed_documents(["a", "b", "c"]), np.eye(3, dtype=np.float32))
    assert server.requests[0].path == "/v1/embeddings"
    assert server.requests[0].body == {
        "model": "bge-m3",
        "input": ["a", "b", "c"],
        "encoding_format": "float",
        "dimensions": 3,
    }


def test_many_texts_are_sent_in_batches_each_a_call_in_the_ledger() -> None:
    texts, ledger = [f"{'a' * (number % 7)}{number}" for number in range(150)], MemoryLedger()
    with opened(embed_each(letters), ledger=ledger) as (server, embedder):
        matrix = embedder.embed_documents(texts)
        expected = np.asarray([letters(text) for text in texts])
        np.testing.assert_allclose(matrix, expected / np.linalg.norm(expected, axis=1, keepdims=True), atol=1e-6)
        assert [len(request.body["input"]) for request in server.requests] == [64, 64, 22]
        assert {(tenant, call.role, call.model) for tenant, call in ledger.calls} == {("acme", "embed", "local/bge-m3")}
        assert sum(call.prompt_tokens for _, call in ledger.calls) == sum(len(text) + 1 for text in texts)
        embedder.embed_documents(["x" * 9000] * 40)
        assert [len(request.body["input"]) for request in server.requests[3:]] == [16, 16, 8]
        assert {len(text) for text in server.requests[3].body["input"]} == {6000}


def test_the_dimension_is_asked_for_once() -> None:
    with opened(embed_each(letters), dimension=None) as (server, embedder), ThreadPoolExecutor(8) as pool:
        assert set(pool.map(lambda _: embedder.dimension, range(16))) == {3}
        embedder.embed_query("a")
        assert [request.body["input"] for request in server.requests] == [["dimension"], ["a"]]
    with opened(embed_each(letters), dimension=None) as (server, embedder):  # a vector that was had tells it too
        embedder.embed_query("a")
        assert (embedder.dimension, len(server.requests)) == (3, 1)


def entries(*given: Any) -> Behaviour:
    return reply_json({"data": list(given)})


def pair(first: Any, second: Any) -> Behaviour:
    return embeddings([first, second])


GOOD = [1.0, 2.0, 3.0]
WRONG: dict[str, Behaviour] = {
    "no data": reply_json({"object": TEXT}),
    "too few": embeddings([GOOD]),
    "entries of another type": entries(GOOD, GOOD),
    "another dimension": pair([1.0], [1.0]),
    "null within": pair(GOOD, [1.0, None, 3.0]),
    "truth within": pair(GOOD, [True, False, True]),
    "NaN": garbage(b'{"data":[{"index":0,"embedding":[1,2,3]},{"index":1,"embedding":[NaN,1,1]}]}'),
    "not base64": pair("$$$$", "$$$$"),
    "an index twice": entries({"index": 0, "embedding": GOOD}, {"index": 0, "embedding": GOOD}),
    "an index out of range": entries({"index": 0, "embedding": GOOD}, {"index": 2, "embedding": GOOD}),
    "an index that does not hash": entries({"index": [], "embedding": GOOD}, {"index": [], "embedding": GOOD}),
}


@pytest.mark.parametrize("behaviour", WRONG.values(), ids=WRONG)
def test_what_are_no_vectors_is_rejected_unshown(behaviour: Behaviour) -> None:
    with opened(behaviour) as (_, embedder), pytest.raises(AnswerRejected) as fault:
        embedder.embed_documents([TEXT, "and another"])
    assert not [secret for secret in (KEY, TEXT) if secret in shown(fault.value)]
