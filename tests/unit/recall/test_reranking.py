"""A reranker orders what was found, and decides nothing else."""

from collections.abc import Sequence
from typing import Any

import pytest

from fake_models import NOON, MemoryLedger
from phronesis.core.items import Item
from phronesis.core.results import Evidence, Match, SearchResult
from phronesis.core.scope import make_scope
from phronesis.errors import AnswerRejected, ModelBudgetSpent, ModelError, ModelUnavailable
from phronesis.models.call_policy import Allowance, CallPolicy, Limits, SpendingLimit
from phronesis.models.rerankers import Judge
from phronesis.models.token_counter import ByteBound
from phronesis.recall.retrieval import SHOWN_CHARACTERS, RerankedSearch
from phronesis.recall.search_options import Query
from phronesis.store.eligible import ReadConditions


def evidence(n: int, content: str, part: str = "whole") -> Evidence:
    item = Item(id=f"i{n}", kind="message", content=content, entry_id="e", recorded_at=NOON, updated_at=NOON)
    match = Match(id=f"d{n}", part=part, snippet="", distance=0.0)
    return Evidence(item, 10.0 - n, (match,), (), why={"lexical": 10.0 - n})


class Found:
    def __init__(self, *found: Evidence) -> None:
        self.found = found
        self.limits: list[int] = []

    def search(self, _tenant: str, query: Query) -> SearchResult:
        self.limits.append(query.limit)
        return SearchResult(tuple(self.found[: query.limit]))


class Scores:
    name = "test/reranker"

    def __init__(self, *scores: float, error: Exception | None = None) -> None:
        self.scores = scores
        self.error = error
        self.shown: list[Sequence[str]] = []

    def rerank(self, query: str, texts: Sequence[str], *, limits: Limits) -> list[float]:
        limits.check()
        self.shown.append((query, *texts))
        if self.error is not None:
            raise self.error
        return list(self.scores[: len(texts)])


def reranking(
    found: Found, scores: Scores, *, candidates: int = 3, **allowed: Any
) -> tuple[RerankedSearch, MemoryLedger]:
    ledger = MemoryLedger()
    judge = Judge(
        reranker=scores,
        conduct=CallPolicy(timeout=5, tries=1, concurrency=1),
        purse=SpendingLimit(ledger, lambda: NOON, Allowance(**allowed)),
        counter=ByteBound(),
        candidates=candidates,
    )
    return RerankedSearch(found, judge), ledger


def query(limit: int, *, explain: bool = False) -> Query:
    return Query("tea?", make_scope(user_id="u"), ReadConditions(), limit, explain=explain)


def ids(result: SearchResult) -> list[str]:
    return [one.item.id for one in result]


def test_the_candidates_are_put_in_its_order() -> None:
    found = Found(*(evidence(n, f"text {n}") for n in range(5)))
    scores = Scores(0.1, 0.9, 0.5)
    search, ledger = reranking(found, scores)
    result = search.search("t", query(2, explain=True))
    assert ids(result) == ["i1", "i2"]
    assert [(one.score, dict(one.why or {})["rerank"]) for one in result] == [(0.9, 0.9), (0.5, 0.5)]
    assert scores.shown == [("tea?", "text 0", "text 1", "text 2")]
    assert found.limits == [3]
    assert [(call.role, call.model, call.status) for _, call in ledger.calls] == [("rerank", "test/reranker", "ok")]


@pytest.mark.parametrize("error", [ModelUnavailable("away"), AnswerRejected("NaN")])
def test_without_it_the_order_stays_and_that_is_said(error: ModelError) -> None:
    found = Found(*(evidence(n, "x") for n in range(5)))
    search, ledger = reranking(found, Scores(error=error))
    result = search.search("t", query(2))
    assert ids(result) == ["i0", "i1"]
    (said,) = result.degraded
    assert (said.role, said.reason, said.by, said.instead_of) == ("rerank", error.code, "fusion", "test/reranker")
    assert result.to_dict()["degraded"][0]["role"] == "rerank"
    assert [call.status for _, call in ledger.calls] == [error.code]


def test_what_may_not_be_spent_is_not_asked() -> None:
    scores = Scores(0.1)
    search, ledger = reranking(Found(evidence(0, "x"), evidence(1, "y")), scores, tokens_per_call=1)
    assert search.search("t", query(2)).degraded[0].reason == ModelBudgetSpent.code
    assert scores.shown == []
    assert ledger.calls == []


def test_it_reads_the_chunk_that_was_found() -> None:
    text = "a" * 5_000 + "b" * 5_000
    scores = Scores(0.1, 0.2)
    search, _ = reranking(Found(evidence(0, text, "chunk:5000"), evidence(1, text)), scores)
    search.search("t", query(2))
    assert scores.shown == [("tea?", "b" * SHOWN_CHARACTERS, "a" * SHOWN_CHARACTERS)]
