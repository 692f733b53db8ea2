"""Which memories show the user doing something: how likely each does, by its words and what the tables say of it.

What is known of people besides (a birthday, a new floor of the office, what a sister does) is most of what is told, and
near to what they do in words and meaning: grouped with it, it makes traits that are none. It was told apart by marks in
the tables alone, each of which barred a memory: with seven authors whom nobody had tuned on, a fifth of the traits had
fewer than three memories left (docs/decisions/18-reflection.md).

It is logistic regression on the pieces of the text (`word_pieces`, each text's row of length 1) and on the marks,
fitted by ``phronesis bench showing`` on the labelled users (labelled/traits), of all authors but the unread.
Weights of pieces are small integers. Kinds count by how they differ from the user's others, and half: the weights are
the mean of two fits, one of which saw no kinds, for authors and systems call the same a fact or an episode.
"""

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Final

import numpy as np
import numpy.typing as npt

from phronesis.core.lazy_loading import load_once
from phronesis.models.text_features import language_of, normalise_text, rows_of
from phronesis.traits.by_rules.reading import MemoryFeatures

Floats = npt.NDArray[np.float64]

SHOWN: Final = -0.5
"""Log odds above which a memory may show a behaviour: what is as likely as not does, if others show the same."""

USUAL: Final = -0.45
RELATIVE_TO_USER: Final = 0.75
"""The mean of the odds of labelled users' memories, and the share by which another mean of a user's is taken away:
short plain sentences ("Went for a swim.") all have lower odds than long ones. With the whole difference more is found
of labelled users, who all have four habits, and more wrongly of who has none: without the members of their traits, 9,
14, 18 and 24 traits of 208 users with none, half, three quarters and all of it."""

KNOWN: Final = 1.0
"""By how much the odds may be lower where an everyday behaviour is named for sure and nothing is said against it."""

MAX_READ: Final = 400
"""Characters of a memory that are weighed: it is a sentence."""

KINDS: Final = ("fact", "episodic", "preference", "event")
MARKS: Final = (
    *KINDS,
    "unshown",
    "other",
    "once",
    "supposed",
    "stance",
    "joke",
    "quoted",
    "static",
    "ended",
    "negated",
    "habit",
    "named",
    "sure",
    "situated",
)
"""What is weighed beside the text, in the order of the weights. The first five are told from the user's mean."""

RELATIVE: Final = 5


@dataclass(frozen=True, slots=True)
class BehaviourClassifier:
    """The weights of one language: of pieces, in units of ``unit``, and of `MARKS`."""

    weights: npt.NDArray[np.int8]
    unit: float
    marks: Floats
    bias: float

    def odds(self, text: str, marks: Floats) -> float:
        """Return the log odds of a folded text with its marks."""
        rows = rows_of(text)
        told = int(self.weights[rows].sum(dtype=np.int64)) * self.unit / math.sqrt(len(rows) or 1)
        return told + float(np.round(marks @ self.marks, 6)) + self.bias

    def to_bytes(self) -> bytes:
        """Return the stored form: a compressed archive of numpy."""
        out = io.BytesIO()
        np.savez_compressed(out, weights=self.weights, unit=self.unit, marks=self.marks, bias=self.bias)
        return out.getvalue()


def showing_from(stored: bytes) -> BehaviourClassifier:
    """Return the weights again."""
    with np.load(io.BytesIO(stored), allow_pickle=False) as held:
        return BehaviourClassifier(held["weights"], float(held["unit"]), held["marks"], float(held["bias"]))


Models = Mapping[str, BehaviourClassifier]
"""Weights by language."""


@load_once
def load_showing(language: str) -> BehaviourClassifier:
    """Return the weights that are installed with the package, ``en`` or ``zh``."""
    return showing_from(files(__package__).joinpath(f"showing_{language}.npz").read_bytes())


def shows(one: MemoryFeatures, *, weighed: bool) -> bool:
    """Return whether a memory may show a behaviour of the user's.

    Where its odds are ``weighed``, they decide, and less will do where the tables know what is done; of few memories,
    with which nothing can be compared but words, whether anything is said against it.
    """
    if one.barred is not None:
        return False
    plain = not one.marks and not one.ended
    if not weighed:
        return plain
    known = plain and max(one.surely.values(), default=0.0) >= 1.0
    return one.odds > SHOWN - KNOWN * known


def marks_of(readings: Sequence[MemoryFeatures]) -> Floats:
    """Return the marks of a user's memories, a row each."""
    rows = np.array([list(_marks(one)) for one in readings], np.float64).reshape(len(readings), len(MARKS))
    if len(rows):
        rows[:, :RELATIVE] -= rows[:, :RELATIVE].mean(axis=0)
    return rows


def with_odds(readings: Sequence[MemoryFeatures], models: Models | None = None) -> list[MemoryFeatures]:
    """Return the readings of a user's memories with their odds. ``models`` stand in for those that are installed."""
    odds = []
    for one, marks in zip(readings, marks_of(readings), strict=True):
        seen = normalise_text(one.text[:MAX_READ])
        language = language_of(seen)
        model = load_showing(language) if models is None else models[language]
        odds.append(model.odds(seen, marks))
    own = RELATIVE_TO_USER * (sum(odds) / max(1, len(odds)) - USUAL)
    return [replace(one, odds=round(given - own, 4)) for one, given in zip(readings, odds, strict=True)]


def _marks(one: MemoryFeatures) -> Iterable[float]:
    yield from (one.kind == kind for kind in KINDS)
    yield from (mark in one.marks for mark in MARKS[RELATIVE - 1 : MARKS.index("ended")])
    yield from (one.ended, one.negated, one.habit, bool(one.behaviours))
    yield max(one.surely.values(), default=0.0)
    yield bool(one.situations)
