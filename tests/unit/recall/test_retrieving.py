"""Carrying out a plan: who is asked, one reranking for all, and what is said of who was away."""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

from fake_models import NOON, MemoryLedger
from found_evidence import memory, plan, section
from phronesis import Memory
from phronesis.core.ids import make_scope
from phronesis.core.results import Degraded, Evidence, SearchResult
from phronesis.core.retrieval_plan import SubPlan, SubQuery, TimeWindow
from phronesis.errors import AnswerRejected, ModelBudgetSpent, ModelError, ModelUnavailable
from phronesis.models.call_policy import Allowance, CallPolicy, Limits, SpendingLimit
from phronesis.models.rerankers import Judge
from phronesis.models.token_counter import ByteBound
from phronesis.recall.evidence import sources_of
from phronesis.recall.hits import SHOWN_CHARACTERS, RerankedSearch
from phronesis.recall.query import Encodings, Query
from phronesis.recall.retrievers import PlanExecutor, main_query, retrieve_local
from phronesis.store.eligible import ReadConditions
from phronesis.store.lanes import list_lanes

AWAY = Degraded("embed", "model.unavailable", "words", "e5")


class Searches:
    """A search that finds what it is told, of the store that is asked for."""

    def __init__(self, *found: Evidence, channels: tuple[str, ...] = ("dense", "lexical"), **told: Any) -> None:
        self.found = found
        self.told = {"channels": channels, "explain": {"channels": []}, **told}
        self.asked: list[Query] = []

    def search(self, _tenant: str, query: Query) -> SearchResult:
        self.asked.append(query)
        store = {"memory": False, "resources": True}.get(query.store or "")
        found = [one for one in self.found if store is None or (one.item.kind == "section") is store]
        return SearchResult(tuple(found), **{"abstained": not found, **self.told})


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
    searches = Searches(memory(1, 0.9), section(1, 0.8))
    pack = PlanExecutor(searches).retrieve("t", plan())
    assert ids(pack.evidence) == ["m1", "s1"]
    one, other = searches.asked
    assert one.manner.encodings is other.manner.encodings is not None
    PlanExecutor(searches).retrieve("t", plan(resources=None))
    assert [query.store for query in searches.asked] == ["memory", "resources", "memory"]


def test_it_abstains_when_all_do_and_tells_what_was_passed_over() -> None:
    searches = Searches(memory(1), channels=("lexical",), abstained=True, degraded=(AWAY,))
    pack = PlanExecutor(searches).retrieve("t", plan())
    assert pack.abstained
    assert ids(pack.evidence) == ["m1"]
    assert pack.ignored_fields == {"memory": ("modes.semantic",), "resources": ("modes.semantic",)}
    assert pack.degraded == (AWAY,)
    told = pack.explain["retrievers"]["resources"]
    assert (told["found"], told["abstained"], told["query"]) == (0, True, pack.plan.message)
    assert not PlanExecutor(Searches(memory(1))).retrieve("t", plan()).abstained


def test_both_sources_are_reranked_in_one_call() -> None:
    scores = Scores(0.1, 0.9, 0.5)
    found = memory(1, 0.9), memory(2, 0.8), section(1, 0.1)
    pack = PlanExecutor(Searches(*found), judge=judge(scores)).retrieve("t", plan("Which?", share=0.5))
    [(query, texts)] = scores.shown
    assert query == "Which?"
    assert sorted(texts) == ["m1", "m2", "s1d1"]
    by_text = dict(zip(texts, scores.scores, strict=True))
    assert {one.item.content: one.score for one in pack} == by_text
    assert pack.explain["reranker"] == "test/reranker"
    assert pack[0].score == 0.9


def test_without_the_reranker_the_order_stays_and_that_is_said() -> None:
    found = Searches(memory(1, 0.9), section(1, 0.8))
    pack = PlanExecutor(found, judge=judge(Scores(fault=ModelUnavailable("gone")))).retrieve("t", plan())
    assert ids(pack.evidence) == ["m1", "s1"]
    assert pack.degraded == (Degraded("rerank", "model.unavailable", "fusion", "test/reranker"),)
    alone = Scores()
    PlanExecutor(Searches(memory(1)), judge=judge(alone)).retrieve("t", plan())
    assert alone.shown == []


