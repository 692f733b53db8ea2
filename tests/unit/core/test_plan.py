"""A plan is read from plain values: what is wrong is named, and writing and reading are each other's inverse."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phronesis.core.ids import Scope
from phronesis.core.items import KINDS
from phronesis.core.results import Degraded
from phronesis.core.retrieval_plan import (
    INTENTS,
    MAX_QUERIES,
    MODES,
    ORIGINS,
    RetrievalPlan,
    SubPlan,
    SubQuery,
    TimeWindow,
)
from phronesis.errors import InputError


def test_a_message_is_enough() -> None:
    plan = RetrievalPlan.from_dict({"message": "which port?"})
    assert plan.queries == (SubQuery("which port?"),)
    assert plan.memory == SubPlan("memory", plan.queries)
    assert (plan.made_by, plan.intent, plan.resources_needed, plan.resources) == ("caller", "recall", False, None)
    assert plan.id == RetrievalPlan.from_dict({"message": "which port?"}).id
    assert plan.id != RetrievalPlan.from_dict({"message": "which door?"}).id


def test_filters_are_taken_as_they_are_given() -> None:
    told = {"AND": [{"status": "active"}, {"importance": {"gte": 3}}]}
    assert RetrievalPlan.from_dict({"message": "m", "filters": told}).filters == told


def test_a_sub_plan_takes_what_it_does_not_say_from_the_plan() -> None:
    given = {
        "message": "m",
        "queries": [{"text": "a", "weight": 1}],
        "modes": ["semantic", "exact"],
        "limit": 5,
        "resources": {"limit": 3},
        "memory": None,
    }
    plan = RetrievalPlan.from_dict(given)
    assert plan.modes == ("exact", "semantic")
    assert plan.resources == SubPlan("resources", (SubQuery("a"),), limit=3)
    assert (plan.memory, plan.resources_needed) == (None, True)


def test_what_is_wrong_is_named() -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({}, "message"),
        ({"queris": []}, "queris"),
        ({"intent": "guess"}, "intent"),
        ({"queries": "port"}, "queries"),
        ({"queries": ["port"]}, "queries[0]"),
        ({"queries": [{"text": "a"}, {"text": "b", "weight": 0}]}, "queries[1].weight"),
        ({"modes": ["magic"]}, "modes[0]"),
        ({"kinds": ["dream"]}, "kinds[0]"),
        ({"filters": [1]}, "filters"),
        ({"filters": {"a": object()}}, "filters.a"),
        ({"entities": ["a", 3]}, "entities[1]"),
        ({"time": {"since": "2026-05-04"}}, "time.until"),
        ({"time": {"since": "2026-05-04", "until": "2026-05-04"}}, "time.until"),
        ({"time": {"since": "soon", "until": "2026-05-04"}}, "time.since"),
        ({"resources_needed": 1}, "resources_needed"),
        ({"resources_needed": False, "resources": {}}, "resources_needed"),
        ({"memory": {"queries": [{"text": ""}]}}, "memory.queries[0].text"),
        ({"memory": {"limit": 0}}, "memory.limit"),
        ({"memory": []}, "memory"),
        ({"limit": 1.5}, "limit"),
        ({"scope": {"user_id": ""}}, "user_id"),
        ({"scope": {"own_only": "yes"}}, "scope.own_only"),
        ({"as_of": True}, "as_of"),
        ({"degraded": [{"role": "plan"}]}, "degraded[0].reason"),
    ]
    for written, field in cases:
        base = {} if "message" in written or not written else {"message": "m"}
        with pytest.raises(InputError) as caught:
            RetrievalPlan.from_dict({**base, **written})
        assert caught.value.field == field, written
        assert field in caught.value.message, written


def test_what_is_no_mapping_is_refused() -> None:
    with pytest.raises(InputError, match="plan must be a mapping"):
        RetrievalPlan.from_dict("plan")


TEXTS = st.text(max_size=6).map("a{}".format)
IDS = st.text("abcü中", min_size=1, max_size=5)
MAYBE = st.none() | IDS
QUERIES = st.lists(
    st.builds(SubQuery, TEXTS, st.floats(0, 1, exclude_min=True), st.sampled_from(ORIGINS)),
    min_size=1,
    max_size=MAX_QUERIES,
).map(tuple)
MODE_LISTS = st.lists(st.sampled_from(MODES), min_size=1, unique=True).map(
    lambda modes: tuple(one for one in MODES if one in modes)
)
KIND_LISTS = st.none() | st.lists(st.sampled_from(KINDS), max_size=3).map(tuple)
FILTERS = st.none() | st.dictionaries(st.text("ab."), st.integers(0, 9) | st.text("xy"), max_size=2)
MOMENTS = st.datetimes(datetime(1990, 1, 1), datetime(2090, 1, 1)).map(lambda at: at.replace(tzinfo=UTC))  # noqa: DTZ001
WINDOWS = st.builds(
    lambda since, days, words: TimeWindow(since, since + timedelta(days=days), words),
    MOMENTS,
    st.integers(1, 400),
    st.text(max_size=9),
)
SUB: dict[str, Any] = {
    "queries": QUERIES,
    "modes": MODE_LISTS,
    "kinds": KIND_LISTS,
    "filters": FILTERS,
    "limit": st.integers(1, 99),
}


@st.composite
def plans(draw: st.DrawFn) -> RetrievalPlan:
    resources = draw(st.none() | st.builds(SubPlan, st.just("resources"), **SUB))
    return RetrievalPlan(
        id=draw(TEXTS),
        message=draw(TEXTS),
        intent=draw(st.sampled_from(INTENTS)),
        language=draw(TEXTS),
        queries=draw(QUERIES),
        modes=draw(MODE_LISTS),
        entities=tuple(draw(st.lists(TEXTS, max_size=3))),
        time=draw(st.none() | WINDOWS),
        kinds=draw(KIND_LISTS),
        filters=draw(FILTERS),
        resources_needed=resources is not None or draw(st.booleans()),
        memory=draw(st.none() | st.builds(SubPlan, st.just("memory"), **SUB)),
        resources=resources,
        limit=draw(st.integers(1, 99)),
        share=draw(st.floats(0, 1)),
        scope=draw(st.builds(Scope, MAYBE, IDS, MAYBE, MAYBE, MAYBE, st.booleans(), st.booleans())),
        as_of=draw(st.none() | MOMENTS),
        valid_at=draw(st.none() | MOMENTS),
        reasons=tuple(draw(st.lists(TEXTS, max_size=2))),
        made_by=draw(TEXTS),
        degraded=tuple(draw(st.lists(st.builds(Degraded, TEXTS, TEXTS, TEXTS, TEXTS), max_size=1))),
    )


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(plans())
def test_reading_what_was_written_gives_the_plan(plan: RetrievalPlan) -> None:
    assert RetrievalPlan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan
