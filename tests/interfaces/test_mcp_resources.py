"""What clients attach and pick: resources and prompts."""

import json
from collections.abc import Callable
from urllib.parse import quote

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp.types import ServerCapabilities

from mcp_talk import Talk
from phronesis import Memory
from phronesis.interfaces.mcp import Caller
from phronesis.interfaces.mcp.resources import BUDGET
from phronesis.wire import as_json

TalkTo = Callable[..., Talk]
NOBODY = "00000000-0000-5000-8000-000000000000"


def test_resources_and_templates_are_listed(talk: Talk) -> None:
    resources = talk.ask(lambda client: client.list_resources()).resources
    templates = talk.ask(lambda client: client.list_resource_templates()).resource_templates
    assert [one.uri for one in resources] == ["memory://recent", "memory://health"]
    assert [one.uri_template for one in templates] == [
        "memory://items/{id}",
        "memory://items/{id}/history{?offset}",
        "memory://users/{user_id}/traits{?offset}",
        "memory://sessions/{session_id}/turns{?user_id,offset}",
    ]
    assert all(one.title and one.description for one in resources)
    assert all(one.title and one.description for one in templates)


def test_a_memory_is_read_with_its_evidence_and_history(memory: Memory, talk: Talk) -> None:
    item = memory.add("我喜欢绿茶", user_id="李雷").items[0]
    assert json.loads(talk.read(f"memory://items/{item.id}")) == as_json(memory.explain(item.id))
    assert json.loads(talk.read(f"memory://items/{item.id}/history")) == as_json(memory.history(item.id))
    assert json.loads(talk.read("memory://recent"))["items"][0]["content"] == "我喜欢绿茶"


def test_users_and_sessions_are_named_by_any_text(memory: Memory, talk: Talk) -> None:
    memory.commit_turn("team/一", {"messages": [{"role": "user", "content": "你好"}]}, user_id="李雷")
    memory.commit_turn("team/一", {"messages": [{"role": "user", "content": "hello"}]}, user_id="../b")
    session = quote("team/一", safe="")
    turns = json.loads(talk.read(f"memory://sessions/{session}/turns"))
    assert turns[0]["messages"][0]["content"] == "你好"
    other = json.loads(talk.read(f"memory://sessions/{session}/turns?user_id={quote('../b', safe='')}"))
    assert other[0]["messages"][0]["content"] == "hello"
    assert json.loads(talk.read(f"memory://users/{quote('李雷')}/traits")) == []


def test_half_a_surrogate_pair_hides_no_session(memory: Memory, talk: Talk) -> None:
    call = {"name": "look", "args": {"q": "\udc00"}, "result": "\ud800!", "status": "ok"}
    turn = {"messages": [{"role": "user", "content": "look it up"}], "tool_calls": [call]}
    memory.commit_turn("cut", turn, user_id="李雷")
    [told] = json.loads(talk.read("memory://sessions/cut/turns"))
    assert told["tool_calls"][0]["result"] == "\ufffd!"


def test_a_resource_is_bounded_and_says_what_was_left_out(memory: Memory, talk: Talk) -> None:
    for n in range(12):
        long = f"{n} 绿茶的实验。" * 60
        memory.add(long, user_id="李雷", infer=False)
        call = {"name": "look", "args": {}, "result": long, "status": "ok"}
        turn = {"messages": [{"role": "user", "content": f"{n}?"}], "tool_calls": [call]}
        memory.commit_turn("长/1", turn, user_id="李雷")
    item = memory.add("绿茶" * 5_000, user_id="李雷", infer=False, session_id="长/2").items[0]
    for n in range(10):
        memory.update(item.id, content=f"version {n} " + "of many words " * 100)
    for address in ("recent", f"items/{item.id}"):
        text = talk.read(f"memory://{address}")
        assert memory.admin.components.count_tokens(text) <= BUDGET
        assert json.loads(text)["left_out"] > 0
        assert json.loads(text)["more"]
    turns = f"memory://sessions/{quote('长/1', safe='')}/turns?user_id={quote('李雷')}"
    for first, whole in (
        (turns, memory.sessions.turns("长/1", user_id="李雷")),
        (f"memory://items/{item.id}/history", memory.history(item.id)),
    ):
        address, rows = first, list[object]()
        while address:
            text = talk.read(address)
            assert memory.admin.components.count_tokens(text) <= BUDGET
            *page, last = json.loads(text)
            rows += page if "next" in last else [*page, last]
            assert "next" not in last or last["left_out"] == len(whole) - len(rows)
            address = last.get("next")
        assert len(rows) == len(whole)
        assert sum(row == told for row, told in zip(rows, as_json(whole), strict=True)) >= len(whole) - 2
    [one] = json.loads(talk.read(f"memory://sessions/{quote('长/2', safe='')}/turns"))
    assert one["messages"][0]["content"].endswith("…")
    assert one["more"]


def test_what_is_not_there_is_an_error_with_its_code(talk: Talk) -> None:
    cases: list[tuple[str, str]] = [
        (f"memory://items/{NOBODY}/history?offset=-1", "not_found|offset"),
        ("memory://users/ann/traits?offset=x", "offset must be a whole number"),
        (f"memory://items/{NOBODY}", "not_found"),
        ("memory://items/nonsense", "input.invalid"),
        ("memory://nothing/here", "Unknown resource"),
    ]
    for uri, told in cases:
        with pytest.raises(MCPError, match=told):
            talk.read(uri)


def test_health_is_for_administrators(memory: Memory, talk: Talk, talk_to: TalkTo) -> None:
    report = json.loads(talk.read("memory://health"))
    assert report["checks"]
    assert any(field["path"] == "embedder" for field in report["policy"])
    with pytest.raises(MCPError, match=r"access\.role"):
        talk_to(lambda _context: Caller(memory, role="write")).read("memory://health")


def test_prompts_are_in_two_languages(memory: Memory, talk: Talk) -> None:
    prompts = {one.name: one for one in talk.ask(lambda client: client.list_prompts()).prompts}
    assert list(prompts) == ["recall", "save", "review"]
    assert all(one.title and one.description for one in prompts.values())
    assert all(argument.description for one in prompts.values() for argument in one.arguments or ())
    item = memory.add("我对花生过敏", user_id="李雷").items[0]
    english = talk.prompt("recall", question="花生")
    assert english.startswith("Answer this")
    assert f"[mem:{item.id}]" in english
    assert talk.prompt("recall", question="花生", language="zh").startswith("请只根据记忆")
    assert "add_memory" in talk.prompt("save")
    assert "请回顾" in talk.prompt("save", language="zh")
    assert "过敏：花生" in talk.prompt("review")
    assert "核对关于 李雷 的记忆" in talk.prompt("review", language="zh")
    assert "花生" not in talk.prompt("review", user_id="ann")


def test_the_server_promises_nothing_that_it_does_not_do(talk: Talk) -> None:
    async def capabilities(client: Client) -> ServerCapabilities:
        return client.server_capabilities

    told = talk.ask(capabilities)
    assert told.completions is None
    assert told.logging is None
    assert told.resources is not None
    assert not told.resources.subscribe
