"""Reflection as callers meet it: when it is due, what it leaves, and that it fails harmlessly."""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import model_server as servers
from phronesis.errors import EntryFailed, IdempotencyConflict
from phronesis.memory import Memory
from phronesis.traits.laws.records import ReflectionCycle
from scenarios.writers import Said, forks, start, sum_judgements
from scripted_reflections import policy
from told_traits import USER, Told, again, against, behavior, telling, trend, upgrade


@pytest.fixture
def told(database_url: str) -> Iterator[Told]:
    with telling(database_url) as opened:
        yield opened
        assert opened.differences() == ()


def is_due(told: Told) -> tuple[bool, str, int, int]:
    found = told.memory.should_reflect(USER)
    return bool(found), found.reason, found.importance, found.new_memories


# --- NM-01: when it is due -------------------------------------------------------------------------------------------


def test_it_is_due_at_first_then_by_importance_or_after_a_day(told: Told) -> None:
    assert is_due(told) == (False, "nothing_new", 0, 0)
    told.remember("a", importance=3)
    found = told.memory.should_reflect(USER)
    assert is_due(told) == (True, "first", 3, 1)
    assert (found.hours, found.importance_due, found.hours_due) == (None, 30, 24.0)
    assert told.memory.reflect(USER).trigger_type == "first"
    assert is_due(told) == (False, "nothing_new", 0, 0)
    told.remember("b", "c", days=0.5, importance=10)
    assert is_due(told) == (False, "not_yet", 20, 2)
    assert told.memory.should_reflect(USER).hours == 12.0
    told.remember("d", importance=9)
    assert is_due(told) == (False, "not_yet", 29, 3)
    told.remember("e", importance=1)
    assert is_due(told) == (True, "importance", 30, 4)
    reached = told.memory.reflect(USER)
    assert (reached.trigger_type, reached.trigger_value) == ("importance", 30.0)
    told.remember("f", days=1, importance=1)
    assert is_due(told) == (True, "elapsed", 1, 1)
    told.clock.pass_days(4)
    late = told.memory.reflect(USER)
    assert (late.trigger_type, late.trigger_value) == ("elapsed", 120.0)
    assert is_due(told) == (False, "nothing_new", 0, 0)
    told.clock.pass_days(5)
    assert is_due(told) == (False, "nothing_new", 0, 0)  # time alone is no reason


def test_every_kind_that_conversations_give_counts_and_what_was_said_does_not(told: Told) -> None:
    told.memory.add("kept word for word", user_id=USER, infer=False, importance=10)
    told.memory.commit_turn("s", {"messages": [{"role": "assistant", "content": "as you operation"}]}, user_id=USER)
    told.memory.add("of the namespace", kind="fact", importance=10)
    told.memory.add("of another", user_id="other", kind="fact", importance=10)
    assert is_due(told) == (False, "nothing_new", 0, 0)
    for kind in ("fact", "episodic", "profile", "preference", "task", "decision", "event", "intention", "procedure"):
        told.memory.add(f"one more {kind}", user_id=USER, kind=kind, importance=2)
    assert is_due(told) == (True, "first", 18, 9)


# --- NM-02: idempotent, at once --------------------------------------------------------------------------------------


def entries(told: Told) -> int:
    with told.memory.admin.components.database.transaction(told.memory.admin.tenant, "read") as unit:
        return int(unit.connection.exec_driver_sql("SELECT count(*) FROM entries").scalar_one())


def test_nothing_due_returns_at_once(told: Told) -> None:
    before = entries(told)
    found = told.memory.reflect(USER)
    assert (found.status, found.trigger_type, found.id, found.entry_id) == ("not_due", "nothing_new", None, None)
    told.remember("a", "b", importance=2)
    told.reflect()
    told.remember("c", importance=2, days=0.1)
    before, asked = entries(told), len(told.asked)
    found = told.memory.reflect(USER)
    assert (found.status, found.trigger_type, found.trigger_value, found.user_id) == ("not_due", "not_yet", None, USER)
    assert (entries(told), len(told.asked)) == (before, asked)
    assert len(told.memory.traits.reflections(USER)) == 1


