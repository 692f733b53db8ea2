"""OAuth 2.1 for /mcp: the SDK's own client connects, and what attackers do is refused."""

import base64
import hashlib
import html
import re
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from loopback_server import free_port, served_api
from mcp_talk import ACCEPTS, HELLO
from phronesis import Memory
from phronesis.config.server import Serving
from phronesis.core.api_keys import Role
from phronesis.errors import InputError
from phronesis.interfaces.server_process import check_reach, make_server_app
from set_clock import Clock

ADA, CALLBACK = "ada", "http://127.0.0.1:6274/callback"
VERIFIER = secrets.token_urlsafe(48)
CHALLENGE = base64.urlsafe_b64encode(hashlib.sha256(VERIFIER.encode()).digest()).decode().rstrip("=")


@dataclass
class Site:
    """A server with OAuth, and a person with a key."""

    memory: Memory
    clock: Clock
    address: str
    key: str
    app: Any

    def __post_init__(self) -> None:
        self.http = httpx2.Client(base_url=self.address, timeout=30)

    def register(self, **more: Any) -> httpx2.Response:
        """Register a client."""
        metadata = {"client_name": "Claude", "redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none"}
        return self.http.post("/register", json=metadata | more)

    def asked(self, client_id: str, **more: str) -> dict[str, str]:
        """Give the parameters of a request for authorization."""
        asked = {"response_type": "code", "client_id": client_id, "redirect_uri": CALLBACK, "state": "s"}
        return {**asked, "code_challenge": CHALLENGE, "code_challenge_method": "S256", **more}

    def consent(self, url: str, *, decision: str = "approve", key: str | None = None) -> httpx2.Response:
        """Follow an authorization request to the page of consent, and decide."""
        page = self.http.get(self.http.get(url).headers["location"])
        assert page.status_code == 200, page.text
        fields = re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', page.text)
        form = {name: html.unescape(value) for name, value in fields}
        return self.http.post("/consent", data=form | {"decision": decision, "key": self.key if key is None else key})

    def code(self, client_id: str, **more: str) -> str:
        """Give a code that a person approved."""
        query = httpx2.QueryParams(self.asked(client_id, **more))
        answer = self.consent(f"/authorize?{query}")
        assert answer.status_code == 303, answer.text
        return parse_qs(urlsplit(answer.headers["location"]).query)["code"][0]

    def exchange(self, client_id: str, **more: str) -> httpx2.Response:
        """Call the token endpoint."""
        given = {"grant_type": "authorization_code", "client_id": client_id, "redirect_uri": CALLBACK}
        return self.http.post("/token", data=given | {"code_verifier": VERIFIER} | more)

    def refresh(self, client_id: str, token: str, **more: str) -> httpx2.Response:
        """Call the token endpoint with a refresh token."""
        given = {"grant_type": "refresh_token", "client_id": client_id, "refresh_token": token}
        return self.http.post("/token", data=given | more)

    def call(self, token: str | None, path: str = "/mcp") -> httpx2.Response:
        """Call /mcp with an access token."""
        headers = ACCEPTS | ({} if token is None else {"Authorization": f"Bearer {token}"})
        return self.http.post(path, json=HELLO, headers=headers)


@pytest.fixture
def site(database_url: str) -> Iterator[Site]:
    port, clock = free_port(), Clock(now=datetime.now(UTC))
    with Memory.open(database_url, policy={"embedder": "none"}, clock=clock) as memory:
        key, _ = memory.admin.keys.create("write", label="Ada", user_id=ADA)
        memory.add("The kettle is in the kitchen.", user_id=ADA, kind="fact")
        memory.add("The harbour opens at nine.", user_id="bo", kind="fact")
        address = f"http://127.0.0.1:{port}"
        oauth = {"base_url": address, "registrations_per_minute": 20, "max_clients": 3}
        serving = Serving.model_validate({"port": port, "oauth": oauth, "access_log": False, "key_seconds": 0.0})
        app = make_server_app(memory, serving)
        with served_api(app, port=port):
            site = Site(memory, clock, address, key, app)
            with site.http:
                yield site


