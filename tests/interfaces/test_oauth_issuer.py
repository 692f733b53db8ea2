"""Tokens of another authorization server are checked by the keys that it publishes."""

import json
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm
from starlette.testclient import TestClient

from mcp_talk import ACCEPTS, HELLO
from phronesis import Memory
from phronesis.config.server import Serving
from phronesis.errors import ServerUnavailable, Unauthenticated
from phronesis.interfaces.http.oauth_issuer import REFRESH, TokenReader
from phronesis.interfaces.server_process import check_reach, make_server_app

ISSUER, BASE = "https://id.example.com/realms/a", "http://127.0.0.1:8765"
KEYS = {name: rsa.generate_private_key(public_exponent=65537, key_size=2048) for name in ("a", "b", "other")}


class Issuer(ThreadingHTTPServer):
    """Publishes its keys."""

    asked = 0

    def __init__(self) -> None:
        self.published = ["a"]
        super().__init__(("127.0.0.1", 0), _Keys)


class _Keys(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        server: Any = self.server
        server.asked += 1
        public = [json.loads(RSAAlgorithm.to_jwk(KEYS[name].public_key())) for name in server.published]
        keys = [{**key, "kid": name, "use": "sig"} for key, name in zip(public, server.published, strict=True)]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"keys": keys}).encode())

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with Issuer() as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def policy(issuer: Issuer, **more: Any) -> Serving:
    """Give the policy of a server that trusts the issuer."""
    told = {"url": ISSUER, "jwks_url": f"http://127.0.0.1:{issuer.server_port}/keys", **more}
    serving = {"oauth": {"base_url": BASE, "issuer": told}, "key_seconds": 0.0, "access_log": False}
    return Serving.model_validate(serving)


def reader_of(issuer: Issuer, seconds: Callable[[], float] = time.monotonic, **more: Any) -> TokenReader:
    """Give the reader of the issuer's tokens."""
    oauth = policy(issuer, **more).oauth
    assert oauth is not None
    assert oauth.issuer is not None
    return TokenReader(oauth.issuer, oauth.resource, "default", seconds=seconds)


def signed(*, key: str = "a", kid: str | None = None, algorithm: str = "RS256", **more: Any) -> str:
    """Give a token."""
    claims = {"iss": ISSUER, "aud": f"{BASE}/mcp", "sub": "ada", "exp": time.time() + 600, "scope": "memory.read"}
    secret: Any = KEYS[key] if algorithm.startswith("RS") else "x" * 32
    given = {name: value for name, value in (claims | more).items() if value is not None}
    return jwt.encode(given, secret, algorithm, headers={"kid": kid or key})


def test_a_token_of_the_issuer_lets_its_user_in_at_mcp(memory: Memory, issuer: Issuer) -> None:
    memory.add("The kettle is in the kitchen.", user_id="ada", kind="fact")
    serving = policy(issuer)
    check_reach(memory, serving)  # no key is needed: the issuer knows the people
    app = make_server_app(memory, serving)
    caller = app.state.admission.authenticate(signed(), oauth=True)
    assert (caller.user_id, caller.role.name) == ("ada", "READ")
    assert [item.content for item in caller.memory.get_all()] == ["The kettle is in the kitchen."]
    writer = app.state.admission.authenticate(signed(scope=None, scp=["memory.write"]), oauth=True)
    assert writer.role.name == "WRITE"
    with TestClient(app, base_url=BASE) as client:
        metadata = client.get("/.well-known/oauth-protected-resource/mcp").json()
        assert metadata["authorization_servers"] == [ISSUER]
        for path in ("/register", "/.well-known/oauth-authorization-server", "/consent"):
            assert client.get(path).status_code == 404
        headers = ACCEPTS | {"Authorization": f"Bearer {signed()}"}
        assert client.post("/mcp", json=HELLO, headers=headers).status_code == 200
        assert client.get("/api/v1/memories", headers=headers).status_code == 401
        weak = {**headers, "Authorization": f"Bearer {signed(scope='profile')}"}
        assert client.post("/mcp", json=HELLO, headers=weak).status_code == 403


@pytest.mark.parametrize(
    "wrong",
    [
        {"aud": "https://other.example/mcp"},
        {"aud": None},
        {"iss": "https://evil.example"},
        {"exp": time.time() - 120},
        {"exp": None},
        {"sub": None},
        {"key": "other", "kid": "a"},
        {"key": "other"},
        {"algorithm": "HS256", "kid": "a"},
        {"sub": " "},
    ],
)
def test_a_wrong_token_is_refused(issuer: Issuer, wrong: dict[str, Any]) -> None:
    reader = reader_of(issuer)
    with pytest.raises(Unauthenticated, match="not valid here"):
        reader.find_key(signed(**wrong))
    with pytest.raises(Unauthenticated):
        reader.find_key("a.b.c")
    assert reader.find_key(signed()).user_id == "ada"


def test_claims_name_user_and_tenant_and_new_keys_are_fetched_seldom(issuer: Issuer) -> None:
    now = 1_000.0
    reader = reader_of(issuer, lambda: now, user_claim="email", tenant_claim="org", audience="memory")
    key = reader.find_key(signed(aud=["memory", "x"], email="ada@example.com", org="acme"))
    assert (key.user_id, key.tenant) == ("ada@example.com", "acme")
    with pytest.raises(Unauthenticated):
        reader.find_key(signed(aud="memory", email="ada@example.com", org="../x"))
    issuer.published = ["a", "b"]
    rotated = signed(key="b", aud="memory", email="ada@example.com", org="acme")
    assert reader.find_key(rotated).tenant == "acme"
    asked = issuer.asked
    for _ in range(5):
        with pytest.raises(Unauthenticated):
            reader.find_key(signed(key="other", aud="memory", email="a", org="acme"))
    assert issuer.asked == asked
    now += REFRESH
    issuer.published = ["b", "other"]
    assert reader.find_key(signed(key="other", aud="memory", email="a", org="acme")).user_id == "a"


def test_an_issuer_that_does_not_answer_is_no_wrong_token(issuer: Issuer) -> None:
    with pytest.raises(ServerUnavailable, match="jwks_url"):
        reader_of(issuer, jwks_url="http://127.0.0.1:1/keys").find_key(signed())
