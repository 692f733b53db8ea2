"""Carrying out a plan: who is asked, one reranking for all, and what is said of who was away."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from fake_models import NOON, MemoryLedger
from found_evidence import memory, plan, section
from phronesis import Memory
from phronesis.core.ids import make_scope
from phronesis.core.items import Item
from phronesis.core.results import Degraded, Evidence, Match, SearchResult
from phronesis.core.retrieval_plan import RetrievalPlan, Store, SubPlan, SubQuery, TimeWindow
from phronesis.errors import AnswerRejected, ModelBudgetSpent, ModelError, ModelUnavailable
from phronesis.models.call_policy import Allowance, CallPolicy, Limits, SpendingLimit
from phronesis.models.rerankers import Judge
from phronesis.models.token_counter import ByteBound
from phronesis.recall.evidence import sources_of
from phronesis.recall.query import Encodings, Query
from phronesis.recall.retrieval import SHOWN_CHARACTERS, PlanExecutor, RerankedSearch
from phronesis.recall.retrievers import MemoryRetriever, RetrieverResult, main_query
from phronesis.store.eligible import NO_EXCLUSION, Exclusion, ReadConditions
from phronesis.store.lanes import list_lanes

AWAY = Degraded("embed", "model.unavailable", "words", "e5")


class Finds:
    """A retriever that finds what it is told."""

    def __init__(self, store: Store, *found: Evidence, **told: Any) -> None:
        self.name = self.store = store
        self.told = RetrieverResult(store, store, found, **{"abstained": not found, **told})
        self.encodings: list[Encodings] = []
        self.exclude = NO_EXCLUSION
        self.closed = False

    def retrieve(
        self, _tenant: str, _plan: RetrievalPlan, encodings: Encodings, exclude: Exclusion = NO_EXCLUSION
    ) -> RetrieverResult:
        self.encodings.append(encodings)
        self.exclude = exclude
        return self.told

    def close(self) -> None:
        self.closed = True


class Scores:
    name = "test/reranker"

    def __init__(self, *scores: float, fault: ModelError | None = None) -> None:
        self.scores = scores
        self.fault = fault
        self.shown: list[tuple[str, list[str]]] = []

    def rerank(self, query: str, texts: Sequence[str], *, limits: Limits) -> list[float]:
        limits.check()
        self.shown.append((query, list(texts)))
        if self.fault is not None:
            raise self.fault
        return list(self.scores[: len(texts)])


def judge(scores: Scores, candidates: int = 10, ledger: MemoryLedger | None = None, **allowed: Any) -> Judge:
    return Judge(
        reranker=scores,
        conduct=CallPolicy(timeout=5, tries=1, concurrency=1),
        purse=SpendingLimit(ledger or MemoryLedger(), lambda: NOON, Allowance(**allowed)),
        counter=ByteBound(),
        candidates=candidates,
    )


def ids(found: Iterable[Evidence]) -> list[str]:
    return [one.item.id for one in found]


def test_all_that_a_plan_names_are_asked_and_share_their_encodings() -> None:
    one, other = Finds("memory", memory(1, 0.9)), Finds("resources", section(1, 0.8))
    retrieving = PlanExecutor([one, other])
    pack = retrieving.retrieve("t", plan())
    assert ids(pack.evidence) == ["m1", "s1"]
    assert one.encodings[0] is other.encodings[0]
    retrieving.retrieve("t", plan(resources=None))
    assert (len(one.encodings), len(other.encodings)) == (2, 1)
    retrieving.close()
    assert one.closed
    assert other.closed


def test_it_abstains_when_all_do_and_tells_what_was_passed_over() -> None:
    one = Finds("memory", memory(1), abstained=True, ignored=("modes.semantic",), degraded=(AWAY,))
    other = Finds("resources", degraded=(AWAY,), explain={"url": "x"})
    pack = PlanExecutor([one, other]).retrieve("t", plan())
    assert pack.abstained
    assert ids(pack.evidence) == ["m1"]
    assert pack.ignored_fields == {"memory": ("modes.semantic",)}
    assert pack.degraded == (AWAY,)
    assert pack.explain["retrievers"]["resources"] == {"url": "x", "found": 0, "abstained": True}
    assert not PlanExecutor([one, Finds("resources", section(1))]).retrieve("t", plan()).abstained


def test_both_sources_are_reranked_in_one_call() -> None:
    scores = Scores(0.1, 0.9, 0.5)
    found = Finds("memory", memory(1, 0.9), memory(2, 0.8)), Finds("resources", section(1, 0.1))
    pack = PlanExecutor(found, judge=judge(scores)).retrieve("t", plan("Which?", share=0.5))
    [(query, texts)] = scores.shown
    assert query == "Which?"
    assert sorted(texts) == ["m1", "m2", "s1d1"]
    by_text = dict(zip(texts, scores.scores, strict=True))
    assert {one.item.content: one.score for one in pack} == by_text
    assert pack.explain["reranker"] == "test/reranker"
    assert pack[0].score == 0.9


def test_without_the_reranker_the_order_stays_and_that_is_said() -> None:
    found = Finds("memory", memory(1, 0.9)), Finds("resources", section(1, 0.8))
    pack = PlanExecutor(found, judge=judge(Scores(fault=ModelUnavailable("gone")))).retrieve("t", plan())
    assert ids(pack.evidence) == ["m1", "s1"]
    assert pack.degraded == (Degraded("rerank", "model.unavailable", "fusion", "test/reranker"),)
    alone = Scores()
    PlanExecutor([Finds("memory", memory(1))], judge=judge(alone)).retrieve("t", plan())
    assert alone.shown == []


# The retrievers of this store.


class Searches:
    def __init__(self, *found: Evidence, channels: tuple[str, ...] = ("dense", "lexical")) -> None:
        self.found = found
        self.channels = channels
        self.asked: list[Query] = []

    def search(self, _tenant: str, query: Query) -> SearchResult:
        self.asked.append(query)
        return SearchResult(self.found, explain={"channels": []}, channels=self.channels)


def test_the_weightiest_wording_is_searched_whole() -> None:
    queries = (SubQuery("a?", 0.5), SubQuery("b?", 1.0), SubQuery("c?", 1.0), SubQuery("b?", 0.2))
    sub = SubPlan("memory", queries, ("exact",), kinds=("fact",), filters={"importance": {"gt": 3}}, limit=7)
    assert main_query(sub).text == "b?"
    searches = Searches(memory(1), channels=("lexical",))
    window = TimeWindow(NOON, NOON, "today")
    told = MemoryRetriever(searches).retrieve(
        "t", plan(memory=sub, time=window, entities=("Ada",), kinds=("task",), as_of=NOON), Encodings()
    )
    [query] = searches.asked
    assert (query.text, query.limit, query.store, query.explain) == ("b?", 7, "memory", True)
    assert [one.text for one in query.manner.wordings] == ["a?", "c?"]
    assert (query.manner.window, query.manner.names, query.manner.signals) == (window, ("Ada",), True)
    assert (query.wanted.kinds, query.wanted.filters) == (["fact"], {"importance": {"gt": 3}})
    assert query.wanted.as_of is not None
    assert told.ignored == ("entities",)
    assert told.explain["wordings"] == ["a?", "c?"]


# A search whose best candidates are put in the order of a reranker.


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


def reranking(
    found: Found, scores: Scores, *, candidates: int = 3, **allowed: Any
) -> tuple[RerankedSearch, MemoryLedger]:
    ledger = MemoryLedger()
    return RerankedSearch(found, judge(scores, candidates, ledger, **allowed)), ledger


def tea(limit: int, *, explain: bool = False) -> Query:
    return Query("tea?", make_scope(user_id="u"), ReadConditions(), limit, explain=explain)


def test_the_candidates_are_put_in_its_order() -> None:
    found = Found(*(evidence(n, f"text {n}") for n in range(5)))
    scores = Scores(0.1, 0.9, 0.5)
    search, ledger = reranking(found, scores)
    result = search.search("t", tea(2, explain=True))
    assert ids(result) == ["i1", "i2"]
    assert [(one.score, dict(one.why or {})["rerank"]) for one in result] == [(0.9, 0.9), (0.5, 0.5)]
    assert scores.shown == [("tea?", ["text 0", "text 1", "text 2"])]
    assert found.limits == [3]
    assert [(call.role, call.model, call.status) for _, call in ledger.calls] == [("rerank", "test/reranker", "ok")]


@pytest.mark.parametrize("error", [ModelUnavailable("away"), AnswerRejected("NaN")])
def test_without_it_the_order_stays_and_that_is_said(error: ModelError) -> None:
    found = Found(*(evidence(n, "x") for n in range(5)))
    search, ledger = reranking(found, Scores(fault=error))
    result = search.search("t", tea(2))
    assert ids(result) == ["i0", "i1"]
    (said,) = result.degraded
    assert (said.role, said.reason, said.by, said.instead_of) == ("rerank", error.code, "fusion", "test/reranker")
    assert result.to_dict()["degraded"][0]["role"] == "rerank"
    assert [call.status for _, call in ledger.calls] == [error.code]


def test_what_may_not_be_spent_is_not_asked() -> None:
    scores = Scores(0.1)
    search, ledger = reranking(Found(evidence(0, "x"), evidence(1, "y")), scores, tokens_per_call=1)
    assert search.search("t", tea(2)).degraded[0].reason == ModelBudgetSpent.code
    assert scores.shown == []
    assert ledger.calls == []


def test_it_reads_the_chunk_that_was_found() -> None:
    text = "a" * 5_000 + "b" * 5_000
    scores = Scores(0.1, 0.2)
    search, _ = reranking(Found(evidence(0, text, "chunk:5000"), evidence(1, text)), scores)
    search.search("t", tea(2))
    assert scores.shown == [("tea?", ["b" * SHOWN_CHARACTERS, "a" * SHOWN_CHARACTERS])]


def test_what_was_learned_from_nothing_has_no_source_and_what_was_said_has() -> None:
    with Memory.open("sqlite://", policy={"embedder": "none"}) as memory:
        said = memory.add("tea at four").items[0]
        trait = dataclasses.replace(said, kind="trait")
        with memory._runtime._components.database.transaction(memory.admin.tenant, "read") as unit:
            lane = list_lanes(unit)[0].lane_id
            assert sources_of(unit, lane, [trait]) == {said.id: []}
            assert [source.quote for source in sources_of(unit, lane, [said])[said.id]] == ["tea at four"]
