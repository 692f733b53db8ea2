"""Executing a plan over its retrievers, and reordering the best candidates by a reranker."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from phronesis.core.evidence_pack import EvidencePack
from phronesis.core.results import Degraded, Evidence, SearchResult
from phronesis.core.retrieval_plan import RetrievalPlan, SubPlan
from phronesis.errors import ModelError
from phronesis.index.projections import chunk_start, of_content
from phronesis.models.rerankers import ROLE, Judge
from phronesis.recall.fusion import Candidate, FusedEvidence, candidates_of, fill_places, fuse, reranked
from phronesis.recall.query import Encodings, Query, Search
from phronesis.recall.retrievers import RemoteRetriever, Retriever, RetrieverResult
from phronesis.recall.scoring.weights import FusionRules, on_scale
from phronesis.store.eligible import NO_EXCLUSION, Exclusion

SHOWN_CHARACTERS: Final = 2_000
"""Characters of a text that the reranker reads: about 500 tokens, as common rerankers were trained on."""

FUSION: Final = "fusion"
"""The fallback named in ``degraded``: the fused order."""


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


FEWEST: Final = 2
"""Minimum number of candidates for a reranker call."""


@dataclass(frozen=True, slots=True)
class PlanExecutor:
    """Executes plans over its retrievers; ``judge`` reranks their joint candidates once. It never writes."""

    retrievers: Sequence[Retriever]
    rules: FusionRules = field(default_factory=FusionRules)
    judge: Judge | None = None

    @property
    def remote(self) -> bool:
        """Return whether another server is asked for resources."""
        return any(isinstance(one, RemoteRetriever) for one in self.retrievers)

    def retrieve(
        self,
        tenant: str,
        plan: RetrievalPlan,
        encodings: Encodings | None = None,
        *,
        exclude: Exclusion = NO_EXCLUSION,
    ) -> EvidencePack:
        """Return the evidence for a plan, best first, with sources and the fate of every candidate.

        Items that match ``exclude`` are no candidates; another server's resources are not affected.

        It abstains if all queried retrievers do. An unavailable model or server is named in ``degraded``. InputError: a
        kind or a filter of the plan is wrong.
        """
        encodings = Encodings() if encodings is None else encodings
        asked = [one for one in self.retrievers if _part_of(plan, one) is not None]
        parts = [one.retrieve(tenant, plan, encodings, exclude) for one in asked]
        rules = replace(self.rules, memory_share=plan.share)
        candidates, away = self._rerank(tenant, plan, rules, candidates_of([part.part for part in parts]))
        fused = fuse(candidates, rules, limit=plan.limit)
        abstained = all(part.abstained for part in parts)
        return EvidencePack(
            on_scale(fused.evidence, abstained=abstained),
            plan,
            abstained=abstained,
            ignored_fields={part.name: part.ignored for part in parts if part.ignored},
            explain=self._explain(parts, rules, fused),
            degraded=(*dict.fromkeys(one for part in parts for one in part.degraded), *away),
        )

    def close(self) -> None:
        """Close the retrievers' connections."""
        for one in self.retrievers:
            one.close()

    def _rerank(
        self, tenant: str, plan: RetrievalPlan, rules: FusionRules, candidates: Sequence[Candidate]
    ) -> tuple[Sequence[Candidate], tuple[Degraded, ...]]:
        """Rerank as many candidates as the reranker takes, of both sides in their ratio; on failure the order stays."""
        if self.judge is None or len(candidates) < FEWEST:
            return candidates, ()
        read, rest = fill_places(candidates, rules, self.judge.candidates)
        try:
            scores = self.judge.judge(tenant, plan.message, [shown_text(one.evidence) for one in read])
        except ModelError as error:
            return candidates, (Degraded(ROLE, error.code, FUSION, self.judge.name),)
        return reranked([*read, *rest], scores), ()

    def _explain(self, parts: Sequence[RetrieverResult], rules: FusionRules, fused: FusedEvidence) -> dict[str, Any]:
        told = {part.name: {**part.explain, "found": len(part.evidence), "abstained": part.abstained} for part in parts}
        reranker = None if self.judge is None else self.judge.name
        return {"retrievers": told, "rules": rules.to_dict(), "reranker": reranker, **fused.to_dict()}


def _part_of(plan: RetrievalPlan, retriever: Retriever) -> SubPlan | None:
    return plan.memory if retriever.store == "memory" else plan.resources
