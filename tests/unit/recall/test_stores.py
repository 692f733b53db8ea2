"""Which stores a search looks through, and how what several found becomes one list."""

from datetime import UTC, datetime
from typing import Any

from phronesis.core.items import Item
from phronesis.core.results import Degraded, Evidence, SearchResult
from phronesis.core.retrieval_plan import Store
from phronesis.recall.deduplication import COVERED
from phronesis.recall.hits import merged, stores_of

AT = datetime(2026, 1, 1, tzinfo=UTC)
AWAY = Degraded("embed", "model.unavailable", "words", "e5")


def found(*coverages: float) -> tuple[Evidence, ...]:
    """Give results that hold so much of the question, under scores of no scale in common."""
    return tuple(
        Evidence(
            Item(id=str(one), kind="fact", content="", entry_id="e", recorded_at=AT, updated_at=AT),
            9 - n,
            (),
            why={COVERED: one},
        )
        for n, one in enumerate(coverages)
    )


def test_stores_follow_from_kinds() -> None:
    cases: list[tuple[Any, tuple[str, ...]]] = [
        (None, ("memory", "resources")),
        ([], ("memory", "resources")),
        (["fact", "message"], ("memory",)),
        (["section"], ("resources",)),
        (["section", "fact"], ("memory", "resources")),
    ]
    for kinds, expected in cases:
        assert stores_of(kinds) == expected


def test_several_answer_in_one_list_by_relevance() -> None:
    results: dict[Store, SearchResult] = {
        "memory": SearchResult(found(0.9, 0.2), explain={"a": 1}, degraded=(AWAY,), channels=("lexical",)),
        "resources": SearchResult(found(0.5), abstained=True, explain={"b": 2}, degraded=(AWAY,), channels=("dense",)),
    }
    both = merged(results, 2, explain=True)
    assert [one.item.id for one in both] == ["0.9", "0.5"]
    assert [one.score for one in both] == sorted((one.score for one in both), reverse=True)
    assert all(one.why for one in both)
    assert (both.abstained, both.degraded, both.channels) == (False, (AWAY,), ("dense", "lexical"))
    assert both.explain == {"memory": {"a": 1}, "resources": {"b": 2}}


def test_nothing_is_explained_that_was_not_asked_for() -> None:
    results: dict[Store, SearchResult] = {
        "memory": SearchResult(found(0.4), abstained=True),
        "resources": SearchResult(found(0.3), abstained=True),
    }
    both = merged(results, 5, explain=False)
    assert (both.explain, both.abstained, [one.why for one in both]) == (None, True, [None, None])
