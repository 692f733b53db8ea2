"""Carrying out a plan: who is asked, one reranking for all, and what is said of who was away."""

from collections.abc import Sequence
from typing import Any

from fake_models import NOON, MemoryLedger
from found_evidence import memory, plan, section
from phronesis.core.results import Degraded, Evidence, SearchResult
from phronesis.core.retrieval_plan import RetrievalPlan, Store, SubPlan, SubQuery, TimeWindow
from phronesis.errors import ModelUnavailable
from phronesis.models.call_policy import Allowance, CallPolicy, Limits, SpendingLimit
from phronesis.models.rerankers import Judge
from phronesis.models.token_counter import ByteBound
from phronesis.recall.retrieval import PlanExecutor
from phronesis.recall.retrievers import MemoryRetriever, RetrieverResult, main_query
from phronesis.recall.search_options import Encodings, Query
from phronesis.store.eligible import NO_EXCLUSION, Exclusion

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

    def __init__(self, *scores: float, away: bool = False) -> None:
        self.scores = scores
        self.away = away
        self.shown: list[tuple[str, list[str]]] = []

    def rerank(self, query: str, texts: Sequence[str], *, limits: Limits) -> list[float]:
        limits.check()
        self.shown.append((query, list(texts)))
        if self.away:
            raise ModelUnavailable("gone")
        return list(self.scores[: len(texts)])


def judge(scores: Scores, candidates: int = 10) -> Judge:
    return Judge(
        reranker=scores,
        conduct=CallPolicy(timeout=5, tries=1, concurrency=1),
        purse=SpendingLimit(MemoryLedger(), lambda: NOON, Allowance()),
        counter=ByteBound(),
        candidates=candidates,
    )


def ids(found: Sequence[Evidence]) -> list[str]:
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
    pack = PlanExecutor(found, judge=judge(Scores(away=True))).retrieve("t", plan())
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
