"""From ranked places to hits: the best row of each item, spread over sessions and documents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from phronesis.core.fusion.signals import signals_at
from phronesis.core.scoring.arrays import Floats
from phronesis.core.scoring.diversity import diversified
from phronesis.core.scoring.layout import Layout
from phronesis.core.scoring.ranking import Ranked
from phronesis.core.scoring.signals import Signals

CROWDED: Final = "crowding"
"""What `why` calls the share that was taken off for better results of the same session or document."""

_Scored = tuple[float, int, int, int, int, int]
"""A candidate: its score, its lane, its place, where it stands among the lane's candidates, its row, and the first
place of its session."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A found row; ``others`` are further rows of its item that met the question, where they are asked for.

    ``base`` is its score without bonuses, ``told`` what a plan is told of it (``core.fusion.signals``).
    """

    lane: int
    row: int
    score: float
    base: float
    shares: Mapping[str, float]
    coverage: float
    cosine: float | None
    told: Mapping[str, float]
    others: Sequence["Hit"] = ()

    @property
    def met(self) -> bool:
        """Whether it holds a word of the question, or stands out by its meaning."""
        return self.coverage > 0.0 or self.shares.get("dense", 0.0) > 0.0


@dataclass(frozen=True, slots=True)
class Choice:
    """How many hits are wanted, what each loses for better ones of its session, and whether ``every`` row is told."""

    limit: int
    crowding: float
    every: bool = False


def best_hits(
    lanes: Sequence[tuple[Layout, Sequence[str]]], signals: Sequence[Signals], ranked: Sequence[Ranked], choice: Choice
) -> list[Hit]:
    """Give the best rows, one for each item, less what crowding takes off; of equals the one said later first.

    ``lanes`` are laid out, each with the ids of its rows' items.
    """
    places = np.concatenate([one.places for one in ranked])
    scores = np.concatenate([one.scores for one in ranked])
    sizes = [len(one.places) for one in ranked]
    lane_of, at = np.repeat(np.arange(len(lanes)), sizes), np.concatenate([np.arange(size) for size in sizes])
    laid = [(layout, one.places) for (layout, _), one in zip(lanes, ranked, strict=True)]
    rows = np.concatenate([layout.rows[there] for layout, there in laid])
    firsts = np.concatenate([layout.first[there] for layout, there in laid])
    order = np.lexsort((-places, lane_of, -scores))
    columns = (scores, lane_of, places, at, rows, firsts)
    named = [item_ids for _, item_ids in lanes]
    best: dict[str, list[_Scored]] = {}
    for found in zip(*(column[order].tolist() for column in columns), strict=True):
        best.setdefault(named[found[1]][found[4]], []).append(found)
    leading = [found[0] for found in best.values()]
    groups = [(one[1], one[5]) for one in leading]
    picked = diversified([one[0] for one in leading], groups, crowding=choice.crowding, limit=choice.limit)
    more = [found[1:] for found in best.values()] if choice.every else None
    told = [_Told.of(*one) for one in zip(signals, ranked, strict=True)]

    def others(at: int) -> list[Hit]:
        made = (told[found[1]].hit(found) for found in more[at]) if more is not None else ()
        return [one for one in made if one.met]

    return [told[leading[at][1]].hit(leading[at], loss, others(at)) for at, loss in picked]


@dataclass(frozen=True, slots=True)
class _Told:
    """What there is to tell of a lane's candidates: a line of ``table`` for each, its shares in the order of names."""

    signals: Signals
    ranked: Ranked
    names: Sequence[str]
    table: Floats

    @classmethod
    def of(cls, signals: Signals, ranked: Ranked) -> "_Told":
        return cls(signals, ranked, list(ranked.shares), np.stack(list(ranked.shares.values()), axis=1))

    def hit(self, found: _Scored, loss: float = 0.0, others: Sequence[Hit] = ()) -> Hit:
        score, n, place, at, row, _ = found
        shares = dict(zip(self.names, self.table[at].tolist(), strict=True))
        if loss:
            shares[CROWDED] = -loss
        return Hit(
            n, row, score - loss, float(self.ranked.base[at]) - loss, shares, float(self.signals.coverage[place]),
            _cosine(self.signals, place), signals_at(self.signals, place), others,
        )  # fmt: skip


def _cosine(signals: Signals, place: int) -> float | None:
    dense, embedded = signals.lane.dense, signals.lane.embedded
    return float(dense[place]) if dense is not None and embedded is not None and embedded[place] else None
