"""A call to a server ends in time, goes to that server alone, and says nothing of what was said."""

import contextlib
import logging
import pickle
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus

import pytest

from model_server import (
    Behaviour,
    ModelServer,
    cut,
    endless,
    garbage,
    not_http,
    redirect,
    reply_json,
    shown,
    slow,
    status,
    trickle,
    trickle_headers,
    truncated,
)
from phronesis.errors import (
    AnswerRejected,
    Closed,
    InputError,
    MissingExtra,
    ModelCancelled,
    ModelError,
    ModelRefused,
    ModelUnavailable,
)
from phronesis.models.call_policy import Limits, never
from phronesis.models.transport import Gateway, ModelHttp, of_status, retry_after, sendable

KEY = "sk-very-secret-0123456789"
TEXT = "the patient's diagnosis"
OK = reply_json({"ok": True})


def limits(seconds: float = 20.0, *, max_bytes: int = 8 << 20) -> Limits:
    return Limits(time.monotonic, time.monotonic() + seconds, never, max_bytes)


@contextlib.contextmanager
def opened(*behaviours: Behaviour, key: str | None = KEY) -> Iterator[tuple[ModelServer, ModelHttp]]:
    with (
        ModelServer(*behaviours) as server,
        contextlib.closing(ModelHttp(Gateway("local", server.base_url, key))) as http,
    ):
        yield server, http


def asked(http: ModelHttp, bounds: Limits | None = None) -> object:
    return http.post("/echo", {"text": TEXT}, limits=bounds or limits())


def test_a_gateway_does_not_show_its_key() -> None:
    assert KEY not in repr(Gateway("local", "http://127.0.0.1:1/v1", KEY))


def test_the_request_goes_out_with_the_key_and_without_anything_about_this_machine() -> None:
    with opened(OK) as (server, http):
        assert asked(http) == {"ok": True}
    (request,) = server.requests
    assert request.path == "/v1/echo"
    assert request.body == {"text": TEXT}
    assert set(request.headers) == {
        *("host", "content-type", "content-length", "accept", "accept-encoding", "user-agent", "authorization"),
    }
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["accept-encoding"] == "identity"
    assert request.headers["user-agent"] == "phronesis"


def test_without_a_key_nothing_is_said_of_one() -> None:
    cases: list[str | None] = [None, "", " \n"]
    for key in cases:
        with opened(OK, key=key) as (server, http):
            asked(http)
        assert "authorization" not in server.requests[0].headers


def test_the_connection_is_kept_for_the_next_call() -> None:
    with opened(OK) as (server, http):
        for _ in range(3):
            asked(http)
    assert len({request.peer for request in server.requests}) == 1


def test_a_connection_that_was_given_up_is_not_used_again() -> None:
    with opened(trickle(), OK) as (server, http):
        with pytest.raises(ModelUnavailable):
            asked(http, limits(0.1))
        assert asked(http) == {"ok": True}
    assert len({request.peer for request in server.requests}) == 2


NEVER_ENDING = {
    "slow": slow(30.0, OK),
    "trickled headers": trickle_headers(),
    "endless events": endless(sse=True),
}


@pytest.mark.parametrize("behaviour", NEVER_ENDING.values(), ids=NEVER_ENDING)
def test_every_call_ends_at_its_deadline(behaviour: Behaviour) -> None:
    with opened(behaviour) as (_, http):
        began = time.monotonic()
        with pytest.raises(ModelUnavailable, match="too long"):
            asked(http, limits(0.2, max_bytes=1 << 40))
        assert 0.15 < time.monotonic() - began < 10


@pytest.mark.parametrize("behaviour", NEVER_ENDING.values(), ids=NEVER_ENDING)
def test_a_call_that_nobody_waits_for_any_more_ends(behaviour: Behaviour) -> None:
    gone = threading.Event()
    bounds = Limits(time.monotonic, time.monotonic() + 20.0, gone.is_set, 1 << 40)
    with opened(behaviour) as (_, http):
        timer = threading.Timer(0.1, gone.set)
        timer.start()
        began = time.monotonic()
        with pytest.raises(ModelCancelled):
            asked(http, bounds)
        timer.join()
        assert time.monotonic() - began < 10


