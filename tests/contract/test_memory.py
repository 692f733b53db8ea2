"""The verbs of Memory: what is written is read, changed, taken back, and can be rebuilt."""

import gc
import random
import string
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from operator import attrgetter
from typing import Any

import pytest

from phronesis import Memory
from phronesis.engine import background
from phronesis.errors import Closed, IdempotencyConflict, InputError, NotFound, RollbackConflict, VersionConflict
from phronesis.store.lanes import list_behind
from set_clock import Clock

START = datetime(2026, 5, 1, 10, tzinfo=UTC)


@pytest.fixture
def clock() -> Clock:
    return Clock(START, timedelta(seconds=1))


@pytest.fixture
def memory(database_url: str, clock: Clock) -> Iterator[Memory]:
    with Memory.open(database_url, policy={"embedder": "none"}, clock=clock) as memory:
        yield memory


STRANGE = "NUL \x00, lone \ud800, emoji \U0001f469\u200d\U0001f52c, \u202ertl, \x1b[31m control, e\u0301"
TURN: dict[str, Any] = {
    "messages": [
        {
            "role": "user",
            "content": STRANGE,
            "id": "m1",
            "name": "Ada",
            "created_at": "2026-04-01T00:00:00Z",
            "model": "x",
            "metadata": {"a": [1, 1.5, None, {"b": "\ud800"}]},
        },
        {"role": "assistant", "content": [{"type": "text", "text": "Grace Hopper wrote it"}, {"type": "image"}]},
        {"role": "tool", "content": ""},
    ],
    "tool_calls": [{"id": "c1", "name": "look/up", "args": {"q": STRANGE}, "result": [1e16], "status": "ok"}],
    "refs": [{"type": "url", "uri": "https://example.org/绿茶", "metadata": {"k": 0.0}}],
    "session_metadata": {"topic": "茶", "n": 1e16},
}


def _contents(memory: Memory, **scope: Any) -> list[str]:
    return [item.content for item in memory.get_all(**scope)]


def _hits(memory: Memory, query: str, **scope: Any) -> list[str]:
    return [evidence.item.content for evidence in memory.search(query, **scope)]


def test_turns_are_shown_exactly_as_they_were_committed(memory: Memory) -> None:
    first = memory.commit_turn("s/1", TURN, user_id="ada", agent_id="bot", context_id="ctx")
    memory.commit_turn("s/1", {"messages": [{"role": "user", "content": "more", "id": "m2"}]}, user_id="ada")
    turns = memory.sessions.turns("s/1", user_id="ada")
    assert [turn.number for turn in turns] == [1, 2]
    shown = turns[0].to_dict()
    assert {name: shown[name] for name in TURN} == {
        **TURN,
        "messages": [{**TURN["messages"][0], "created_at": "2026-04-01T00:00:00Z"}, *TURN["messages"][1:]],
    }
    assert [item.content for item in first.stored] == [
        STRANGE.replace("\x00", "\ufffd").replace("\ud800", "\ufffd"),
        "Grace Hopper wrote it",
    ]
    (session,) = memory.sessions.list(user_id="ada")
    assert (session.session_id, session.turn_count, session.message_count) == ("s/1", 2, 4)
    assert session.metadata == {"topic": "茶", "n": 1e16}
    assert memory.admin.rebuild(verify=True).equal


def test_the_same_message_is_stored_once(memory: Memory) -> None:
    turn = {"messages": [{"role": "user", "content": "I like tea", "id": "m1"}]}
    memory.commit_turn("s", turn, user_id="ada")
    again = memory.commit_turn("s", turn, user_id="ada")
    assert ([gated.rule for gated in again.gated], list(again.stored)) == (["duplicate_message"], [])
    assert _contents(memory, user_id="ada", kinds=["message"]) == ["I like tea"]
    assert [item.value for item in memory.get_all(user_id="ada", kinds=["preference"])] == ["tea"]