@dataclass
class Storage:
    """What the SDK's client keeps."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@dataclass
class Connector:
    """The SDK's client, with a person who approves."""

    site: Site
    storage: Storage = field(default_factory=Storage)
    visits: list[str] = field(default_factory=list)

    def ask(self, *queries: str) -> list[str]:
        """Connect and search, and two hours later again."""
        return anyio.run(self._ask, queries)

    async def _ask(self, queries: tuple[str, ...]) -> list[str]:
        metadata = OAuthClientMetadata(client_name="Claude", redirect_uris=[AnyUrl(CALLBACK)])
        url, found = f"{self.site.address}/mcp", list[str]()
        auth = OAuthClientProvider(url, metadata, self.storage, self._visit, self._answer)
        for query in queries:
            async with (
                httpx2.AsyncClient(auth=auth, timeout=60) as http,
                Client(streamable_http_client(url, http_client=http)) as client,
            ):
                found.append(str((await client.call_tool("search_memories", {"query": query})).content))
            self.site.clock.pass_hours(2)
            auth.context.token_expiry_time = 1.0
        return found

    async def _visit(self, url: str) -> None:
        self.visits.append(url)

    async def _answer(self) -> AuthorizationCodeResult:
        answer = await anyio.to_thread.run_sync(self.site.consent, self.visits[-1])
        sent = parse_qs(urlsplit(answer.headers["location"]).query)
        return AuthorizationCodeResult(code=sent["code"][0], state=sent["state"][0], iss=sent["iss"][0])


@pytest.mark.both_databases
def test_the_client_of_the_sdk_connects_refreshes_and_is_revoked(site: Site) -> None:
    connector = Connector(site)
    kettle, harbour = connector.ask("Where is the kettle?", "When does the harbour open?")
    assert "kettle" in kettle
    assert "harbour" not in harbour
    (visit,) = connector.visits  # the second time, the refresh token was used
    assert httpx2.URL(visit).params["resource"] == f"{site.address}/mcp"
    tokens = connector.storage.tokens
    assert tokens is not None
    site.clock.pass_hours(-2)
    assert site.call(tokens.access_token).status_code == 200
    (grant,) = [key for key in site.memory.admin.keys.list() if key.client_id]
    assert (grant.label, grant.user_id, grant.role.name) == ("Claude (OAuth)", ADA, "WRITE")
    site.memory.admin.keys.revoke(grant.id)
    assert site.call(tokens.access_token).status_code == 401
    assert connector.storage.client is not None
    client = connector.storage.client.client_id
    assert site.refresh(client, tokens.refresh_token or "").json()["error"] == "invalid_grant"


def test_metadata_leads_from_a_refusal_to_every_endpoint(site: Site) -> None:
    refused = site.call(None)
    challenge = refused.headers["WWW-Authenticate"]
    assert refused.status_code == 401
    (metadata_url,) = re.findall(r'resource_metadata="([^"]+)"', challenge)
    assert "invalid_token" not in challenge
    assert 'error="invalid_token"' in site.call("phr_x").headers["WWW-Authenticate"]
    resource = httpx2.get(metadata_url).json()
    assert resource == site.http.get("/.well-known/oauth-protected-resource").json()
    assert (resource["resource"], resource["authorization_servers"]) == (f"{site.address}/mcp", [site.address])
    server = site.http.get("/.well-known/oauth-authorization-server").json()
    assert server == site.http.get("/.well-known/openid-configuration").json()
    assert server["issuer"] == site.address
    assert server["code_challenge_methods_supported"] == ["S256"]
    assert server["token_endpoint"] == f"{site.address}/token"
    page = {"Origin": "https://inspector.example"}
    assert site.http.post("/register", json={"redirect_uris": [CALLBACK]}, headers=page).status_code == 201
    read = site.http.get("/.well-known/oauth-authorization-server", headers=page)
    assert read.headers["access-control-allow-origin"] == "*"


def test_a_code_is_exchanged_once_and_by_its_verifier(site: Site) -> None:
    client = site.register().json()["client_id"]
    code = site.code(client)
    assert site.exchange(client, code=code, code_verifier="x" * 43).json()["error"] == "invalid_grant"
    other = site.register().json()["client_id"]
    assert site.exchange(other, code=code).json()["error"] == "invalid_grant"
    wrong = site.exchange(client, code=code, redirect_uri="http://127.0.0.1:6274/other")
    assert wrong.json()["error"] == "invalid_request"
    tokens = site.exchange(client, code=code).json()
    assert (tokens["token_type"], tokens["expires_in"], tokens["scope"]) == ("Bearer", 3600, "memory.read memory.write")
    assert site.call(tokens["access_token"]).status_code == 200
    assert site.exchange(client, code=code).json()["error"] == "invalid_grant"  # replayed: what it brought is revoked
    assert site.call(tokens["access_token"]).status_code == 401
    late = site.code(client)
    site.clock.pass_hours(0.05)
    assert site.exchange(client, code=late).json()["error"] == "invalid_grant"
    assert site.exchange(client, code="phc_x.y.z").json()["error"] == "invalid_grant"
    assert site.exchange(client, code=late.replace("phc_", "phf_")).json()["error"] == "invalid_grant"


