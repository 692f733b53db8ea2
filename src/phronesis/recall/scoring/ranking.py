"""Ranking the places of a scope: candidates by a coarse score, then the formula on the candidates, then bonuses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from phronesis.recall.scoring.features import FEATURES
from phronesis.recall.scoring.lane_arrays import Floats, Mask, Rows, best_of
from phronesis.recall.scoring.packed_features import (
    BONUSES,
    NO_IMPORTANCE,
    SAID,
    bonus_shares,
    importance_bonus,
    recency,
    trait_boost,
)
from phronesis.recall.scoring.signals import Question, Signals
from phronesis.recall.scoring.weights import COARSE_DENSE, Formula

CANDIDATES: Final = 200
"""Number of places that the formula scores: hardly any evidence was found beyond them."""

NEIGHBOUR: Final = 0.3
SECOND_NEIGHBOUR: Final = 0.2
"""Weights of the coarse score, in standard deviations; a word of the text itself and a speaker count 1.

The weight of the cosine is the formula's.
"""

BY_KEY: Final = 100.0
"""Coarse weight of the requested key: more than any word, for these few items hold the answer."""

FURTHER: Final = "wordings"
WITHIN: Final = "window"
HAPPENED: Final = "happened"
"""Names in ``why`` of the shares of query expansion, of the time window, and of a time that the text names."""

IN_WINDOW: Final = 1.0
"""Weight of a match with the plan's time window, in standard deviations.

Less than half of that for a text that also matches the question's words (``weights``, ``date_covered``), so that it
decides among equals and when a question has no words of its own ("what happened last week?").
"""


AT_THE_TIME: Final = 1.5
ALONE_AT_THE_TIME: Final = 4.0
"""Weights, in standard deviations, of a text about a time that the question names.

``ALONE_AT_THE_TIME`` is added, divided among the question's other terms: "What happened on March 4?" asks for little
else. On four of LoCoMo's dev conversations, without an encoder, recall@10 is .799 without them, .804 with 2 and 0, .806
with these and with 2 and 4; recall@1 .508, .507, .505 and .502.
"""


@dataclass(frozen=True, slots=True)
class Ranked:
    """The candidates of one lane: scores, and the share of each feature and bonus in them.

    ``base`` is the sum of features times weights; ``scores`` include the bonuses.
    """

    places: Rows
    base: Floats
    scores: Floats
    shares: Mapping[str, Floats]


def at_the_time(question: Question) -> np.float32:
    """Return the weight of a text about a time that the question names."""
    return np.float32(AT_THE_TIME + ALONE_AT_THE_TIME / max(1, question.others))


def coarse_scores(signals: Signals, *, dense: float = COARSE_DENSE) -> Floats:
    """Return for every place z(BM25) + .3 of each neighbour's + .2 of each second one's + speaker (+ z(cosine)).

    The cosine's weight is ``dense``. Items under the requested key are always among the candidates.
    """
    layout, z = signals.lane.layout, signals.words
    out = z.copy()
    if not layout.apart:
        out += np.float32(NEIGHBOUR) * (layout.shifted(z, -1) + layout.shifted(z, 1))
        out += np.float32(SECOND_NEIGHBOUR) * (layout.shifted(z, -2) + layout.shifted(z, 2))
    for more in (signals.lane.speaker, signals.lane.mention):
        if more is not None:
            out += more
    if signals.lane.key is not None:
        out += np.float32(BY_KEY) * signals.lane.key
    if signals.dense is not None:
        out += np.float32(dense) * signals.dense
    if signals.further is not None:
        out += signals.further.z
    if signals.within is not None:
        out += np.float32(IN_WINDOW) * signals.within
    if signals.happened is not None:
        out += at_the_time(signals.question) * signals.happened
    return out


def supported_places(signals: Signals) -> Mask:
    """Return the places with any support: a word nearby, a vector, a name, a key. Others are not shown."""
    found = signals.touched.copy()
    lane = signals.lane
    if lane.embedded is not None:
        found |= lane.embedded
    for named in (lane.speaker if lane.by_name else None, lane.mention, lane.key):
        if named is not None:
            found |= named > 0
    if signals.further is not None:
        found |= signals.further.covered > 0
    if signals.within is not None:
        found |= signals.within >= 1.0
    if signals.happened is not None:
        found |= signals.happened >= 1.0
    return found


def rank(lanes: Sequence[Signals], shown: Sequence[Mask], formula: Formula, *, depth: int = CANDIDATES) -> list[Ranked]:
    """Score the best ``depth`` places of all lanes together, by the coarse score, among those in ``shown``."""
    coarse = [
        np.where(mask & supported_places(signals), coarse_scores(signals, dense=formula.coarse), np.float32(-np.inf))
        for signals, mask in zip(lanes, shown, strict=True)
    ]
    together = np.concatenate(coarse)
    kept = best_of(together, depth)
    kept = kept[np.isfinite(together[kept])]
    out, begin = [], 0
    for signals, scores in zip(lanes, coarse, strict=True):
        end = begin + len(scores)
        places = kept[(kept >= begin) & (kept < end)] - begin
        shares = {
            name: np.float32(weight) * FEATURES[name](signals, places) for name, weight in formula.weights.items()
        }
        if signals.further is not None:
            shares[FURTHER] = signals.further.scores[places]
        if signals.within is not None:
            shares[WITHIN] = np.float32(IN_WINDOW) * signals.within[places]
        if signals.happened is not None:
            shares[HAPPENED] = at_the_time(signals.question) * signals.happened[places]
        base = _sum(shares, len(places))
        bonuses = bonus_shares(base, _bonuses(signals, places))
        out.append(Ranked(places, base, base + _sum(bonuses, len(places)), {**shares, **bonuses}))
        begin = end
    return out


def _bonuses(signals: Signals, places: Rows) -> dict[str, Floats]:
    known = signals.lane.properties
    importance = known.importance[places]
    learned = (importance > NO_IMPORTANCE) & (known.flags[places] & SAID == 0)
    recent = recency(known.days[places], signals.question.asked_on, learned=learned)
    return dict(zip(BONUSES, (recent, importance_bonus(importance), trait_boost(known.stages[places])), strict=True))


def _sum(shares: Mapping[str, Floats], size: int) -> Floats:
    total = np.zeros(size, dtype=np.float32)
    for share in shares.values():
        total += share
    return total