def test_times_are_given_as_datetimes_iso_8601_and_seconds(memory: Memory) -> None:
    at = datetime(2026, 5, 1, 10, tzinfo=timezone(timedelta(hours=8)))
    forms: list[Any] = [at, at.isoformat(), at.timestamp(), int(at.timestamp() * 1000)]
    messages = [{"role": "user", "content": f"tea {n}", "created_at": form} for n, form in enumerate(forms)]
    memory.commit_turn("s", {"messages": messages, "tool_calls": [{"name": "kettle", "created_at": at}]}, user_id="ada")
    turn = memory.sessions.turns("s", user_id="ada")[0]
    there, utc = "2026-05-01T10:00:00+08:00", "2026-05-01T02:00:00Z"  # a time keeps the offset that it came with
    assert [one["created_at"] for one in turn.messages] == [there, there, utc, utc]
    assert [one["created_at"] for one in turn.tool_calls] == [there]
    stated = [memory.add("tea", user_id="ada", occurred_at=form).items[0].occurred_at for form in forms]
    assert set(stated) == {at}
    assert not memory.get_all(user_id="ada", as_of=at.timestamp())


def test_a_turn_that_was_taken_back_can_be_committed_again(memory: Memory) -> None:
    turn = {"messages": [{"role": "user", "content": "I like tea", "id": "m1"}]}
    first = memory.commit_turn("s", turn, user_id="ada")
    undone = memory.rollback(first.entry_id)
    again = memory.commit_turn("s", turn, user_id="ada")
    assert (again.gated, [item.content for item in again.stored]) == ((), ["I like tea", "I like tea"])
    assert _contents(memory, user_id="ada", kinds=["message"]) == ["I like tea"]
    assert [item.value for item in memory.get_all(user_id="ada", kinds=["preference"])] == ["tea"]
    once_more = memory.commit_turn("s", turn, user_id="ada")
    assert [gated.rule for gated in once_more.gated] == ["duplicate_message"]
    memory.rollback(again.entry_id)
    memory.rollback(undone.entry_id)  # the first one is there again, and known again
    assert memory.commit_turn("s", turn, user_id="ada").stored == ()
    assert memory.admin.rebuild(verify=True).equal


def test_search_finds_words_in_both_languages_and_names(memory: Memory) -> None:
    memory.add([{"role": "user", "content": "Grace Hopper drinks green tea", "name": "Ada"}], user_id="ada")
    memory.add("我喜欢绿茶和咖啡", user_id="ada")
    memory.add("nothing of interest", user_id="ada")
    assert _hits(memory, "what does Grace Hopper drink?", user_id="ada")[0] == "Grace Hopper drinks green tea"
    assert _hits(memory, "绿茶", user_id="ada") == ["我喜欢绿茶和咖啡"]
    found = memory.search("zeppelin", user_id="ada")
    assert found.abstained
    for strange in ("https://\x00\ud800", "\ud800", "a\x00b", "' OR 1=1 --", "%_", "\U0001f469" * 50):
        memory.search(strange, user_id="ada")


def test_edits_history_and_times(memory: Memory) -> None:
    made = memory.add("tea", user_id="ada", kind="preference", subject="Ada", key="drink", value={"hot": True})
    item = made.items[0]
    memory.update(item.id, content="green tea", metadata={"since": 2020}, expected_version=1, reason="said")
    with pytest.raises(VersionConflict):
        memory.update(item.id, content="coffee", expected_version=1)
    assert [event.op for event in memory.history(item.id)] == ["create", "update"]
    before = memory.history(item.id)[0].at
    assert memory.get(item.id, as_of=before).content == "tea"
    assert memory.get(item.id).content == "green tea"
    assert [found.content for found in memory.get_all(user_id="ada", as_of=before)] == ["tea"]
    assert _hits(memory, "green", user_id="ada", as_of=before) == []
    assert _hits(memory, "green", user_id="ada") == ["green tea"]
    with pytest.raises(NotFound):
        memory.get(item.id, as_of=START - timedelta(days=1))
    memory.update(item.id, valid_to="2026-05-02T00:00:00Z")
    assert memory.get_all(user_id="ada", valid_at="2026-05-03T00:00:00Z") == []
    assert _contents(memory, user_id="ada", valid_at=memory.get(item.id).valid_from) == ["green tea"]
    assert memory.admin.rebuild(verify=True).equal


