"""``add(…, supersedes=id)``: the new item takes the place of another; history, rollback and replay know it."""

from typing import Any

import pytest

from phronesis import Memory
from phronesis.errors import InputError, NotFound


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ({"kind": "fact"}, {"kind": "fact"}),
        ({"kind": "fact", "key": "port", "value": "8080"}, {"kind": "fact", "key": "port", "value": "9090"}),
        ({"infer": False}, {"infer": False}),
        ({"infer": False}, {"kind": "decision"}),
    ],
)
def test_the_new_item_takes_the_place_of_the_old(database_url: str, old: dict[str, Any], new: dict[str, Any]) -> None:
    with Memory.open(database_url, policy={"embedder": "none"}) as memory:
        first = memory.add("The staging server listens on 8080.", user_id="ann", **old).items[0]
        added = memory.add("The staging server listens on 9090.", user_id="ann", supersedes=first.id, **new)
        assert [item.id for item in added.superseded] == [first.id]
        found = memory.search("Which port does the staging server listen on?", user_id="ann")
        assert [one.item.id for one in found] == [added.items[0].id]
        ended = memory.get(first.id)
        assert (ended.ended, ended.ended_by) == ("superseded", added.entry_id)
        assert [event.event for event in memory.history(first.id)] == ["created", "superseded"]
        assert memory.admin.rebuild(verify=True).equal
        memory.rollback(added.entry_id)
        assert memory.get(first.id).ended is None
        assert memory.search("staging server", user_id="ann")[0].item.id == first.id
        assert memory.admin.rebuild(verify=True).equal


def test_several_may_be_replaced_and_a_repeated_call_changes_nothing(sqlite_url: str) -> None:
    with Memory.open(sqlite_url, policy={"embedder": "none"}) as memory:
        ids = [memory.add(f"Draft {n} of the plan.", kind="fact").items[0].id for n in range(3)]
        calls = [memory.add("The plan.", kind="fact", supersedes=ids[:2], idempotency_key="k") for _ in range(2)]
        assert calls[0].entry_id == calls[1].entry_id
        assert {memory.get(one).ended for one in ids[:2]} == {"superseded"}
        assert memory.get(ids[2]).ended is None


def test_what_cannot_be_replaced_is_an_error_and_nothing_is_stored(sqlite_url: str) -> None:
    with Memory.open(sqlite_url, policy={"embedder": "none"}) as memory:
        other = memory.add("It is Bob's.", user_id="bob", kind="fact").items[0].id
        own = memory.add("It is Ann's.", user_id="ann", kind="fact").items[0].id
        for wrong, error in (
            (other, NotFound),
            ("0190b5d2-0000-7000-8000-000000000000", NotFound),
            ("no id", InputError),
            ([], InputError),
            (7, InputError),
        ):
            with pytest.raises(error) as raised:
                memory.add("New.", user_id="ann", kind="fact", supersedes=wrong)  # type: ignore[arg-type]
            assert raised.value.field == "supersedes"
        memory.add("It was Ann's.", user_id="ann", kind="fact", supersedes=own)
        with pytest.raises(InputError, match="ended"):
            memory.add("Again.", user_id="ann", kind="fact", supersedes=own)
        assert len(memory.get_all(user_id="ann")) == 1
