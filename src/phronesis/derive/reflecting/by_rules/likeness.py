"""How alike memories are: by behaviours and telling words that they share, and by an encoder's cosines."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import log
from typing import Final

import numpy as np
import numpy.typing as npt

from phronesis.derive.reflecting.by_rules.nearness import Floats, apart, centred, sharing, standard
from phronesis.derive.reflecting.by_rules.reading import STATED, Reading
from phronesis.derive.reflecting.by_rules.tables import the_tables

Cosine = Callable[[Sequence[str]], Floats]
"""Gives the matrix of cosines of the vectors of ids; NaN in rows and columns of those that have none."""

SAME_BEHAVIOUR: Final = 0.8
BEHAVIOUR_HELPED: Final = 0.5
SAME_DOMAIN: Final = 0.15
SAME_SITUATION: Final = 0.12
SAME_WORD: Final = 0.6
"""What two memories share, and how alike it makes them. A word's share is that of the rarest there could be (idf of
one in all, Sparck Jones 1972). Fitted on labelled users (``phronesis bench traits``), with their tables and without
any. With an encoder a behaviour counts less, for tables misread what they do not know, and words count nothing beside
what it says: what shares a word and no meaning is as common as what shares both."""

DEVIATION: Final = 0.45
"""Weight of a standard deviation of the user's cosines. What two memories share counts in full from one deviation
above their mean, and not at all below it: they are of different things whatever they share."""

SPELT: Final = 0.8
"""What the same behaviour counts where pieces of words are compared: in full, whatever the pieces say."""

SAME_SESSION: Final = 2.0
OTHER_KIND: Final = 0.5
"""By how many deviations memories of one session are less alike, and one of what is so and one of what was done. What
is said in one session is one occasion, and near for that alone: of 755 pairs of one session of the readable labelled
users, one was of one trait, of other pairs nine in a hundred. With both, and neighbours shared after them, the average
precision of pairs rose from .59 to .67, each author's by .04 or more; nearly the same with twice as much."""

HABIT: Final = 4
"""Memories of one trait, the latest, that are compared with as the rest are."""

MAX_COMPARED: Final = 5_000
"""Memories whose cosines are asked for at once: 100 MB."""

COMMON: Final = 0.2
"""Share of the memories beyond which a word says nothing."""


@dataclass(frozen=True, slots=True)
class Likeness:
    """Compares memories by their places in a sequence."""

    weights: Sequence[Mapping[str, float]]
    holders: Mapping[str, tuple[npt.NDArray[np.intp], Floats]]
    alike: Floats | None
    """How alike all are, where there is an encoder; else `row` works it out."""

    _rows: dict[int, Floats] = field(default_factory=dict)

    def row(self, one: int) -> Floats:
        """Give how alike a memory is to every memory, 0 where nothing is shared, about 1 for the same behaviour.

        Time goes with what is shared (an inverted index); a row is worked out once. It is not to be written to.
        """
        known = self._rows.get(one)
        if known is None:
            known = self._rows[one] = self._row(one) if self.alike is None else self.alike[one]
            known.flags.writeable = False
        return known

    def mean(self, one: int, others: Sequence[int]) -> float:
        """Give how alike a memory is to several."""
        return float(self.row(one)[others].mean())

    def _row(self, one: int) -> Floats:
        out = np.zeros(len(self.weights), np.float32)
        for name, weight in self.weights[one].items():
            those, given = self.holders[name]
            out[those] += np.minimum(given, np.float32(weight))
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
            if word and 1 < counts[stem] <= max(6.0, COMMON * len(readings)):
                rarity = log((1.0 + len(readings)) / counts[stem]) / rarest
                held[f"w:{stem}"] = word * rarity
        out.append(held)
    return out


def likeness_of(
    readings: Sequence[Reading],
    cosine: Cosine | None,
    habits: Iterable[Sequence[int]] = (),
    *,
    spelt: bool = False,
) -> Likeness:
    """Prepare the comparison of memories. Where too few have vectors, it goes by the words that they share.

    ``habits`` are the places of memories that show what is known already. Of each, `HABIT` are part of the ground that
    others are seen against: what somebody does every day is not what all their days are like.
    """
    given = None
    if cosine is not None and 0 < len(readings) <= MAX_COMPARED:
        ground = np.ones(len(readings), np.bool_)
        for habit in habits:
            ground[list(habit)[: max(0, len(habit) - HABIT)]] = False
        left = centred(np.asarray(cosine([one.id for one in readings]), np.float32), readings, ground)
        given = None if np.isnan(left).all() else standard(apart(left, ground), ground)
    weights = (
        features(readings, word=SAME_WORD) if given is None
        else features(readings, word=0.0, behaviour=SPELT if spelt else BEHAVIOUR_HELPED)
    )  # fmt: skip
    places: dict[str, list[int]] = {}
    for n, held in enumerate(weights):
        for name in held:
            places.setdefault(name, []).append(n)
    holders = {
        name: (np.array(those, np.intp), np.array([weights[n][name] for n in those], np.float32))
        for name, those in places.items()
    }
    return Likeness(weights, holders, None if given is None else _together(given, readings, holders, spelt=spelt))


def _together(
    deviations: Floats, readings: Sequence[Reading], holders: Mapping[str, tuple[npt.NDArray[np.intp], Floats]], *,
    spelt: bool,
) -> Floats:  # fmt: skip
    """Give how alike memories are by vectors, tables, sessions and kinds, and by the neighbours that they share so."""
    unknown = np.isnan(deviations)
    known = np.where(unknown, np.float32(0.0), deviations)
    shared = np.zeros_like(known)
    for those, given in holders.values():
        shared[np.ix_(those, those)] += np.minimum(given[:, None], given[None, :])
    heard = np.float32(1.0) if spelt else np.where(unknown, np.float32(1.0), np.clip(known, 0.0, 1.0))
    out = known + shared * heard / np.float32(DEVIATION)
    stated = np.array([one.kind in STATED and not one.habit for one in readings])
    out -= np.float32(OTHER_KIND) * (stated[:, None] != stated[None, :])
    sessions: dict[str, list[int]] = {}
    for n, one in enumerate(readings):
        sessions.setdefault(one.place, []).append(n)
    for held in sessions.values():
        out[np.ix_(held, held)] -= np.float32(SAME_SESSION)
    return np.asarray(DEVIATION * sharing(np.asarray(out, np.float32)), np.float32)
