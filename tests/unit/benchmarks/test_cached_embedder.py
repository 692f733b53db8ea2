import numpy as np

from phronesis.models.embedder import Embedder
from phronesis_benchmarks.cached_embedder import CachedEmbedder


def test_it_is_an_embedder_of_the_same_identity(embedder: CachedEmbedder) -> None:
    assert isinstance(embedder, Embedder)
    assert (embedder.name, embedder.dimension, embedder.prefix_scheme) == ("words", 256, "none")


def test_a_text_is_encoded_once(encoded: list[str], embedder: CachedEmbedder) -> None:
    first = embedder.embed_documents(["one two", "three", "one two"])
    second = embedder.embed_documents(["three", "one two"])
    assert encoded == ["one two", "three"]
    assert embedder.misses == 2
    np.testing.assert_array_equal(first[[1, 0]], second)
    np.testing.assert_array_equal(first[0], first[2])


def test_a_query_is_not_a_document(encoded: list[str], embedder: CachedEmbedder) -> None:
    embedder.embed_documents(["one"])
    embedder.embed_query("one")
    embedder.embed_query("one")
    assert encoded == ["one", "one"]


def test_no_texts_give_an_empty_matrix(embedder: CachedEmbedder) -> None:
    assert embedder.embed_documents([]).shape == (0, 256)


def test_warming_encodes_all_and_tells_how_far_it_is(embedder: CachedEmbedder) -> None:
    steps: list[tuple[int, int]] = []
    documents = [f"text {number}" for number in range(70)]
    cost = embedder.warm(documents, ["a question"], lambda done, total: steps.append((done, total)))
    assert steps == [(64, 71), (70, 71), (71, 71)]
    assert cost.texts == 71
    assert cost.to_dict()["texts_per_second"] > 0
    embedder.embed_documents(documents)
    embedder.embed_query("a question")
    assert embedder.misses == 71