def test_the_same_key_gives_the_same_reflection(told: Told) -> None:
    told.remember("a", "b", "c")
    told.operation(new_behaviors=[behavior("tea", "a", "b", "c")])
    first = told.memory.reflect(USER, force=True, idempotency_key="once")
    told.remember("d", days=2)
    assert told.memory.reflect(USER, force=True, idempotency_key="once") == first
    assert len(told.memory.traits.reflections(USER)) == 1
    with pytest.raises(IdempotencyConflict):
        told.memory.reflect(USER, session_ended=True, idempotency_key="once")
    second = told.memory.reflect(USER, force=True, idempotency_key="twice")
    assert (second.id != first.id, second.memories_scanned) == (True, 1)
    assert told.memory.reflect(USER, force=True, idempotency_key="once") == first
    early = told.memory.reflect(USER, idempotency_key="early")
    assert (early.status, early.trigger_type) == ("completed", "force")  # nothing was new: that is the last one's work


@pytest.mark.both_databases
@pytest.mark.parametrize("asked", [{}, {"force": True}])
def test_threads_that_reflect_at_once_do_the_work_once(told: Told, asked: dict[str, Any]) -> None:
    told.remember("a", "b", "c")
    told.operation(new_behaviors=[behavior("tea", "a", "b", "c")])
    arrived = threading.Semaphore(0)
    seen, reflector = told.memory.admin.components.reflector.current_view, told.memory.admin.components.reflector

    def arriving(*args: Any) -> dict[str, Any]:
        found = seen(*args)
        arrived.release()
        return found

    def wait_for_all(_form: str) -> None:  # the model answers when every call has begun
        for _ in range(3):
            arrived.acquire()

    told.script.instead = wait_for_all
    object.__setattr__(told.memory.admin.components, "reflector", _Overtaken(reflector, arriving))
    found: list[ReflectionCycle] = []
    threads = [threading.Thread(target=lambda: found.append(told.memory.reflect(USER, **asked))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    object.__setattr__(told.memory.admin.components, "reflector", reflector)
    [cycle] = told.memory.traits.reflections(USER)
    assert found == [cycle] * 3
    assert (cycle.traits_created, told.asked) == (1, ["reflected"])


def reflect_once(url: str, path: str, policy: dict[str, Any], barrier: Any) -> None:
    """Reflect as another process does."""
    with Memory.open(url, policy=policy) as memory:
        barrier.wait()
        Said(path)(**memory.reflect(USER).to_dict())


@pytest.mark.slow
def test_two_processes_do_the_work_once(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'memory.db'}"
    with telling(url) as told:
        told.remember("a", "b", "c")
        told.operation(new_behaviors=[behavior("tea", "a", "b", "c")])
        barrier = forks().Barrier(2)
        paths = [tmp_path / "one", tmp_path / "two"]
        children = [start(reflect_once, url, str(path), policy(told.server), barrier) for path in paths]
        for child in children:
            child.join()
        assert [child.exitcode for child in children] == [0, 0]
        said = [sum_judgements(path)[0] for path in paths]
        [cycle] = told.memory.traits.reflections(USER)
        for one in said:  # who came when it was done finds nothing to do
            assert (one["id"], one["status"]) in ((cycle.id, "completed"), (None, "not_due"))
        assert (cycle.traits_created, len(told.memory.get_user_traits(USER, "trend"))) == (1, 1)
        assert told.differences() == ()


class _Overtaken:
    """A reflector between whose looks another caller reflects."""

    def __init__(self, reflector: Any, seen: Callable[..., dict[str, Any]]) -> None:
        self._reflector, self.current_view = reflector, seen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._reflector, name)


# --- NM-03, NM-14: nine steps, one call, one entry -------------------------------------------------------------------


def test_one_call_does_it_all_and_the_cycle_says_what_it_came_to(told: Told) -> None:
    told.behave("tea", cycles=1)
    told.behave("walks", cycles=1)
    told.remember("t", days=0.01)
    told.reflect(new_trends=[trend("short", "t", window_days=14), trend("rising", "t")])
    told.remember("r1", days=1)
    told.reflect(reinforcements=[again("rising", "r1")])
    told.remember("r2", "x", "p", "q", "s", days=15)
    asked = len(told.asked)
    cycle = told.reflect(
        new_trends=[trend("new", "x")],
        new_behaviors=[behavior("games", "p", "q", "s")],
        reinforcements=[again("rising", "r2"), again("tea", "x")],
        contradictions=[against("walks", "x")],
        upgrades=[upgrade("calm", "tea", "walks")],
    )
    assert told.asked[asked:] == ["reflected"]
    assert (cycle.status, cycle.trigger_type, cycle.trigger_value, cycle.refused) == ("completed", "force", None, ())
    assert (cycle.memories_scanned, cycle.traits_created, cycle.traits_reinforced, cycle.traits_contradicted) == (
        5,
        3,
        2,
        1,
    )
    assert (cycle.traits_dissolved, cycle.traits_modified) == (1, 0)
    assert cycle.traits_promoted == 3  # a trend that became a candidate, and two behaviours of a preference
    assert (cycle.calls, cycle.tokens, cycle.made_by) == (1, 120, "scripted/m reflect/2")
    assert cycle.completed_at == cycle.started_at
    assert {name: told.stands(name)[0] for name in ("tea", "walks", "short", "rising", "new", "games", "calm")} == {
        "tea": "emerging",
        "walks": "emerging",
        "short": "dissolved",
        "rising": "candidate",
        "new": "trend",
        "games": "candidate",
        "calm": "emerging",
    }
    assert told.memory.traits.reflections(USER, limit=1) == [cycle]
    assert len(told.memory.traits.reflections(USER)) == 7


@pytest.mark.parametrize("asked", [{"force": True}, {"session_ended": True}])
def test_without_new_memories_only_time_is_looked_at(told: Told, asked: dict[str, Any]) -> None:
    told.behave("tea", cycles=1)
    told.remember("t", days=0.01)
    told.reflect(new_trends=[trend("new", "t", window_days=14)])
    before = len(told.asked)
    told.clock.pass_days(200)
    cycle = told.memory.reflect(USER, **asked)
    assert cycle.trigger_type == ("force" if "force" in asked else "session_end")
    assert len(told.asked) == before
    assert (cycle.status, cycle.memories_scanned, cycle.calls, cycle.traits_dissolved) == ("completed", 0, 0, 1)
    assert (told.stands("new")[0], told.stands("tea")[0]) == ("dissolved", "candidate")
    told.clock.pass_days(400)
    cycle = told.memory.reflect(USER, **asked)
    assert cycle.traits_dissolved == 1
    assert told.shown() == []


FAULTS = [
    (servers.chat("I would rather not say."), "model.answer"),
    (servers.chat("{}"), "model.answer"),
    (servers.chat(""), "model.answer"),
    (servers.chat('{"traits": [{"content": "Drinks tea"}]}'), "model.answer"),
    (servers.chat('{"new_behaviors": [{"content": "Drinks tea"}]}'), "model.answer"),
    (servers.chat('{"new_behaviors": [{"content": "Drinks tea", "evidence'), "model.answer"),
    (servers.status(503), "model.unavailable"),
    (servers.status(401), "model.refused"),
    (servers.cut(), "model.unavailable"),
]


def _always(fault: Any) -> Callable[[str], Any]:
    return lambda _form: fault


def test_a_round_without_an_answer_is_skipped_and_made_up_for(told: Told) -> None:
    told.behave("tea", cycles=1)
    told.remember("a", "b", "c", "d", days=200)  # time has passed, too
    before = told.trait("tea")
    proposed: dict[str, Any] = {
        "new_behaviors": [behavior("games", "a", "b", "c")],
        "reinforcements": [again("tea", "d")],
    }
    for fault, code in FAULTS:
        told.script.instead = _always(fault)
        failed = told.reflect(**proposed)
        assert (failed.status, failed.error, failed.completed_at) == ("failed", code, None)
        assert (failed.memories_scanned, failed.traits_created, failed.refused) == (4, 0, ())
        assert told.trait("tea").version == before.version
        assert told.shown() == ["tea"]
        assert is_due(told)[0]
        assert told.memory.should_reflect(USER).new_memories == 4
    told.script.instead = lambda _form: None
    mended = told.reflect(**proposed)
    assert (mended.status, mended.memories_scanned, mended.traits_created, mended.traits_reinforced) == (
        "completed",
        4,
        1,
        1,
    )
    assert [one.status for one in told.memory.traits.reflections(USER)] == [
        "completed",
        *["failed"] * len(FAULTS),
        "completed",
        "completed",
    ]


def test_an_unlawful_wish_is_refused_alone(told: Told) -> None:
    told.remember("a", "b", "c")
    cycle = told.reflect(
        new_behaviors=[behavior("few", "a", "b"), behavior("tea", "a", "b", "c"), {"content": " ", "evidence_ids": []}],
        new_trends=[{"content": "", "evidence_ids": ["a"]}],
        reinforcements=[again("nobody", "a")],
        contradictions=[against("nobody", "a")],
        upgrades=[upgrade("up", "tea", subtype="core"), upgrade("down", "tea", "tea", subtype="behavior")],
    )
    assert cycle.status == "completed"
    told_of = [(one.operation, one.rule, one.content) for one in cycle.refused]
    assert told_of == [
        ("new_trends", "no_words", ""),
        ("new_behaviors", "too_few_memories", "Is given to few"),
        ("new_behaviors", "no_words", ""),
        ("reinforcements", "no_such_trait", ""),
        ("upgrades", "no_such_trait", "Is given to up"),
        ("upgrades", "wrong_subtype", "Is given to down"),
        ("contradictions", "no_such_trait", ""),
    ]
    assert all(one.reason for one in cycle.refused)
    assert told.shown() == ["tea"]


def test_a_reflection_is_taken_back_whole(told: Told) -> None:
    told.behave("tea", cycles=1)
    before = told.trait("tea")
    told.remember("a", "b", "c", "d", days=1)
    cycle = told.reflect(
        new_behaviors=[behavior("games", "a", "b", "c")],
        reinforcements=[again("tea", "d")],
        new_trends=[trend("new", "a")],
    )
    assert cycle.entry_id is not None
    assert told.memory.should_reflect(USER).new_memories == 0
    told.memory.rollback(cycle.entry_id)
    assert told.shown() == ["tea"]
    after = told.trait("tea")
    assert (after.confidence, after.stage, after.evidence, after.reinforcement_count) == (
        before.confidence,
        before.stage,
        before.evidence,
        before.reinforcement_count,
    )
    assert cycle.id not in [one.id for one in told.memory.traits.reflections(USER)]
    assert told.memory.should_reflect(USER).new_memories == 4  # the watermark fell back
    repeated = told.reflect(reinforcements=[again("tea", "d")])
    assert (repeated.memories_scanned, repeated.traits_reinforced) == (4, 1)


def test_a_reflection_that_cannot_be_interpreted_is_set_aside(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    told.remember("a", "b", "c")

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    handler = told.memory.admin.components.writer.interpreter.stepper.registry["reflect"]
    prepare = handler.prepare
    monkeypatch.setattr(type(prepare), "__call__", broken)
    with pytest.raises(EntryFailed):
        told.memory.reflect(USER)
    monkeypatch.undo()
    assert told.memory.should_reflect(USER).new_memories == 3
    cycle = told.reflect(force=False, new_behaviors=[behavior("tea", "a", "b", "c")])
    assert cycle.traits_created == 1
