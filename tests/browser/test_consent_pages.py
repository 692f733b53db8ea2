"""A person approves an application on its page of consent, sees it among their keys, and disconnects it."""

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest
from playwright.sync_api import expect

from browsing import Visit
from loopback_server import free_port, served_api
from phronesis import Memory
from phronesis.config.server import Serving
from phronesis.interfaces.server_process import make_server_app


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Memory, str]]:
    url = f"sqlite:///{tmp_path_factory.mktemp('consent') / 'memory.db'}"
    port = free_port()
    with Memory.open(url, policy={"embedder": "none"}) as memory:
        address = f"http://127.0.0.1:{port}"
        serving: Any = {"oauth": {"base_url": address}, "access_log": False, "key_seconds": 0.0}
        app = make_server_app(memory, Serving.model_validate(serving))
        with served_api(app, port=port):
            yield memory, address


def test_a_person_approves_and_disconnects(memory: Memory, visit: Visit) -> None:
    key, _ = memory.admin.keys.create("write", label="Ada", user_id="ada")
    callback = f"{visit.address}/login"  # a page of this server stands for the client's
    client = {"client_name": "Claude", "redirect_uris": [callback], "token_endpoint_auth_method": "none"}
    client_id = httpx2.post(f"{visit.address}/register", json=client).json()["client_id"]
    asked = {"response_type": "code", "client_id": client_id, "redirect_uri": callback, "state": "s"}
    query = httpx2.QueryParams(asked | {"code_challenge": "x" * 43, "code_challenge_method": "S256"})
    page = visit.see(f"/authorize?{query}")
    expect(page.get_by_role("heading", name="Connect an application")).to_be_visible()
    expect(page.get_by_text("“Claude” asks to use your memory.")).to_be_visible()
    expect(page.get_by_text(visit.address)).to_be_visible()
    visit.shot("consent")
    page.get_by_label("Your API key").fill(key)
    page.get_by_role("button", name="Approve").click()
    page.wait_for_url(f"{callback}?code=*")
    code = httpx2.URL(page.url).params["code"]
    held = memory.admin.keys.list()[0]
    assert held.user_id == "ada"
    assert code.startswith("phc_")
    page = visit.see("/login?next=/keys")
    page.get_by_label("API key").fill(key)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Keys")).to_be_visible()
    visit.shot("keys")
    page.get_by_role("article", name="Ada").get_by_role("button", name="Revoke").click()
    expect(page.get_by_label("API key")).to_be_visible()
    assert not memory.admin.keys.list()[0].active
