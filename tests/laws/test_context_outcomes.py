"""Outcomes in contexts: they move usefulness one way each, within bounds, and a person outweighs them."""

import tempfile
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phronesis import Memory
from phronesis.core.relations import CONTEXT_ID, CONTEXT_OUTCOME, OUTCOMES, Edge, ItemUse, uses_of
from phronesis.experience.laws.evidence_fold import HUMAN_WEIGHT, FeedbackWeights, usefulness
from set_clock import Clock

counts = st.integers(0, 500)
uses = st.builds(ItemUse, used=counts, ignored=counts, contradicted=counts)
edges = st.lists(
    st.builds(
        Edge,
        type=st.just(CONTEXT_OUTCOME),
        from_kind=st.just("item"),
        from_id=st.sampled_from("rst"),
        to_kind=st.just("item"),
        to_id=st.sampled_from("ab"),
        entry_id=st.sampled_from("123"),
        grade=st.sampled_from(OUTCOMES),
        data=st.sampled_from("xy").map(lambda context: {CONTEXT_ID: context}),
    ),
    unique_by=lambda edge: edge.identity,
)


@given(uses, st.floats(0, 9), st.floats(0, 9))
def test_usefulness_is_bounded_and_each_outcome_moves_it_one_way(use: ItemUse, useful: float, against: float) -> None:
    voices = FeedbackWeights(useful=useful, not_useful=against)
    now = usefulness(voices, use)
    assert 0.0 < now < 1.0
    assert usefulness(voices, ItemUse(used=use.used + 1, ignored=use.ignored, contradicted=use.contradicted)) >= now
    for worse in ({"ignored": use.ignored + 1}, {"contradicted": use.contradicted + 1}):
        more = {"used": use.used, "ignored": use.ignored, "contradicted": use.contradicted, **worse}
        assert usefulness(voices, ItemUse(**more)) <= now + 1e-12


@given(uses)
def test_a_person_outweighs_any_number_of_outcomes(use: ItemUse) -> None:
    assert usefulness(FeedbackWeights(useful=HUMAN_WEIGHT), use) >= 0.5
    assert usefulness(FeedbackWeights(not_useful=HUMAN_WEIGHT), use) <= 0.5


@given(edges, st.randoms(use_true_random=False))
def test_outcomes_count_in_any_order_and_once_in_a_context(found: list[Edge], chance: Any) -> None:
    shuffled = [*found, *found]
    chance.shuffle(shuffled)
    assert uses_of(shuffled) == uses_of(found)
    for item_id, use in uses_of(found).items():
        contexts = {edge.data[CONTEXT_ID] for edge in found if edge.to_id == item_id}
        assert use.used + use.ignored + use.contradicted == len(contexts)


FACTS = ("The pump runs at 4 bar.", "The pump has a PTFE seal.", "Ruth mends the pump.")
QUESTION = "What of the pump: 4 bar, the PTFE seal, Ruth?"
Turns = Sequence[Mapping[str, str]]


def _story(url: str, turns: Turns, *, told: bool) -> tuple[list[Any], list[Any], dict[str, ItemUse]]:
    """Return what is held after some turns, what a context shows then, and how each fact was used."""
    clock = Clock(datetime(2026, 3, 1, tzinfo=UTC))
    with Memory.open(url, policy={"embedder": "none"}, clock=clock) as memory:
        facts = [memory.add(text, kind="fact", user_id="lin").items[0] for text in FACTS]
        for outcomes in turns:
            clock.pass_hours(1)
            package = memory.compose_context("s", QUESTION, user_id="lin")
            aliases = package.aliases_by_section()["evidence"]
            given = {alias: outcomes[alias] for alias in aliases if alias in outcomes}
            more: dict[str, Any] = {"context_id": package.context_id, "outcomes": given} if told else {}
            memory.commit_turn("s", [{"role": "assistant", "content": "So it is."}], user_id="lin", **more)
        held = [
            (item.content, item.status, item.ended, item.confidence, item.valid_from, item.valid_to, item.version)
            for item in memory.get_all(user_id="lin")
        ]
        package = memory.compose_context("t", QUESTION, user_id="lin", dry_run=True)
        shown = [(one.item.content, one.score) for one in package.evidence]
        used = {fact.content: memory.explain(fact.id).use for fact in facts}
        assert memory.admin.rebuild(verify=True).equal
        memory.admin.rebuild()
        assert {fact.content: memory.explain(fact.id).use for fact in facts} == used
    return held, shown, used


@pytest.mark.slow
@settings(max_examples=6, deadline=None)
@given(
    st.lists(st.dictionaries(st.sampled_from(["m1", "m2", "m3"]), st.sampled_from(OUTCOMES)), min_size=1, max_size=4)
)
def test_outcomes_change_usefulness_alone_and_a_replay_gives_the_same(turns: Turns) -> None:
    with tempfile.TemporaryDirectory() as folder:
        held, shown, used = _story(f"sqlite:///{folder}/told.db", turns, told=True)
        plain = _story(f"sqlite:///{folder}/plain.db", turns, told=False)
    assert (held, shown) == plain[:2]
    stated = sum(len(outcomes) for outcomes in turns)
    assert sum(use.used + use.ignored + use.contradicted for use in used.values()) <= stated
    assert {use.usefulness for use in plain[2].values()} == {0.5}
