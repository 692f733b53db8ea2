"""The shim for mem0 without mem0: its quickstart, its shapes, its filters."""

import asyncio
import logging
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import phronesis
from phronesis.adapters.mem0 import AsyncMemory, Memory
from phronesis.errors import InputError

MESSAGES = [
    {"role": "system", "content": "You are kind."},
    {"role": "user", "content": "Hi, I'm Alex. I love basketball and gaming."},
    {"role": "assistant", "content": "Hey Alex! I'll remember your interests."},
]
ALEX = {"user_id": "alex"}


@pytest.fixture
def m(memory: phronesis.Memory) -> Memory:
    return Memory(memory=memory)


def said(found: dict[str, Any]) -> list[str]:
    return [one["memory"] for one in found["results"]]


def test_the_quickstart(m: Memory) -> None:
    added = m.add(MESSAGES, user_id="alex", metadata={"category": "hobbies"})
    assert {one["event"] for one in added["results"]} == {"ADD"}
    assert "I love basketball and gaming" in said(added)
    found = m.search("Who loves basketball?", filters=ALEX)
    best = found["results"][0]
    assert "basketball" in best["memory"]
    assert best["score"] == 1.0
    assert (best["user_id"], best["metadata"]) == ("alex", {"category": "hobbies"})
    assert m.get(best["id"]) == {**best, "score": None}
    assert m.get_all(filters=ALEX)["results"]
    assert m.update(best["id"], text="I love chess") == {"message": "Memory updated successfully!"}
    assert m.delete(best["id"]) == {"message": "Memory deleted successfully!"}
    assert m.get(best["id"]) is None
    assert [
        (one["event"], one["old_memory"], one["new_memory"], one["is_deleted"]) for one in m.history(best["id"])
    ] == [
        ("ADD", None, best["memory"], False),
        ("UPDATE", best["memory"], "I love chess", False),
        ("DELETE", "I love chess", None, True),
    ]
    assert m.delete_all(user_id="alex") == {"message": "Memories deleted successfully!"}
    assert m.get_all(filters=ALEX) == {"results": []}


def test_without_inference_each_message_is_one_memory(m: Memory) -> None:
    added = m.add([*MESSAGES, {"role": "user", "content": "我喜欢喝茶", "name": "小明"}], infer=False, user_id="alex")
    assert said(added) == [MESSAGES[1]["content"], MESSAGES[2]["content"], "我喜欢喝茶"]
    last = added["results"][-1]
    assert (last["role"], last["actor_id"], last["event"]) == ("user", "小明", "ADD")
    assert said(m.search("喝茶", filters={**ALEX, "actor_id": "小明"})) == ["我喜欢喝茶"]
    assert said(m.get_all(filters={**ALEX, "role": "assistant"})) == [MESSAGES[2]["content"]]


def test_a_scope_sees_its_own_alone(m: Memory) -> None:
    m.add("tea for alex", infer=False, user_id="alex")
    m.add("tea for alex and his agent", infer=False, user_id="alex", agent_id="a1")
    m.add("tea for kim", infer=False, user_id="kim", agent_id="a1")
    m.add("tea of the agent", infer=False, agent_id="a1", run_id="r1")
    assert set(said(m.get_all(filters=ALEX))) == {"tea for alex", "tea for alex and his agent"}
    assert set(said(m.search("tea", filters=ALEX))) == {"tea for alex", "tea for alex and his agent"}
    assert set(said(m.get_all(filters={"agent_id": "a1"}))) == {
        "tea for alex and his agent",
        "tea for kim",
        "tea of the agent",
    }
    assert said(m.get_all(filters={"agent_id": "a1", "run_id": "r1"})) == ["tea of the agent"]
    assert said(m.get_all(filters={"user_id": "alex", "agent_id": "a1"})) == ["tea for alex and his agent"]
    m.delete_all(agent_id="a1")
    assert said(m.get_all(filters=ALEX)) == ["tea for alex"]
    assert m.get_all(filters={"agent_id": "a1"}) == {"results": []}
    m.reset()
    assert m.get_all(filters=ALEX) == {"results": []}


def test_filters_are_mem0s(m: Memory) -> None:
    for text, metadata in (
        ("soup", {"topic": "food", "stars": 5}),
        ("chess", {"topic": "games"}),
        ("tea", {"topic": "food", "stars": 3, "label": "hot drink"}),
    ):
        m.add(text, user_id="alex", metadata=metadata, infer=False)
    cases: list[tuple[dict[str, Any], set[str]]] = [
        ({"topic": {"ne": "food"}}, {"chess"}),
        ({"stars": {"gte": 3, "lt": 5}}, {"tea"}),
        ({"topic": "*"}, {"soup", "tea", "chess"}),
        ({"label": {"icontains": "HOT"}}, {"tea"}),
        ({"OR": [{"topic": "games"}, {"stars": 5}]}, {"soup", "chess"}),
        ({"NOT": [{"topic": "food"}]}, {"chess"}),
        ({"data": {"contains": "ches"}}, {"chess"}),
    ]
    for wanted, found in cases:
        assert set(said(m.get_all(filters={**ALEX, **wanted}))) == found, wanted
        assert set(said(m.search("soup tea chess", filters={**ALEX, **wanted}))) == found, wanted