def test_a_call_without_time_or_without_anyone_waiting_is_not_made() -> None:
    with opened(OK) as (server, http):
        with pytest.raises(ModelUnavailable):
            asked(http, limits(0.0))
        with pytest.raises(ModelCancelled):
            asked(http, Limits(time.monotonic, time.monotonic() + 1.0, lambda: True))
    assert server.requests == []


@pytest.mark.parametrize("behaviour", [endless(), endless(sse=True), garbage(b'"' + b"x" * 70_000 + b'"')])
def test_no_more_is_read_than_allowed(behaviour: Behaviour) -> None:
    with opened(behaviour) as (_, http), pytest.raises(AnswerRejected, match="longer than 65536 bytes"):
        asked(http, limits(5.0, max_bytes=65_536))


def test_an_answer_as_long_as_allowed_is_read() -> None:
    body = b'"' + b"x" * 65_534 + b'"'
    with opened(garbage(body)) as (_, http):
        assert asked(http, limits(5.0, max_bytes=65_536)) == "x" * 65_534


@pytest.mark.parametrize(
    "behaviour",
    [
        garbage(),
        garbage(b""),
        garbage(b"[" * 100_000),
        garbage(b"9" * 5_000),
    ],
)
def test_what_is_not_json_is_rejected(behaviour: Behaviour) -> None:
    with opened(behaviour) as (_, http), pytest.raises(AnswerRejected, match="not JSON"):
        asked(http)


def test_a_compressed_answer_is_not_unfolded() -> None:
    with (
        opened(reply_json({}, headers={"Content-Encoding": "gzip"})) as (_, http),
        pytest.raises(AnswerRejected, match="compressed"),
    ):
        asked(http)


@pytest.mark.parametrize("behaviour", [cut(), truncated(), not_http()])
def test_a_connection_that_breaks_is_a_server_that_is_not_there(behaviour: Behaviour) -> None:
    with opened(behaviour) as (_, http), pytest.raises(ModelUnavailable, match="start it, or correct base_url"):
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


REFUSED = {400: "parameters", 401: "key", 404: "model", 413: "long"}


@pytest.mark.parametrize(("code", "word"), [*REFUSED.items(), (302, "address")])
def test_a_refusal_says_what_is_refused(code: int, word: str) -> None:
    with opened(status(code, message=f"{TEXT} {KEY}")) as (_, http):
        with pytest.raises(ModelRefused, match=word) as refusal:
            asked(http)
        assert refusal.value.details == {"status": code}


@pytest.mark.parametrize(
    "code",
    [
        429,
        500,
    ],
)
def test_a_server_that_may_recover_is_unavailable(code: int) -> None:
    with opened(status(code), status(code, {"Retry-After": "3"})) as (_, http):
        with pytest.raises(ModelUnavailable) as failure:
            asked(http)
        assert failure.value.details == {"status": code}
        with pytest.raises(ModelUnavailable) as failure:
            asked(http)
        assert failure.value.details == {"status": code, "retry_after": 3.0}


DATE = "Wed, 21 Oct 2015 07:28:00 GMT"


def test_how_long_to_wait_is_read_in_every_form() -> None:
    cases: list[tuple[dict[str, str], float | None]] = [
        ({}, None),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "-7"}, 0.0),
        ({"retry-after": "7", "retry-after-ms": "250"}, 0.25),
        ({"retry-after": "7", "retry-after-ms": "soon"}, 7.0),
        ({"retry-after": DATE}, 10.0),
        ({"retry-after": DATE, "date": "Wed, 21 Oct 2015 07:27:00 GMT"}, 60.0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "Wed, 99 Foo 2015 99:99:99"}, None),
    ]
    for headers, seconds in cases:
        assert retry_after(headers, now=lambda: 1445412470.0) == seconds


def test_every_status_has_an_error_that_travels() -> None:
    for code in range(300, 600):
        error = of_status("local", code, {"retry-after": "2"})
        assert type(error) in {ModelRefused, ModelUnavailable}
        again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own
        assert again.to_dict() == error.to_dict()
    assert of_status("local", HTTPStatus.TOO_MANY_REQUESTS, {}).details == {"status": 429}


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
    caplog.set_level(logging.DEBUG, "httpcore2")
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


