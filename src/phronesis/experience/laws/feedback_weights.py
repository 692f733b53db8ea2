"""Sum judgements into weights, and keep must-link and cannot-link pairs consistent (EMB-15).

A judgement is an evidence row. Of each actor only the latest on a matter counts; a person's weighs more.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import combinations, pairwise
from typing import Final

from phronesis.core.relations import UNUSED, EvidenceRow, ItemUse, Origin, Polarity
from phronesis.core.vectors import components
from phronesis.experience.laws.clustering import PairConstraints

# Must-link and cannot-link pairs of events, as merges and splits change them (EMB-15).

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class ImpliedPairs:
    """Pairs of events that must be together, and that must be apart; the smaller id first."""

    together: frozenset[Pair] = frozenset()
    apart: frozenset[Pair] = frozenset()

    @property
    def ids(self) -> frozenset[str]:
        """The events of all pairs."""
        return frozenset(one for pair in (*self.together, *self.apart) for one in pair)

    def part_of(self) -> dict[str, int]:
        """Return the number of the connected component of each event in a must-link pair."""
        groups = components(self.ids, self.together)
        return {one: n for n, group in enumerate(groups) for one in group}


def link_events(ids: Collection[str], drawn: ImpliedPairs) -> ImpliedPairs:
    """Return the pairs with some events linked: one chain, and no cannot-link pair inside the joined component."""
    together = drawn.together | _chain(ids)
    return _consistent(ImpliedPairs(together, drawn.apart))


def separate_parts(parts: Sequence[Collection[str]], drawn: ImpliedPairs) -> ImpliedPairs:
    """Return the pairs with each part linked and the parts kept apart; an event is in one part at most.

    Must-link pairs across parts are removed. Events in no part that were linked with several stay with the largest.
    """
    place = {one: n for n, part in enumerate(parts) for one in part}
    torn = {pair for pair in drawn.together if len({place[one] for one in pair if one in place}) > 1}
    kept = set(drawn.together - torn)
    outside = components(
        {one for pair in kept for one in pair if one not in place},
        [pair for pair in kept if not place.keys() & set(pair)],
    )
    home = {one: n for n, group in enumerate(outside) for one in group}
    reached: dict[int, set[int]] = {}
    crossing = [(pair, *_ends(pair, place, home)) for pair in kept if len(place.keys() & set(pair)) == 1]
    for _, part, group in crossing:
        reached.setdefault(group, set()).add(part)
    stays = {group: max(found, key=lambda n: (len(parts[n]), -n)) for group, found in reached.items()}
    kept -= {pair for pair, part, group in crossing if stays[group] != part}
    chains = frozenset[Pair]().union(*(_chain(part) for part in parts))
    borders = set(combinations(sorted(min(part) for part in parts), 2))
    return _consistent(ImpliedPairs(frozenset(kept) | chains, drawn.apart | borders))


def resolve_pairs(drawn: ImpliedPairs, rows: Mapping[str, int], group_of: Mapping[int, int]) -> PairConstraints:
    """Return the pairs among rows, within one outcome group; ``rows`` are those of the events present.

    An event that changed group neither takes its linked events along nor separates them.
    """
    part_of = drawn.part_of()
    held: dict[tuple[int, int], list[int]] = {}
    for one in sorted(rows.keys() & part_of.keys(), key=rows.__getitem__):
        held.setdefault((part_of[one], group_of[rows[one]]), []).append(rows[one])
    together = [pair for found in held.values() for pair in pairwise(found)]
    apart = set()
    for one, other in sorted(drawn.apart):
        for group in set(group_of.values()):
            here, there = held.get((part_of[one], group)), held.get((part_of[other], group))
            if here and there and here is not there:
                apart.add((min(here[0], there[0]), max(here[0], there[0])))
    return PairConstraints(together=tuple(sorted(together)), apart=tuple(sorted(apart)))


def _consistent(drawn: ImpliedPairs) -> ImpliedPairs:
    part_of = drawn.part_of()
    apart = frozenset((one, other) for one, other in drawn.apart if part_of[one] != part_of[other])
    return ImpliedPairs(drawn.together, apart)


def _ends(pair: Pair, place: Mapping[str, int], home: Mapping[str, int]) -> tuple[int, int]:
    inner, outer = pair if pair[0] in place else (pair[1], pair[0])
    return place[inner], home[outer]


def _chain(ids: Iterable[str]) -> frozenset[Pair]:
    return frozenset(pairwise(sorted(set(ids))))


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


def heard(rows: Iterable[EvidenceRow]) -> FeedbackWeights:
    """Return the weighted sums of judgements; of an actor's on one matter only the latest counts."""
    latest: dict[tuple[str, str], EvidenceRow] = {}
    for row in sorted(rows, key=_row_order):
        matter = matter_of(row.polarity)
        if matter is not None:
            latest[matter, row.source_key] = row
    sums = dict.fromkeys((USEFUL, NOT_USEFUL, CORRECT, INCORRECT), 0.0)
    labels = [row for row in latest.values() if row.polarity == LABEL]
    for row in latest.values():
        if row.polarity in sums:
            sums[row.polarity] += HUMAN_WEIGHT if row.origin == "human" else MACHINE_WEIGHT
    last = max(labels, key=_row_order, default=None)
    voices = FeedbackWeights(
        useful=sums[USEFUL], not_useful=sums[NOT_USEFUL], correct=sums[CORRECT], incorrect=sums[INCORRECT]
    )
    if last is None:
        return voices
    return replace(voices, label=last.grade, by=last.source_key, human=last.origin == "human")


def confidence_after_feedback(base: float, voices: FeedbackWeights) -> float:
    """Return (2 base + correct) / (2 + correct + incorrect): a Beta distribution's mean with prior mean ``base``."""
    return (PRIOR * base + voices.correct) / (PRIOR + voices.correct + voices.incorrect)


def usefulness(voices: FeedbackWeights, use: ItemUse = UNUSED) -> float:
    """Return the usefulness in [0, 1], .5 without judgements and outcomes in contexts: Laplace's rule of succession."""
    useful, against = use.weights
    return (1.0 + voices.useful + useful) / (PRIOR + voices.useful + useful + voices.not_useful + against)


def echoes(row: EvidenceRow, pattern: str) -> list[EvidenceRow]:
    """Return the rows that a pattern receives from a judgement on one of its events: correctness, and its label."""
    if row.part or matter_of(row.polarity) in (None, "use"):
        return []
    return [replace(row, item_id=pattern, part=row.item_id, source_item_id=row.item_id)]


def _row_order(row: EvidenceRow) -> tuple[datetime, tuple[str, str, str, str]]:
    return (row.recorded_at, row.identity)
