"""How alike memories are: by behaviours and telling words that they share, and by an encoder's cosines."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Final

import numpy as np
import numpy.typing as npt

from phronesis.derive.reflecting.by_rules.reading import Reading
from phronesis.derive.reflecting.by_rules.tables import the_tables

Floats = npt.NDArray[np.float32]
Cosine = Callable[[Sequence[str]], Floats]
"""Gives the matrix of cosines of the vectors of ids; NaN in rows and columns of those that have none."""

SAME_BEHAVIOUR: Final = 0.8
BEHAVIOUR_HELPED: Final = 0.5
SAME_DOMAIN: Final = 0.15
SAME_SITUATION: Final = 0.12
SAME_WORD: Final = 0.2
WORD_ALONE: Final = 0.6
"""What two memories share, and how alike it makes them. A word's share is that of the rarest there could be (idf of
one in all, Sparck Jones 1972). Fitted on labelled users (``phronesis bench
traits``), with their tables and without any. Where no encoder tells more, a word counts three times as much and a
behaviour in full: tables misread what they do not know."""

COSINE: Final = 3.3
"""Weight of a centred cosine: .2 is much, .3 the same again."""

APART: Final = -0.04
GRADUAL: Final = 0.1
"""Below the first centred cosine two memories are of different things whatever words they share; above the sum of the
two, what they share counts in full."""

SURROUNDINGS: Final = 1.4
NEAREST: Final = 8
"""How much of a memory's likeness to so many nearest is taken away."""

LEAST_CENTRED: Final = 8
"""Vectors of one language that make a mean worth subtracting."""

MAX_COMPARED: Final = 5_000
"""Memories whose cosines are asked for at once: 100 MB."""

COMMON: Final = 0.2
"""Share of the memories beyond which a word says nothing."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """Compares memories by their places in a sequence."""

    weights: Sequence[Mapping[str, float]]
    holders: Mapping[str, tuple[npt.NDArray[np.intp], Floats]]
    cosines: Floats | None
    _rows: dict[int, Floats] = field(default_factory=dict)

    def row(self, one: int) -> Floats:
        """Give how alike a memory is to every memory, 0 where nothing is shared, about 1 for the same behaviour.

        Time goes with what is shared (an inverted index); a row is worked out once. It is not to be written to.
        """
        known = self._rows.get(one)
        if known is None:
            known = self._rows[one] = self._row(one)
            known.flags.writeable = False
        return known

    def mean(self, one: int, others: Sequence[int]) -> float:
        """Give how alike a memory is to several."""
        return float(self.row(one)[others].mean())

    def cohesion(self, members: Sequence[int]) -> float:
        """Give the least mean of a member's cosines with the others, as they are left; 1 where there are none."""
        if self.cosines is None:
            return 1.0
        among = self.cosines[np.ix_(members, members)].copy()
        known = ~np.isnan(np.diagonal(among))
        if known.sum() < 2:  # noqa: PLR2004 - a pair
            return 1.0
        among = among[np.ix_(known, known)]
        return float(((among.sum(axis=1) - np.diagonal(among)) / (len(among) - 1)).min())

    def _row(self, one: int) -> Floats:
        out = np.zeros(len(self.weights), np.float32)
        for name, weight in self.weights[one].items():
            those, given = self.holders[name]
            out[those] += np.minimum(given, np.float32(weight))
        if self.cosines is not None:
            cosines = self.cosines[one]
            unknown = np.isnan(cosines)
            share = np.where(unknown, 1.0, np.clip((cosines - APART) / GRADUAL, 0.0, 1.0))
            out = (out * share + COSINE * np.where(unknown, 0.0, cosines)).astype(np.float32)
        return out


def features(readings: Sequence[Reading], *, word: float, behaviour: float = SAME_BEHAVIOUR) -> list[dict[str, float]]:
    """Give what each memory can share with others, with its weight; ``word`` is that of the rarest word."""
    counts = Counter(stem for one in readings for stem in one.stems)
    rarest = log(1.0 + len(readings))
    tables = the_tables()
    out = []
    for one in readings:
        held = {f"b:{name}": behaviour * surely for name, surely in one.surely.items()}
        for name, surely in one.surely.items():
            domain = f"d:{tables.behaviours[name].domain}"
            held[domain] = max(held.get(domain, 0.0), SAME_DOMAIN * surely)
        held |= {f"s:{name}": SAME_SITUATION for name in one.situations}
        for stem in one.stems:
            if 1 < counts[stem] <= max(6.0, COMMON * len(readings)):
                rarity = log((1.0 + len(readings)) / counts[stem]) / rarest
                held[f"w:{stem}"] = word * rarity
        out.append(held)
    return out


def centred(cosines: Floats, readings: Sequence[Reading]) -> Floats:
    """Give the cosines that are left when the mean of each language's vectors is taken away, NaN where there is none.

    Encoders put all texts of one language and manner near each other; what is left says what they are about. The Gram
    matrix is enough for it: H K H with H = I - 1/n (Schölkopf, Smola & Müller 1998, kernel principal components).
    """
    known = ~np.isnan(np.diagonal(cosines))
    gram = np.where(known[:, None] & known[None, :], cosines, 0.0).astype(np.float32)
    codes = np.array([one.code for one in readings])
    share = np.zeros((len(readings), 2), np.float32)
    for n, code in enumerate(("en", "zh")):
        mine = known & (codes == code)
        if mine.sum() >= LEAST_CENTRED:
            share[mine, n] = 1.0
        else:
            known &= ~mine
    sizes = np.maximum(share.sum(axis=0), 1.0)
    means = (gram @ share) / sizes  # of each vector with the mean of each language
    between = (share.T @ means) / sizes[:, None]
    left = gram - share @ means.T - means @ share.T + share @ between @ share.T
    length = np.sqrt(np.maximum(np.diagonal(left), 1e-6))
    left /= length[:, None] * length[None, :]
    return np.where(known[:, None] & known[None, :], left, np.nan).astype(np.float32)


def apart(left: Floats) -> Floats:
    """Give centred cosines less what each memory has of them with its nearest anyway.

    Some vectors are near to many others; what counts is how much nearer two are than their surroundings. It is
    cross-domain similarity local scaling (Conneau et al. 2018, CSLS) about its own mean, so that the level stays.
    """
    known = ~np.isnan(np.diagonal(left))
    size = int(known.sum())
    if size <= NEAREST:
        return left
    others = np.where(known[:, None] & known[None, :], left, -1.0)
    np.fill_diagonal(others, -1.0)
    nearest = np.partition(others, -NEAREST, axis=1)[:, -NEAREST:].mean(axis=1)
    excess = np.where(known, nearest - nearest[known].mean(), 0.0) * (SURROUNDINGS / 2)
    return (left - excess[:, None] - excess[None, :]).astype(np.float32)


def likeness_of(readings: Sequence[Reading], cosine: Cosine | None) -> Likeness:
    """Prepare the comparison of memories."""
    given = None
    if cosine is not None and 0 < len(readings) <= MAX_COMPARED:
        given = apart(centred(np.asarray(cosine([one.id for one in readings]), np.float32), readings))
    weights = (
        features(readings, word=WORD_ALONE) if given is None
        else features(readings, word=SAME_WORD, behaviour=BEHAVIOUR_HELPED)
    )  # fmt: skip
    places: dict[str, list[int]] = {}
    for n, held in enumerate(weights):
        for name in held:
            places.setdefault(name, []).append(n)
    holders = {
        name: (np.array(those, np.intp), np.array([weights[n][name] for n in those], np.float32))
        for name, those in places.items()
    }
    return Likeness(weights, holders, given)
