"""Weights of judgements, and folds of labels, confidence and success rates from evidence (EMB-15; docs/decisions/15).

A judgement is an evidence row. Of each actor only the latest on a matter counts; a person's weighs more.
A judgement on an event is copied to the patterns above it as rows on the part that the event is, and to principles as
rows on the part that the pattern is; withdrawing it removes these rows.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import sqrt
from typing import Any, Final

from phronesis.core.changes import Fold
from phronesis.core.items import Item
from phronesis.core.relations import UNUSED, EvidenceRow, ItemUse, Origin, Polarity
from phronesis.core.serialization import round_stored
from phronesis.experience.laws.records import CONFIRMED, L1, PATTERN, PRINCIPLE, UNCONFIRMED

USEFUL: Final = "useful"
NOT_USEFUL: Final = "not_useful"
CORRECT: Final = "correct"
INCORRECT: Final = "incorrect"
LABEL: Final = "label"

MATTER_OF: Final[Mapping[str, str]] = {
    USEFUL: "use",
    NOT_USEFUL: "use",
    CORRECT: "truth",
    INCORRECT: "truth",
    LABEL: "label",
}
"""The matter of a judgement: an actor's latest judgement on a matter replaces the one before."""

HUMAN_WEIGHT: Final = 3.0
MACHINE_WEIGHT: Final = 1.0
"""Weight of one judgement (this project's choice): one person outweighs two agents."""

PRIOR: Final = 2.0
"""Judgements that the prior counts for: those of Laplace's rule of succession, one each way."""

_MACHINES: Final = frozenset({"agent", "assistant", "bot", "model", "system", "tool", "worker"})


def origin_of(actor: str) -> Origin:
    """Return whether an actor is a person or a machine, by its first word: ``agent:planner`` is a machine."""
    first = re.split(r"[^a-z0-9]", actor.lower(), maxsplit=1)[0]
    return "model" if first in _MACHINES else "human"


def matter_of(polarity: Polarity) -> str | None:
    """Return the matter of a judgement; None for evidence that is no judgement."""
    return MATTER_OF.get(polarity)


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedbackWeights:
    """Weighted sums of judgements. ``label`` is the latest label that an actor gave, ``by`` the actor."""

    useful: float = 0.0
    not_useful: float = 0.0
    correct: float = 0.0
    incorrect: float = 0.0
    label: str | None = None
    by: str | None = None
    human: bool = False

    @property
    def doubted(self) -> bool:
        """Return whether more weight says incorrect than correct."""
        return self.incorrect > self.correct

    @property
    def credence(self) -> float:
        """Credence in [0, 1]: 1 while nobody says that it is incorrect."""
        return confidence_after_feedback(1.0, self)

    def to_data(self) -> dict[str, float] | None:
        """Return the non-zero sums; None without any judgement."""
        given = {name: getattr(self, name) for name in (USEFUL, NOT_USEFUL, CORRECT, INCORRECT)}
        return {name: weight for name, weight in given.items() if weight} or None


def sum_judgements(rows: Iterable[EvidenceRow]) -> FeedbackWeights:
    """Return the weighted sums of judgements; of an actor's on one matter only the latest counts."""
    latest: dict[tuple[str, str], EvidenceRow] = {}
    for row in sorted(rows, key=_row_order):
        if (matter := matter_of(row.polarity)) is not None:
            latest[matter, row.source_key] = row
    sums: dict[str, Any] = dict.fromkeys((USEFUL, NOT_USEFUL, CORRECT, INCORRECT), 0.0)
    for row in latest.values():
        if row.polarity in sums:
            sums[row.polarity] += HUMAN_WEIGHT if row.origin == "human" else MACHINE_WEIGHT
    last = max((row for row in latest.values() if row.polarity == LABEL), key=_row_order, default=None)
    if last is not None:
        sums |= {"label": last.grade, "by": last.source_key, "human": last.origin == "human"}
    return FeedbackWeights(**sums)


def confidence_after_feedback(base: float, voices: FeedbackWeights) -> float:
    """Return (2 base + correct) / (2 + correct + incorrect): a Beta distribution's mean with prior mean ``base``."""
    return (PRIOR * base + voices.correct) / (PRIOR + voices.correct + voices.incorrect)


def usefulness(voices: FeedbackWeights, use: ItemUse = UNUSED) -> float:
    """Return the usefulness in [0, 1], .5 without judgements and outcomes in contexts: Laplace's rule of succession."""
    useful, against = use.weights
    return (1.0 + voices.useful + useful) / (PRIOR + voices.useful + useful + voices.not_useful + against)


