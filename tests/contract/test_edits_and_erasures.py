"""Edits that expect a version, beside erasures, which count versions anew: none is lost, none is told wrongly."""

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest

from phronesis import Memory
from phronesis.core.items import Item
from phronesis.engine.erasure import Eraser
from phronesis.errors import VersionConflict


def two_facts(memory: Memory) -> list[Item]:
    texts = ("Alice lives in Paris", "Bob likes xyzzy plugh")
    return [memory.add(text, user_id="u", kind="fact").items[0] for text in texts]


def while_pending(memory: Memory, item_id: str, meanwhile: Callable[[], Any]) -> Any:
    """Erase an item, and do something when the erasure is recorded and not carried out yet."""
    carried_out = Eraser._carry_out
    done: list[Any] = []

    def later(self: Eraser, *given: Any, **named: Any) -> Any:
        if not done:
            done.append(meanwhile())
        return carried_out(self, *given, **named)

    with mock.patch.object(Eraser, "_carry_out", later):
        assert memory.erase(id=item_id).clean
    return done[0]


def test_an_edit_behind_a_pending_erasure_is_carry_out(memory: Memory) -> None:
    fact, secret = two_facts(memory)
    edit = while_pending(
        memory, secret.id, lambda: memory.update(fact.id, content="Alice lives in Rome", expected_version=1)
    )
    assert [item.content for item in edit.items] == ["Alice lives in Rome"]
    assert memory.get(fact.id).content == "Alice lives in Rome"
    assert memory.admin.rebuild(verify=True).equal


def test_a_stale_edit_stays_stale_when_an_erasure_counts_fewer_versions(memory: Memory) -> None:
    first = memory.add("I live in Oslo.", user_id="u", session_id="one")
    home = next(item for item in first.items if item.kind != "message")
    memory.add("I live in Oslo.", user_id="u", session_id="two")
    assert memory.get(home.id).version == 2
    stale: dict[str, Any] = {"content": "They live in Bergen", "expected_version": 1, "idempotency_key": "k"}
    with pytest.raises(VersionConflict, match="at version 2"):
        memory.update(home.id, **stale)
    assert memory.erase(session_id="two", user_id="u").clean
    assert memory.get(home.id).version == 1
    with pytest.raises(VersionConflict, match="another version then"):
        memory.update(home.id, **stale)
    assert "Oslo" in memory.get(home.id).content
