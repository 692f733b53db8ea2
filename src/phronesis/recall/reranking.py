"""Search with reranking: a reranker scores the full texts of the best candidates and reorders them."""

from dataclasses import dataclass, replace
from typing import Final, Protocol

from phronesis.core.results import Degraded, Evidence, SearchResult
from phronesis.errors import ModelError
from phronesis.index.projections import chunk_start, of_content
from phronesis.models.rerankers import ROLE, Judge
from phronesis.recall.scoring.weights import on_scale
from phronesis.recall.search import Query

SHOWN_CHARACTERS: Final = 2_000
"""Characters of a text that the reranker reads: about 500 tokens, as common rerankers were trained on."""

FUSION: Final = "fusion"
"""The fallback named in ``degraded``: the fused order."""


class Search(Protocol):
    """An object that answers a query (``recall.search.Searcher``)."""

    def search(self, tenant: str, query: Query) -> SearchResult:
        """Return the evidence for a query, best first."""
        ...


@dataclass(frozen=True, slots=True)
class RerankedSearch:
    """A search whose best candidates are reordered by a reranker.

    If it fails, the order stays and ``degraded`` says so.

    It changes the order only, not which results are found or whether the search abstains. No transaction is open during
    the call.
    """

    searcher: Search
    judge: Judge

    def search(self, tenant: str, query: Query) -> SearchResult:
        """Return the evidence for a query; ``score`` and ``why["rerank"]`` are the reranker's, from 0 to 1."""
        whole = replace(query, limit=max(query.limit, self.judge.candidates))
        found = self.searcher.search(tenant, whole)
        if len(found) <= 1:
            return found
        judged = found.evidence[: self.judge.candidates]
        try:
            scores = self.judge.judge(tenant, query.text, [shown_text(one) for one in judged])
        except ModelError as error:
            away = Degraded(ROLE, error.code, FUSION, self.judge.name)
            return replace(found, evidence=found.evidence[: query.limit], degraded=(*found.degraded, away))
        order = sorted(range(len(judged)), key=lambda n: (-scores[n], n))
        ranked = [_with_score(judged[n], scores[n], explain=query.explain) for n in order]
        least = ranked[-1].score
        unread = [replace(one, score=min(one.score, least)) for one in found.evidence[len(judged) :]]
        listed = on_scale([*ranked, *unread][: query.limit], abstained=found.abstained)
        return replace(found, evidence=listed)


def shown_text(evidence: Evidence) -> str:
    """Return the matched text: a part with its own text, a chunk of a long text, or the beginning."""
    best = evidence.matched[0] if evidence.matched else None
    if best is not None and not of_content(best.part):
        return best.snippet
    start = 0 if best is None else chunk_start(best.part)
    return evidence.item.content[start : start + SHOWN_CHARACTERS]


def _with_score(evidence: Evidence, score: float, *, explain: bool) -> Evidence:
    why = {**(evidence.why or {}), "rerank": round(score, 6)} if explain else evidence.why
    return replace(evidence, score=round(score, 6), why=why)
