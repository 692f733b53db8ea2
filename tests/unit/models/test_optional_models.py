"""The encoders and rerankers of optional packages, on fakes with the signatures of fastembed 0.9 and
sentence-transformers 6.2: neither package is installed here, and both download their weights.
"""

# ruff: noqa: ARG002 - fakes take whatever the real ones take

import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any, ClassVar

import numpy as np
import pytest

from phronesis.errors import AnswerRejected, InputError, MissingExtra, ModelCancelled, ModelUnavailable
from phronesis.models.call_policy import Limits
from phronesis.models.embedder import PREFIXES, Embedder
from phronesis.models.fastembed_models import FastEmbedEmbedder, FastEmbedReranker
from phronesis.models.in_process import BATCH, CHARACTERS, scheme_of
from phronesis.models.sentence_transformers_models import CrossEncoderReranker, SentenceTransformerEmbedder

LIMITS = Limits(lambda: 0.0, 60.0)
HOSTILE = ["", "   \n", "\x00", "a\x00b", "x\ud800y", "🎉", "word " * 4000, "今天天气很好"]
LENGTH = 3.0  # the fakes' vectors are not of length 1


def vector(text: str) -> list[float]:
    return [LENGTH if place == len(text) % 4 else 0.0 for place in range(4)]


class FakeTextEmbedding:
    """Same calls as fastembed's class; keeps what it was asked."""

    made: ClassVar[list["FakeTextEmbedding"]] = []
    answer: ClassVar[Callable[[str], list[float]]] = staticmethod(vector)

    @classmethod
    def list_supported_models(cls) -> list[dict[str, Any]]:
        return [{"model": "BAAI/bge-small-en-v1.5", "dim": 4}, {"model": "intfloat/multilingual-e5-large", "dim": 4}]

    def __init__(
        self,
        model_name: str = "BAAI/bge-small-en-v1.5",
        cache_dir: str | None = None,
        threads: int | None = None,
        **kwargs: Any,
    ) -> None:
        if kwargs.get("local_files_only"):
            raise ValueError("Could not load model from https://hub.invalid/?token=hidden")
        self.model_name, self.threads = model_name, threads
        self.seen: list[str] = []
        self.batches: list[int] = []
        self.made.append(self)

    def query_embed(self, query: str | Iterable[str], **kwargs: Any) -> Iterator[Any]:
        yield from self._embed([query] if isinstance(query, str) else query)

    def passage_embed(self, texts: Iterable[str], **kwargs: Any) -> Iterator[Any]:
        self.batches.append(kwargs["batch_size"])
        yield from self._embed(texts)

    def _embed(self, texts: Iterable[str]) -> Iterator[Any]:
        for text in texts:
            self.seen.append(text)
            yield np.array(type(self).answer(text), np.float32)


class FakeTextCrossEncoder:
    """Gives the logit that its answer function makes of a text."""

    answer: ClassVar[Callable[[str], float]] = float
    asked: ClassVar[list[tuple[str, int]]] = []

    @classmethod
    def list_supported_models(cls) -> list[dict[str, Any]]:
        return [{"model": "Xenova/ms-marco-MiniLM-L-6-v2"}]

    def __init__(self, model_name: str, threads: int | None = None, **kwargs: Any) -> None:
        self.model_name = model_name

    def rerank(self, query: str, documents: Iterable[str], batch_size: int = 64, **kwargs: Any) -> Iterator[float]:
        texts = list(documents)
        self.asked.append((query, len(texts)))
        for text in texts:
            yield type(self).answer(text)


class FakeSentenceTransformer:
    made: ClassVar[list["FakeSentenceTransformer"]] = []
    prompts: ClassVar[dict[str, str]] = {"query": "", "document": ""}
    dimension: ClassVar[int | None] = 4

    def __init__(
        self,
        model_name_or_path: str | None = None,
        *,
        device: str | None = None,
        revision: str | None = None,
        local_files_only: bool = False,
    ) -> None:
        if local_files_only:
            raise OSError("no such file in the cache")
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.made.append(self)

    def get_embedding_dimension(self) -> int | None:
        return self.dimension

    def encode_query(self, inputs: list[str], prompt: str | None = None, **options: Any) -> Any:
        return self._encode("query", inputs, prompt, options)

    def encode_document(self, inputs: list[str], prompt: str | None = None, **options: Any) -> Any:
        return self._encode("document", inputs, prompt, options)

    def _encode(self, kind: str, inputs: list[str], prompt: str | None, options: dict[str, Any]) -> Any:
        assert options == {"batch_size": BATCH, "show_progress_bar": False}
        self.calls.append((kind, {"prompt": prompt}))
        return np.array([vector(text) for text in inputs], np.float32)


