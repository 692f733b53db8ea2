"""Whose words a search prefers, through the public API."""

from collections.abc import Iterator

import pytest

from phronesis import Memory


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory.open("sqlite://", tenant="t", policy={"embedder": "none"}) as opened:
        yield opened


def commit(memory: Memory, *messages: tuple[str, str, str | None]) -> None:
    turns = [{"role": role, "content": text, **({"name": name} if name else {})} for role, text, name in messages]
    memory.commit_turn("s", {"messages": turns}, user_id="u")


def shares(memory: Memory, question: str) -> dict[str, float]:
    return {
        one.item.content: dict(one.why or {})["speaker"]
        for one in memory.search(question, user_id="u", kinds=["message"], explain=True)
    }


def test_the_one_who_is_named(memory: Memory) -> None:
    commit(memory, ("user", "I bought tea", "Ana"), ("user", "I bought rice", "Bo"), ("user", "fine", "李娜"))
    named = shares(memory, "What has Ana bought?")
    assert (named["I bought tea"] > 0, named["I bought rice"]) == (True, 0)
    several = shares(memory, "Have Ana and Bo bought tea?")
    assert not any(several.values())
    assert shares(memory, "李娜fine吗")["fine"] > 0


def test_roles_where_nobody_is_named(memory: Memory) -> None:
    commit(memory, ("user", "my knee hurts", None), ("assistant", "rest the knee", None))
    assert shares(memory, "What about my knee?") == pytest.approx({"my knee hurts": 2.021, "rest the knee": 0})
    assert shares(memory, "What did you say about the knee?")["rest the knee"] > 0
    assert not any(shares(memory, "Whose knee was it?").values())


def test_what_is_held_about_the_one_who_is_named(memory: Memory) -> None:
    commit(memory, ("user", "I like green tea", "Ana"), ("user", "green is fine", "Bo"))
    memory.add("green tea is liked", user_id="u", kind="preference", subject="Ana", key="likes")
    memory.add("green walls", user_id="u", kind="preference", subject="user", key="likes")
    found = memory.search("What green thing is Ana fond of?", user_id="u", explain=True)
    by_name = {one.item.content: dict(one.why or {})["speaker"] > 0 for one in found}
    assert by_name == {
        "I like green tea": True,
        "green is fine": False,
        "green tea is liked": True,
        "green walls": True,
    }