def test_a_refresh_token_rotates_and_its_second_use_revokes(site: Site) -> None:
    client = site.register().json()["client_id"]
    first = site.exchange(client, code=site.code(client)).json()
    second = site.refresh(client, first["refresh_token"], scope="memory.read").json()
    assert second["scope"] == "memory.read"
    assert site.refresh(client, second["refresh_token"], scope="memory.write").json()["error"] == "invalid_scope"
    assert site.call(second["access_token"]).status_code == 200
    assert site.refresh(client, first["refresh_token"]).json()["error"] == "invalid_grant"
    assert site.call(second["access_token"]).status_code == 401
    assert site.refresh(client, second["refresh_token"]).json()["error"] == "invalid_grant"
    third = site.exchange(client, code=site.code(client)).json()
    site.clock.pass_days(31)
    assert site.refresh(client, third["refresh_token"]).json()["error"] == "invalid_grant"


@pytest.mark.both_databases
def test_of_two_uses_at_once_one_succeeds_and_the_grant_ends(site: Site) -> None:
    client = site.register().json()["client_id"]
    code = site.code(client)
    grants = site.app.state.oauth.grants
    one, other = (grants.find(code, "code") for _ in range(2))
    tokens = grants.exchange_code(one, label="Claude", role=Role.WRITE)
    assert grants.exchange_code(other, label="Claude", role=Role.WRITE) is None
    assert grants.find(tokens.access, "access") is None
    tokens = grants.exchange_code(grants.find(site.code(client), "code"), label="Claude", role=Role.WRITE)
    one, other = (grants.find(tokens.refresh, "refresh") for _ in range(2))
    fresh = grants.refresh(one, ["memory.read"])
    assert grants.refresh(other, ["memory.read"]) is None
    assert grants.find(fresh.access, "access") is None
    late = grants.find(site.code(client), "code")
    site.memory.admin.keys.revoke(late.key.id)
    assert grants.exchange_code(late, label="Claude", role=Role.WRITE) is None


def test_a_client_revokes_its_own_tokens_alone(site: Site) -> None:
    client, other = (site.register().json()["client_id"] for _ in range(2))
    tokens = site.exchange(client, code=site.code(client)).json()
    given = {"token": tokens["refresh_token"]}
    assert site.http.post("/revoke", data={"client_id": other, **given}).status_code == 200
    assert site.call(tokens["access_token"]).status_code == 200
    assert site.http.post("/revoke", data={"client_id": client, **given}).status_code == 200
    assert site.call(tokens["access_token"]).status_code == 401
    assert site.http.post("/revoke", data={"client_id": client, "token": "unknown"}).status_code == 200
    assert site.http.post("/revoke", data={"client_id": client}).status_code == 400
    assert site.http.post("/revoke", data={"client_id": "unknown", **given}).status_code == 401


def test_tokens_are_for_mcp_alone_and_stored_as_hashes(site: Site, tmp_path: Path) -> None:
    client = site.register().json()["client_id"]
    tokens = site.exchange(client, code=site.code(client, scope="memory.read")).json()
    access = tokens["access_token"]
    assert site.call(access).status_code == 200
    headers = {"Authorization": f"Bearer {access}"}
    assert site.http.get("/api/v1/memories", headers=headers).status_code == 401
    assert site.http.get("/memories", headers={"Cookie": f"phronesis_session={access}"}).status_code == 303
    moved = Serving.model_validate({"oauth": {"base_url": "https://memory.example"}, "key_seconds": 0.0})
    elsewhere = make_server_app(site.memory, moved)
    with pytest.raises(Exception, match="another server"):
        elsewhere.state.admission.authenticate(access, oauth=True)
    site.memory.export(tmp_path / "log.jsonl")
    database = site.memory.admin.components.database
    if database.path is not None:
        held = b"".join(path.read_bytes() for path in Path(database.path).parent.iterdir() if path.is_file())
        for secret in (access, tokens["refresh_token"]):
            assert secret.rpartition(".")[2].encode() not in held


def test_no_client_registers_an_unsafe_redirect(site: Site) -> None:
    unsafe = """
        http://evil.example/cb javascript:alert(1) https://a.example/cb#x http://127.0.0.1.evil.example/
        https://claude.ai@evil.example/cb x:y
    """
    for uri in unsafe.split():
        refused = site.register(redirect_uris=[uri])
        assert (refused.status_code, refused.json()["error"][:8]) == (400, "invalid_"), uri


