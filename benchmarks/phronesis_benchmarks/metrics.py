"""How well a ranking finds the evidence of a question, with the interval that the number of questions allows."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

CUTOFFS: Final = (1, 5, 10, 20)
DEPTH: Final = max(CUTOFFS)
"""How many turns a system is asked for."""

METRICS: Final = (
    *(f"recall@{cutoff}" for cutoff in CUTOFFS),
    *(f"hit@{cutoff}" for cutoff in CUTOFFS),
    "mrr",
    "ndcg@10",
)
OVERALL: Final = "all"

_GAIN_DEPTH: Final = 10
_RESAMPLES: Final = 2000
_LEVEL: Final = 0.95


@dataclass(frozen=True, slots=True)
class Ranking:
    """What one system answered to one question, and how it scored: a number from 0 to 1 for each of ``METRICS``."""

    conversation_id: str
    question_id: str
    category: str
    ranked: tuple[str, ...]
    evidence: tuple[str, ...]
    scores: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over ``count`` questions, with its 95 % bootstrap interval (percentiles, questions resampled)."""

    mean: float
    low: float
    high: float
    count: int

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain JSON values."""
        return asdict(self)


def distinct(ids: Iterable[str]) -> tuple[str, ...]:
    """Return the ids in order, each one at its best rank only."""
    return tuple(dict.fromkeys(ids))


def score(ranked: Sequence[str], evidence: Sequence[str]) -> dict[str, float]:
    """Return each of ``METRICS`` for one ranking, best first, against the turns that are the evidence.

    recall@k: share of the evidence in the first k. hit@k: 1 if any of it is there. mrr: 1 / rank of the first one,
    0 if none was returned. ndcg@10: binary gains, discount log2(rank + 1) (Järvelin and Kekäläinen 2002).
    ``evidence`` must not be empty.
    """
    order = distinct(ranked)
    gold = frozenset(evidence)
    ranks = [rank for rank, turn_id in enumerate(order, start=1) if turn_id in gold]
    scores = {}
    for cutoff in CUTOFFS:
        found = sum(rank <= cutoff for rank in ranks)
        scores[f"recall@{cutoff}"] = found / len(gold)
        scores[f"hit@{cutoff}"] = float(found > 0)
    scores["mrr"] = 1 / ranks[0] if ranks else 0.0
    ideal = sum(_gain(rank) for rank in range(1, min(len(gold), _GAIN_DEPTH) + 1))
    scores["ndcg@10"] = sum(_gain(rank) for rank in ranks if rank <= _GAIN_DEPTH) / ideal
    return scores


def _gain(rank: int) -> float:
    return 1 / math.log2(rank + 1)


def summarise(rankings: Sequence[Ranking], *, seed: int) -> dict[str, dict[str, Estimate]]:
    """Return category → metric → Estimate, with ``"all"`` first; the same ``seed`` gives the same intervals."""
    groups = {OVERALL: list(rankings)}
    for name in sorted({ranking.category for ranking in rankings}):
        groups[name] = [ranking for ranking in rankings if ranking.category == name]
    return {name: _estimate_all(group, seed) for name, group in groups.items() if group}


def paired_difference(first: Sequence[Ranking], second: Sequence[Ranking], metric: str, *, seed: int) -> Estimate:
    """Return the mean of ``second`` minus ``first`` over the questions that both answered, with its interval.

    There must be at least one such question.
    """
    base = {ranking.question_id: ranking.scores[metric] for ranking in first}
    changes = [[row.scores[metric] - base[row.question_id]] for row in second if row.question_id in base]
    return _bootstrap(np.asarray(changes), seed)[0]


def _estimate_all(rankings: Sequence[Ranking], seed: int) -> dict[str, Estimate]:
    table = np.asarray([[ranking.scores[metric] for metric in METRICS] for ranking in rankings])
    return dict(zip(METRICS, _bootstrap(table, seed), strict=True))


def _bootstrap(table: NDArray[np.float64], seed: int) -> list[Estimate]:
    """Return an Estimate for each column of a (questions, columns) table."""
    count = len(table)
    draws = np.random.default_rng(seed).integers(0, count, (_RESAMPLES, count))
    weights = np.stack([np.bincount(draw, minlength=count) for draw in draws]) / count
    means = weights @ table
    tail = (1 - _LEVEL) / 2
    low, high = np.quantile(means, [tail, 1 - tail], axis=0)
    return [
        Estimate(float(mean), float(down), float(up), count)
        for mean, down, up in zip(table.mean(axis=0), low, high, strict=True)
    ]
