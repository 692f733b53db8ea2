"""Keys from the command line."""

from typing import Any

import pytest

from phronesis import Memory


def test_a_key_is_made_listed_and_revoked(call: Any, store: str) -> None:
    assert "there are no keys" in call("keys", "list").out
    made = call("keys", "create", "--role", "write", "--label", "Ada 的笔记本", "--actor", "ada").out
    token = made.split()[0]
    assert "it is not kept" in made
    with Memory.open(store) as memory:
        key = memory.keys.find(token)
    assert key is not None
    listed = call("keys", "list").out
    assert all(word in listed for word in (key.id, "write", "ada", "active", "Ada 的笔记本"))
    assert token.rpartition(".")[2] not in listed
    assert "revoked" in call("keys", "revoke", key.id).out
    assert [one["revoked_at"] is None for one in call("keys", "list", "--json").json] == [False]


def test_a_key_as_json(call: Any) -> None:
    made = call("keys", "create", "--role", "read", "--label", "x", "--json").json
    assert made["token"].startswith("phr_")
    assert (made["key"]["role"], made["key"]["actor"]) == ("read", "agent")


@pytest.mark.parametrize("arguments", [("create",), ("create", "--role", "owner", "--label", "x"), ("revoke", "x")])
def test_wrong_use(call: Any, arguments: tuple[str, ...]) -> None:
    assert call("keys", *arguments).code == 2
