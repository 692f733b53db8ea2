"""Lateral links: new memories are joined to earlier ones that speak of the same (requirement NM-15).

An edge ``similar`` with the likeness as its weight; ``explain`` shows it from both ends. A model that reflects is shown
what new memories are linked to: three memories of one habit seldom come between the same two reflections.

Likeness is the cosine of words weighted by how seldom they are among the memories compared (tf–idf; Salton & Buckley
1988, "Term-weighting approaches in automatic text retrieval"): the same with any encoder or none.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from math import log, sqrt
from typing import Final

from phronesis.core.changes import Patch
from phronesis.core.items import Item
from phronesis.core.relations import Edge
from phronesis.derive.reflecting.material import Link
from phronesis.derive.reflecting.round import Round
from phronesis.index.tokens import tokenize

MOST_LINKS: Final = 2
"""Links of one new memory: the nearest."""

LINKED: Final = 0.35
"""The least likeness that is a link: a telling word or two of a short sentence are shared."""

COMMON: Final = 0.2
"""Words of more than this share of the memories, where there are many, say nothing of what one is about."""

FEW: Final = 20
"""Memories up to which no word counts as common."""


def links_of(memories: Sequence[Item], new: AbstractSet[str]) -> list[Link]:
    """Give the links of the new memories to any that were learned before them, oldest first, the nearest of each."""
    weights = _weighed(memories)
    holders: dict[str, list[int]] = {}
    out: list[Link] = []
    for n, memory in enumerate(memories):
        if memory.id in new:
            out += _nearest(n, memories, weights, holders)
        for word in weights[n]:
            holders.setdefault(word, []).append(n)
    return out


def join(work: Round, links: Sequence[Sequence[object]]) -> None:
    """Draw the links between memories that are there."""
    for from_id, to_id, weight in links:
        if from_id in work.memories and to_id in work.memories:
            work.patches.append(Patch(str(from_id), {}, "linked"))
            work.edges.append(
                Edge(type="similar", from_kind="item", from_id=str(from_id), to_kind="item", to_id=str(to_id),
                     entry_id=work.entry.id, weight=float(str(weight)))
            )  # fmt: skip


def _nearest(
    n: int, memories: Sequence[Item], weights: Sequence[Mapping[str, float]], holders: Mapping[str, Sequence[int]]
) -> list[Link]:
    scores: dict[int, float] = {}
    for word, weight in weights[n].items():
        for other in holders.get(word, ()):
            scores[other] = scores.get(other, 0.0) + weight * weights[other][word]
    ranked = sorted(((round(score, 4), other) for other, score in scores.items()), key=lambda one: (-one[0], one[1]))
    return [Link(memories[n].id, memories[other].id, min(1.0, score))
            for score, other in ranked[:MOST_LINKS] if score >= LINKED]  # fmt: skip


def _weighed(memories: Sequence[Item]) -> list[dict[str, float]]:
    """Give each memory's words with their weights, of length 1 together."""
    words = [Counter(tokenize(memory.content)) for memory in memories]
    found = Counter(word for counted in words for word in counted)
    most = max(FEW, COMMON * len(memories))
    seldom = {word: log(1 + len(memories) / count) for word, count in found.items() if count <= most}
    out = []
    for counted in words:
        weights = {word: (1 + log(times)) * seldom[word] for word, times in counted.items() if word in seldom}
        length = sqrt(sum(weight * weight for weight in weights.values()))
        out.append({word: weight / length for word, weight in weights.items()} if length else {})
    return out
