"""The encoder of English lessons: its network in numpy, the file of its weights, and what it reads."""

import numpy as np
import pytest

from phronesis.models.bert import Bert
from phronesis.models.lesson_encoders import (
    BLOCK,
    LARGEST,
    LONGEST,
    LessonMiniLM,
    installed_minilm,
    is_english,
    packed,
    unpacked,
)
from tiny_minilm import HEADS, PIECES, tiny_minilm

WEIGHTS = tiny_minilm()


def test_a_text_lies_on_the_sphere_and_its_pieces_order_counts() -> None:
    network = Bert(WEIGHTS, HEADS)
    one, turned = network.placed([[2, 7, 8, 3], [2, 8, 7, 3]])
    assert one.dtype == np.float32
    assert np.linalg.norm(one) == pytest.approx(1.0, abs=1e-5)
    assert 0.3 < float(one @ turned) < 0.999


def test_texts_in_one_matrix_see_themselves_alone() -> None:
    network = Bert(WEIGHTS, HEADS)
    texts = [[2, 7, 3], [2, 8, 8, 9, 7, 3], [2, 3]]
    alone = np.concatenate([network.placed([text]) for text in texts])
    np.testing.assert_allclose(network.placed(texts), alone, atol=1e-6)


def test_weights_are_kept_in_steps() -> None:
    kept, pieces = unpacked(packed(WEIGHTS, pieces=PIECES))
    assert pieces == PIECES
    assert kept.keys() == WEIGHTS.keys()
    for name, held in WEIGHTS.items():
        assert kept[name].dtype == np.float32
        assert kept[name].shape == held.shape
        step = np.abs(held).max() / LARGEST if held.ndim > 1 and held.shape[1] % BLOCK == 0 else 2e-3
        assert np.abs(kept[name] - held).max() <= step * 0.51, name
    cosine = np.vdot(*(Bert(held, HEADS).placed([[2, 7, 8, 3]]) for held in (kept, WEIGHTS)))
    assert 1 - cosine < 0.01


def test_english_is_what_has_the_letters_of_english() -> None:
    cases: list[tuple[str, bool]] = [
        ("The disk was full.", True),
        ("Café: naïve façade, resumé of 3 pages", False),
        ("Ran `git push` from the Café at noon", True),
        ("磁盘写满了", False),
        ("在 kubernetes 上 restart 了", False),
        ("see 附录 appendix of the long manual for operators", True),
        ("42 … 17 %", False),
        ("", False),
    ]
    for text, expected in cases:
        assert is_english(text) is expected


@pytest.fixture(scope="module")
def embedder() -> LessonMiniLM:
    return LessonMiniLM()


@pytest.mark.encoder
def test_it_tells_lessons_apart(embedder: LessonMiniLM) -> None:
    rows = embedder.embed_documents([
        "Backed up to the small disk; it was full before the end. Check the free space first.",
        "Copied the archive to a volume with 2 GB left, and it broke off half way.",
        "Asked for a discount before they had named a price, and they walked away.",
        "备份到小硬盘，中途磁盘满了。",
        " ",
    ])  # fmt: skip
    assert (embedder.dimension, embedder.prefix_scheme) == (384, "none")
    assert rows.shape == (5, 384)
    assert rows[0] @ rows[1] > rows[0] @ rows[2] + 0.1
    assert not rows[3:].any()
    np.testing.assert_array_equal(embedder.embed_query("Rinsed twice."), embedder.embed_documents(["Rinsed twice."])[0])


@pytest.mark.encoder
def test_what_a_text_is_given_does_not_depend_on_its_neighbours(embedder: LessonMiniLM) -> None:
    long = "word " * (2 * LONGEST)
    both = embedder.embed_documents(["Asked too early.", long])
    np.testing.assert_allclose(both[0], embedder.embed_query("Asked too early."), atol=1e-6)
    np.testing.assert_allclose(both[1], embedder.embed_query("word " * LONGEST), atol=1e-6)


@pytest.mark.encoder
def test_other_weights_can_take_their_place(embedder: LessonMiniLM) -> None:
    held, pieces = unpacked(installed_minilm())
    lower = {name: tensor for name, tensor in held.items() if not name.startswith(("l2", "l3", "l4", "l5"))}
    other = LessonMiniLM(weights=packed({**lower, "word": held["word"][:3000]}, pieces=pieces[:3000]))
    assert other.name == embedder.name
    assert float(other.embed_query("The disk was full.") @ embedder.embed_query("The disk was full.")) < 0.9