def test_others_log_as_ever(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    logger = logging.getLogger("httpcore2.http11")
    entered, done = threading.Event(), threading.Event()

    def cancelled() -> bool:  # is asked on the thread of the call, also before it begins
        if threading.current_thread() is not threading.main_thread() and hasattr(http._calls, "limits"):
            logger.info("ours")
            entered.set()
            done.wait(5.0)
        return False

    with opened(OK) as (_, http), ThreadPoolExecutor(1) as pool:
        call = pool.submit(asked, http, Limits(time.monotonic, time.monotonic() + 5.0, cancelled))
        assert entered.wait(5.0)
        logger.info("theirs, meanwhile")
        done.set()
        call.result()
        logger.info("theirs, afterwards")
    assert [record.message for record in caplog.records if record.name == logger.name] == [
        *("theirs, meanwhile", "theirs, afterwards"),
    ]
    assert not [one for one in logger.filters if type(one).__module__.startswith("phronesis")]


def test_a_key_that_no_header_holds_is_refused_without_showing_it() -> None:
    cases: list[str] = ["two\nlines", "schlüssel", "a\x00b"]
    for key in cases:
        with pytest.raises(InputError, match="api_key_env") as refusal:
            ModelHttp(Gateway("local", "http://127.0.0.1:1/v1", key))
        assert key not in shown(refusal.value)


def test_an_address_that_is_none_is_refused() -> None:
    cases: list[str] = ["ftp://127.0.0.1/v1", "127.0.0.1/v1", "http://[::1/v1"]
    for url in cases:
        with pytest.raises(InputError, match="base_url") as refusal:
            ModelHttp(Gateway("local", url))
        assert refusal.value.field == "base_url"


def test_an_encrypted_connection_to_a_server_that_is_not_encrypted_fails_in_time() -> None:
    with ModelServer(OK) as server:
        url = server.base_url.replace("http://", "https://")
        with contextlib.closing(ModelHttp(Gateway("local", url))) as http:
            began = time.monotonic()
            with pytest.raises(ModelUnavailable):
                asked(http)
            assert time.monotonic() - began < 10


def test_a_closed_gateway_says_so() -> None:
    with opened(OK) as (_, http):
        http.close()
        http.close()
        with pytest.raises(Closed):
            asked(http)


def test_many_threads_keep_to_their_own_limits() -> None:
    def one(number: int) -> bool:
        try:
            asked(http, limits(0.1 if number % 2 else 10.0))
        except ModelUnavailable:
            return False
        return True

    with opened(slow(0.4, OK)) as (_, http), ThreadPoolExecutor(8) as pool:
        assert list(pool.map(one, range(8))) == [True, False] * 4


def test_texts_are_sent_as_every_server_can_take_them() -> None:
    assert sendable({"a\ud800": ["x\0y", ("\udfff", 1, None, True, 2.5)]}) == {
        "a\ufffd": ["x y", ["\ufffd", 1, None, True, 2.5]]
    }


def test_without_the_package_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "httpx2", None)
    with pytest.raises(MissingExtra, match=r"phronesis\[models\]"):
        ModelHttp(Gateway("local", "http://127.0.0.1:1/v1"))


def test_who_reads_refusals_gets_answers_of_every_status() -> None:
    busy = reply_json({"Fault": {}}, code=503, headers={"Retry-After": "3", "X-Own": "a"})
    with opened(busy, redirect("http://elsewhere.test/"), OK, key=None) as (server, http):
        first = http.exchange("/ask", {"name": "a/b & 咪唑\ud800"}, limits=limits())
        second = http.exchange("/ask", {}, limits=limits())
        third = http.exchange("/ask", None, limits=limits())
        assert (first.status, first.headers["retry-after"], first.headers["x-own"]) == (503, "3", "a")
        assert first.body == b'{"Fault": {}}'
        assert (second.status, second.headers["location"]) == (307, "http://elsewhere.test/")
        assert (third.status, third.body) == (200, b'{"ok": true}')
        with pytest.raises(AnswerRejected):
            http.exchange("/ask", {}, limits=limits(max_bytes=3))
    assert [request.method for request in server.requests] == ["POST", "POST", "GET", "POST"]
    assert server.requests[0].form == {"name": "a/b & 咪唑\ufffd"}
    assert set(server.requests[2].headers) == {"host", "accept", "accept-encoding", "user-agent"}


def test_other_callers_still_get_errors_for_refusals() -> None:
    with opened(status(503)) as (_, http):
        http.exchange("/ask", {}, limits=limits())
        with pytest.raises(ModelUnavailable):
            asked(http)
