"""One server, three faces: HTTP, pages and MCP over the same memory, and the same keys for all of them."""

import json
import logging
from collections.abc import Iterator

import httpx2
import pytest

from loopback_server import served_api
from mcp_talk import ACCEPTS, HELLO, Talk, keyed
from phronesis import Client, Memory
from phronesis.config.server import Serving
from phronesis.errors import InputError
from phronesis.interfaces.server_process import make_server_app

FACT = "The press in hall 2 runs at four bar."


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Memory]:
    url = f"sqlite:///{tmp_path_factory.mktemp('faces') / 'memory.db'}"
    with Memory.open(url, policy={"embedder": "none"}) as opened:
        opened.add(FACT, kind="fact")
        yield opened


def test_without_keys_every_face_shows_the_memory(memory: Memory) -> None:
    with served_api(make_server_app(memory, Serving())) as address:
        with Client(address) as client:
            assert [one.item.content for one in client.search("How many bar?")] == [FACT]
        page = httpx2.get(f"{address}/memories")
        assert (page.status_code, FACT in page.text) == (200, True)
        with Talk(f"{address}/mcp") as talk:
            assert FACT in talk.text("search_memories", query="How many bar?")
            assert "add_memory" in talk.tools()


def test_the_policy_says_which_tools_models_are_offered(memory: Memory) -> None:
    serving = Serving(mcp_tools=("search_memories", "get_memory"))
    with served_api(make_server_app(memory, serving)) as address, Talk(f"{address}/mcp") as talk:
        assert list(talk.tools()) == ["search_memories", "get_memory"]
    with pytest.raises(InputError, match="recall"):
        make_server_app(memory, Serving(mcp_tools=("recall",)))


def test_the_same_key_bounds_every_face(memory: Memory) -> None:
    tenant = memory.for_tenant("keyed")
    tenant.add("The kiln in hall 3 stays below 900 degrees.", kind="fact")
    reader, _ = memory.for_tenant("keyed").admin.keys.create("read", label="reader")
    with served_api(make_server_app(memory, Serving(keys_required=True))) as address:
        with Client(address, api_key=reader) as client:
            assert [one.content for one in client.get_all()] == ["The kiln in hall 3 stays below 900 degrees."]
        assert httpx2.get(f"{address}/memories", follow_redirects=False).headers["location"].startswith("/login")
        shown = httpx2.get(f"{address}/memories", headers={"Cookie": f"phronesis_session={reader}"})
        assert ("kiln" in shown.text, FACT in shown.text) == (True, False)
        with Talk(keyed(f"{address}/mcp", reader)) as talk:
            assert "kiln" in talk.text("search_memories", query="Which hall has a kiln?")
            assert "add_memory" not in talk.tools()


def test_models_are_let_in_and_counted_before_they_have_a_session(
    memory: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    token, key = memory.for_tenant("counted").admin.keys.create("read", label="reader")
    once = Serving(keys_required=True, requests_per_minute=1, burst=2)
    with caplog.at_level(logging.INFO, "phronesis.access"), served_api(make_server_app(memory, once)) as address:
        for stranger in ({}, {"Authorization": "Basic YTpi"}):
            refused = httpx2.post(f"{address}/mcp", json=HELLO, headers=ACCEPTS | stranger)
            assert (refused.status_code, refused.json()["code"]) == (401, "access.key")
            assert refused.headers["WWW-Authenticate"].startswith("Bearer")
            assert "mcp-session-id" not in refused.headers
        assert httpx2.post(f"{address}/mcp", json=HELLO, headers=ACCEPTS).status_code == 429
        reader = ACCEPTS | {"Authorization": f"Bearer {token}"}
        answered = [httpx2.post(f"{address}/mcp", json=HELLO, headers=reader) for _ in range(3)]
        assert [one.status_code for one in answered] == [200, 200, 429]
        assert int(answered[-1].headers["Retry-After"]) >= 1
    lines = [json.loads(record.message) for record in caplog.records]
    assert [one["route"] for one in lines] == ["/mcp"] * 6
    assert [one["key"] for one in lines] == [None, None, None, key.id, key.id, None]
