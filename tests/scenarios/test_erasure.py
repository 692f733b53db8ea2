"""Law 9: what is erased is gone from the log, from all that was made of it, and from the files; nothing else is."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from phronesis import Memory
from phronesis.core.changes import Changes
from phronesis.core.entries import Entry, Outcome
from phronesis.core.ids import LaneName, item_id
from phronesis.core.items import Item
from phronesis.core.relations import EvidenceRow
from phronesis.core.results import ErasureCertificate
from phronesis.engine import erasure_plan
from phronesis.engine.erasure import Eraser
from phronesis.engine.handler import Handler, Outcomes, PrepareContext
from phronesis.errors import EntryFailed, Erased, InputError, NotFound
from phronesis.log.payloads import check_chain, load_entry
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import find_lane, get_lane, list_lanes
from phronesis.store.log import read_outcomes
from phronesis.store.trace_search import SUFFIXES

POLICY = {"embedder": "hashing"}
ANY_STATUS = {"status": {"in": ["active", "archived"]}}

ENGLISH = "My diagnosis is Zyxomania of the left knee, found by Doctor Quillfeather"
CHINESE = "我叫王小明，住在杭州西湖区文三路，电话一三八零零一"
KEPT = "Which restaurant by the river is open on Thursday?"
LONG = "```" + "Persephone keeps eleven lighthouses. " * 4000  # as code, which nothing is learned from


@pytest.fixture
def memory(database_url: str) -> Iterator[Memory]:
    with Memory.open(database_url, policy=POLICY) as opened:
        yield opened


def said(*texts: str, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": text} for text in texts], **more}


def everything_in(memory: Memory) -> bytes:
    """Every byte of the database's files, or every row's text where there are none."""
    database = memory._runtime._components.database
    if database.path is not None:
        paths = [Path(database.path + suffix) for suffix in SUFFIXES]
        return b"\0".join(path.read_bytes() for path in paths if path.exists())
    with database.transaction(memory.admin.tenant, "read") as unit:
        names = unit.connection.exec_driver_sql(
            "SELECT table_name FROM information_schema.tables WHERE starts_with(table_schema, 'phronesis')"
        ).scalars()
        rows = [str(unit.connection.exec_driver_sql(f"SELECT * FROM {name}").all()) for name in list(names)]
    return "\0".join(rows).encode()


def assert_gone(memory: Memory, certificate: ErasureCertificate, *texts: str) -> None:
    assert certificate.clean, certificate.residue
    held = everything_in(memory)
    for text in texts:
        for piece in (text[:80], text[-80:]):
            assert piece.encode() not in held, piece
            assert piece not in str(certificate.to_dict())
    assert_sound(memory)


def assert_sound(memory: Memory) -> None:
    result = memory.admin.rebuild(verify=True)
    assert result.equal, result.differences
    with memory._runtime._components.database.transaction(memory.admin.tenant, "read") as unit:
        assert [found for lane in list_lanes(unit) for found in check_chain(unit, lane)] == []


def contents(memory: Memory, **scope: Any) -> set[str]:
    return {item.content for item in memory.get_all(limit=1000, **scope)}


# --- one item ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [CHINESE, 'Quote "me" and \\ a\nline 🎉 end', LONG, "NUL \x00 stays here"])
def test_a_message_is_erased_and_the_others_of_its_turn_stay(memory: Memory, text: str) -> None:
    memory.add(KEPT, user_id="bob")
    turn = memory.commit_turn("s", said(text, KEPT), user_id="alice")
    later = memory.commit_turn("s", said("Where shall we go afterwards?"), user_id="alice")
    memory.flush()
    memory.search("lighthouse diagnosis 杭州", user_id="alice")
    certificate = memory.erase(id=turn.stored[0].id)
    assert_gone(memory, certificate, text)
    assert (certificate.entries_touched, certificate.parts_erased) == (1, 1)
    assert certificate.items_erased == len(turn.stored) - 1  # what was learned of it too
    with pytest.raises(NotFound):
        memory.get(turn.stored[0].id)
    first, second = memory.sessions.turns("s", user_id="alice")
    assert list(first.messages) == [{"$erased": True}, {"role": "user", "content": KEPT}]
    assert list(second.messages) == said("Where shall we go afterwards?")["messages"]
    assert memory.get(turn.stored[1].id) == turn.stored[1]  # the position too
    assert memory.get(later.stored[0].id).position == 2
    found = [each.item.id for each in memory.search(text[:60], user_id="alice", limit=50)]
    assert turn.stored[0].id not in found
    assert memory.search("restaurant by the river", user_id="alice")[0].item.content == KEPT
    assert contents(memory, user_id="bob") == {KEPT}


def test_metadata_goes_with_the_last_message_that_had_it(memory: Memory) -> None:
    note = {"note": "kept beside the green filing cabinet", "the Vladivostok file": 1}
    made = memory.add(
        [{"role": "user", "content": ENGLISH}, {"role": "user", "content": KEPT}],
        metadata=note,
        session_id="s",
        user_id="alice",
    )
    first = memory.erase(id=made.items[0].id)
    assert_gone(memory, first, ENGLISH)
    assert memory.get(made.items[1].id).metadata == note
    second = memory.erase(id=made.items[1].id)
    assert_gone(memory, second, KEPT, str(note["note"]), "the Vladivostok file")
    assert second.parts_erased == 2


def test_a_stated_item_goes_with_every_edit_of_it(memory: Memory) -> None:
    made = memory.add(
        "Alice lives in Ouagadougou these days",
        kind="fact",
        subject="Alice",
        key="home city",
        value="Ouagadougou these days",
        metadata={"from": "her letter of the first"},
        user_id="alice",
    ).items[0]
    other = memory.add("Alice has a parrot called Octavian", kind="fact", user_id="alice").items[0]
    memory.update(made.id, content="Alice moved to Antananarivo in spring", reason="told me so on the telephone")
    memory.update(made.id, metadata={"note": "ask her sister Philippa again"})
    memory.items.archive(made.id, reason="nobody needs to know this any more")
    undone = memory.rollback(memory.history(made.id)[-1].delta_id)
    certificate = memory.erase(id=made.id, reason="asked for in ticket 4711")
    assert_gone(
        memory,
        certificate,
        "Alice lives in Ouagadougou these days",
        "Alice moved to Antananarivo in spring",
        "told me so on the telephone",
        "ask her sister Philippa again",
        "nobody needs to know this any more",
        "her letter of the first",
    )
    assert certificate.entries_touched == 4  # the rollback says no word
    assert contents(memory, user_id="alice") == {other.content}
    with pytest.raises(NotFound):
        memory.history(made.id)
    with pytest.raises(NotFound):
        memory.rollback(undone.entry_id)


def test_an_entry_that_failed_and_was_taken_up_again_goes_with_its_words(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> Changes:
        raise ZeroDivisionError

    with Memory.open(database_url, policy=POLICY) as memory:
        handler = memory._runtime._components.writer.interpreter.stepper.registry["turn"]
        monkeypatch.setitem(
            memory._runtime._components.writer.interpreter.stepper.registry._handlers,
            "turn",
            dataclasses.replace(handler, apply=broken),
        )
        with pytest.raises(EntryFailed) as told:
            memory.commit_turn("s", said(ENGLISH, "Ask Marguerite about it, Marguerite knows"), user_id="alice")
        monkeypatch.undo()
        kept = memory.admin.retry(told.value.details["entry_id"]).items
        first, second = (item for item in kept if item.kind == "message")
        certificate = memory.erase(id=first.id)
        assert_gone(memory, certificate, ENGLISH)
        assert memory.get(second.id).content.startswith("Ask Marguerite")
        assert_gone(memory, memory.erase(session_id="s", user_id="alice"), "Ask Marguerite about it, Marguerite knows")


# --- sessions and users ----------------------------------------------------------------------------------------------


def story(memory: Memory, user: str | None) -> list[str]:
    """Two sessions and a fact of one user; gives the texts of the first session."""
    texts = [
        f"{user} said {ENGLISH} to {user}",
        f"{user}说{CHINESE}{user}",
        f"{user} saw the Andromeda table, {user} did",
    ]
    turn = said(
        *texts[:2],
        tool_calls=[{"name": "look", "args": {"query": texts[2]}, "result": texts[2]}],
        refs=[{"type": "file", "uri": f"/home/{user}/andromeda-of-the-first-session.txt"}],
        session_metadata={"title": f"The private matters of {user} herself"},
    )
    made = memory.commit_turn("first/session", turn, user_id=user)
    memory.update(
        made.stored[0].id, content=f"A changed wording which {user} preferred", reason="because of the letter"
    )
    memory.add(
        f"{user} is learning the theremin",
        kind="fact",
        session_id="first/session",
        user_id=user,
        metadata={"seen": "in the conservatory"},
    )
    memory.commit_turn("second", said(f"{KEPT}, {user}"), user_id=user)
    memory.add(f"Remember the milk for {user}", user_id=user)
    if user is not None:
        memory.items.delete_all(user_id=user, session_id="first/session")
    memory.flush()
    return [
        *texts,
        f"/home/{user}/andromeda-of-the-first-session.txt",
        f"The private matters of {user} herself",
        f"A changed wording which {user} preferred",
        f"{user} is learning the theremin",
    ]


def test_a_session_is_erased_and_the_rest_of_the_user_stays(memory: Memory) -> None:
    texts, others = story(memory, "alice"), story(memory, "bob")
    before = contents(memory, user_id="bob", filters={"status": "archived"}) | contents(memory, user_id="bob")
    held = memory.get_all(session_id="first/session", user_id="alice", limit=1000, filters=ANY_STATUS)
    certificate = memory.erase(session_id="first/session", user_id="alice")
    assert_gone(memory, certificate, *texts)
    assert certificate.items_erased == len(held) + 1  # and the file that was referred to, listed among the documents
    assert contents(memory, user_id="alice") == {f"{KEPT}, alice", "Remember the milk for alice"}
    assert [session.session_id for session in memory.sessions.list(user_id="alice")] == ["second"]
    assert memory.sessions.turns("first/session", user_id="alice") == []
    after = contents(memory, user_id="bob", filters={"status": "archived"}) | contents(memory, user_id="bob")
    assert after == before
    assert others[0].encode() in everything_in(memory)
    with pytest.raises(NotFound):
        memory.erase(session_id="first/session", user_id="alice")


@pytest.mark.both_databases
def test_a_user_is_erased_and_the_name_starts_anew(memory: Memory) -> None:
    name = "alice.liddell@wonderland.example"
    texts = story(memory, name)
    story(memory, "bob")
    memory.add(ENGLISH, user_id=name, idempotency_key="once")
    bobs = contents(memory, user_id="bob")
    with memory._runtime._components.database.transaction(memory.admin.tenant, "read") as unit:
        lane = find_lane(unit, LaneName("user", name))
    assert lane is not None
    held = memory.get_all(user_id=name, limit=1000, filters=ANY_STATUS)
    certificate = memory.erase(user_id=name)
    assert_gone(memory, certificate, name, *texts)
    assert certificate.items_erased == len(held) > 7
    with memory._runtime._components.database.transaction(memory.admin.tenant, "read") as unit:
        left = get_lane(unit, lane.lane_id)
    assert (left.name, left.head_seq) == (None, lane.head_seq + 1)
    assert contents(memory, user_id=name) == set()
    assert len(memory.search("theremin diagnosis milk", user_id=name)) == 0
    assert contents(memory, user_id="bob") == bobs
    with pytest.raises(NotFound):
        memory.erase(user_id=name)
    with pytest.raises(Erased):
        memory.add(ENGLISH, user_id=name, idempotency_key="once")
    memory.add("Here I am again after a long while", user_id=name)
    assert contents(memory, user_id=name) == {"Here I am again after a long while"}
    assert_sound(memory)


@pytest.mark.both_databases
def test_the_same_words_of_another_user_and_tenant_stay(memory: Memory) -> None:
    rival = memory.for_tenant("rival")
    mine = memory.add(ENGLISH, user_id="alice", session_id="s").items[0]
    others = memory.add(ENGLISH, user_id="bob").items[0], rival.add(ENGLISH, user_id="alice").items[0]
    certificate = memory.erase(id=mine.id)
    assert certificate.clean, certificate.residue
    assert certificate.texts_held_elsewhere == 1
    assert memory.get(others[0].id).content == rival.get(others[1].id).content == ENGLISH
    memory.add(ENGLISH, user_id="carol")
    assert contents(memory, user_id="carol") == {ENGLISH}
    assert_sound(memory)
    rival.close()


# --- what is learned elsewhere ---------------------------------------------------------------------------------------


def _principle_of(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    """A shared principle that quotes users' memories, as an engine that learns across lanes would."""
    learned = Item(
        id=item_id(entry.id, "principle", ""),
        kind="principle",
        content="People like trains",
        entry_id=entry.id,
        recorded_at=entry.recorded_at,
        updated_at=entry.recorded_at,
        **view.scope_fields(),
    )
    rows = [
        EvidenceRow(
            item_id=learned.id,
            polarity="support",
            source_key=body["memory"],
            source_item_id=body["memory"],
            source_entry_id=body["entry"],
            source_ref=body["quote"],
            entry_id=entry.id,
            recorded_at=entry.recorded_at,
        )
        for outcome in outcomes.get("found", ())
        for body in outcome.body["memories"]
    ]
    return Changes(items=[learned], evidence=rows)


