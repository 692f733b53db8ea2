"""From ranked places to hits: the best row of each item, diversified by session and document; and merging of stores."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from phronesis.core.results import SearchResult
from phronesis.core.retrieval_plan import Store
from phronesis.recall.deduplication import COVERED, MENTIONED, OUTLYING, TIMED, Part, candidates_of
from phronesis.recall.scoring.lane_arrays import Floats, Layout
from phronesis.recall.scoring.ranking import Ranked
from phronesis.recall.scoring.signals import Signals
from phronesis.recall.scoring.weights import at_least, diversify, on_scale
from phronesis.store.document_tables import HOMES, home_of

# Signals of one place that mean the same in every scope.


def signals_at(signals: Signals, place: int) -> dict[str, float]:
    """Return the signals of a place by name, without zero ones."""
    covered = float(signals.coverage[place]) * signals.known
    if signals.further is not None:
        covered = max(covered, float(signals.further.covered[place]))
    out = {COVERED: covered}
    lane = signals.lane
    if signals.dense is not None and lane.embedded is not None and lane.embedded[place]:
        out[OUTLYING] = float(signals.dense[place])
    times = [one[place] for one in (signals.within, signals.happened) if one is not None]
    if times:
        out[TIMED] = float(max(times))
    if lane.mention is not None:
        out[MENTIONED] = float(lane.mention[place])
    return {name: round(value, 6) for name, value in out.items() if value}


CROWDED: Final = "crowding"
"""The name in `why` of the penalty for better results of the same session or document."""

_Scored = tuple[float, int, int, int, int, int]
"""A candidate: score, lane, place, index among the lane's candidates, row, and first place of its session."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A found row; ``others`` are further matching rows of its item, where requested.

    ``base`` is its score without bonuses; ``told`` holds the signals reported to a plan (``recall.hits``).
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
        """Return whether it contains a word of the question, or stands out by similarity."""
        return self.coverage > 0.0 or self.shares.get("dense", 0.0) > 0.0


@dataclass(frozen=True, slots=True)
class Choice:
    """Limits of hit selection: how many, the crowding penalty per session, and whether to report ``every`` row."""

    limit: int
    crowding: float
    every: bool = False


def best_hits(
    lanes: Sequence[tuple[Layout, Sequence[str]]], signals: Sequence[Signals], ranked: Sequence[Ranked], choice: Choice
) -> list[Hit]:
    """Return the best rows, one for each item, after the crowding penalty; of equals the later one first.

    ``lanes`` are layouts, each with the item ids of its rows.
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
    picked = diversify([one[0] for one in leading], groups, crowding=choice.crowding, limit=choice.limit)
    more = [found[1:] for found in best.values()] if choice.every else None
    told = [_ReportedValues.of(*one) for one in zip(signals, ranked, strict=True)]

    def others(at: int) -> list[Hit]:
        made = (told[found[1]].hit(found) for found in more[at]) if more is not None else ()
        return [one for one in made if one.met]

    return [told[leading[at][1]].hit(leading[at], loss, others(at)) for at, loss in picked]


@dataclass(frozen=True, slots=True)
class _ReportedValues:
    """Reported values of a lane's candidates: one row of ``table`` each, shares in the order of names."""

    signals: Signals
    ranked: Ranked
    names: Sequence[str]
    table: Floats

    @classmethod
    def of(cls, signals: Signals, ranked: Ranked) -> "_ReportedValues":
        return cls(signals, ranked, list(ranked.shares), np.stack(list(ranked.shares.values()), axis=1))

    def hit(self, found: _Scored, loss: float = 0.0, others: Sequence[Hit] = ()) -> Hit:
        score, n, place, at, row, _ = found
        shares = dict(zip(self.names, self.table[at].tolist(), strict=True))
        if loss:
            shares[CROWDED] = -loss
        return Hit(
            n,
            row,
            score - loss,
            float(self.ranked.base[at]) - loss,
            shares,
            float(self.signals.coverage[place]),
            _cosine(self.signals, place),
            signals_at(self.signals, place),
            others,
        )


def _cosine(signals: Signals, place: int) -> float | None:
    dense, embedded = signals.lane.dense, signals.lane.embedded
    return float(dense[place]) if dense is not None and embedded is not None and embedded[place] else None


# Which stores a search covers, and how their results are merged.


def stores_of(kinds: Sequence[str] | None) -> tuple[Store, ...]:
    """Return the stores that hold some kinds; all of them if none are named. Memory comes first."""
    named = {home_of(kind).store for kind in kinds} if kinds else {home.store for home in HOMES}
    return tuple(home.store for home in HOMES if home.store in named)


def merge_stores(results: Mapping[Store, SearchResult], limit: int, *, explain: bool) -> SearchResult:
    """Return the merged results of several stores, by relevance; abstained if all did.

    The results' signals stay in ``why`` only with ``explain``; ``score`` is the relevance, 0 to 1.
    """
    parts = [Part(store, store, result.evidence, result.abstained) for store, result in results.items()]
    ranked = [replace(one.evidence, score=round(one.relevance, 6)) for one in candidates_of(parts)[:limit]]
    told: dict[str, Any] = {store: result.explain for store, result in results.items() if result.explain is not None}
    abstained = all(result.abstained for result in results.values())
    result = SearchResult(
        on_scale(ranked, abstained=abstained),
        abstained=abstained,
        explain=told or None,
        degraded=tuple(dict.fromkeys(one for result in results.values() for one in result.degraded)),
        channels=tuple(sorted({one for found in results.values() for one in found.channels})),
    )
    return result if explain else without_why(result)


def drop_below(result: SearchResult, least: float | None) -> SearchResult:
    """Return a result without scores below ``least``; if nothing is left, it abstains."""
    if least is None:
        return result
    kept = at_least(result.evidence, least)
    return replace(result, evidence=kept, abstained=result.abstained or not kept)


def without_why(result: SearchResult) -> SearchResult:
    """Return a result whose evidence has no ``why``."""
    return replace(result, evidence=tuple(replace(one, why=None) for one in result))
