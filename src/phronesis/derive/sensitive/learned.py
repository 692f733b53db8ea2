"""What the tables' words do not know: how likely a text speaks of a sensitive matter, by the pieces of its words.

A multinomial logistic regression over *none* and the nine topics. A text is the set of its pieces: English words, pairs
of words and what 3 to 5 letters of a word spell; of Chinese, 1 to 3 letters in a row. Each piece has one of `BUCKETS`
rows of weights (feature hashing: Weinberger et al., 2009), and a text's row of features has length 1. The weights were
fitted by ``phronesis bench sensitive`` on texts that were labelled by hand (tests/labelled/sensitive/README.md), and
are small integers: the same text has the same odds on every machine.
"""

import io
import math
from collections.abc import Collection
from dataclasses import dataclass
from importlib.resources import files
from typing import Final

import numpy as np
from numpy.typing import NDArray

from phronesis.core.loading import once
from phronesis.derive.word_pieces import bucket, pieces

NONE: Final = "none"
"""The class of texts that speak of no topic."""

MAX_READ: Final = 400
"""Characters of the longest text that the model is asked of: it learned from memories, and knows no documents."""

_TELLING: Final = 3


@dataclass(frozen=True, slots=True)
class Odds:
    """The log odds that a text speaks of a guarded topic, the likeliest of these, and the pieces that say most."""

    log: float
    topic: str
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Model:
    """The weights of one language.

    ``weights`` are `BUCKETS` rows with a column a class, in units of ``unit``; ``bias`` is of each class.
    """

    classes: tuple[str, ...]
    weights: NDArray[np.int8]
    unit: float
    bias: NDArray[np.float64]

    def odds(self, text: str, topics: Collection[str]) -> Odds | None:
        """Give the odds of a folded text, of those topics; None of what it cannot judge.

        That is a text without a letter or longer than `MAX_READ`, and any where it knows none of the topics.
        """
        columns = [n for n, name in enumerate(self.classes) if name in topics and name != NONE]
        if not columns or len(text) > MAX_READ or not any(map(str.isalpha, text)):
            return None
        found = pieces(text)
        rows = [bucket(piece) for piece in found]
        unique = sorted(set(rows))
        length = math.sqrt(len(unique) or 1)
        scores = self.weights[unique].sum(axis=0, dtype=np.int64) * (self.unit / length) + self.bias
        rest = [n for n in range(len(self.classes)) if n not in columns]
        best = max(columns, key=lambda n: scores[n])
        gains = self.weights[rows, best].astype(np.int64) - self.weights[rows, self.classes.index(NONE)]
        telling = sorted((-int(gain), piece) for gain, piece in zip(gains, found, strict=True) if gain > 0)
        words = tuple(piece for _, piece in telling if not piece.startswith("<"))[:_TELLING]
        return Odds(_sum_of_powers(scores[columns]) - _sum_of_powers(scores[rest]), self.classes[best], words)

    def to_bytes(self) -> bytes:
        """Give the stored form: a compressed archive of numpy."""
        out = io.BytesIO()
        np.savez_compressed(out, classes=np.array(self.classes), weights=self.weights, unit=self.unit, bias=self.bias)
        return out.getvalue()


def model_from(stored: bytes) -> Model:
    """Give a model again."""
    with np.load(io.BytesIO(stored), allow_pickle=False) as held:
        return Model(tuple(map(str, held["classes"])), held["weights"], float(held["unit"]), held["bias"])


@once
def load_model(language: str) -> Model:
    """Give the weights that are installed with the package, ``en`` or ``zh``."""
    return model_from(files(__package__).joinpath(f"{language}.npz").read_bytes())


def _sum_of_powers(scores: NDArray[np.float64]) -> float:
    top = float(scores.max())
    return top + math.log(float(np.exp(scores - top).sum()))