def _find(bench: PrepareContext, _entry: Entry) -> list[Outcome]:
    with bench.database.transaction(bench.tenant, "read") as unit:
        lanes = [lane for lane in list_lanes(unit) if lane.kind == "user"]
        found = [item for lane in lanes for item in LaneView(unit, lane).find(kinds=("message",))]
    memories = [
        {"memory": item.id, "entry": item.entry_id, "quote": item.content}
        for item in sorted(found, key=lambda item: item.id)
    ]
    return [Outcome(role="found", made_by="test", body={"memories": memories})]


@pytest.fixture
def learning(database_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    handler = Handler(verb="learn_shared", apply=_principle_of, prepare=_find)
    monkeypatch.setattr(erasure_plan, "HANDLERS", (*erasure_plan.HANDLERS, handler))
    with Memory.open(database_url, policy=POLICY) as opened:
        yield opened


@pytest.mark.both_databases
@pytest.mark.parametrize("target", [{}, {"user_id": "alice"}, {"session_id": "s", "user_id": "alice"}])
def test_other_lanes_lose_the_evidence_and_are_prepared_again(learning: Memory, target: dict[str, Any]) -> None:
    memory = learning
    gone = memory.add(ENGLISH, user_id="alice", session_id="s").items[0]
    kept = memory.add("I go everywhere by train", user_id="bob").items[0]
    memory._runtime._components.writer.write(
        memory.admin.tenant, LaneName("shared", "default"), verb="learn_shared", payload={}, actor="agent"
    )
    [principle] = memory.get_all(kinds=["principle"])
    assert len(memory.explain(principle.id).evidence) == 2
    certificate = memory.erase(**(target or {"id": gone.id}))
    assert len(certificate.erasure_entry_ids) == 2
    assert_gone(memory, certificate, ENGLISH)
    evidence = memory.explain(principle.id).evidence
    assert [row["source_item_id"] for row in evidence] == [kept.id]
    for entry_id in certificate.erasure_entry_ids:
        with pytest.raises(InputError, match="erasure") as told:
            memory.rollback(entry_id)
        assert told.value.field == "id"


def test_a_lane_that_learns_from_it_meanwhile_is_found(learning: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    memory, ordered = learning, Eraser._record_order

    def learn_in_between(self: Eraser, *given: Any) -> Any:
        order = ordered(self, *given)
        memory._runtime._components.writer.write(
            memory.admin.tenant, LaneName("shared", "default"), verb="learn_shared", payload={}, actor="agent"
        )
        return order

    gone = memory.add(ENGLISH, user_id="alice").items[0]
    kept = memory.add("I go everywhere by train", user_id="bob").items[0]
    memory._runtime._background.stop()
    monkeypatch.setattr(Eraser, "_record_order", learn_in_between)
    certificate = memory.erase(id=gone.id)
    assert len(certificate.erasure_entry_ids) == 2
    assert_gone(memory, certificate, ENGLISH)
    [principle] = memory.get_all(kinds=["principle"])
    assert [row["source_item_id"] for row in memory.explain(principle.id).evidence] == [kept.id]


# --- durability ----------------------------------------------------------------------------------------------------


class Killed(BaseException):
    """The process ends here."""


@pytest.mark.both_databases
def test_a_crash_before_it_is_carried_out_is_made_good(database_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*_: object) -> None:
        raise Killed

    memory = Memory.open(database_url, policy=POLICY)
    turn = memory.commit_turn("s", said(ENGLISH, KEPT), user_id="alice")
    memory._runtime._background.stop()  # nobody else completes it
    monkeypatch.setattr(erasure_plan.Erasure, "carry_out", die)
    with pytest.raises(Killed):
        memory.erase(id=turn.stored[0].id)
    memory._runtime._components.database.engine.dispose()
    monkeypatch.undo()
    with Memory.open(database_url, policy=POLICY) as again:
        assert again.get(turn.stored[0].id).content == ENGLISH  # recorded, not carried out
        again.flush()
        with pytest.raises(NotFound):
            again.get(turn.stored[0].id)
        assert again.get(turn.stored[1].id).content == KEPT
        assert ENGLISH.encode() not in everything_in(again)
        assert_sound(again)


def test_a_crash_between_removing_and_preparing_again_is_made_good(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise Killed

    memory = Memory.open(database_url, policy=POLICY)
    turn = memory.commit_turn("s", said(ENGLISH, "Ask Marguerite about it, Marguerite knows"), user_id="alice")
    memory._runtime._background.stop()
    monkeypatch.setattr(erasure_plan.Preparation, "carry_out", die)
    with pytest.raises(Killed):
        memory.erase(id=turn.stored[0].id)
    assert ENGLISH.encode() not in everything_in(memory)
    memory._runtime._components.database.engine.dispose()
    monkeypatch.undo()
    with Memory.open(database_url, policy=POLICY) as again:
        again.flush()
        with again._runtime._components.database.transaction(again.admin.tenant, "read") as unit:
            assert b"Marguerite" in read_outcomes(unit, [turn.entry_id])[turn.entry_id][0]["body"]
        assert_sound(again)


def test_another_process_does_not_find_it_either(database_url: str) -> None:
    with Memory.open(database_url, policy=POLICY) as one, Memory.open(database_url, policy=POLICY) as other:
        made = one.add(ENGLISH, user_id="alice").items[0]
        one.flush()
        assert other.search("Zyxomania", user_id="alice")[0].item.id == made.id
        one.erase(id=made.id)
        assert len(other.search("Zyxomania", user_id="alice")) == 0


def test_what_was_pending_is_erased_with_the_rest(memory: Memory) -> None:
    memory.commit_turn("s", said(ENGLISH), user_id="alice", wait=False)
    memory.commit_turn("s", said(CHINESE), user_id="alice", wait=False)
    assert_gone(memory, memory.erase(session_id="s", user_id="alice"), ENGLISH, CHINESE)


# --- bad input -----------------------------------------------------------------------------------------------------


def test_it_says_what_is_wrong(memory: Memory) -> None:
    cases: list[dict[str, Any]] = [
        {},
        {"id": "no-uuid"},
        {"id": "6f9c2f0e-5b0a-5d0b-9f57-0d6f7068726f", "user_id": "alice"},
        {"user_id": "alice", "reason": " "},
    ]
    for given in cases:
        memory.add(KEPT, user_id="alice")
        with pytest.raises(InputError) as told:
            memory.erase(**given)
        assert told.value.field is not None
        assert contents(memory, user_id="alice") == {KEPT}


def test_a_reason_may_not_quote_what_is_erased(memory: Memory) -> None:
    made = memory.add(ENGLISH, user_id="alice").items[0]
    with pytest.raises(InputError, match="reason"):
        memory.erase(id=made.id, reason=f"she no longer wants us to know that {ENGLISH}")
    certificate = memory.erase(id=made.id, reason="she asked for it")
    with memory._runtime._components.database.transaction(memory.admin.tenant, "read") as unit:
        entry = load_entry(unit, certificate.erasure_entry_ids[0])
    assert entry.payload["reason"] == "she asked for it"
    assert set(entry.payload) == {"parts", "gone", "reason"}


def test_a_trait_whose_first_memory_is_erased_is_found_in_the_others(memory: Memory) -> None:
    said = [
        "Went for a run before work",
        "Went for a long run before work",
        "Went for another run before work",
        "Went for a run again before work",
    ]
    added = [
        memory.add(text, user_id="alice", kind="episodic", session_id=f"s{n}").items[0].id
        for n, text in enumerate(said[:3])
    ]
    memory.reflect("alice")
    added.append(memory.add(said[3], user_id="alice", kind="episodic", session_id="s9").items[0].id)
    memory.reflect("alice", force=True)
    [trait] = memory.get_user_traits("alice", "trend")
    assert {row.memory_id for row in trait.evidence} == set(added)
    assert memory.erase(id=added[0]).clean
    [left] = memory.get_user_traits("alice", "trend")
    assert {row.memory_id for row in left.evidence} == set(added[1:])
    assert_sound(memory)