def pattern_judgements(row: EvidenceRow, pattern: str) -> list[EvidenceRow]:
    """Return the rows that a pattern receives from a judgement on one of its events: correctness, and its label."""
    if row.part or matter_of(row.polarity) in (None, "use"):
        return []
    return [replace(row, item_id=pattern, part=row.item_id, source_item_id=row.item_id)]


def _row_order(row: EvidenceRow) -> tuple[datetime, tuple[str, str, str, str]]:
    return (row.recorded_at, row.identity)


# Success rate and its confidence interval.

Z: Final = 1.959964
"""The normal quantile of a two-sided 95 % interval."""

DIGITS: Final = 4


def success_rate(successes: int, trials: int) -> dict[str, Any]:
    """Return ``rate`` (None without a trial), ``low``, ``high`` (Wilson 1927, 95 %), ``successes`` and ``trials``."""
    if trials == 0:
        return {"rate": None, "low": 0.0, "high": 1.0, "successes": 0, "trials": 0}
    share = successes / trials
    centre = share + Z * Z / (2 * trials)
    spread = Z * sqrt(share * (1 - share) / trials + Z * Z / (4 * trials * trials))
    scale = 1 + Z * Z / trials
    low, high = (round(min(1.0, max(0.0, (centre + side) / scale)), DIGITS) for side in (-spread, spread))
    return {"rate": round(share, DIGITS), "low": low, "high": high, "successes": successes, "trials": trials}


DECIDED: Final = "decided"
"""The member of an event's ``data`` with its original label: ``{label, signals, confidence}``."""

FEEDBACK: Final = "data.feedback"
USEFULNESS: Final = "data.usefulness"
"""The field of usefulness; absent, and .5, while nobody judged it."""

SAID_BY_HUMAN: Final = 1.0
SAID_BY_MACHINE: Final = 0.9
"""Confidence of a label that was given by a later judgement."""

SUCCESS: Final = "success"


def support_ratio(support: float, contra: float) -> float:
    """Return support / (support + contra + 1), in [0, 1): the mean of a Beta(0, 1) prior after the evidence."""
    return support / (support + contra + 1.0)


@dataclass(frozen=True, slots=True)
class WeightedEvent:
    """A member or counterexample of a pattern with its present weight and label."""

    row: EvidenceRow
    voices: FeedbackWeights

    @property
    def id(self) -> str:
        """The event's id."""
        return self.row.source_key

    @property
    def label(self) -> str | None:
        """The latest label that a judgement gave; else the label when it was counted."""
        return self.voices.label or self.row.grade

    @property
    def weight(self) -> float:
        """Typicality times credence, in [0, 1]."""
        return min(1.0, self.row.weight) * self.voices.credence

    def agrees_with(self, outcome: str | None) -> bool:
        """Return whether it is on a pattern's side: successes are apart from failures and unknowns."""
        if self.label is None:
            return self.row.polarity == "support"
        return (self.label == SUCCESS) == (outcome == SUCCESS)


@dataclass(frozen=True, slots=True)
class Sides:
    """The events for a pattern and those against it, as judged by now, by falling weight."""

    members: Sequence[WeightedEvent]
    counter: Sequence[WeightedEvent]


def sides(outcome: str | None, evidence: Sequence[EvidenceRow]) -> Sides:
    """Return the events for and against a pattern, after later labels.

    A counterexample that was given the pattern's own label becomes a member only when it is grouped again.
    """
    said: dict[str, list[EvidenceRow]] = {}
    for row in evidence:
        if matter_of(row.polarity) is not None:
            said.setdefault(row.part, []).append(row)
    rows = [WeightedEvent(row, sum_judgements(said.get(row.source_key, ()))) for row in membership(evidence)]
    members = [one for one in rows if one.row.polarity == "support" and one.agrees_with(outcome)]
    # A success relabelled as unknown counts for neither side.
    counter = [
        one
        for one in rows
        if not one.agrees_with(outcome)
        and (one.row.polarity == "contra" or outcome != SUCCESS or one.label == "failure")
    ]
    return Sides(tuple(sorted(members, key=_heaviest)), tuple(sorted(counter, key=_heaviest)))


def members_of(pattern: Item, evidence: Sequence[EvidenceRow]) -> list[tuple[str, float]]:
    """Return a pattern's members with their weights, the most typical first."""
    return [(one.id, round_stored(one.weight)) for one in sides(pattern.label, evidence).members]


def membership(evidence: Iterable[EvidenceRow]) -> list[EvidenceRow]:
    """Return the rows of members and counterexamples, without judgements."""
    return [row for row in evidence if row.part == "" and row.polarity in ("support", "contra")]


def _own_weights(evidence: Sequence[EvidenceRow]) -> FeedbackWeights:
    return sum_judgements(_judgements_on(evidence, ""))


