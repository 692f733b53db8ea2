"""A candidate for a place in the list, and what became of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from phronesis.core.fusion.relevance import relevance
from phronesis.core.plan import Store
from phronesis.core.results import Evidence

JUDGED: Final = "rerank"
"""The member of ``why`` that is a reranker's score."""

What = Literal["kept", "duplicate", "document", "domain", "ratio", "limit"]
"""What became of a candidate: it has a place; it is another one's duplicate; its document, or its host or folder, has
all that it may have; a worse one of the other side has the place, for the ratio; or the list was full."""


@dataclass(frozen=True, slots=True)
class Part:
    """What one retriever found, best first by its own score. ``abstained``: it says that nothing supports an answer."""

    name: str
    store: Store
    evidence: Sequence[Evidence]
    abstained: bool = False


@dataclass(frozen=True, slots=True)
class Candidate:
    """A result on its way: who found it at which rank (from 1), and its relevance from 0 to 1.

    ``judged`` is a reranker's score, which then stands in its stead. ``supported`` is false where the one who found it
    says that nothing there supports an answer.
    """

    evidence: Evidence
    retriever: str
    store: Store
    rank: int
    relevance: float
    supported: bool = True
    judged: float | None = None

    @property
    def score(self) -> float:
        """What it is compared by."""
        return self.relevance if self.judged is None else self.judged

    @property
    def order(self) -> tuple[bool, float, int, str, str]:
        """What sorts candidates, best first: judged ones, the higher score, the better rank; then names alone."""
        return (self.judged is None, -self.score, self.rank, self.retriever, self.evidence.item.id)


@dataclass(frozen=True, slots=True)
class Fate:
    """What became of a candidate. ``of`` is the citation, document or site that decided; ``place`` counts from 1."""

    candidate: Candidate
    what: What
    place: int | None = None
    of: str | None = None
    why: Mapping[str, Any] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Give plain JSON values, without what it has not."""
        one = self.candidate
        out = {
            "citation": one.evidence.item.citation, "retriever": one.retriever, "rank": one.rank,
            "score": one.evidence.score, "relevance": round(one.relevance, 6), "fate": self.what,
        }  # fmt: skip
        more = {"rerank": one.judged, "place": self.place, "of": self.of}
        return out | {name: value for name, value in more.items() if value is not None} | dict(self.why)


def candidates_of(parts: Sequence[Part]) -> list[Candidate]:
    """Give the results of all retrievers, best first."""
    out: list[Candidate] = []
    for part in parts:
        values = relevance(part.evidence)
        out += [
            Candidate(found, part.name, part.store, n + 1, value, not part.abstained)
            for n, (found, value) in enumerate(zip(part.evidence, values, strict=True))
        ]
    return sorted(out, key=lambda one: one.order)


def judged(candidates: Sequence[Candidate], scores: Sequence[float]) -> list[Candidate]:
    """Give the candidates in a reranker's order: the first as many as it scored, the others after them.

    What it scored counts as supported or not by its score alone: it has read the texts.
    """
    read = [replace(one, judged=score, supported=True) for one, score in zip(candidates, scores, strict=False)]
    return sorted([*read, *candidates[len(read) :]], key=lambda one: one.order)
