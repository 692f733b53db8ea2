"""Bad input is refused by the field's name and leaves nothing behind, or is kept exactly as it came."""

import re
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from operator import attrgetter
from typing import Any

import pytest

from phronesis.errors import InputError, NotFound
from phronesis.memory import Memory
from phronesis.store.lanes import list_lanes
from scenarios.refusals import NO_JSON, NOW, REFUSED, Call, item_of
from scenarios.writers import POLICY


@pytest.fixture(scope="module")
def held() -> Iterator[Memory]:
    """One store for all calls that must leave it as it is."""
    with Memory.open("sqlite://", policy=POLICY, clock=lambda: NOW) as memory:
        memory.add("Alice lives in Kyoto", user_id="alice")
        yield memory


def heads(memory: Memory) -> list[tuple[int, str]]:
    with memory._runtime._components.database.transaction(memory.admin.tenant, "read") as unit:
        return [(lane.head_seq, lane.head_hash) for lane in list_lanes(unit)]


class Nowhere(tzinfo):
    def utcoffset(self, _when: datetime | None, /) -> None:
        return None

    def dst(self, _when: datetime | None, /) -> None:
        return None

    def tzname(self, _when: datetime | None, /) -> None:
        return None


def outermost(field: str) -> str:
    """Return the field that the caller gave, of one inside it."""
    return re.split(r"[.\[]", field)[0]


@pytest.mark.parametrize("outer", sorted({outermost(field) for field, _ in REFUSED}))
def test_a_wrong_field_is_named_and_nothing_is_stored(held: Memory, outer: str) -> None:
    before = heads(held)
    for field, call in ((name, call) for name, call in REFUSED if outermost(name) == outer):
        with pytest.raises(InputError) as caught:
            call(held)
        assert caught.value.field is not None
        assert caught.value.field == field or (field == "filters" and caught.value.field.startswith("filters."))
        assert len(str(caught.value)) < 2000
        str(caught.value).encode("utf-8")  # it can be printed
    assert heads(held) == before


def test_what_is_no_json_is_refused_wherever_it_stands(held: Memory) -> None:
    before = heads(held)
    for bad in NO_JSON:
        refuse(held, bad)
    assert heads(held) == before


def refuse(held: Memory, bad: Any) -> None:
    """Call every verb that takes JSON with what is none."""
    calls: list[Call] = [
        lambda m: m.add("x", metadata={"a": bad}),
        lambda m: m.add("x", kind="fact", value=bad),
        lambda m: m.commit_turn("s", {"messages": [{"content": "x", "metadata": {"a": bad}}]}),
        lambda m: m.commit_turn("s", {"messages": [{"content": [{"text": "x", "a": bad}]}]}),
        lambda m: m.commit_turn("s", {"tool_calls": [{"name": "f", "result": bad}]}),
        lambda m: m.commit_turn("s", {"messages": [{"content": "x"}], "session_metadata": {"a": bad}}),
        lambda m: m.update(item_of(m), metadata={"a": bad}),
    ]
    for call in calls:
        with pytest.raises(InputError):
            call(held)


EDITS = ("archive", "unarchive", "pin", "unpin", "retract")


def test_an_unknown_id_is_not_found_by_any_verb(held: Memory) -> None:
    before, nobody = heads(held), str(uuid.uuid4())
    for verb in ("get", "delete", "history", "explain", "rollback", *(f"items.{one}" for one in EDITS)):
        with pytest.raises(NotFound):
            attrgetter(verb)(held)(nobody)
    with pytest.raises(NotFound):
        held.update(nobody, content="x")
    with pytest.raises(NotFound):
        held.items.delete_all(user_id="nobody")
    assert heads(held) == before


EXACT = [
    "NUL \x00 inside",
    "lone \ud800 surrogate",
    "paired \ud83d\ude00 halves",
    "😀👩‍👩‍👧‍👦🇯🇵",
    "שלום עולם مرحبا",
    "\ufeffBOM",
    "ﷺ" * 50,
    "a\r\nb\rc\u2028d",
    '{"$erased": true}',
    "%s {0} $1 ?1 :t",
    "```" + "一" * 50_000,
]


@pytest.mark.parametrize("text", EXACT, ids=range(len(EXACT)))
def test_any_text_comes_back_as_it_was_said(text: str) -> None:
    with Memory.open("sqlite://", policy={"embedder": "hashing"}) as memory:
        call = {"name": "f", "args": {"x": text, text[:50] or "k": 1}, "result": text}
        message = {"role": "user", "content": text, "metadata": {"note": text}}
        memory.commit_turn("s/ü\u202e", {"messages": [message], "tool_calls": [call]}, user_id="u")
        [turn] = memory.sessions.turns("s/ü\u202e", user_id="u")
        if "\ud83d\ude00" in text:  # two halves of one character are that character
            text = text.replace("\ud83d\ude00", "😀")
            message, call = {**message, "content": text, "metadata": {"note": text}}, {}
        assert list(turn.messages) == [message]
        assert not call or list(turn.tool_calls) == [call]
        [item] = memory.get_all(user_id="u", kinds=["message"])
        assert item.content.encode()  # fit for any database
        memory.search(text, user_id="u", filters={"content": {"contains": text[:1000]}}, explain=True)
        memory.search(f"https://{text}", user_id="u")
        memory.update(item.id, content=text, metadata={"again": text}, reason=text)
        memory.flush()
        memory.explain(item.id).to_dict()
        assert memory.admin.rebuild(verify=True).equal


