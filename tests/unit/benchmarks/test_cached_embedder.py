import numpy as np

from phronesis_benchmarks.cached_embedder import CachedEmbedder


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
