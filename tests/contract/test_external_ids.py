"""``external_id``: a caller's own name for an item, one item of a lane at a time."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from phronesis import Memory
from phronesis.core.ids import make_scope
from phronesis.core.timestamps import to_micros
from phronesis.errors import Conflict, InputError, NotFound
from phronesis.recall.as_of import NamedItems
from phronesis.store.named_items import RowPage


@pytest.fixture
def memory(database_url: str) -> Iterator[Memory]:
    with Memory.open(database_url, policy={"embedder": "none"}) as opened:
        yield opened
        assert opened.admin.rebuild(verify=True).equal


@pytest.mark.parametrize(
    "how", [{}, {"infer": False}, {"kind": "fact"}, {"kind": "profile", "key": "home_city", "value": "Lyon"}]
)
def test_an_item_is_looked_up_and_filtered_by_the_name_it_was_given(memory: Memory, how: dict[str, Any]) -> None:
    added = memory.add("I live in Lyon.", user_id="ann", external_id="crm:客户 7", **how)
    memory.add("I live in Rome.", user_id="bob", external_id="crm:客户 7", **how)
    memory.add("I live in Oslo.", user_id="ann", infer=False, external_id="crm:8")
    item = memory.get(external_id="crm:客户 7", user_id="ann")
    assert (item.external_id, item.content) == ("crm:客户 7", "I live in Lyon.")
    assert item in added.items
    found = memory.get_all(user_id="ann", filters={"external_id": "crm:客户 7"})
    assert [one.id for one in found] == [item.id]
    assert [one.content for one in memory.get_all(user_id="ann", filters={"external_id": {"gte": "crm:8"}})] == [
        "I live in Oslo.",
        item.content,
    ]
    with pytest.raises(NotFound) as raised:
        memory.get(external_id="crm:客户 7")
    assert raised.value.field == "external_id"


@pytest.mark.parametrize("how", [{"infer": False}, {"kind": "fact"}])
def test_the_same_words_again_are_the_same_item_and_others_a_conflict(memory: Memory, how: dict[str, Any]) -> None:
    text = "The key is ghp_0123456789abcdefghijABCDEFGHIJ012345."
    first = memory.add(text, external_id="doc", **how).items[0]
    again = memory.add(text, external_id="doc", **how)
    assert [item.id for item in again.items] == [first.id]
    with pytest.raises(Conflict, match="update") as raised:
        memory.add("Something else.", external_id="doc", **how)
    assert (raised.value.field, raised.value.details) == ("external_id", {"id": first.id})
    with pytest.raises(Conflict):
        memory.add("Something else.", external_id="doc", idempotency_key="k", **how)
    assert len(memory.get_all()) == 1
    replaced = memory.add("Something else.", external_id="doc", supersedes=first.id, **how).items[0]
    assert memory.get(external_id="doc").id == replaced.id
    assert memory.get(external_id="doc", as_of=first.recorded_at).id == first.id


def test_who_comes_second_while_the_first_is_pending_makes_no_item(memory: Memory) -> None:
    for text in ("First.", "Second."):
        memory.add(text, kind="fact", external_id="doc", wait=False)
        memory.add(text, infer=False, external_id="note", wait=False)
    memory.flush()
    assert {item.content for item in memory.get_all()} == {"First."}
    assert len(memory.get_all()) == 2


def test_what_was_deleted_gives_its_name_up_and_comes_back_without_it(memory: Memory) -> None:
    first = memory.add("First.", kind="fact", external_id="doc").items[0]
    deleted = memory.delete(first.id)
    with pytest.raises(NotFound):
        memory.get(external_id="doc")
    second = memory.add("Second.", kind="fact", external_id="doc").items[0]
    memory.items.unarchive(first.id)
    assert memory.get(external_id="doc").id == second.id
    assert (memory.get(first.id).live, memory.get(first.id).external_id) == (True, None)
    memory.rollback(deleted.entry_id, cascade=True)
    memory.delete(second.id)
    memory.items.unarchive(second.id)
    assert memory.get(external_id="doc").id == second.id


def test_an_update_names_an_item_and_names_it_anew(memory: Memory) -> None:
    first = memory.add("First.", kind="fact", external_id="a").items[0]
    second = memory.add("Second.", kind="fact").items[0]
    named = memory.update(second.id, external_id="b")
    with pytest.raises(Conflict):
        memory.update(second.id, external_id="a")
    memory.update(second.id, external_id="a", idempotency_key="k")
    memory.update(first.id, external_id="c")
    assert [memory.get(external_id=name).id for name in "bc"] == [second.id, first.id]
    memory.rollback(named.entry_id)
    assert memory.get(second.id).external_id is None


def test_each_message_may_have_its_own_name(memory: Memory) -> None:
    said = [{"role": "user", "content": f"Line {n}.", "external_id": f"line:{n}"} for n in range(3)]
    memory.add(said[:2], infer=False, session_id="s")
    memory.commit_turn("s", {"messages": said[2:]})
    assert [memory.get(external_id=f"line:{n}").content for n in range(3)] == ["Line 0.", "Line 1.", "Line 2."]
    with pytest.raises(InputError, match="own") as raised:
        memory.add(said, infer=False, external_id="lines")
    assert raised.value.field == "external_id"
    with pytest.raises(InputError, match="repeats"):
        memory.add([said[0], said[0]], infer=False)


def test_a_name_is_exported_and_erased_with_its_item(memory: Memory, tmp_path: Path) -> None:
    first = memory.add("Ann is here.", infer=False, session_id="s", external_id="ann@example.org 4111111111111111")
    memory.add("Bob is here.", kind="fact", external_id="bob@example.org")
    memory.export(tmp_path / "before")
    with Memory.open("sqlite://", policy={"embedder": "none"}) as other:
        other.import_(tmp_path / "before")
        assert other.get(external_id="ann@example.org 4111111111111111").id == first.items[0].id
    memory.erase(id=first.items[0].id)
    memory.erase(id=memory.get(external_id="bob@example.org").id)
    memory.export(tmp_path / "after")
    assert "@example.org" not in (tmp_path / "after").read_text("utf-8")
    with pytest.raises(NotFound):
        memory.get(external_id="ann@example.org 4111111111111111")


@pytest.mark.both_databases
def test_named_items_are_listed_by_name_and_by_their_last_change(memory: Memory) -> None:
    lane = make_scope(user_id="ann").write_lane
    named = NamedItems(memory.admin.components.database, memory.admin.tenant, lane)
    assert (named.heads("a:", "a;", until=":"), named.rows("a:", "a;"), named.row("a:1"), named.find("a:1")) == (
        set(),
        [],
        None,
        None,
    )
    ids = [
        memory.add(f"Line {n}.", kind="fact", user_id="ann", external_id=name, metadata={"n": n}).items[0].id
        for n, name in enumerate(["a:1", "a:2", "b:1", "a:茶", "a:4"])
    ]
    memory.delete(ids[4])
    memory.update(ids[0], metadata={"n": 7})
    assert named.heads("", "z", until=":") == {"a", "b"}
    assert named.heads("a:", "a;", until=":") == {"a"}
    assert named.heads("", "z", until="茶") == {"a:"}
    assert [row.external_id for row in named.rows("a:", "a;")] == ["a:1", "a:茶", "a:2"]
    assert [row.id for row in named.rows("a:", "a;", RowPage(limit=1, offset=1))] == [ids[3]]
    odd = RowPage(limit=1, offset=1, meets=lambda row: row.metadata["n"] != 3)
    assert [row.id for row in named.rows("a:", "a;", odd)] == [ids[1]]
    row, item = named.row("a:1"), memory.get(ids[0])
    assert row is not None
    assert (row.id, row.metadata, row.updated_at) == (item.id, {"n": 7}, to_micros(item.updated_at))
    assert named.find("a:1") == item
    assert named.row("a:4") is None


def test_an_experience_has_a_name_too(memory: Memory) -> None:
    told = {"attempt": "install it", "source_ref": "log#1", "external_id": "ci:7"}
    event = memory.ingest(told, user_id="ann", idempotency_key="k")[0][0]
    assert memory.get(external_id="ci:7", user_id="ann").id == event.id
    assert len(memory.ingest(told, user_id="ann", idempotency_key="k")) == 1
    with pytest.raises(Conflict) as raised:
        memory.ingest(told, user_id="ann")
    assert (raised.value.field, raised.value.details) == ("external_id", {"id": event.id})
    with pytest.raises(InputError, match="repeats"):
        memory.ingest([told, told], user_id="bob")
    memory.ingest({**told, "attempt": "again"}, user_id="ann", idempotency_key="other")
    assert len(memory.get_all(user_id="ann")) == 1


def test_what_is_no_name_is_an_error(sqlite_url: str) -> None:
    cases: list[Any] = ["", 7, "a\nb", "x" * 257]
    for wrong in cases:
        with Memory.open(sqlite_url, policy={"embedder": "none"}) as memory:
            for call in (memory.get, lambda external_id: memory.add("x", kind="fact", external_id=external_id)):
                with pytest.raises(InputError) as raised:
                    call(external_id=wrong)
                assert raised.value.field == "external_id"
            with pytest.raises(InputError, match="either"):
                memory.get()
