"""Fusion of several retrievers' results: limits per document and site, and the ratio of memory to resources."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from phronesis.core.results import Evidence
from phronesis.core.retrieval_plan import Store
from phronesis.recall.deduplication import JUDGED, Candidate, Fate, document_of, domain_of, without_duplicates
from phronesis.recall.scoring.weights import FusionRules

_SIDES: Final[tuple[Store, Store]] = ("memory", "resources")
_ROUNDING: Final = 1e-9


def diverse(ranked: Sequence[Candidate], rules: FusionRules) -> tuple[list[Candidate], list[Fate]]:
    """Return the candidates (best first) within the limits per document, host and folder, and the others' fates."""
    documents: Counter[str] = Counter()
    domains: Counter[str] = Counter()
    kept: list[Candidate] = []
    over: list[Fate] = []
    for one in ranked:
        document, domain = document_of(one.evidence), domain_of(one.evidence)
        if document is not None and documents[document] >= rules.per_document:
            over.append(Fate(one, "document", of=document, why={"most": rules.per_document}))
        elif domain is not None and domains[domain] >= rules.per_domain:
            over.append(Fate(one, "domain", of=domain, why={"most": rules.per_domain}))
        else:
            documents.update(() if document is None else (document,))
            domains.update(() if domain is None else (domain,))
            kept.append(one)
    return kept, over


def fill_places(ranked: Sequence[Candidate], rules: FusionRules, limit: int) -> tuple[list[Candidate], list[Candidate]]:
    """Return the candidates (best first) that get the ``limit`` places, in order, and those that get none.

    As long as both sides have relevant results, each side's count in every prefix of the list is within one of its
    share, so the first few results have the ratio too. Within that, the better candidate comes first. A side without
    further relevant results lends its places to the other; results below the floor come last, by score. Memories under
    the key that the question asks for ("Where do I live?") come before all, outside the ratio. If nothing reaches the
    floor (a small scope about one topic, whose every text contains the question's words), results that their source
    supports count as relevant.
    """
    floor = rules.floor if any(_relevant(one, rules.floor) for one in ranked) else 0.0
    relevant = [one for one in ranked if _relevant(one, floor)]
    chosen = [one for one in relevant if _is_asked_key(one)]
    good = [one for one in relevant if not _is_asked_key(one)]
    rest = [one for one in ranked if not _relevant(one, floor)]
    sides = {side: [one for one in good if one.store == side] for side in _SIDES}
    shares = {"memory": rules.memory_share, "resources": 1.0 - rules.memory_share}
    taken: Counter[Store] = Counter()
    lead = len(chosen)
    while all(len(sides[side]) > taken[side] for side in _SIDES):
        # The two sides' deficits sum to one place: a side without a deficit would be a whole place ahead with it.
        owed = {side: shares[side] * (len(chosen) - lead + 1) - taken[side] for side in _SIDES}
        heads = (sides[side][taken[side]] for side in _SIDES if owed[side] > _ROUNDING)
        best = min(heads, key=lambda one: one.order)
        taken[best.store] += 1
        chosen.append(best)
    chosen += sorted((one for side in _SIDES for one in sides[side][taken[side] :]), key=lambda one: one.order)
    chosen += rest
    return chosen[:limit], chosen[limit:]


def left_out(ones: Sequence[Candidate], kept: Sequence[Candidate]) -> list[Fate]:
    """Return the fates of candidates without a place: whether the ratio gave it to a worse one of the other side."""
    worst = {side: max((one.order for one in kept if one.store == side), default=None) for side in _SIDES}
    out = []
    for one in ones:
        other = worst["resources" if one.store == "memory" else "memory"]
        out.append(Fate(one, "ratio" if other is not None and one.order < other else "limit"))
    return out


def _is_asked_key(one: Candidate) -> bool:
    return one.store == "memory" and (one.evidence.why or {}).get("key", 0.0) > 0


def _relevant(one: Candidate, floor: float) -> bool:
    return one.supported and one.score >= floor


# Fusing several retrievers' evidence into one deduplicated list, with the reason for each decision.

OWN_SCORE: Final = "source_score"
"""The member of ``why`` that holds the retriever's own score."""

RELEVANCE: Final = "relevance"


@dataclass(frozen=True, slots=True)
class FusedEvidence:
    """The fused list, best first, and the fate of every candidate: selected ones first, then the others, best first."""

    evidence: tuple[Evidence, ...]
    fates: tuple[Fate, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the fates of the candidates, and each side's number of places, as plain JSON values."""
        kept = [fate.candidate.store for fate in self.fates if fate.what == "kept"]
        return {
            "places": {"memory": kept.count("memory"), "resources": kept.count("resources")},
            "candidates": [fate.to_dict() for fate in self.fates],
        }


def fuse(candidates: Sequence[Candidate], rules: FusionRules, *, limit: int) -> FusedEvidence:
    """Return at most ``limit`` candidates: duplicates dropped, then diversity, then the ratio.

    The order of the given candidates does not matter; ``score`` of the evidence becomes its relevance, or the
    reranker's score, from 0 to 1.
    """
    ranked = sorted(candidates, key=lambda one: one.order)
    once, duplicates = without_duplicates(ranked)
    allowed, over = diverse(once, rules)
    kept, others = fill_places(allowed, rules, limit)
    shown = [Fate(one, "kept", place=n + 1) for n, one in enumerate(kept)]
    rest = sorted([*duplicates, *over, *left_out(others, kept)], key=lambda fate: fate.candidate.order)
    return FusedEvidence(tuple(map(_with_score, kept)), (*shown, *rest))


def _with_score(one: Candidate) -> Evidence:
    found = one.evidence
    why = {**(found.why or {}), OWN_SCORE: found.score, RELEVANCE: round(one.relevance, 6)}
    if one.judged is not None:
        why[JUDGED] = round(one.judged, 6)
    return replace(found, score=round(one.score, 6), why=why)