def test_a_call_that_is_too_large_as_a_whole_is_refused(held: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """No part of it is: each text and each list is within its own bound."""
    monkeypatch.setattr("phronesis.log.recorder.MAX_PAYLOAD_BYTES", 5_000)
    before = heads(held)
    many = [{"role": "user", "content": "长" * 100}] * 20
    with pytest.raises(InputError, match="Split it into several calls") as told:
        held.add(many, user_id="alice")
    assert told.value.field == "payload"
    assert heads(held) == before
    held.add(many[:10], user_id="whoever")


def test_a_million_characters_are_stored_and_found() -> None:
    text = "```" + "filler words " * 38_000 + "the heron nests at Lake Biwa " + "more filler " * 42_000
    assert len(text) > 1_000_000 - 5_000
    with Memory.open("sqlite://", policy=POLICY) as memory:
        memory.commit_turn("s", {"messages": [{"role": "user", "content": text}]}, user_id="u")
        memory.add("nothing of the kind", user_id="u")
        first = memory.search("heron Lake Biwa", user_id="u")[0]
        assert "heron" in first.matched[0].snippet
        assert first.item.content == text
        assert memory.sessions.turns("s", user_id="u")[0].messages[0]["content"] == text
        assert memory.admin.rebuild(verify=True).equal


def test_times_are_utc_and_may_be_a_day_ahead() -> None:
    with Memory.open("sqlite://", policy=POLICY, clock=lambda: NOW) as memory:
        given: list[datetime | str] = [
            datetime(2026, 5, 1, 8),  # noqa: DTZ001 - naive is meant
            "2026-05-01T08:00",
            "2026-05-01T10:00+02:00",
            " 2026-05-01T08:00Z ",
        ]
        given.append(datetime(2026, 5, 1, 8, tzinfo=Nowhere()))
        made = [memory.add("x", occurred_at=when).items[0] for when in given]
        assert {item.occurred_at for item in made} == {datetime(2026, 5, 1, 8, tzinfo=UTC)}
        ahead = NOW + timedelta(days=1)
        assert memory.add("x", occurred_at=ahead).items[0].occurred_at == ahead
        memory.add("x", occurred_at="0001-01-01")
        assert memory.update(made[0].id, valid_to="2999-01-01").items[0].valid_to is not None
        assert memory.admin.rebuild(verify=True).equal


@pytest.mark.parametrize("start", [NOW, datetime(1969, 1, 1, tzinfo=UTC), datetime(2026, 5, 1)])  # noqa: DTZ001
def test_a_clock_that_runs_backwards_changes_no_order(start: datetime) -> None:
    hours = iter([5, 4, 4, -3000, 7, 0, -1, 9, *range(-100, 0)])
    with Memory.open("sqlite://", policy=POLICY, clock=lambda: start + timedelta(hours=next(hours))) as memory:
        said = [memory.commit_turn("s", {"messages": [{"content": str(n)}]}).entry_id for n in range(8)]
        assert [turn.entry_id for turn in memory.sessions.turns("s")] == said
        times = [turn.recorded_at for turn in memory.sessions.turns("s")]
        assert times == sorted(set(times))
        assert [item.content for item in memory.get_all()] == list("76543210")
        assert memory.admin.rebuild(verify=True).equal


def test_a_message_said_again_is_told_from_another_of_the_same_id() -> None:
    with Memory.open("sqlite://", policy=POLICY) as memory:

        def say(text: str) -> tuple[int, int]:
            done = memory.commit_turn("s", {"messages": [{"content": text, "id": "1"}]})
            return len(done.stored), sum(one.rule == "duplicate_message" for one in done.gated)

        assert [say("one"), say("one"), say("two"), say("one"), say("two")] == [(1, 0), (0, 1), (1, 0), (0, 1), (0, 1)]
        first = memory.get_all(limit=2)[1]
        memory.update(first.id, content="one, edited")
        assert (say("one"), say("one, edited")) == ((0, 1), (1, 0))
        assert [one.messages[0]["content"] for one in memory.sessions.turns("s")] == ["one", "two", "one, edited"]
        assert memory.admin.rebuild(verify=True).equal


def test_keys_that_become_one_in_the_database_do_so_alike_in_a_replay() -> None:
    with Memory.open("sqlite://", policy=POLICY) as memory:
        for keys in (["a\ufffd", "a\x00"], ["a\x00", "a\ud800", "a\ufffd"]):
            metadata = {key: n for n, key in enumerate(keys)}
            memory.add("x", metadata=metadata)
            memory.commit_turn(
                "s", {"messages": [{"content": "x", "metadata": metadata}], "session_metadata": metadata}
            )
            assert memory.sessions.turns("s")[-1].session_metadata == metadata
        assert memory.admin.rebuild(verify=True).equal
