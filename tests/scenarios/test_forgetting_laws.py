"""The laws of forgetting, over any story.

What a dry run says is done, once; evidence outlives what stands on it; a rollback brings everything back; a replay
gives the same.
"""

from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from phronesis import Memory
from phronesis.core.items import Item
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import list_lanes

SAID = (
    "I'm allergic to peanuts.",
    "我住在成都。",
    "Nice weather!",
    "The project's deadline is March 3.",
    "哈哈哈",
    "I like tea.",
    "我讨厌香菜。",
    "We decided to use PostgreSQL.",
    "I need to renew my passport.",
)
STATED: tuple[tuple[str, str, dict[str, int]], ...] = (
    ("The boat is at pier four.", "fact", {}),
    ("Visit the lantern festival", "intention", {"expires": 40}),
    ("Send the invoice", "task", {"due": 30}),
    ("The bus was late", "fact", {"importance": 1}),
)

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.integers(0, len(SAID) - 1)),
        st.tuples(st.just("state"), st.integers(0, len(STATED) - 1)),
        st.tuples(st.just("wait"), st.integers(1, 500)),
        st.tuples(st.just("search"), st.integers(0, len(SAID) - 1)),
        st.tuples(st.just("items.unarchive"), st.integers(0, 5)),
        st.tuples(st.just("items.pin"), st.integers(0, 5)),
        st.tuples(st.just("forget"), st.integers(0, 3)),
    ),
    max_size=14,
)


class Story:
    """A store and its clock."""

    def __init__(self) -> None:
        self.now = datetime(2026, 1, 1, tzinfo=UTC)
        policy = {"embedder": "none", "forgetting": {"delete_after_days": 100, "half_life_days": 120}}
        self.memory = Memory.open("sqlite://", policy=policy, clock=lambda: self.now)

    def state(self) -> dict[str, Item]:
        """All items of the lane, whatever their status."""
        stages = self.memory.admin.components
        with stages.database.transaction(self.memory.admin.tenant, "read") as unit:
            return {item.id: item for lane in list_lanes(unit) for item in LaneView(unit, lane).find(live=False)}

    def evidence_holds(self) -> bool:
        """Whether every message that something living was taken from lives too, where forgetting had its way."""
        items = self.state()
        stages = self.memory.admin.components
        with stages.database.transaction(self.memory.admin.tenant, "read") as unit:
            rows = [
                row
                for lane in list_lanes(unit)
                for of in LaneView(unit, lane).evidence(items).values()
                for row in of
                if row.polarity == "source" and row.source_item_id is not None
            ]
        return all(items[row.source_item_id or ""].live for row in rows if items[row.item_id].live)

    def do(self, what: str, n: int) -> None:
        memory, items = self.memory, list(self.state().values())
        if what == "say":
            message = {"role": "user", "content": SAID[n]}
            memory.commit_turn("s", {"messages": [message]}, user_id="u")
        elif what == "state":
            text, kind, given = STATED[n]
            times = {
                name: self.now + timedelta(days=days) if name != "importance" else days for name, days in given.items()
            }
            memory.add(text, user_id="u", kind=kind, **times)  # type: ignore[arg-type]
        elif what == "wait":
            self.now += timedelta(days=n)
        elif what == "search":
            memory.search(SAID[n], user_id="u", limit=2)
        elif what == "forget":
            self.forget()
        elif n < len(items):
            attrgetter(what)(memory)(items[n].id)

    def forget(self) -> Any:
        """Forget, and hold it to what a dry run said; then there is nothing more to do."""
        foreseen = self.memory.forget(user_id="u", dry_run=True)
        done = self.memory.forget(user_id="u")
        assert foreseen.rows == done.rows
        assert not {row.id for row in foreseen.kept} & {row.id for row in done.rows}
        assert self.memory.forget(user_id="u", dry_run=True).rows == ()
        return done


AT_THE_BORDER = [("state", 0), ("say", 2), ("wait", 240), ("state", 1), ("forget", 0)]
"""Two half-lives to the day, and two entries in one instant of the clock: the second is recorded a little later."""


@settings(max_examples=20, deadline=None)
@example(AT_THE_BORDER)
@given(STEPS)
@pytest.mark.slow
def test_a_dry_run_is_what_is_done_once_and_evidence_outlives_what_stands_on_it(steps: list[tuple[str, int]]) -> None:
    story = Story()
    with story.memory:
        for what, n in steps:
            story.do(what, n)
        story.forget()
        assert story.evidence_holds()
        assert story.memory.admin.rebuild(verify=True).equal


@settings(max_examples=15, deadline=None)
@given(STEPS, st.integers(1, 2000))
def test_a_rollback_of_forgetting_brings_everything_back(steps: list[tuple[str, int]], days: int) -> None:
    story = Story()
    with story.memory:
        for what, n in steps:
            story.do(what, n)
        story.now += timedelta(days=days)
        before = story.state()
        done = story.forget()
        if story.state() == before:
            assert done.rows == ()
            return
        story.memory.rollback(done.entry_id)
        after = story.state()
        assert {one: (item.status, item.ended, item.data, item.valid_to) for one, item in after.items()} == {
            one: (item.status, item.ended, item.data, item.valid_to) for one, item in before.items()
        }
        assert story.forget().rows == done.rows
        assert story.memory.admin.rebuild(verify=True).equal


@settings(max_examples=15, deadline=None)
@given(STEPS, st.integers(0, 1500), st.integers(0, 1500))
def test_what_is_forgotten_is_no_less_later(steps: list[tuple[str, int]], days: int, more: int) -> None:
    story = Story()
    with story.memory:
        for what, n in steps:
            if what not in ("forget", "unarchive"):
                story.do(what, n)
        story.now += timedelta(days=days)
        first = {row.id for row in story.memory.forget(user_id="u", dry_run=True).rows}
        story.now += timedelta(days=more)
        assert first <= {row.id for row in story.memory.forget(user_id="u", dry_run=True).rows}
