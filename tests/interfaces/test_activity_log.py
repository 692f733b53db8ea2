"""Servers record what they were asked: route or tool, time, result, key and user; and what a search showed."""

from collections.abc import Callable, Iterator

import pytest
from starlette.testclient import TestClient

from loopback_server import served_api
from mcp_talk import Talk
from phronesis import Client, Memory
from phronesis.config.server import Serving
from phronesis.errors import Forbidden, NotFound
from phronesis.interfaces.http.app import make_app
from phronesis.interfaces.mcp import Caller
from phronesis.interfaces.server_process import make_server_app

API = "/api/v1"
TalkTo = Callable[..., Talk]


@pytest.fixture
def http(memory: Memory) -> Iterator[TestClient]:
    with TestClient(make_server_app(memory, Serving()), base_url="http://127.0.0.1:8765") as browser:
        yield browser


def test_a_request_is_recorded_by_route_result_and_user(memory: Memory, http: TestClient) -> None:
    memory.add("I live in Paris.", user_id="lin")
    http.post(f"{API}/memories", json={"content": "I like tea.", "user_id": "lin"})
    http.get(f"{API}/memories", params={"user_id": "lin", "query": "tea"})
    http.get(f"{API}/users/lin/traits")
    http.post(f"{API}/memories", json=["no object"])
    http.post(f"{API}/memories", content=b"{", headers={"Content-Type": "application/json"})
    http.get(f"{API}/nothing")
    for path in ("/healthz", "/", "/memories"):
        http.get(path)
    found = [(one.route, one.status, one.failed, one.user_id) for one in reversed(memory.admin.requests())]
    assert found == [
        (f"POST {API}/memories", "201", False, "lin"),
        (f"GET {API}/memories", "200", False, "lin"),
        (f"GET {API}/users/{{user_id}}/traits", "200", False, "lin"),
        (f"POST {API}/memories", "422", True, None),
        (f"POST {API}/memories", "400", True, None),
        ("GET unknown", "404", True, None),
    ]
    assert all(one.milliseconds > 0 and one.key_id is None for one in memory.admin.requests())
    assert {one.route for one in memory.admin.latencies(user_id="lin")} == {route for route, *_ in found[:3]}


def test_a_key_is_named_and_a_refused_one_recorded_for_the_server(memory: Memory, http: TestClient) -> None:
    token, _ = memory.admin.keys.create("write", label="a laptop")
    other = memory.for_tenant("rival")
    foreign, _ = other.admin.keys.create("read", label="theirs")
    for key in (token, foreign, "phr_x"):
        http.get(f"{API}/memories", headers={"Authorization": f"Bearer {key}"})
    http.post("/mcp", json={})
    refused_tool, refused, mine = memory.admin.requests()
    assert (mine.key_label, mine.status) == ("a laptop", "200")
    assert (refused.key_label, refused.status) == (None, "401")
    assert (refused_tool.route, refused_tool.status) == ("POST /mcp", "401")
    assert [one.key_label for one in other.admin.requests()] == ["theirs"]


def test_tools_are_recorded_and_what_a_search_showed(memory: Memory, talk_to: TalkTo) -> None:
    (_, paris) = memory.add("I live in Paris.", user_id="lin").items
    _, key = memory.admin.keys.create("write", label="an agent")
    talk = talk_to(lambda _context: Caller(memory, role="write", key_id=key.id), user_id="lin", agent_id="clerk")
    text = talk.text("search_memories", query="Where do I live?")
    talk.refused("update_memory", id="01900000-0000-7000-8000-000000000000", content="x")
    talk.text("search_memories", query="Where do I live?", user_id="")
    shared, failed, searched = memory.admin.requests(interface="mcp")
    assert (searched.route, searched.status, searched.user_id) == ("search_memories", "ok", "lin")
    assert (failed.route, failed.status, failed.failed) == ("update_memory", "not_found", True)
    assert failed.key_label == "an agent"
    assert shared.user_id is None
    (found,) = memory.admin.contexts(user_id="lin", verb="search")
    assert paris.id in found.shown["evidence"]
    assert all(one in text for one in found.shown["evidence"])
    assert (found.token_budget, found.abstained, found.token_count > 0) == (1_500, False, True)
    assert [one.shown for one in memory.admin.contexts(verb="search")] == [{}]


def test_a_caller_without_a_valid_key_leaves_no_call(memory: Memory, talk_to: TalkTo) -> None:
    def nobody(_context: object) -> Caller:
        raise Forbidden("no")

    talk_to(nobody, mode="legacy").refused("search_memories", query="x")
    assert memory.admin.requests() == []


def test_the_client_reads_the_log_as_its_key_may(memory: Memory) -> None:
    memory.commit_turn("s", {"messages": [{"role": "user", "content": "Could you help?"}]}, user_id="lin")
    with served_api(make_app(memory, Serving())) as address:
        with Client(address) as admin:
            package = admin.compose_context("s", "Hello", user_id="lin")
            (listed,) = admin.admin.contexts(user_id="lin")
            assert listed == memory.admin.contexts(user_id="lin")[0]
            assert admin.admin.context(package.context_id) == memory.admin.context(package.context_id)
            (asked,) = admin.admin.unlearned(across="tenant", role="user")
            assert asked == memory.admin.unlearned(user_id="lin")[0]
            first = admin.admin.requests(limit=1)
            assert admin.admin.requests(cursor=first.next_cursor, failed=False)
            assert {one.interface for one in admin.admin.latencies(interface="http")} == {"http"}
            with pytest.raises(NotFound):
                admin.admin.context("01900000-0000-7000-8000-000000000000")
        token, _ = memory.admin.keys.create("read", label="a reader")
        with Client(address, api_key=token) as reader:
            assert len(reader.admin.contexts(user_id="lin")) == len(reader.admin.unlearned(user_id="lin")) == 1
            for call in (
                reader.admin.requests,
                reader.admin.latencies,
                lambda: reader.admin.contexts(across="tenant"),
                lambda: reader.admin.unlearned(across="tenant"),
            ):
                with pytest.raises(Forbidden):
                    call()
