"""The encoders and rerankers of optional packages, on fakes with the signatures of fastembed 0.9 and
sentence-transformers 6.2: neither package is installed here, and both download their weights.
"""

# ruff: noqa: ARG002 - fakes take whatever the real ones take

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest

from phronesis.errors import AnswerRejected, MissingExtra
from phronesis.models.call_policy import Limits
from phronesis.models.embedder import Embedder
from phronesis.models.in_process import (
    BATCH,
    CrossEncoderReranker,
    FastEmbedEmbedder,
    FastEmbedReranker,
    SentenceTransformerEmbedder,
)

LIMITS = Limits(lambda: 0.0, 60.0)
HOSTILE = ["", "   \n", "\x00", "a\x00b", "x\ud800y", "🎉", "word " * 4000, "今天天气很好"]
LENGTH = 3.0  # the fakes' vectors are not of length 1


def vector(text: str) -> list[float]:
    return [LENGTH if place == len(text) % 4 else 0.0 for place in range(4)]


class FakeTextEmbedding:
    """Same calls as fastembed's class."""

    answer: ClassVar[Callable[[str], list[float]]] = staticmethod(vector)

    @classmethod
    def list_supported_models(cls) -> list[dict[str, Any]]:
        return [{"model": "BAAI/bge-small-en-v1.5", "dim": 4}]

    def __init__(self, model_name: str, cache_dir: str | None = None, threads: int | None = None, **_: Any) -> None:
        self.model_name = model_name

    def query_embed(self, query: str | Iterable[str], **_: Any) -> Iterator[Any]:
        yield from self.passage_embed([query] if isinstance(query, str) else query)

    def passage_embed(self, texts: Iterable[str], **_: Any) -> Iterator[Any]:
        for text in texts:
            yield np.array(type(self).answer(text), np.float32)


class FakeTextCrossEncoder:
    """Gives the logit that a text is."""

    @classmethod
    def list_supported_models(cls) -> list[dict[str, Any]]:
        return [{"model": "Xenova/ms-marco-MiniLM-L-6-v2"}]

    def __init__(self, model_name: str, threads: int | None = None, **_: Any) -> None:
        self.model_name = model_name

    def rerank(self, query: str, documents: Iterable[str], batch_size: int = 64, **_: Any) -> Iterator[float]:
        yield from map(float, documents)


class FakeSentenceTransformer:
    made: ClassVar[list["FakeSentenceTransformer"]] = []
    prompts: ClassVar[dict[str, str]] = {"query": "", "document": ""}

    def __init__(self, model_name_or_path: str, *, device: str | None = None, **_: Any) -> None:
        self.calls: list[tuple[str, str | None]] = []
        self.made.append(self)

    def get_embedding_dimension(self) -> int:
        return 4

    def encode_query(self, inputs: list[str], prompt: str | None = None, **options: Any) -> Any:
        return self._encode("query", inputs, prompt, options)

    def encode_document(self, inputs: list[str], prompt: str | None = None, **options: Any) -> Any:
        return self._encode("document", inputs, prompt, options)

    def _encode(self, kind: str, inputs: list[str], prompt: str | None, options: dict[str, Any]) -> Any:
        assert options == {"batch_size": BATCH, "show_progress_bar": False}
        self.calls.append((kind, prompt))
        return np.array([vector(text) for text in inputs], np.float32)