def test_the_weightiest_wording_is_searched_whole() -> None:
    queries = (SubQuery("a?", 0.5), SubQuery("b?", 1.0), SubQuery("c?", 1.0), SubQuery("b?", 0.2))
    sub = SubPlan("memory", queries, ("exact",), kinds=("fact",), filters={"importance": {"gt": 3}}, limit=7)
    assert main_query(sub).text == "b?"
    searches = Searches(memory(1), channels=("lexical",))
    window = TimeWindow(NOON, NOON, "today")
    given = plan(memory=sub, time=window, entities=("Ada",), kinds=("task",), as_of=NOON)
    told = retrieve_local(searches, "t", given, sub, Encodings())
    [query] = searches.asked
    assert (query.text, query.limit, query.store, query.explain) == ("b?", 7, "memory", True)
    assert [one.text for one in query.manner.wordings] == ["a?", "c?"]
    assert (query.manner.window, query.manner.names, query.manner.signals) == (window, ("Ada",), True)
    assert (query.wanted.kinds, query.wanted.filters) == (["fact"], {"importance": {"gt": 3}})
    assert query.wanted.as_of is not None
    assert told.ignored == ("entities",)
    assert told.explain["wordings"] == ["a?", "c?"]


# A search whose best candidates are put in the order of a reranker.


def tea(
    scores: Scores, *found: Evidence, explain: bool = False, **allowed: Any
) -> tuple[SearchResult, MemoryLedger, Searches]:
    searches, ledger = Searches(*found), MemoryLedger()
    query = Query("tea?", make_scope(user_id="u"), ReadConditions(), 2, explain=explain)
    return RerankedSearch(searches, judge(scores, 3, ledger, **allowed)).search("t", query), ledger, searches


MANY = [memory(n, text=f"text {n}", score=10.0 - n) for n in range(5)]


def test_the_candidates_are_put_in_its_order() -> None:
    scores = Scores(0.1, 0.9, 0.5)
    result, ledger, searches = tea(scores, *MANY, explain=True)
    assert ids(result) == ["m1", "m2"]
    assert [(one.score, dict(one.why or {})["rerank"]) for one in result] == [(0.9, 0.9), (0.5, 0.5)]
    assert scores.shown == [("tea?", ["text 0", "text 1", "text 2"])]
    assert [query.limit for query in searches.asked] == [3]
    assert [(call.role, call.model, call.status) for _, call in ledger.calls] == [("rerank", "test/reranker", "ok")]


@pytest.mark.parametrize("error", [ModelUnavailable("away"), AnswerRejected("NaN")])
def test_without_it_the_order_stays_and_that_is_said(error: ModelError) -> None:
    result, ledger, _ = tea(Scores(fault=error), *MANY)
    assert ids(result) == ["m0", "m1"]
    assert result.degraded == (Degraded("rerank", error.code, "fusion", "test/reranker"),)
    assert [call.status for _, call in ledger.calls] == [error.code]


def test_what_may_not_be_spent_is_not_asked() -> None:
    scores = Scores(0.1)
    result, ledger, _ = tea(scores, *MANY[:2], tokens_per_call=1)
    assert result.degraded[0].reason == ModelBudgetSpent.code
    assert scores.shown == []
    assert ledger.calls == []


def test_it_reads_the_chunk_that_was_found() -> None:
    text = "a" * 5_000 + "b" * 5_000
    scores = Scores(0.1, 0.2)
    tea(scores, section(0, text=text, part="chunk:5000"), memory(1, text=text))
    assert scores.shown == [("tea?", ["b" * SHOWN_CHARACTERS, "a" * SHOWN_CHARACTERS])]


def test_what_was_learned_from_nothing_has_no_source_and_what_was_said_has() -> None:
    with Memory.open("sqlite://", policy={"embedder": "none"}) as memory:
        said = memory.add("tea at four").items[0]
        trait = dataclasses.replace(said, kind="trait")
        with memory._runtime._components.database.transaction(memory.admin.tenant, "read") as unit:
            lane = list_lanes(unit)[0].lane_id
            assert sources_of(unit, lane, [trait]) == {said.id: []}
            assert [source.quote for source in sources_of(unit, lane, [said])[said.id]] == ["tea at four"]
