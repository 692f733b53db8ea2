"""Forgetting of conversation memory, in English and Chinese: what fades, what stays, and what comes back."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from phronesis import Memory
from phronesis.core.items import Item
from phronesis.experience.laws.records import ForgetResult, Forgotten
from phronesis.worker import Worker
from set_clock import Clock

USER = "lin"


class Told:
    """A store by words alone, and what is said in it."""

    def __init__(self, memory: Memory, clock: Clock) -> None:
        self.memory, self.clock, self._said = memory, clock, 0

    def say(self, text: str, *, role: str = "user", session: str = "s") -> str:
        """Say something in a session; gives the message's id."""
        self._said += 1
        message = {"role": role, "content": text, "id": f"m{self._said}"}
        self.memory.commit_turn(session, {"messages": [message]}, user_id=USER)
        [found] = [item for item in self.items("message") if item.content == text]
        return found.id

    def state(self, text: str, kind: str = "fact", **given: Any) -> str:
        return self.memory.add(text, user_id=USER, kind=kind, **given).items[0].id

    def items(self, *kinds: str) -> list[Item]:
        return list(self.memory.get_all(user_id=USER, kinds=list(kinds) or None, limit=1000))

    def live(self) -> set[str]:
        return {item.id for item in self.items()}

    def forget(self, **given: Any) -> ForgetResult:
        """Forget; a dry run before it must say the same."""
        foreseen = self.memory.forget(user_id=USER, dry_run=True, **given)
        done = self.memory.forget(user_id=USER, **given)
        assert (foreseen.rows, foreseen.counts, foreseen.more) == (done.rows, done.counts, done.more)
        again = self.memory.forget(user_id=USER, dry_run=True, **given)
        assert again.rows == () or done.more
        return done


@contextmanager
def telling(url: str, **forgetting: Any) -> Iterator[Told]:
    clock = Clock(datetime(2026, 1, 1, tzinfo=UTC))
    policy = {"embedder": "none", "forgetting": forgetting}
    with Memory.open(url, policy=policy, clock=clock) as memory:
        yield Told(memory, clock)
        assert memory.admin.rebuild(verify=True).equal


@pytest.fixture
def told(database_url: str) -> Iterator[Told]:
    with telling(database_url) as opened:
        yield opened


def row_of(rows: Sequence[Forgotten], one: str) -> Forgotten:
    [found] = [row for row in rows if row.id == one]
    return found


def ids(result: ForgetResult) -> dict[str, str]:
    return {row.id: row.action for row in result.rows}


@pytest.mark.parametrize(
    ("talk", "stated", "value"),
    [
        ("Nice weather today, isn't it?", "I'm allergic to peanuts.", "peanut"),
        ("今天天气真不错啊", "我对花生过敏。", "花生"),
    ],
)
def test_small_talk_fades_after_a_year_and_the_allergy_and_its_evidence_stay(
    told: Told, talk: str, stated: str, value: str
) -> None:
    chat, evidence = told.say(talk), told.say(stated)
    [allergy] = [item for item in told.items() if item.key == "allergy"]
    assert value in allergy.content
    told.clock.pass_days(350)
    assert told.forget().rows == ()
    told.clock.pass_days(20)
    foreseen = told.memory.forget(user_id=USER, dry_run=True)
    kept = row_of(foreseen.kept, evidence)
    assert (kept.action, kept.protected_by) == ("keep", f"is evidence of profile {allergy.id}")
    row = row_of(told.forget().rows, chat)
    assert (row.action, row.why, row.after["status"]) == ("archive", "low use", "archived")
    assert (row.figures["importance"], row.figures["uses"], row.figures["source"]) == (3, 0, "human")
    assert row.figures["retention"] < 0.25
    told.clock.pass_days(5000)
    done = ids(told.forget())
    assert done[chat] == "delete"
    assert not {evidence, allergy.id} & done.keys()
    assert {evidence, allergy.id} <= told.live()
    ended = told.memory.get(chat)
    assert (ended.ended, ended.content) == ("retired", talk)  # words are removed by erase alone


@pytest.mark.parametrize("text", ["The staging server is in Frankfurt.", "测试服务器在法兰克福。"])
def test_evidence_goes_no_further_than_what_was_taken_from_it(told: Told, text: str) -> None:
    message = told.say(text)
    [fact] = told.items("fact")
    told.clock.pass_days(800)
    assert ids(told.forget()) == {fact.id: "archive", message: "archive"}
    told.memory.items.unarchive(fact.id)
    done = told.forget()
    assert ids(done) == {fact.id: "restore", message: "restore"}
    assert [row_of(done.rows, one).why for one in (fact.id, message)] == ["brought back", "of use again"]
    assert {fact.id, message} <= told.live()
    told.clock.pass_days(370)
    foreseen = told.memory.forget(user_id=USER, dry_run=True)
    assert row_of(foreseen.kept, message).protected_by == f"is evidence of fact {fact.id}"
    told.clock.pass_days(370)
    assert ids(told.forget()) == {fact.id: "archive", message: "archive"}
    told.clock.pass_days(366)
    assert ids(told.forget()) == {fact.id: "delete", message: "delete"}


