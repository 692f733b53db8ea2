"""Forgetting: what nobody needs fades, is archived and ends; what something stands on stays (EMB-16)."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from phronesis import Memory
from phronesis.core.items import Item
from phronesis.experience.laws.records import ForgetResult
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import list_lanes
from tried_events import USER, Tried, trying

POLICY = {"experience": {"forget": {"half_life_days": 100, "delete_after_days": 50}}}


@pytest.fixture
def tried(database_url: str) -> Iterator[Tried]:
    with trying(database_url, POLICY) as opened:
        yield opened


def forget(tried: Tried, **given: Any) -> ForgetResult:
    return tried.memory.forget(user_id=USER, **given)


def actions(result: ForgetResult) -> dict[str, str]:
    return {row.id: row.action for row in result.rows}


def live(tried: Tried, kind: str) -> set[str]:
    return {item.id for item in tried.memory.get_all(user_id=USER, kinds=[kind], limit=1000)}


@pytest.mark.both_databases
def test_an_event_is_downweighted_then_archived_then_deleted_and_stays_traceable(tried: Tried) -> None:
    tried.try_(("token", 9), attempt="A lonely walk along the harbour", result="cold feet")
    event = tried.events["token/9"]
    tried.clock.pass_days(120)
    [row] = [row for row in forget(tried).rows if row.id == event]
    assert (row.action, row.before["weight"], row.after["weight"]) == ("downweight", 1.0, 0.5)
    assert row.figures["retention"] == pytest.approx(2 ** (-1.2), abs=1e-3)
    assert (row.figures["age_days"], row.figures["uses"], row.figures["source"]) == (120, 0, "human")
    assert tried.event("token/9").weight == 0.5
    tried.clock.pass_days(120)
    [row] = [row for row in forget(tried).rows if row.id == event]
    assert (row.action, row.before["status"], row.after["status"]) == ("archive", "active", "archived")
    assert event not in live(tried, "l1")
    tried.clock.pass_days(49)
    assert event not in actions(forget(tried))
    tried.clock.pass_days(2)
    [row] = [row for row in forget(tried).rows if row.id == event]
    assert (row.action, row.before["ended"], row.after["ended"]) == ("delete", None, "retired")
    ended = tried.memory.get(event)
    assert (ended.ended, ended.content) == ("retired", tried.memory.get(event).content)
    assert [one.verb for one in tried.memory.history(event)] == ["experience", "forget", "forget", "forget"]
    assert tried.memory.explain(event).sources
    tried.memory.items.unarchive(event)
    assert event not in live(tried, "l1")


def test_a_machines_word_fades_sooner_and_what_is_used_or_useful_later(tried: Tried) -> None:
    tried.memory.ingest(
        {"attempt": "Recompiled everything twice", "source_type": "run", "source_ref": "r"}, user_id=USER
    )
    [machine] = [one.id for one in tried.memory.get_all(user_id=USER, kinds=["l1"], limit=1)]
    useful = tried.events["token/1"]
    tried.memory.feedback(useful, "useful", actor="bob")
    tried.clock.pass_days(60)
    assert actions(forget(tried)) == {machine: "downweight"}
    shown = tried.memory.search("violin scales", user_id=USER, limit=1)[0].item.id
    tried.clock.pass_days(60)
    done = actions(forget(tried))
    assert done[machine] == "archive"
    assert done[tried.events["token/0"]] == "downweight"
    assert not {useful, shown} & done.keys()
    assert tried.memory.get(shown).data["use"]["count"] == 1


def test_what_supports_a_living_principle_and_what_is_pinned_stay(tried: Tried) -> None:
    pattern = tried.pattern("token")
    principle = tried.principle("Refresh tokens first", [pattern.id])
    tried.memory.items.pin(principle.id)
    tried.memory.items.pin(tried.events["bread/0"])
    tried.clock.pass_days(1000)
    done = forget(tried)
    kept = {principle.id, pattern.id, tried.events["bread/0"], *(one for one, _ in pattern.members)}
    assert kept <= live(tried, "l1") | live(tried, "pattern") | live(tried, "principle")
    found = actions(done)
    assert {found[one] for one in (pattern.id, tried.events["token/0"])} == {"downweight"}
    assert not {principle.id, tried.events["bread/0"]} & found.keys()
    assert "supports principle" in next(row.reason for row in done.rows if row.id == pattern.id)
    assert forget(tried).rows == ()
    tried.memory.items.unpin(principle.id)
    done = forget(tried)
    assert {principle.id, pattern.id, tried.events["token/0"]} <= {
        row.id for row in done.rows if row.action == "archive"
    }


def test_a_living_pattern_keeps_the_events_that_it_cannot_do_without_and_counts_the_others(tried: Tried) -> None:
    pattern = tried.pattern("scales")
    tried.clock.pass_days(300)
    tried.memory.feedback(pattern.id, "useful", actor="bob")
    done = forget(tried)
    archived = {row.id for row in done.rows if row.action == "archive"}
    left = [one for one, _ in pattern.members if one not in archived]
    assert len(left) == 2
    assert {row.reason.partition("; ")[2] for row in done.rows if row.id in left} == {
        f"is the last evidence of pattern {pattern.id}"
    }
    tried.try_(("scales", 8))
    tried.memory.aggregate(user_id=USER)
    now = tried.again(pattern.id)
    assert {one for one, _ in now.members} == {*(one for one, _ in pattern.members), tried.events["scales/8"]}


def test_the_same_call_again_is_one_entry_and_others_lanes_are_left_alone(tried: Tried) -> None:
    tried.memory.ingest({"attempt": "Hers", "source_type": "manual", "source_ref": "h"}, user_id="bert")
    tried.memory.ingest({"attempt": "All", "source_type": "manual", "source_ref": "s"}, namespace="team")
    tried.clock.pass_days(1000)
    first = forget(tried, idempotency_key="k")
    tried.clock.now += timedelta(days=1)
    tried.memory.search("scales", user_id=USER)
    assert forget(tried, idempotency_key="k") == first
    assert {item.status for item in tried.memory.get_all(user_id="bert")} == {"active"}
    assert [row.kind for row in tried.memory.forget(namespace="team").rows] == ["l1"]
    assert forget(tried, wait=False).pending
    assert tried.memory.forget(user_id="nobody", dry_run=True).rows == ()


# The laws of forgetting, over any story.


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
@example(AT_THE_BORDER, 0, 0)
@given(STEPS, st.integers(0, 2000), st.integers(0, 1500))
@pytest.mark.slow
def test_a_dry_run_is_what_is_done_no_less_later_and_a_rollback_brings_it_back(
    steps: list[tuple[str, int]], days: int, more: int
) -> None:
    story = Story()
    with story.memory:
        for what, n in steps:
            story.do(what, n)
        story.now += timedelta(days=days)
        first = {row.id for row in story.memory.forget(user_id="u", dry_run=True).rows}
        story.now += timedelta(days=more)
        before = story.state()
        done = story.forget()
        if not any(what == "forget" for what, _ in steps):  # else some was restored, or ended since
            assert first <= {row.id for row in done.rows}
        assert story.evidence_holds()
        if story.state() != before:
            story.memory.rollback(done.entry_id)
        assert {one: (item.status, item.ended, item.data, item.valid_to) for one, item in story.state().items()} == {
            one: (item.status, item.ended, item.data, item.valid_to) for one, item in before.items()
        }
        assert story.forget().rows == done.rows
        assert story.memory.admin.rebuild(verify=True).equal