@pytest.mark.parametrize(
    ("verb", "back"),
    [("items.archive", "items.unarchive"), ("delete", "items.unarchive"), ("items.pin", "items.unpin")],
)
def test_simple_edits_and_their_opposites(memory: Memory, verb: str, back: str) -> None:
    item = memory.add("tea", user_id="ada", kind="fact").items[0]
    attrgetter(verb)(memory)(item.id)
    assert (_contents(memory, user_id="ada") == []) is (back == "items.unarchive")
    assert memory.get(item.id).pinned is (verb == "items.pin")
    attrgetter(back)(memory)(item.id)
    assert _contents(memory, user_id="ada") == ["tea"]
    assert _hits(memory, "tea", user_id="ada") == ["tea"]
    assert memory.get(item.id).pinned is False


@pytest.mark.parametrize(
    "verb", ["delete", *(f"items.{one}" for one in ("archive", "unarchive", "pin", "unpin", "retract"))]
)
def test_an_edit_of_another_version_changes_nothing(memory: Memory, verb: str) -> None:
    item = memory.add("tea", user_id="ada", kind="fact").items[0]
    for before in {"items.unarchive": ["items.archive"], "items.unpin": ["items.pin"]}.get(verb, []):
        attrgetter(before)(memory)(item.id)
    seen = memory.update(item.id, content="green tea").items[0]
    for more in ({}, {"idempotency_key": "late"}):  # with a key nothing is looked at before the write: it decides
        with pytest.raises(VersionConflict) as refusal:
            attrgetter(verb)(memory)(item.id, expected_version=seen.version - 1, **more)
        assert refusal.value.field == "expected_version"
        assert memory.get(item.id) == seen
    once = {"expected_version": seen.version, "idempotency_key": "once"}
    done = attrgetter(verb)(memory)(item.id, **once)
    assert done.items[0].version == seen.version + 1
    assert attrgetter(verb)(memory)(item.id, **once) == done
    assert memory.admin.rebuild(verify=True).equal


def test_rollback_restores_and_says_what_stands_in_the_way(memory: Memory) -> None:
    item = memory.add("one", user_id="ada", kind="fact", metadata={"n": 0.0}).items[0]
    second = memory.update(item.id, content="two", metadata={"n": None})
    memory.update(item.id, content="three")
    with pytest.raises(RollbackConflict) as blocked:
        memory.rollback(second.entry_id)
    assert list(blocked.value.later) == [memory.history(item.id)[2].delta_id]
    taken = memory.rollback(second.entry_id, cascade=True)
    restored = memory.get(item.id)
    assert (restored.content, dict(restored.metadata)) == ("one", {"n": 0.0})
    memory.rollback(taken.entry_id)
    assert memory.get(item.id).content == "three"
    assert memory.admin.rebuild(verify=True).equal


def test_explain_reaches_the_entry(memory: Memory) -> None:
    done = memory.commit_turn("s", {"messages": [{"role": "user", "content": "I like tea", "id": "m1"}]}, user_id="ada")
    explained = memory.explain(done.stored[0].citation)
    assert [(source.entry_id, source.message_id, source.quote) for source in explained.sources] == [
        (done.entry_id, "m1", "I like tea")
    ]
    assert not explained.needs_validation


@pytest.mark.both_databases
def test_the_same_key_gives_the_same_result(memory: Memory) -> None:
    first = memory.add("tea", user_id="ada", kind="fact", idempotency_key="k")
    again = memory.add("tea", user_id="ada", kind="fact", idempotency_key="k")
    assert (again.entry_id, [item.id for item in again.items]) == (first.entry_id, [item.id for item in first.items])
    with pytest.raises(IdempotencyConflict):
        memory.add("coffee", user_id="ada", kind="fact", idempotency_key="k")
    with pytest.raises(IdempotencyConflict):
        memory.forget(user_id="ada", idempotency_key="k")
    edit = memory.update(first.items[0].id, content="green tea", idempotency_key="e", expected_version=1)
    assert memory.update(first.items[0].id, content="green tea", idempotency_key="e", expected_version=1) == edit
    assert len(memory.history(first.items[0].id)) == 2


