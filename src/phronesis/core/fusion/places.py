"""Who gets the places: no document and no site too many, and memory and resources in the ratio that was asked for."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from phronesis.core.fusion.candidates import Candidate, Fate
from phronesis.core.fusion.identity import document_of, domain_of
from phronesis.core.fusion.rules import FusionRules
from phronesis.core.plan import Store

_SIDES: Final[tuple[Store, Store]] = ("memory", "resources")
_ROUNDING: Final = 1e-9


def diverse(ranked: Sequence[Candidate], rules: FusionRules) -> tuple[list[Candidate], list[Fate]]:
    """Give the candidates (best first) without what is too much of a document, host or folder, and what that was."""
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
    """Give the candidates (best first) that get the ``limit`` places, in their order, and those that get none.

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
