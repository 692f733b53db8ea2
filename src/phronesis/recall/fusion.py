"""Fusion of several retrievers' results: limits per document and site, and the ratio of memory to resources."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from phronesis.core.results import Evidence
from phronesis.core.retrieval_plan import Store
from phronesis.core.serialization import Record
from phronesis.recall.deduplication import JUDGED, Candidate, Fate, document_of, domain_of, without_duplicates

# Limits on the composition of a result list.

PER_DOCUMENT: Final = 3
"""Sections of one document. A question about a manual is answered by one to three of its sections; more of them in a
list of twelve are the neighbours of the answer, and leave no room for what another document says."""

PER_DOMAIN: Final = 6
"""Sections of one host or folder: half of a list of twelve, twice what one document may have."""

MEMORY_SHARE: Final = 0.4
"""Part of the places that is conversation memory (source: 40 to 60, "section 7.4")."""

FLOOR: Final = 0.15
"""Relevance below which nothing has a claim to its side's places.

One rare word of a question of six, and no nearness in meaning, comes to about this much: a text that shares no more
with a question is there by chance. It only decides who may borrow places; nothing is left out for it.
"""


@dataclass(frozen=True, slots=True)
class FusionRules(Record):
    """Fusion limits: results per document, host or folder; the share of memory (0 to 1); the relevance floor."""

    per_document: int = PER_DOCUMENT
    per_domain: int = PER_DOMAIN
    memory_share: float = MEMORY_SHARE
    floor: float = FLOOR


_SIDES: Final[tuple[Store, Store]] = ("memory", "resources")
_ROUNDING: Final = 1e-9


def diverse(ranked: Sequence[Candidate], rules: FusionRules) -> tuple[list[Candidate], list[Fate]]:
    """Return the candidates (best first) without what is too much of a document, host or folder, and what that was."""
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


def placed(ranked: Sequence[Candidate], rules: FusionRules, limit: int) -> tuple[list[Candidate], list[Candidate]]:
    """Return the candidates (best first) that get the ``limit`` places, in their order, and those that get none.

    As long as both sides have what is relevant, each side has at every place its share of the places so far, less or
    more than one: so a reader who takes the first few has the ratio too. Within that, the better candidate comes first.
    A side that has nothing relevant left lends its places to the other; what is below the floor comes last, by score.
    What memory holds under the key that the question asks for ("Where do I live?") comes before all, beyond the ratio:
    no document knows it better.
    Where nothing at all reaches the floor (a small scope that speaks of one thing, every text of which holds the words
    of the question), what its source supports counts as relevant.
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
        # What two sides are owed adds up to one place: who is owed nothing would be a whole place ahead with it.
        owed = {side: shares[side] * (len(chosen) - lead + 1) - taken[side] for side in _SIDES}
        heads = (sides[side][taken[side]] for side in _SIDES if owed[side] > _ROUNDING)
        best = min(heads, key=lambda one: one.order)
        taken[best.store] += 1
        chosen.append(best)
    chosen += sorted((one for side in _SIDES for one in sides[side][taken[side] :]), key=lambda one: one.order)
    chosen += rest
    return chosen[:limit], chosen[limit:]


def left_out(ones: Sequence[Candidate], kept: Sequence[Candidate]) -> list[Fate]:
    """Say of candidates without a place whether the ratio gave it to a worse one of the other side."""
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
"""The member of ``why`` that holds the score that the retriever gave."""

RELEVANCE: Final = "relevance"


@dataclass(frozen=True, slots=True)
class Fused:
    """The fused list, best first, and the fate of every candidate: selected ones first, then the others, best first."""

    evidence: tuple[Evidence, ...]
    fates: tuple[Fate, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return what became of the candidates, and how many places each side has, as plain JSON values."""
        kept = [fate.candidate.store for fate in self.fates if fate.what == "kept"]
        return {
            "places": {"memory": kept.count("memory"), "resources": kept.count("resources")},
            "candidates": [fate.to_dict() for fate in self.fates],
        }


def fuse(candidates: Sequence[Candidate], rules: FusionRules, *, limit: int) -> Fused:
    """Return at most ``limit`` of the candidates: what is said twice dropped, then diversity, then the ratio.

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
