"""Who comes in over HTTP: keys and their roles, the names a server goes by, pages of other sites."""

from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from phronesis import Memory
from phronesis.config.server import Serving
from phronesis.errors import InputError
from phronesis.interfaces.server_process import check_reach, make_server_app

PLACE = "http://127.0.0.1:8765"


@pytest.fixture
def client(memory: Memory) -> Iterator[TestClient]:
    with TestClient(make_server_app(memory, Serving(key_seconds=0)), base_url=PLACE) as client:
        yield client


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


def test_once_there_is_a_key_everybody_needs_one(client: TestClient, memory: Memory) -> None:
    token, key = memory.admin.keys.create("write", label="x", actor="ada")
    refused = client.get("/api/v1/memories")
    assert refused.status_code == 401
    assert refused.headers["WWW-Authenticate"].startswith("Bearer")
    assert refused.json()["code"] == "access.key"
    added = client.post("/api/v1/memories", json={"content": "tea"}, headers=bearer(token)).json()
    assert memory.history(added["items"][0]["id"])[0].actor == "ada"
    memory.admin.keys.revoke(key.id)
    assert client.get("/api/v1/memories", headers=bearer(token)).status_code == 401


def test_a_key_that_was_taken_is_not_looked_up_for_a_second(memory: Memory) -> None:
    app = make_server_app(memory, Serving())
    now = app.state.admission.clock()
    app.state.admission.clock = lambda: now
    with TestClient(app, base_url=PLACE) as client:
        token, key = memory.admin.keys.create("read", label="x")
        assert client.get("/api/v1/memories", headers=bearer(token)).status_code == 200
        memory.admin.keys.revoke(key.id)
        now += 0.9
        assert client.get("/api/v1/memories", headers=bearer(token)).status_code == 200
        assert client.post("/api/v1/memories", json={}, headers=bearer(token)).status_code == 403
        now += 0.2
        assert client.get("/api/v1/memories", headers=bearer(token)).status_code == 401


def test_where_others_reach_it_revoking_the_last_key_opens_nothing(memory: Memory) -> None:
    _, key = memory.admin.keys.create("admin", label="x")
    app = make_server_app(memory, Serving(host="0.0.0.0"))  # noqa: S104 - what is tested
    with TestClient(app, base_url=PLACE) as reached:
        assert reached.get("/api/v1/memories").status_code == 401
        memory.admin.keys.revoke(key.id)
        assert reached.get("/api/v1/memories").status_code == 401
        assert reached.get("/memories", follow_redirects=False).headers["location"].startswith("/login")


def test_behind_a_proxy_too_it_is_reached_by_others(memory: Memory) -> None:
    behind = Serving(allowed_hosts=("memory.example.com",), key_seconds=0)
    with pytest.raises(InputError, match="keys create") as refusal:
        check_reach(memory, behind)
    assert refusal.value.field == "allowed_hosts"
    check_reach(memory, Serving(allowed_hosts=("localhost", "127.0.0.1")))
    with TestClient(make_server_app(memory, behind), base_url="http://memory.example.com") as reached:
        assert reached.get("/api/v1/export").status_code == 401
        token, _ = memory.admin.keys.create("admin", label="x")
        check_reach(memory, behind)
        assert reached.get("/api/v1/export", headers=bearer(token)).status_code == 200


def test_a_key_decides_on_the_pages_where_nobody_needs_one_too(client: TestClient, memory: Memory) -> None:
    memory.add("open secret")
    rival = memory.for_tenant("rival")
    rival.add("their secret")
    token, key = rival.admin.keys.create("read", label="x")
    client.cookies.set("phronesis_session", token)
    shown = client.get("/memories").text
    assert ("their secret" in shown, "open secret" in shown) == (True, False)
    rival.admin.keys.revoke(key.id)
    assert "open secret" in client.get("/memories").text  # a key that is gone: as who has none


def test_a_key_may_do_what_its_role_says(client: TestClient, memory: Memory) -> None:
    token, _ = memory.admin.keys.create("read", label="x")
    assert client.get("/api/v1/memories", headers=bearer(token)).status_code == 200
    refused = client.post("/api/v1/memories", json={"content": "tea"}, headers=bearer(token))
    assert (refused.status_code, refused.json()["code"]) == (403, "access.role")
    assert refused.json()["details"] == {"role": "write"}
    assert len(memory.get_all()) == 0


def test_what_is_no_key_is_refused_where_none_is_asked_for_too(client: TestClient) -> None:
    for given in ("Basic YTpi", "Bearer", "Bearer sk-1234", "phr_x"):
        refused = client.get("/api/v1/memories", headers={"Authorization": given})
        assert refused.status_code == 401
        assert "sk-1234" not in refused.text


def test_a_name_that_is_not_the_servers_is_refused(memory: Memory, client: TestClient) -> None:
    for host in ("evil.example", "127.0.0.1.evil.example:8765", "[::1", ""):
        for path in ("/healthz", "/", "/api/v1/memories", "/mcp", "/static/style.css"):
            assert client.get(path, headers={"Host": host}).status_code == 403
    for host in ("localhost:8765", "127.0.0.1", "[::1]:8765"):
        assert client.get("/healthz", headers={"Host": host}).status_code == 200
    named = TestClient(make_server_app(memory, Serving(allowed_hosts=("memory.example",))), base_url=PLACE)
    assert named.get("/healthz").status_code == 403
    assert named.get("/healthz", headers={"Host": "Memory.example:443"}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [{"Origin": "https://evil.example"}, {"Origin": "null"}, {"Sec-Fetch-Site": "cross-site"}],
    ids=["origin", "null", "fetch"],
)
def test_a_page_of_another_site_writes_nothing(client: TestClient, memory: Memory, headers: dict[str, str]) -> None:
    refused = client.post("/api/v1/memories", json={"content": "tea"}, headers=headers)
    assert (refused.status_code, refused.json()["field"]) == (403, "Origin")
    assert len(memory.get_all()) == 0
    assert client.post("/api/v1/memories", json={"content": "tea"}, headers={"Origin": PLACE}).status_code == 201
