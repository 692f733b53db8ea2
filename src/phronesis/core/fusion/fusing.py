"""Evidence of several retrievers as one list: each thing once, diverse, in the ratio asked for; and why."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from phronesis.core.fusion.candidates import JUDGED, Candidate, Fate
from phronesis.core.fusion.duplicates import without_duplicates
from phronesis.core.fusion.places import diverse, left_out, placed
from phronesis.core.fusion.rules import FusionRules
from phronesis.core.results import Evidence

OWN_SCORE: Final = "source_score"
"""The member of ``why`` that holds the score that the retriever gave."""

RELEVANCE: Final = "relevance"


@dataclass(frozen=True, slots=True)
class Fused:
    """The list, best first, and what became of every candidate: the places first, then what has none, best first."""

    evidence: tuple[Evidence, ...]
    fates: tuple[Fate, ...]

    def to_dict(self) -> dict[str, Any]:
        """Give what became of the candidates, and how many places each side has, as plain JSON values."""
        kept = [fate.candidate.store for fate in self.fates if fate.what == "kept"]
        return {
            "places": {"memory": kept.count("memory"), "resources": kept.count("resources")},
            "candidates": [fate.to_dict() for fate in self.fates],
        }


def fuse(candidates: Sequence[Candidate], rules: FusionRules, *, limit: int) -> Fused:
    """Give at most ``limit`` of the candidates: what is said twice dropped, then diversity, then the ratio.

    The order of the candidates given does not matter; ``score`` of the evidence becomes its relevance, or the
    reranker's, from 0 to 1.
    """
    ranked = sorted(candidates, key=lambda one: one.order)
    once, duplicates = without_duplicates(ranked)
    allowed, over = diverse(once, rules)
    kept, others = placed(allowed, rules, limit)
    shown = [Fate(one, "kept", place=n + 1) for n, one in enumerate(kept)]
    rest = sorted([*duplicates, *over, *left_out(others, kept)], key=lambda fate: fate.candidate.order)
    return Fused(tuple(map(_scored, kept)), (*shown, *rest))


def _scored(one: Candidate) -> Evidence:
    found = one.evidence
    why = {**(found.why or {}), OWN_SCORE: found.score, RELEVANCE: round(one.relevance, 6)}
    if one.judged is not None:
        why[JUDGED] = round(one.judged, 6)
    return replace(found, score=round(one.score, 6), why=why)