class FakeCrossEncoder:
    """Comes with a sigmoid, as its models do; gives logits only to who replaces it."""

    num_labels: ClassVar[int] = 1

    def __init__(
        self,
        model_name_or_path: str | None = None,
        *,
        device: str | None = None,
        revision: str | None = None,
        local_files_only: bool = False,
    ) -> None:
        self.inside = threading.Semaphore()

    def predict(
        self,
        inputs: Sequence[tuple[str, str]],
        *,
        batch_size: int = 32,
        show_progress_bar: bool | None = None,
        activation_fn: Callable[[Any], Any] | None = None,
    ) -> Any:
        assert self.inside.acquire(blocking=False), "two calls at once"
        logits = np.array([float(text) for _, text in inputs], np.float32)
        given = 1 / (1 + np.exp(-logits)) if activation_fn is None else activation_fn(logits)
        self.inside.release()
        return given


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Both packages, as far as they are used; fresh fakes, whose class attributes a test may set."""
    fresh = [
        type(fake.__name__, (fake,), {name: [] for name in ("made", "asked") if hasattr(fake, name)})
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


def test_fastembed_knows_the_dimension_without_encoding_and_takes_texts_in_small_batches(
    packages: pytest.MonkeyPatch,
) -> None:
    embedder = FastEmbedEmbedder("BAAI/bge-small-en-v1.5", threads=1)
    model = fake("fastembed", "TextEmbedding").made[0]
    assert (embedder.dimension, model.seen, model.threads) == (4, [], 1)
    embedder.embed_documents(["x" * 20_000, ""])
    assert [len(text) for text in model.seen] == [CHARACTERS]
    assert model.batches == [BATCH]


def test_fastembed_puts_the_prefixes_of_a_family_before_texts(packages: pytest.MonkeyPatch) -> None:
    embedder = FastEmbedEmbedder("intfloat/multilingual-e5-large")
    embedder.embed_documents(["tea", " "])
    embedder.embed_query("which drink")
    assert fake("fastembed", "TextEmbedding").made[0].seen == ["passage: tea", "query: which drink"]
    assert embedder.prefix_scheme == "e5"


def test_the_prefixes_of_a_family_are_known_by_the_name() -> None:
    cases: list[tuple[str, str]] = [
        ("intfloat/e5-small-v2", "e5"),
        ("intfloat/multilingual-e5-large-instruct", "none"),
        ("BAAI/bge-small-en", "bge"),
        ("BAAI/bge-small-en-v1.5", "none"),
        ("nomic-ai/nomic-embed-text-v1.5-Q", "nomic"),
        ("google/embeddinggemma-300m", "gemma"),
        ("Qwen/Qwen3-Embedding-0.6B", "qwen3"),
        ("./weights", "none"),
    ]
    for model, scheme in cases:
        assert scheme_of(model) == scheme
        assert scheme in PREFIXES


@pytest.mark.parametrize("given", [[1.0, 2.0], [float("nan")] * 4, [float("inf")] * 4])
def test_vectors_that_are_none_are_rejected(packages: pytest.MonkeyPatch, given: list[float]) -> None:
    embedder = FastEmbedEmbedder("BAAI/bge-small-en-v1.5")
    packages.setattr(fake("fastembed", "TextEmbedding"), "answer", staticmethod(lambda _: given))
    with pytest.raises(AnswerRejected, match="the encoder gave") as caught:
        embedder.embed_documents(["my secret"])
    assert "secret" not in str(caught.value)


def test_a_model_that_fastembed_does_not_know_is_refused_with_those_it_knows(packages: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match=r"'gpt'; it knows BAAI/bge-small-en-v1\.5, intfloat/") as caught:
        FastEmbedEmbedder("gpt")
    assert caught.value.field == "embedder"
    with pytest.raises(InputError, match="Xenova") as caught:
        FastEmbedReranker("gpt")
    assert caught.value.field == "rerank"


def test_weights_that_cannot_be_had_are_said_so_without_the_hubs_words(packages: pytest.MonkeyPatch) -> None:
    with pytest.raises(ModelUnavailable, match=r"weights of BAAI/bge-small-en-v1\.5 .*ValueError") as caught:
        FastEmbedEmbedder("BAAI/bge-small-en-v1.5", offline=True)
    assert "token" not in str(caught.value)
    with pytest.raises(ModelUnavailable, match=r"weights of a/b .*OSError"):
        SentenceTransformerEmbedder("a/b", offline=True)


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
    assert SentenceTransformerEmbedder("a/b", revision="v2").name == "sentence-transformers/a/b@v2"


@pytest.mark.parametrize(
    ("model", "prompts", "scheme", "asked"),
    [
        ("a/b", {"query": "q: ", "document": ""}, "prompts", [("document", None), ("query", None)]),
        ("intfloat/e5-small", {}, "e5", [("document", "passage: "), ("query", "query: ")]),
        ("a/b", {"query": "", "document": "", "sts": "same? "}, "none", [("document", ""), ("query", "")]),
    ],
)
def test_a_models_own_prompts_go_before_those_of_its_family(
    packages: pytest.MonkeyPatch,
    model: str,
    prompts: dict[str, str],
    scheme: str,
    asked: list[tuple[str, str | None]],
) -> None:
    packages.setattr(fake("sentence_transformers", "SentenceTransformer"), "prompts", prompts)
    embedder = SentenceTransformerEmbedder(model)
    embedder.embed_documents(["tea"])
    embedder.embed_query("drink?")
    calls = fake("sentence_transformers", "SentenceTransformer").made[0].calls
    assert [(kind, options["prompt"]) for kind, options in calls] == asked
    assert embedder.prefix_scheme == scheme


def test_a_model_that_does_not_say_how_long_its_vectors_are_is_refused(packages: pytest.MonkeyPatch) -> None:
    packages.setattr(fake("sentence_transformers", "SentenceTransformer"), "dimension", None)
    with pytest.raises(InputError, match="does not say how long"):
        SentenceTransformerEmbedder("a/b")


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


def test_a_text_is_scored_alike_in_any_company(packages: pytest.MonkeyPatch) -> None:
    reranker = FastEmbedReranker("xenova/ms-marco-minilm-l-6-v2")
    assert reranker.rerank("q", ["0.5"], limits=LIMITS) == reranker.rerank("q", ["0.5", "7"], limits=LIMITS)[:1]
    assert reranker.name == "fastembed/Xenova/ms-marco-MiniLM-L-6-v2"


def test_scores_that_lie_between_0_and_1_already_are_left_alone_when_it_is_said(packages: pytest.MonkeyPatch) -> None:
    reranker = FastEmbedReranker("Xenova/ms-marco-MiniLM-L-6-v2", logits=False)
    assert reranker.rerank("q", ["0.25", "1", "0"], limits=LIMITS) == [0.25, 1.0, 0.0]
    with pytest.raises(AnswerRejected, match="they are logits"):
        reranker.rerank("q", ["0.25", "-3"], limits=LIMITS)


def test_scores_that_are_none_are_rejected(packages: pytest.MonkeyPatch) -> None:
    reranker = FastEmbedReranker("Xenova/ms-marco-MiniLM-L-6-v2")
    with pytest.raises(AnswerRejected, match="finite numbers"):
        reranker.rerank("q", ["nan"], limits=LIMITS)
    fewer = staticmethod(lambda *_, **__: iter([0.5]))
    packages.setattr(fake("fastembed.rerank.cross_encoder", "TextCrossEncoder"), "rerank", fewer)
    with pytest.raises(AnswerRejected, match="the reranker gave"):
        reranker.rerank("q", ["1", "2"], limits=LIMITS)


def test_many_texts_are_scored_in_batches_with_a_look_at_the_limits_between(packages: pytest.MonkeyPatch) -> None:
    reranker = FastEmbedReranker("Xenova/ms-marco-MiniLM-L-6-v2")
    asked = fake("fastembed.rerank.cross_encoder", "TextCrossEncoder").asked
    texts = [str(number) for number in range(BATCH * 2 + 1)]
    assert len(reranker.rerank("q", texts, limits=LIMITS)) == len(texts)
    assert asked == [("q", BATCH), ("q", BATCH), ("q", 1)]
    asked.clear()
    with pytest.raises(ModelCancelled):
        reranker.rerank("q", texts, limits=Limits(lambda: 0.0, 60.0, lambda: bool(asked)))
    assert asked == [("q", BATCH)]
    with pytest.raises(ModelUnavailable, match="too long"):
        reranker.rerank("q", texts, limits=Limits(lambda: 61.0, 60.0))


def test_a_classifier_is_no_reranker(packages: pytest.MonkeyPatch) -> None:
    packages.setattr(fake("sentence_transformers", "CrossEncoder"), "num_labels", 3)
    with pytest.raises(InputError, match="3 classes") as caught:
        CrossEncoderReranker("a/nli")
    assert caught.value.field == "rerank"


def test_a_cross_encoder_is_asked_by_one_thread_at_a_time_and_who_waits_can_be_cancelled(
    packages: pytest.MonkeyPatch,
) -> None:
    reranker = CrossEncoderReranker("a/b", revision="v1")
    assert reranker.name == "sentence-transformers/a/b@v1"
    found: list[list[float]] = []
    threads = [
        threading.Thread(target=lambda: found.append(reranker.rerank("q", ["0"] * 40, limits=LIMITS))) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [[0.5] * 40] * 4
    with reranker._lock, pytest.raises(ModelCancelled):
        reranker.rerank("q", ["0"], limits=Limits(lambda: 0.0, 60.0, lambda: True))
