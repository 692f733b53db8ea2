"""Claims and verdicts in a real store: a run counts once, statuses follow, a verdict can be taken back."""

from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from phronesis.core.items import Item
from phronesis.reasoning.laws.claim_status import parse
from phronesis.reasoning.laws.item_records import reasoning_item
from phronesis.reasoning.laws.records import Claim
from scenarios.engines import EngineStore, block


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EngineStore]:
    with EngineStore(tmp_path) as opened:
        yield opened


def claim(store: EngineStore, item: Item, claim_id: str = "c1") -> Claim:
    """The claim as the item's own block says it: the block is the truth that callers see."""
    return next(found for found in parse(store.memory.get(item.id).content).claims if found.claim_id == claim_id)


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("judge"), st.sampled_from(["r1", "r2", "r3"]), st.sampled_from(["support", "contra"])),
        st.tuples(st.just("write"), st.sampled_from(["", "c1", "c1 c2", "c2 c3"]), st.sampled_from(["holds", "fails"])),
        st.tuples(st.just("paste"), st.just("c1"), st.sampled_from(["holds", "fails"])),
        st.tuples(
            st.just("edit"),
            st.sampled_from(["items.archive", "items.unarchive", "items.retract", "items.pin"]),
            st.just(""),
        ),
        st.tuples(st.just("rollback"), st.integers(0, 9), st.just("")),
    ),
    min_size=1,
    max_size=9,
)


@pytest.mark.slow
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=STEPS)
def test_whatever_happens_the_replay_the_content_and_the_index_agree(
    tmp_path_factory: pytest.TempPathFactory, steps: list[tuple[str, Any, str]]
) -> None:
    with EngineStore(tmp_path_factory.mktemp("mixed")) as store:
        item = store.reason("c1", "c2")
        for step, what, how in steps:
            store.clock.pass_days(1)
            _do(store, item, step, what, how)
            now = store.memory.get(item.id)
            assert parse(now.content).claims == reasoning_item(now).claims
            assert store.memory.update(item.id, content=now.content).items == ()
        assert store.verified()
        assert store.memory.reasoning.rebuild_index().repaired == 0
        store.memory.admin.rebuild()
        assert store.memory.get(item.id) == now


def _do(store: EngineStore, item: Item, step: str, what: Any, how: str) -> None:
    if step == "judge":
        store.judge(what, item, c1=how, c3=how)
    elif step == "write":
        claims = [{"claim_id": one, "inference": f"{one} {how}."} for one in what.split()]
        store.memory.update(item.id, content=block(*claims, topic=how))
    elif step == "paste":
        content = store.memory.get(item.id).content
        store.memory.update(item.id, content=content.replace("holds", how))
    elif step == "edit":
        attrgetter(what)(store.memory)(item.id)
    else:
        events = store.memory.history(item.id)
        store.memory.rollback(events[what % len(events)].delta_id, cascade=True)