def _judgements_on(evidence: Sequence[EvidenceRow], part: str) -> list[EvidenceRow]:
    return [row for row in evidence if row.part == part and matter_of(row.polarity) is not None]


def _heaviest(one: WeightedEvent) -> tuple[float, str]:
    return (-one.weight, one.id)


def _feedback_fields(voices: FeedbackWeights) -> dict[str, Any]:
    given = voices.useful or voices.not_useful
    return {FEEDBACK: voices.to_data(), USEFULNESS: round_stored(usefulness(voices)) if given else None}


def fold_event(item: Item, evidence: Sequence[EvidenceRow]) -> dict[str, Any]:
    """Return an event's label and confidence: as decided, or as judged since."""
    voices = _own_weights(evidence)
    decided = item.data.get(DECIDED) or {
        "label": item.label,
        "signals": item.data.get("signals"),
        "confidence": item.confidence,
    }
    label, signals, base = decided.get("label"), decided.get("signals"), decided["confidence"]
    if voices.label is not None:
        label, signals = voices.label, [f"said by {voices.by}"]
        base = SAID_BY_HUMAN if voices.human else SAID_BY_MACHINE
    return {
        "label": label,
        "data.signals": list(signals) if signals else None,
        "confidence": round_stored(confidence_after_feedback(base, voices)),
        **_feedback_fields(voices),
    }


def fold_pattern(item: Item, evidence: Sequence[EvidenceRow]) -> dict[str, Any]:
    """Return a pattern's confidence, success rate, counterexamples, and sums of judgements."""
    voices, found = _own_weights(evidence), sides(item.label, evidence)
    believed = [one.label for one in (*found.members, *found.counter) if not one.voices.doubted]
    rate = success_rate(believed.count(SUCCESS), sum(label in (SUCCESS, "failure") for label in believed))
    base = support_ratio(sum(one.weight for one in found.members), sum(one.weight for one in found.counter))
    counter = [
        {"id": one.id, "source_ref": one.row.source_ref, "weight": round_stored(one.weight)} for one in found.counter
    ]
    return {
        "confidence": round_stored(confidence_after_feedback(base, voices)),
        "data.success_rate": rate,
        "data.counterexamples": counter,
        **_feedback_fields(voices),
    }


def fold_principle(item: Item, evidence: Sequence[EvidenceRow]) -> dict[str, Any]:
    """Return a principle's confidence, by its patterns, the events against it, and judgements."""
    voices = _own_weights(evidence)
    weights = {"support": 0.0, "contra": 0.0}
    for row in membership(evidence):
        weights[row.polarity] += _remaining_weight(row, evidence)
    base = support_ratio(weights["support"], weights["contra"])
    latest = max(
        (row for row in _judgements_on(evidence, "") if matter_of(row.polarity) == "truth" and row.origin == "human"),
        key=lambda row: (row.recorded_at, row.identity),
        default=None,
    )
    agreed = bool(item.data.get(UNCONFIRMED)) and latest is not None and latest.polarity == CORRECT
    return {
        "confidence": round_stored(confidence_after_feedback(base, voices)),
        f"data.{CONFIRMED}": agreed or None,
        **_feedback_fields(voices),
    }


def _remaining_weight(row: EvidenceRow, evidence: Sequence[EvidenceRow]) -> float:
    """Return a pattern's weight in a principle after the judgements on it and its events since it was counted.

    A row on the part that the pattern is weighs the event's share of it; the pattern's own row, all of it.
    """
    by_source: dict[str | None, list[EvidenceRow]] = {}
    for said in _judgements_on(evidence, row.source_key):
        if said.recorded_at > row.recorded_at:
            by_source.setdefault(said.source_item_id, []).append(said)
    left, lost = max(0.0, row.weight), 0.0
    for source, rows in by_source.items():
        voices = sum_judgements(rows)
        doubt = 1.0 if voices.label == "contra" else 1.0 - voices.credence
        if source == row.source_key:
            left *= 1.0 - doubt
        else:
            lost += doubt * max(one.weight for one in rows)
    return left * (1.0 - min(1.0, lost))


_SAID_FIELDS: Final = (FEEDBACK, USEFULNESS)

STANDINGS: Final = {
    L1: Fold(frozenset({"label", "confidence", "data.signals", *_SAID_FIELDS}), fold_event),
    PATTERN: Fold(frozenset({"confidence", "data.success_rate", "data.counterexamples", *_SAID_FIELDS}), fold_pattern),
    PRINCIPLE: Fold(frozenset({"confidence", f"data.{CONFIRMED}", *_SAID_FIELDS}), fold_principle),
}
"""The folds of the experience engine, by kind."""
