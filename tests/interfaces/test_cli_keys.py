"""Keys from the command line."""

from typing import Any

from phronesis import Memory


def test_a_key_is_made_listed_and_revoked(call: Any, store: str) -> None:
    assert "there are no keys" in call("serve", "keys", "list").out
    made = call("serve", "keys", "create", "--role", "write", "--label", "Ada 的笔记本", "--actor", "ada").out
    token = made.split()[0]
    assert "it is not kept" in made
    with Memory.open(store) as memory:
        key = memory.admin.keys.find(token)
    assert key is not None
    listed = call("serve", "keys", "list").out
    assert all(word in listed for word in (key.id[-8:], "write", "ada", "active", "Ada 的笔记本"))
    assert token.rpartition(".")[2] not in listed
    assert "revoked" in call("serve", "keys", "revoke", key.id[-8:]).out
    assert [one["revoked_at"] is None for one in call("serve", "keys", "list", "--json").json] == [False]


def test_wrong_use(call: Any) -> None:
    cases: list[tuple[str, ...]] = [("create",), ("create", "--role", "owner", "--label", "x"), ("revoke", "x")]
    for arguments in cases:
        assert call("serve", "keys", *arguments).code == 2