def test_pending_entries_are_interpreted_by_whoever_comes_next(memory: Memory, database_url: str) -> None:
    pending = memory.add("tea", user_id="ada", wait=False)
    assert pending.pending
    with Memory.open(database_url, policy={"embedder": "none"}) as other:
        other.add("coffee", user_id="ada")
        assert _contents(other, user_id="ada") == ["coffee", "tea"]
    assert memory.admin.rebuild(verify=True).equal


@pytest.mark.both_databases
def test_two_memories_see_each_others_writes(memory: Memory, database_url: str) -> None:
    with Memory.open(database_url, policy={"embedder": "none"}) as other:
        for n in range(6):
            (memory, other)[n % 2].add(f"tea number {n}", user_id="ada")
            assert len(memory.search("tea", user_id="ada")) == len(other.search("tea", user_id="ada")) == n + 1
        other.admin.rebuild()
        assert len(memory.search("tea", user_id="ada")) == 6


@pytest.mark.both_databases
def test_many_threads_write_and_read_one_lane(memory: Memory) -> None:
    faults: list[BaseException] = []

    def work(n: int) -> None:
        try:
            for k in range(5):
                turn = {"messages": [{"role": "user", "content": f"tea {n} {k}"}]}
                memory.commit_turn(f"s{n % 2}", turn, user_id="u")
                memory.search("tea", user_id="u")
        except BaseException as fault:  # noqa: BLE001 - told below
            faults.append(fault)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert faults == []
    assert len(memory.get_all(user_id="u")) == 20
    for session in ("s0", "s1"):
        assert [turn.number for turn in memory.sessions.turns(session, user_id="u")] == list(range(1, 11))
    assert memory.admin.rebuild(verify=True).equal


@pytest.mark.both_databases
def test_rebuilding_mends_what_was_damaged(memory: Memory) -> None:
    memory.commit_turn("s", TURN, user_id="ada")
    item = memory.add("tea", user_id="ada", kind="fact", value=[0.0, 1e16, -0.0], metadata={"f": 1e22}).items[0]
    memory.update(item.id, metadata={"g": 5.0})
    assert memory.admin.rebuild(verify=True).equal
    database = memory._runtime._components.database
    with database.transaction("default", "derive") as unit:
        unit.connection.exec_driver_sql("UPDATE items SET content = 'poison' WHERE kind = 'fact'")
        unit.connection.exec_driver_sql("DELETE FROM turns")
    damaged = memory.admin.rebuild(verify=True)
    assert not damaged.equal
    assert any("items/" in named for named in damaged.differences)
    assert memory.get(item.id).content == "poison"
    assert memory.admin.rebuild().applied
    assert memory.admin.rebuild(verify=True).equal
    assert memory.get(item.id).content == "tea"
    assert _hits(memory, "tea", user_id="ada") == ["tea"]


@pytest.mark.both_databases
def test_names_longer_than_an_index_takes_do_not_stop_a_lane(memory: Memory) -> None:
    # Random, so that it cannot be compressed below an index's 2,704 bytes.
    chance = random.Random(1)
    words = ("".join(chance.choices(string.ascii_lowercase, k=6)).title() for _ in range(800))
    long = " ".join(words)
    pictures = ["".join(chr(chance.randrange(0x20000, 0x2A000)) for _ in range(256)) for _ in range(3)]
    memory.add(f"see {long} and more", user_id="ada")
    memory.add(long, user_id="ada", kind="fact", subject="Ada", key="alias")
    memory.add("tea", user_id="ada", kind="fact", subject=pictures[0], key=pictures[1])
    memory.commit_turn(
        pictures[0],
        {"messages": [{"role": "user", "content": "tea", "id": pictures[1]}], "tool_calls": [{"name": pictures[2]}]},
        user_id=pictures[2],
    )
    assert len(memory.get_all(user_id="ada")) == 3
    assert memory.admin.rebuild(verify=True).equal


def test_a_closed_memory_says_so(database_url: str) -> None:
    memory = Memory.open(database_url, policy={"embedder": "none"})
    memory.close()
    memory.close()
    with pytest.raises(Closed):
        memory.get_all(user_id="ada")


