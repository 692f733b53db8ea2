"""People, places and things as records: merged and split by entries that can be taken back; namesakes stay apart."""

from collections.abc import Callable, Sequence

import pytest

from phronesis import EntityRecord, Memory
from phronesis.errors import InputError, NotFound

ROME, OSLO = "My colleague Anna lives in Rome.", "My sister Anna lives in Oslo."


def say(memory: Memory, *texts: str, session: str | None = "s") -> None:
    for text in texts:
        memory.add([{"role": "user", "content": text}], user_id="lin", session_id=session)


def state(memory: Memory, subject: str, key: str, value: str) -> str:
    return memory.add(
        f"{subject}: {key} {value}", kind="profile", subject=subject, key=key, value=value, user_id="lin"
    ).entry_id


def entity(memory: Memory, name: str) -> EntityRecord:
    """Give the entity whose canonical name it is."""
    (found,) = [one for one in memory.entities.list(name, user_id="lin") if (one.name, one.user_id) == (name, "lin")]
    return memory.entities.get(found.id)


def known(memory: Memory, name: str) -> dict[str, object]:
    """Give the current values of what is known of an entity, by key."""
    return {
        str(one.item.key): one.item.value for one in entity(memory, name).evidence if one.item.live and one.item.key
    }


def listed(memory: Memory) -> list[dict[str, object]]:
    return [one.to_dict() for one in memory.entities.list(user_id="lin")]


def first(memory: Memory, question: str) -> str:
    return memory.search(question, user_id="lin", limit=1)[0].item.content


def replays(memory: Memory) -> bool:
    return memory.admin.rebuild(verify=True).equal


@pytest.mark.both_databases
def test_two_people_of_one_name_stay_two(memory: Memory) -> None:
    say(memory, ROME)
    assert entity(memory, "Anna").relation == "colleague"
    say(memory, OSLO)
    assert known(memory, "colleague Anna") == {"home_city": "Rome"}
    assert known(memory, "sister Anna") == {"home_city": "Oslo"}
    sister = entity(memory, "sister Anna")
    assert (sister.kind, sister.relation) == ("person", "sister")
    assert [one.name for one in sister.namesakes] == ["colleague Anna"]
    assert "Rome" in first(memory, "Where does my colleague Anna live?")
    assert "Oslo" in first(memory, "Where does my sister Anna live?")
    assert {one.item.content for one in memory.search("Where does Anna live?", user_id="lin", limit=2)} == {
        ROME.rstrip("."),
        OSLO.rstrip("."),
    }
    assert replays(memory)


def test_a_bare_name_is_whom_the_session_spoke_of_last_or_nobody(memory: Memory) -> None:
    say(memory, ROME, OSLO, "My colleague Anna works at IBM.", session="s")
    say(memory, "Anna is allergic to nuts.", session="s")
    say(memory, "Anna is allergic to fish.", session="t")
    say(memory, f"{ROME} {OSLO}", session="u")
    say(memory, "Anna is allergic to eggs.", session="u")
    assert known(memory, "colleague Anna")["allergy"] == "nuts"
    bare = entity(memory, "Anna")
    assert {one.item.value for one in bare.evidence} == {"fish", "eggs"}
    assert bare.relation is None
    assert {one.name for one in bare.namesakes} == {"colleague Anna", "sister Anna"}
    assert replays(memory)


def test_the_only_one_of_a_name_keeps_what_was_said_of_the_bare_name(memory: Memory) -> None:
    say(memory, OSLO, "Anna is allergic to nuts.", ROME)
    assert known(memory, "sister Anna") == {"home_city": "Oslo", "allergy": "nuts"}
    last = next(one.item for one in entity(memory, "colleague Anna").evidence)
    memory.rollback(last.entry_id)
    assert known(memory, "Anna") == {"home_city": "Oslo", "allergy": "nuts"}
    say(memory, "My sister Anna moved to Bergen.")
    assert known(memory, "Anna")["home_city"] == "Bergen"
    assert replays(memory)


