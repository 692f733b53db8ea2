"""A call to a server ends in time, goes to that server alone, and says nothing of what was said."""

import contextlib
import logging
import threading
import time
from collections.abc import Iterator

import pytest

from fake_models import limits
from model_server import (
    Behaviour,
    ModelServer,
    endless,
    garbage,
    not_http,
    redirect,
    reply_json,
    shown,
    slow,
    status,
    trickle_headers,
    truncated,
)
from phronesis.errors import AnswerRejected, ModelCancelled, ModelError, ModelRefused, ModelUnavailable
from phronesis.models.call_policy import Limits
from phronesis.models.transport import Gateway, ModelHttp

KEY = "sk-very-secret-0123456789"
TEXT = "the patient's diagnosis"
OK = reply_json({"ok": True})


@contextlib.contextmanager
def opened(*behaviours: Behaviour, key: str | None = KEY) -> Iterator[tuple[ModelServer, ModelHttp]]:
    with (
        ModelServer(*behaviours) as server,
        contextlib.closing(ModelHttp(Gateway("local", server.base_url, key))) as http,
    ):
        yield server, http


def asked(http: ModelHttp, bounds: Limits | None = None) -> object:
    return http.post("/echo", {"text": TEXT}, limits=bounds or limits())


def test_the_request_goes_out_with_the_key_and_without_anything_about_this_machine() -> None:
    with opened(OK) as (server, http):
        assert asked(http) == {"ok": True}
    (request,) = server.requests
    assert request.path == "/v1/echo"
    assert request.body == {"text": TEXT}
    assert set(request.headers) == {
        *("host", "content-type", "content-length", "accept", "accept-encoding", "user-agent", "authorization")
    }
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["accept-encoding"] == "identity"
    assert request.headers["user-agent"] == "phronesis"
    assert KEY not in repr(Gateway("local", "http://127.0.0.1:1/v1", KEY))
    for key in (None, ""):
        with opened(OK, key=key) as (server, http):
            asked(http)
        assert "authorization" not in server.requests[0].headers


NEVER_ENDING = {"slow": slow(30.0, OK), "trickled headers": trickle_headers(), "endless events": endless(sse=True)}


@pytest.mark.parametrize("behaviour", NEVER_ENDING.values(), ids=NEVER_ENDING)
def test_every_call_ends_at_its_deadline_or_when_nobody_waits_any_more(behaviour: Behaviour) -> None:
    gone = threading.Event()
    with opened(behaviour) as (_, http):
        began = time.monotonic()
        with pytest.raises(ModelUnavailable, match="too long"):
            asked(http, limits(0.2, max_bytes=1 << 40))
        timer = threading.Timer(0.1, gone.set)
        timer.start()
        with pytest.raises(ModelCancelled):
            asked(http, Limits(time.monotonic, time.monotonic() + 20.0, gone.is_set, 1 << 40))
        assert 0.25 < time.monotonic() - began < 10


@pytest.mark.parametrize("behaviour", [endless(), garbage(b'"' + b"x" * 70_000 + b'"')])
def test_no_more_is_read_than_allowed(behaviour: Behaviour) -> None:
    with opened(behaviour) as (_, http), pytest.raises(AnswerRejected, match="longer than 65536 bytes"):
        asked(http, limits(5.0, max_bytes=65_536))


@pytest.mark.parametrize("body", [b"<html>", b"", b"[" * 100_000, b"9" * 5_000])
def test_what_is_not_json_is_rejected(body: bytes) -> None:
    with opened(garbage(body)) as (_, http), pytest.raises(AnswerRejected, match="not JSON"):
        asked(http)


def test_a_compressed_answer_is_not_unfolded() -> None:
    compressed = reply_json({}, headers={"Content-Encoding": "gzip"})
    with opened(compressed) as (_, http), pytest.raises(AnswerRejected, match="compressed"):
        asked(http)


@pytest.mark.parametrize("host", ["127.0.0.1", "no-such-host.invalid"])
def test_a_server_that_is_not_there_is_unavailable(host: str) -> None:
    with ModelServer(OK) as server:
        gone = server.base_url.replace("127.0.0.1", host)
    with contextlib.closing(ModelHttp(Gateway("local", gone))) as http, pytest.raises(ModelUnavailable):
        asked(http, limits(5.0))


def test_redirects_are_not_followed() -> None:
    with ModelServer(OK) as elsewhere, opened(redirect(elsewhere.base_url + "/echo")) as (_, http):
        with pytest.raises(ModelRefused, match="points to another address") as refusal:
            asked(http)
        assert refusal.value.field == "base_url"
        assert elsewhere.requests == []


def test_proxies_of_the_environment_are_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with ModelServer(OK) as proxy, opened(OK) as (server, _):
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.base_url.removesuffix("/v1"))
        for name in ("no_proxy", "NO_PROXY"):
            monkeypatch.delenv(name, raising=False)
        with contextlib.closing(ModelHttp(Gateway("local", server.base_url))) as http:
            asked(http)
        assert (len(server.requests), proxy.requests) == (1, [])


@pytest.mark.parametrize(
    "behaviour",
    [
        OK,
        not_http(f"{TEXT} {KEY}\r\n\r\n".encode()),
        status(400, {"X-Echo": f"{TEXT} {KEY}"}, message=f"{TEXT} {KEY}"),
        redirect(f"http://127.0.0.1:1/{KEY}"),
        truncated(f"{TEXT} {KEY}".encode()),
    ],
)
def test_neither_key_nor_text_is_in_the_log_or_the_error(
    behaviour: Behaviour, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for name in ("httpx2", "httpcore2"):
        caplog.set_level(logging.DEBUG, name)
    told = ""
    with opened(behaviour) as (_, http):
        try:
            asked(http, limits(0.2))
        except ModelError as error:
            told = shown(error)
        assert [record for record in caplog.records if record.name.startswith(("httpx2", "httpcore2"))] == []
    for secret in (KEY, TEXT):
        assert secret not in told
        assert secret not in caplog.text