def test_every_edit_takes_an_idempotency_key_and_may_be_left_to_the_worker(database_url: str) -> None:
    with Memory.open(database_url, policy={"embedder": "none"}) as memory:
        item = memory.add("tea at four", user_id="u").items[0].id
        for verb in (
            *(memory.items.archive, memory.items.unarchive, memory.items.pin, memory.items.unpin),
            *(memory.items.retract, memory.delete),
        ):
            key = f"once-{verb.__name__}"
            assert verb(item, idempotency_key=key) == verb(item, idempotency_key=key)
            assert verb(item, wait=False).pending
            memory.flush()
        first = memory.update(item, content="tea at five", idempotency_key="five")
        assert memory.rollback(first.entry_id, idempotency_key="back") == memory.rollback(
            first.entry_id, idempotency_key="back"
        )
        assert memory.items.delete_all(user_id="u", wait=False).pending
        assert memory.admin.rebuild(verify=True).equal


def test_tenants_that_nobody_holds_any_more_leave_no_threads_and_their_work_is_done(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(background, "IDLE_SECONDS", 0.05, raising=False)
    tenants = [f"guest{n}" for n in range(12)]
    with Memory.open(database_url, policy={"embedder": "none"}) as memory:
        for tenant in tenants:
            memory.for_tenant(tenant).add("Tea is hot.", user_id="ada", wait=False)
        deadline = time.monotonic() + 20
        while _threads_of(tenants) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert _threads_of(tenants) == []
        gc.collect()
        assert len(memory._runtime._guests) == 0
        for tenant in tenants:
            with memory.admin.components.database.transaction(tenant, "read") as unit:
                assert list_behind(unit) == []


def _threads_of(tenants: list[str]) -> list[str]:
    return [one.name for one in threading.enumerate() if one.name.split("-")[1:2] in [[name] for name in tenants]]


@pytest.mark.both_databases
def test_a_long_session_is_read_from_its_end(memory: Memory) -> None:
    for n in range(1, 8):
        memory.commit_turn("s", {"messages": [{"role": "user", "content": f"word {n}"}]}, user_id="ada")

    def numbers(**asked: Any) -> list[int]:
        return [turn.number for turn in memory.sessions.turns("s", user_id="ada", **asked)]

    assert numbers(last=3) == [5, 6, 7]
    assert numbers(last=3, before=5) == [2, 3, 4]
    assert numbers(last=3, before=2) == [1]
    assert numbers(before=3) == [1, 2]
    assert numbers(last=100) == list(range(1, 8))
    assert numbers(before=1) == []
    for field, wrong in (("last", 0), ("last", True), ("before", 0), ("before", 2**31)):
        with pytest.raises(InputError, match=field):
            numbers(**{field: wrong})


def test_what_was_explained_and_said_can_be_asked_as_of_then(database_url: str) -> None:
    with Memory.open(database_url, policy={"embedder": "none"}) as memory:
        first = memory.commit_turn("s", {"messages": [{"role": "user", "content": "tea"}], "metadata": {"a": 1}})
        item = first.stored[0]
        memory.update(item.id, content="coffee")
        memory.commit_turn("s", {"messages": [{"role": "user", "content": "milk"}]})
        memory.commit_turn("t", {"messages": [{"role": "user", "content": "later"}]})
        then = item.recorded_at
        assert [turn.metadata for turn in memory.sessions.turns("s")] == [{"a": 1}, {}]
        assert len(memory.sessions.turns("s", as_of=then)) == 1
        assert [session.session_id for session in memory.sessions.list(as_of=then)] == ["s"]
        assert [event.op for event in memory.history(item.id, as_of=then)] == ["create"]
        explained = memory.explain(item.id, as_of=then)
        assert (explained.item.content, [source.quote for source in explained.sources]) == ("tea", ["tea"])
        assert [source.quote for source in memory.explain(item.id).sources] == ["tea", "coffee"]
        with pytest.raises(NotFound):
            memory.history(item.id, as_of=then - timedelta(seconds=1))
        with pytest.raises(NotFound):
            memory.explain(item.id, valid_at=then - timedelta(days=1))