def test_outcomes_without_relations_replay_as_they_did(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries of earlier versions name the subject alone."""
    monkeypatch.setattr("phronesis.conversation.extraction.extractor.add_relation", lambda one, *_: one)
    say(memory, ROME, OSLO)
    monkeypatch.undo()
    assert known(memory, "Anna") == {"home_city": "Oslo"}
    assert replays(memory)


@pytest.mark.both_databases
def test_a_merge_makes_one_subject_and_its_rollback_two(memory: Memory) -> None:
    state(memory, "Robert Brown", "home_city", "Paris")
    state(memory, "Bob", "employer", "IBM")
    before = listed(memory)
    ids = [entity(memory, name).id for name in ("Bob", "Robert Brown")]
    merged = memory.entities.merge(ids, reason="one and the same", actor="ann")
    one = entity(memory, "Robert Brown")
    assert (one.aliases, one.kind) == (("Bob",), "person")
    assert known(memory, "Robert Brown") == {"home_city": "Paris", "employer": "IBM", "alias": "Bob"}
    assert memory.entities.get(ids[0]).id == one.id == memory.entities.get(ids[1]).id
    (alias,) = merged.items
    event = memory.history(alias.id)[0]
    assert (event.actor, event.reason, event.verb) == ("ann", "one and the same", "merge_entities")
    assert "Paris" in first(memory, "Which is the home city of Bob?")
    moved = state(memory, "Bob", "home_city", "Lyon")
    assert known(memory, "Robert Brown")["home_city"] == "Lyon"
    memory.rollback(moved)
    memory.rollback(merged.entry_id)
    assert listed(memory) == before
    assert replays(memory)


@pytest.mark.both_databases
def test_a_split_by_alias_takes_back_what_joined_the_names(memory: Memory) -> None:
    state(memory, "Robert", "home_city", "Paris")
    state(memory, "Robert", "alias", "Bob")
    state(memory, "Bob", "employer", "IBM")
    robert = entity(memory, "Robert")
    before = listed(memory)
    split = memory.entities.split(robert.id, alias="bob", reason="two men")
    assert [item.ended for item in split.items if item.key == "alias"] == ["retracted"]
    assert entity(memory, "Robert").aliases == entity(memory, "Bob").aliases == ()
    memory.rollback(split.entry_id)
    assert listed(memory) == before
    assert entity(memory, "Robert").aliases == ("Bob",)
    assert replays(memory)


@pytest.mark.both_databases
def test_a_split_by_items_gives_them_a_subject_of_their_own(memory: Memory) -> None:
    state(memory, "Anna", "home_city", "Rome")
    state(memory, "Anna", "employer", "IBM")
    before = listed(memory)
    anna = entity(memory, "Anna")
    chosen = [one.item.id for one in anna.evidence if one.item.key == "employer"]
    split = memory.entities.split(anna.id, items=chosen)
    assert known(memory, "Anna") == {"home_city": "Rome"}
    assert known(memory, "Anna (2)") == {"employer": "IBM"}
    memory.rollback(split.entry_id)
    assert listed(memory) == before
    memory.entities.split(anna.id, items=chosen, name="Anna Meyer")
    assert known(memory, "Anna Meyer") == {"employer": "IBM"}
    assert replays(memory)


def test_what_a_bare_name_left_open_is_told_by_a_split(memory: Memory) -> None:
    say(memory, ROME, OSLO)
    say(memory, "Anna is allergic to fish.", session="t")
    bare = entity(memory, "Anna")
    memory.entities.split(bare.id, items=[bare.evidence[0].item.id], name="sister Anna")
    assert known(memory, "sister Anna") == {"home_city": "Oslo", "allergy": "fish"}
    assert replays(memory)


def test_she_is_who_was_named_before(memory: Memory) -> None:
    say(memory, OSLO, "I had lunch with my colleague Anna; she works at IBM.")
    assert known(memory, "sister Anna") == {"home_city": "Oslo"}
    assert known(memory, "colleague Anna") == {"employer": "IBM"}
    assert replays(memory)


def test_a_name_with_its_relation_is_the_person_that_is_so_called(memory: Memory) -> None:
    say(memory, ROME, OSLO, "My sister Anna moved to Bergen.", "My colleague Anna moved to Milan.")
    assert known(memory, "sister Anna") == {"home_city": "Bergen"}
    assert known(memory, "colleague Anna") == {"home_city": "Milan"}
    assert replays(memory)


def test_merged_namesakes_are_one_again(memory: Memory) -> None:
    say(memory, ROME, OSLO)
    memory.entities.merge([entity(memory, name).id for name in ("sister Anna", "colleague Anna")])
    say(memory, "Anna moved to Bern.", "My sister Anna lives in Turin.", session="t")
    assert known(memory, "colleague Anna")["home_city"] == "Turin"
    assert replays(memory)


def test_kinds_follow_from_what_is_known(memory: Memory) -> None:
    say(memory, "I work at Siemens.", "I live in Lyon.", "My friend Tom is a vegan.")
    state(memory, "Apollo", "attribute.kind", "project")
    state(memory, "apollo", "launch pad", "39A")  # under a key of one's own, as it was spelled
    state(memory, "the press", "located_in", "Hall 3")
    kinds = {one.name: one.kind for one in memory.entities.list(user_id="lin")}
    assert kinds["Siemens"] == "organisation"
    assert kinds["Lyon"] == "place"
    assert kinds["Tom"] == "person"
    assert kinds["Apollo"] == "project"
    assert known(memory, "Apollo") == {"attribute.kind": "project", "launch pad": "39A"}
    assert kinds["the press"] == "thing"
    assert [one.name for one in memory.entities.list("OM", user_id="lin", kind="person")] == ["Tom"]


def _refused(memory: Memory) -> Sequence[tuple[str, dict[str, object]]]:
    bob, (other,) = entity(memory, "Bob"), memory.entities.list()
    item = memory.get_all(user_id="lin", kinds=["message"])[0]
    return (
        ("ids", {"ids": [bob.id]}),
        ("ids", {"ids": [bob.id, other.id]}),
        ("ids", {"ids": []}),
        ("alias", {"id": bob.id}),
        ("alias", {"id": bob.id, "alias": "Rob"}),
        ("items", {"id": bob.id, "items": [item.id]}),
        ("name", {"id": bob.id, "items": [bob.evidence[0].item.id], "name": "bob"}),
    )


def test_what_no_merge_and_no_split_can_be_is_refused(memory: Memory) -> None:
    say(memory, "Hello.")
    state(memory, "Bob", "home_city", "Paris")
    memory.add("Bob: shared", kind="profile", subject="Bob", key="employer", value="IBM")
    for field, given in _refused(memory):
        verb: Callable[..., object] = memory.entities.merge if "ids" in given else memory.entities.split
        with pytest.raises(InputError) as raised:
            verb(**given)
        assert raised.value.field == field, given
    with pytest.raises(NotFound):
        memory.entities.get("01900000-0000-7000-8000-000000000000")