class FakeCrossEncoder:
    """Comes with a sigmoid, as its models do; gives logits only to who replaces it."""

    num_labels: ClassVar[int] = 1

    def __init__(self, model_name_or_path: str, *, device: str | None = None, **_: Any) -> None:
        self.name = model_name_or_path

    def predict(
        self, inputs: Sequence[tuple[str, str]], *, activation_fn: Callable[[Any], Any] | None = None, **_: Any
    ) -> Any:
        logits = np.array([float(text) for _query, text in inputs], np.float32)
        return 1 / (1 + np.exp(-logits)) if activation_fn is None else activation_fn(logits)


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Both packages, as far as they are used; fresh fakes, whose class attributes a test may set."""
    fresh = [
        type(fake.__name__, (fake,), {"made": []} if hasattr(fake, "made") else {})
        for fake in (FakeTextEmbedding, FakeTextCrossEncoder, FakeSentenceTransformer, FakeCrossEncoder)
    ]
    names = ("fastembed", "fastembed.rerank", "fastembed.rerank.cross_encoder", "sentence_transformers")
    modules = {name: ModuleType(name) for name in names}
    for module, attribute, fake in (
        ("fastembed", "TextEmbedding", fresh[0]),
        ("fastembed.rerank.cross_encoder", "TextCrossEncoder", fresh[1]),
        ("sentence_transformers", "SentenceTransformer", fresh[2]),
        ("sentence_transformers", "CrossEncoder", fresh[3]),
    ):
        setattr(modules[module], attribute, fake)
    for name, module_ in modules.items():
        monkeypatch.setitem(sys.modules, name, module_)
    return monkeypatch


def fake(module: str, name: str) -> Any:
    return getattr(sys.modules[module], name)


def check_port(embedder: Embedder) -> None:
    matrix = embedder.embed_documents(HOSTILE)
    assert isinstance(embedder, Embedder)
    assert matrix.dtype == np.float32
    assert matrix.shape == (len(HOSTILE), embedder.dimension)
    np.testing.assert_allclose(np.linalg.norm(matrix, axis=1), [0, 0, 0, 1, 1, 1, 1, 1], atol=1e-6)
    assert embedder.embed_documents([]).shape == (0, embedder.dimension)
    assert embedder.embed_query("what").dtype == np.float32
    assert np.linalg.norm(embedder.embed_query("what")) == pytest.approx(1.0)
    assert not embedder.embed_query(" \x00 ").any()


def test_fastembed_keeps_the_port_of_encoders(packages: pytest.MonkeyPatch) -> None:
    embedder = FastEmbedEmbedder("baai/BGE-small-en-v1.5")
    check_port(embedder)
    assert (embedder.name, embedder.dimension) == ("fastembed/BAAI/bge-small-en-v1.5", 4)
    assert embedder.prefix_scheme == "none"


@pytest.mark.parametrize("given", [[1.0, 2.0], [float("nan")] * 4, [float("inf")] * 4])
def test_vectors_that_are_none_are_rejected(packages: pytest.MonkeyPatch, given: list[float]) -> None:
    embedder = FastEmbedEmbedder("BAAI/bge-small-en-v1.5")
    packages.setattr(fake("fastembed", "TextEmbedding"), "answer", staticmethod(lambda _: given))
    with pytest.raises(AnswerRejected, match="the encoder gave") as caught:
        embedder.embed_documents(["my secret"])
    assert "secret" not in str(caught.value)


def test_packages_that_are_missing_say_how_to_get_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("fastembed", "fastembed.rerank.cross_encoder", "sentence_transformers"):
        monkeypatch.setitem(sys.modules, name, None)
    wanted: list[tuple[Callable[[str], Any], str, str]] = [
        (FastEmbedEmbedder, "fastembed", "embedder"),
        (FastEmbedReranker, "fastembed", "rerank"),
        (SentenceTransformerEmbedder, "sentence-transformers", "embedder"),
        (CrossEncoderReranker, "sentence-transformers", "rerank"),
    ]
    for load, extra, field in wanted:
        with pytest.raises(MissingExtra) as caught:
            load("any")
        assert f'pip install "phronesis[{extra}]"' in str(caught.value)
        assert caught.value.field == field


def test_sentence_transformers_keeps_the_port_of_encoders(packages: pytest.MonkeyPatch) -> None:
    embedder = SentenceTransformerEmbedder("sentence-transformers/all-MiniLM-L6-v2")
    check_port(embedder)
    assert embedder.name == "sentence-transformers/sentence-transformers/all-MiniLM-L6-v2"
    assert embedder.prefix_scheme == "none"


@pytest.mark.parametrize(
    ("model", "prompts", "scheme", "asked"),
    [
        ("a/b", {"query": "q: ", "document": ""}, "prompts", [("document", None), ("query", None)]),
        ("intfloat/e5-small", {}, "e5", [("document", "passage: "), ("query", "query: ")]),
        ("a/b", {"query": "", "document": "", "sts": "same? "}, "none", [("document", ""), ("query", "")]),
    ],
)
def test_a_models_own_prompts_go_before_those_of_its_family(
    packages: pytest.MonkeyPatch, model: str, prompts: dict[str, str], scheme: str, asked: list[tuple[str, str | None]]
) -> None:
    packages.setattr(fake("sentence_transformers", "SentenceTransformer"), "prompts", prompts)
    embedder = SentenceTransformerEmbedder(model)
    embedder.embed_documents(["tea"])
    embedder.embed_query("drink?")
    calls = fake("sentence_transformers", "SentenceTransformer").made[0].calls
    assert calls == asked
    assert embedder.prefix_scheme == scheme


@pytest.mark.parametrize("load", [FastEmbedReranker, CrossEncoderReranker])
def test_logits_become_scores_from_0_to_1_in_the_order_of_the_texts(
    packages: pytest.MonkeyPatch, load: Callable[[str], FastEmbedReranker | CrossEncoderReranker]
) -> None:
    reranker = load("Xenova/ms-marco-MiniLM-L-6-v2")
    texts = ["-2", "1000", " ", "0", "-1000", "0.5"]
    found = reranker.rerank("which?", texts, limits=LIMITS)
    assert found == pytest.approx([0.1192, 1.0, 0.0, 0.5, 0.0, 0.6225], abs=1e-4)
    assert all(type(score) is float for score in found)
    assert reranker.rerank("which?", [], limits=LIMITS) == []
    assert reranker.rerank(" \n", ["5"], limits=LIMITS) == [0.0]