def test_what_expired_is_hidden(m: Memory) -> None:
    m.add("old offer", user_id="alex", infer=False, expiration_date="2020-01-01")
    m.add("new offer", user_id="alex", infer=False, expiration_date=datetime(2999, 1, 1, tzinfo=UTC))
    assert said(m.get_all(filters=ALEX)) == said(m.search("offer", filters=ALEX)) == ["new offer"]
    (kept,) = m.search("old offer", filters=ALEX, show_expired=True, top_k=1)["results"]
    assert kept["expiration_date"] == "2020-01-01"
    m.update(kept["id"], expiration_date=None, metadata={"seen": True})
    assert m.get(kept["id"]) == {**m.get(kept["id"]), "metadata": {"seen": True}}  # type: ignore[dict-item]
    assert len(said(m.get_all(filters=ALEX))) == 2


def test_the_arguments_of_mem0_1_are_taken(m: Memory) -> None:
    m.add("tea", user_id="alex", infer=False)
    m.add("more tea", user_id="alex", infer=False)
    assert len(said(m.search("tea", user_id="alex", limit=1))) == 1
    assert len(said(m.get_all(user_id="alex", limit=1))) == 1
    (first, *_) = m.get_all(user_id="alex")["results"]
    m.update(first["id"], data="green tea")
    assert m.get(first["id"])["memory"] == "green tea"  # type: ignore[index]
    with pytest.raises(TypeError, match="page"):
        m.search("tea", user_id="alex", page=2)


def test_an_agents_procedure_is_kept_as_one(memory: phronesis.Memory, m: Memory) -> None:
    m.add(MESSAGES[1:], agent_id="a1", memory_type="procedural_memory", metadata={"user_id": "kim", "x": 1})
    (item,) = memory.get_all(namespace="mem0", kinds=["procedure"])
    assert (item.agent_id, item.metadata, item.user_id) == ("a1", {"x": 1}, None)


def test_pending_deletions_are_asked_for_once(
    memory: phronesis.Memory, m: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for words in ("a ship", "a tram", "a train"):
        m.add(words, agent_id="bot", infer=False)
    listed = {one["id"] for one in m.get_all(filters={"agent_id": "bot"})["results"]}
    asked: list[str] = []
    monkeypatch.setattr(memory, "delete", asked.append)
    m.delete_all(agent_id="bot")
    assert sorted(asked) == sorted(listed)


def test_what_is_wrong_is_said(m: Memory) -> None:
    m.add("tea", user_id="alex", infer=False)
    for call in (
        lambda: m.add("tea"),
        lambda: m.search("tea"),
        lambda: m.get_all(filters={"topic": "x"}),
        m.delete_all,
        lambda: m.add("tea", user_id="a b"),
        lambda: m.add("tea", user_id=" "),
        lambda: m.add(7, user_id="alex"),
        lambda: m.add("tea", user_id="alex", memory_type="other"),
        lambda: m.add("tea", user_id="alex", expiration_date="soon"),
        lambda: m.search("tea", filters=ALEX, reference_date="2020-01-01"),
        lambda: m.search("tea", filters=ALEX, top_k=-1),
        lambda: m.search("tea", filters={**ALEX, "OR": "x"}),
        lambda: m.search("tea", filters={**ALEX, "OR": [{"user_id": "kim"}]}),
        lambda: m.update("nothing", "x"),
        lambda: m.update("nothing"),
        lambda: m.delete("nothing"),
    ):
        with pytest.raises(InputError):  # a ValueError, as mem0's are
            call()
    assert m.get("nothing") is None
    assert m.history("nothing") == []
    with pytest.raises(NotImplementedError):
        m.chat("hello")
    assert m.add([{"role": "system", "content": "x"}, {"role": "user"}], user_id="alex") == {"results": []}
    assert m.delete_all(user_id="nobody") == {"message": "Memories deleted successfully!"}
    assert said(m.get_all(filters=ALEX)) == ["tea"]


def test_a_configuration_opens_a_store_and_says_what_has_no_effect(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    own = {"url": f"sqlite:///{tmp_path / 'm.db'}", "policy": {"embedder": "none"}, "namespace": "team"}
    with caplog.at_level(logging.WARNING), Memory.from_config({"llm": {"provider": "openai"}, "phronesis": own}) as m:
        m.add("tea", agent_id="a1", infer=False, prompt="say it")
        m.search("tea", filters={"agent_id": "a1"}, rerank=True)
    assert [record.message.split(" has no effect")[0] for record in caplog.records] == [
        "of mem0's configuration llm",
        "prompt",
        "rerank",
    ]
    with Memory.from_config({"phronesis": own}) as m:
        assert said(m.get_all(filters={"agent_id": "a1"})) == ["tea"]
        assert len(m.phronesis.get_all(namespace="team")) == 1


def test_the_async_class_has_the_same_verbs(tmp_path: Path) -> None:
    own = {"url": f"sqlite:///{tmp_path / 'm.db'}", "policy": {"embedder": "none"}}

    async def use() -> None:
        async with AsyncMemory.from_config({"phronesis": own}) as m:
            await m.add("green tea", user_id="alex", infer=False)
            (found,) = (await m.search("tea", filters=ALEX))["results"]
            assert (await m.get(found["id"]))["memory"] == "green tea"  # type: ignore[index]
            await m.update(found["id"], "black tea")
            assert len(await m.history(found["id"])) == 2
            await m.delete(found["id"])
            await m.delete_all(user_id="alex")
            await m.reset()
            assert await m.get_all(filters=ALEX) == {"results": []}

    asyncio.run(use())