def test_no_answer_goes_to_an_address_that_is_not_registered(site: Site) -> None:
    client = site.register(redirect_uris=["https://claude.ai/cb", CALLBACK]).json()["client_id"]
    for uri in ("https://evil.example/cb", "https://claude.ai/cb/../x", "https://claude.ai/cb?x=1", "//evil.example"):
        for path in ("/authorize", "/consent"):
            refused = site.http.get(path, params=site.asked(client, redirect_uri=uri))
            assert (refused.status_code, "location" in refused.headers) == (400, False)
    port = "http://127.0.0.1:50123/callback"  # RFC 8252: any port of this machine
    assert site.http.get("/authorize", params=site.asked(client, redirect_uri=port)).status_code == 302
    for path in ("/authorize", "/consent"):
        assert site.http.get(path, params=site.asked("unknown")).status_code == 400
    assert site.register(client_name="a\nb").json()["error"] == "invalid_client_metadata"
    wrongs = ("resource", "https://other.example/mcp"), ("scope", "admin"), ("scope", "memory.write")
    for wrong in map(dict, [[one] for one in (*wrongs, ("code_challenge", "short"))]):
        sent = site.http.get("/authorize", params=site.asked(client, **wrong)).headers["location"]
        assert sent.startswith(CALLBACK)
        assert "error=" in sent
        assert site.http.get("/consent", params=site.asked(client, **wrong)).status_code == 400
    plain = site.http.get("/authorize", params=site.asked(client, code_challenge_method="plain"))
    assert "error=invalid_request" in plain.headers["location"]


def test_consent_needs_a_person_with_a_key_of_their_own(site: Site) -> None:
    client = site.register(client_name="<b>Claude</b>").json()["client_id"]
    url = f"/authorize?{httpx2.QueryParams(site.asked(client))}"
    page = site.http.get(site.http.get(url).headers["location"])
    assert "&lt;b&gt;Claude" in page.text
    assert "http://127.0.0.1:6274" in page.text
    policy = page.headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in policy
    assert "form-action 'self' http://127.0.0.1:6274" in policy
    tenant, _ = site.memory.admin.keys.create("admin", label="operator")
    assert "not bound to a user" in site.consent(url, key=tenant).text
    assert "unknown, or was revoked" in site.consent(url, key="phr_wrong").text
    declined = site.consent(url, decision="decline", key="").headers["location"]
    assert declined.startswith(f"{CALLBACK}?error=access_denied&state=s&iss=http")
    forged = site.asked(client) | {"token": "guessed", "decision": "approve", "key": site.key}
    assert site.http.post("/consent", data=forged).status_code == 403
    own = forged | {"token": site.http.cookies["phronesis_form"]}
    cross = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}
    assert site.http.post("/consent", data=own, headers=cross).status_code == 403
    for _ in range(20):
        last = site.consent(url, key="phr_guess")
    assert last.status_code == 429


def test_a_reader_grants_no_more_than_they_have_and_their_key_ends_it(site: Site) -> None:
    site.key, key = site.memory.admin.keys.create("read", label="reader", user_id=ADA)
    client = site.register().json()["client_id"]
    tokens = site.exchange(client, code=site.code(client)).json()
    (grant,) = [one for one in site.memory.admin.keys.list() if one.client_id]
    assert (grant.role.name, grant.made_by) == ("READ", key.id)
    code = site.code(client)
    site.memory.admin.keys.revoke(key.id)
    assert site.call(tokens["access_token"]).status_code == 401
    assert site.exchange(client, code=code).json()["error"] == "invalid_grant"


def test_erasing_the_user_ends_their_grants(site: Site) -> None:
    client = site.register().json()["client_id"]
    tokens = site.exchange(client, code=site.code(client)).json()
    assert site.memory.erase(user_id=ADA).clean
    assert site.call(tokens["access_token"]).status_code == 401
    assert all(key.user_id is None for key in site.memory.admin.keys.list())


def test_registrations_are_bounded(site: Site) -> None:
    assert site.register(client_name="x" * 20_000).status_code == 413
    assert [site.register().status_code for _ in range(4)] == [201, 201, 201, 429]
    site.clock.pass_days(2)
    used = site.register().json()["client_id"]
    site.code(used)
    site.clock.pass_days(2)
    assert site.register().status_code == 201
    assert site.http.get("/authorize", params=site.asked(used)).status_code == 302
    flood = [site.register().status_code for _ in range(25)]
    assert flood[-1] == 429


def test_the_policy_needs_a_safe_address(memory: Memory) -> None:
    for url in ("http://memory.example.com", "https://memory.example.com/x", "memory.example.com"):
        with pytest.raises(ValueError, match="must be"):
            Serving.model_validate({"oauth": {"base_url": url}})
    serving = Serving.model_validate({"oauth": {"base_url": "https://memory.example.com"}})
    assert serving.reached_by_others
    assert "memory.example.com" in serving.answers_to
    with pytest.raises(InputError, match="keys create"):
        check_reach(memory, serving)
