"""Plans by rules: queries, names, sub-plans; laws that hold for any text."""

import json
import logging
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth import assert_cut_off, repeated
from phronesis.core.retrieval_plan import MAX_QUERIES, RetrievalPlan, SubQuery
from phronesis.recall.intent import MAX_READ
from phronesis.recall.plan_queries import entities_in
from phronesis.recall.planner import Planner, PlanRequest

NOW = datetime(2026, 5, 12, 9, tzinfo=UTC)
PLANNER = Planner(lambda: NOW)


def plan(message: str, **given: object) -> RetrievalPlan:
    return PLANNER.plan("t", PlanRequest(message=message, **given))  # type: ignore[arg-type]


def test_parts_go_to_the_retriever_that_they_are_for() -> None:
    found = plan("Did Zhang Wei call yesterday? What does the manual say about port 443?")
    assert found.resources_needed
    assert found.memory is not None
    assert found.resources is not None
    assert [query.origin for query in found.memory.queries] == ["message", "part", "entity"]
    assert found.memory.queries[1].text == "Did Zhang Wei call yesterday?"
    assert found.resources.queries[1].text == "What does the manual say about port 443?"
    assert found.queries[0] == SubQuery(found.message)


def test_a_follow_up_takes_the_names_of_what_was_said_last() -> None:
    found = plan("does it run on arm?", recent=["We looked at DuckDB.", "ok"])
    assert [query.text for query in found.queries] == ["does it run on arm?", "does it run on arm? DuckDB"]
    assert "it goes on with what was said before" in found.reasons
    assert plan("那个怎么用？", recent=["我在看内存泄漏"]).queries[1].text == "那个怎么用？ 我在看内存泄漏"
    assert len(plan("does it run on arm?").queries) == 1


def test_entities_in_their_order() -> None:
    cases: list[tuple[str, tuple[str, ...]]] = [
        ("open src/app.py and see https://a.org/x, Grace", ("src/app.py", "https://a.org/x", "Grace")),
        ("《三体》里 `retry_limit` 是几，“降压阀”呢", ("三体", "retry_limit", "降压阀")),
        ("does pandas.merge keep the order?", ("pandas.merge",)),
        ("nothing here", ()),
    ]
    for text, expected in cases:
        assert entities_in(text) == expected


def test_the_log_holds_no_word_of_the_message(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="phronesis.plan"):
        found = plan("what did I say about the harbour?")
    [record] = caplog.records
    assert record.levelno == logging.DEBUG
    assert found.id in record.getMessage()
    assert "harbour" not in record.getMessage()


PIECES = st.sampled_from(
    ["what ", "did I ", "the manual ", "上个月", "我说", "？", "? ", "；", "\n", "```", "a.py ", "Bob ", "it "]
)


@given(st.lists(PIECES | st.text(max_size=6), max_size=12).map("".join), st.lists(st.text(max_size=20), max_size=2))
def test_any_text_has_a_plan(text: str, recent: list[str]) -> None:
    found = plan(text, recent=recent, agent_state={"goal": text})
    assert 1 <= len(found.queries) <= MAX_QUERIES
    for sub in (found.memory, found.resources):
        assert sub is None or (set(sub.queries) <= set(found.queries) and sub.queries[0] == found.queries[0])
    assert all(0 < query.weight <= 1 for query in found.queries)
    assert found.queries[0].weight == 1
    if text.strip():
        assert RetrievalPlan.from_dict(json.loads(json.dumps(found.to_dict()))) == found


HOSTILE = ["从", "the a ", "and ", "http://"]


@pytest.mark.parametrize("piece", HOSTILE)
def test_no_text_takes_long(piece: str) -> None:
    assert_cut_off(plan, repeated(piece), MAX_READ)