def test_a_fact_used_weekly_stays_where_one_that_nobody_asked_for_goes(told: Told) -> None:
    fact = "The spare key hangs behind the boiler."
    used, idle = told.state(fact, subject="key"), told.state("Grandmother's piano is green.", subject="piano")
    for week in range(110):
        told.clock.pass_days(7)
        if week % 2:
            told.memory.search(fact, user_id=USER, limit=1)
        else:
            told.memory.compose_context("s", fact, user_id=USER)
    done = told.forget()
    assert ids(done) == {idle: "archive"}
    uses = told.memory.get(used).data["use"]
    assert uses["count"] == 110
    assert uses["last"] == "2028-02-10T00:00:00Z"
    told.clock.pass_days(900)
    told.forget()
    assert used in told.live()


@pytest.mark.parametrize(
    ("task", "done"),
    [("I need to renew my passport.", "I've renewed my passport."), ("我得续签护照。", "护照办好了。")],
)
def test_a_task_that_is_done_has_ended_and_leaves_its_messages_to_fade(told: Told, task: str, done: str) -> None:
    first = told.say(task)
    [item] = told.items("task")
    last = told.say(done)
    assert told.memory.get(item.id).ended == "retired"
    told.clock.pass_days(370)
    assert ids(told.forget()) == {first: "archive", last: "archive"}


def test_an_expired_intention_is_archived_first_and_an_open_one_stays(told: Told) -> None:
    gone = told.state("Visit the lantern festival", "intention", expires="2026-03-01")
    still = told.state("Learn to sail", "intention", expires="2030-01-01")
    due = told.state("Send the invoice", "task", due="2026-06-01")
    told.clock.pass_days(80)
    assert told.forget().rows == ()
    told.clock.pass_days(20)
    row = row_of(told.forget().rows, gone)
    assert (row.action, row.why) == ("archive", "expired")
    assert row.reason == "archive: its time was over on 2026-03-01"
    assert {still, due} <= told.live()
    told.memory.items.unarchive(gone)
    assert ids(told.forget()) == {gone: "restore"}
    told.clock.pass_days(31)
    assert ids(told.forget()) == {gone: "archive"}


def test_what_is_pinned_important_or_named_stays_and_passing_details_go_first(database_url: str) -> None:
    with telling(database_url, keep=["wifi"], half_life_days=100, keep_sources=["lean"]) as told:
        kept = {
            told.state("We met in Oslo", "episodic", importance=9): "importance 9",
            told.state("We use PostgreSQL", "decision"): "the policy keeps decision",
            told.state("The password hint is heron", subject="wifi", key="wifi"): "the policy keeps wifi",
        }
        pinned = told.state("The gate code is on the fridge", subject="gate")
        told.memory.items.pin(pinned)
        passing, routine = told.state("The bus was late", importance=3), told.state("The office has two floors")
        told.clock.pass_days(110)
        assert ids(told.forget()) == {passing: "archive"}
        told.clock.pass_days(1000)
        foreseen = told.memory.forget(user_id=USER, dry_run=True)
        assert {row.id: row.protected_by for row in foreseen.kept} == {**kept, pinned: "pinned"}
        assert ids(told.forget()) == {routine: "archive", passing: "delete"}


def test_unarchive_brings_back_and_counts_as_use(told: Told) -> None:
    fact = told.state("The boat is moored at pier four.", subject="boat")
    told.clock.pass_days(800)
    told.forget()
    assert told.memory.search("boat pier", user_id=USER).evidence == ()
    told.memory.items.unarchive(fact)
    assert [one.item.id for one in told.memory.search("boat pier", user_id=USER)] == [fact]
    row = row_of(told.forget().rows, fact)
    assert (row.action, row.why, row.before["status"]) == ("restore", "brought back", "active")
    assert told.memory.get(fact).data["use"]["count"] == 1
    told.clock.pass_days(365)
    assert told.forget().rows == ()


def test_kinds_a_session_and_an_agent_narrow_it(told: Told) -> None:
    here, there = told.say("Hello there, how are you?", session="a"), told.say("你好呀，最近怎么样？", session="b")
    assistant = told.say("Fine, thank you.", role="assistant", session="a")
    fact = told.state("Bo likes jazz.", subject="Bo", agent_id="planner")
    told.clock.pass_days(200)
    assert ids(told.forget()) == {assistant: "archive"}  # a machine's word has half as long
    told.clock.pass_days(2000)
    assert ids(told.forget(session_id="a", kinds=["message"])) == {here: "archive", assistant: "delete"}
    assert ids(told.forget(agent_id="planner")) == {fact: "archive"}
    assert ids(told.forget(kinds=["message", "fact"])) == {there: "archive"}


def test_one_call_moves_so_many_and_the_next_goes_on(database_url: str) -> None:
    with telling(database_url, at_once=2) as told:
        for n in range(5):
            told.state(f"Number {n} is prime or not.", subject=f"number {n}")
        told.clock.pass_days(900)
        done = [told.forget() for _ in range(4)]
        assert [(len(one.rows), one.more) for one in done] == [(2, True), (2, True), (1, False), (0, False)]


@pytest.mark.parametrize("background", [False, True])
def test_the_worker_forgets_only_where_the_policy_says_so(database_url: str, background: bool) -> None:
    with telling(database_url, background=background, hours=24) as told:
        fact = told.state("Bo likes jazz.", subject="Bo")
        worker = Worker(told.memory)
        worker.work()
        told.clock.pass_days(800)
        worker.work()
        assert (fact not in told.live()) is background
        entries = [one.verb for one in told.memory.history(fact)]
        assert ("forget" in entries) is background
        told.clock.pass_days(2)
        assert worker.work() == 0
        assert not worker.faults
