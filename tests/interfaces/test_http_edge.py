"""What surrounds the routes: limits, request ids, counts, spans, /docs, other sites, and what nobody foresaw."""

import json
import logging
from collections.abc import Iterator
from contextlib import suppress
from typing import Any
from unittest.mock import MagicMock

import pytest
from fastapi import FastAPI
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from growth import assert_linear, repeated
from phronesis import Memory
from phronesis.config.server import Serving
from phronesis.errors import InputError, TooLarge
from phronesis.interfaces.http.middleware import Watch, check_extent
from phronesis.interfaces.server_process import make_server_app

PLACE = "http://127.0.0.1:8765"
API = "/api/v1/memories"


def client_of(memory: Memory, **given: Any) -> TestClient:
    return TestClient(make_server_app(memory, Serving(**given)), base_url=PLACE)


def test_a_body_that_is_too_large_is_not_read(memory: Memory) -> None:
    client = client_of(memory, max_body=1_000)
    said = client.post(API, json={"content": "x" * 2_000})
    assert (said.status_code, said.json()["code"]) == (413, "input.too_large")

    def pieces() -> Iterator[bytes]:
        yield b'{"content": "'
        yield from (b"x" * 500 for _ in range(10))
        yield b'"}'

    unsaid = client.post(API, content=pieces(), headers={"Content-Type": "application/json"})
    assert (unsaid.status_code, unsaid.json()["code"]) == (413, "input.too_large")
    assert len(memory.get_all()) == 0


def test_too_many_calls_are_asked_to_come_again(memory: Memory) -> None:
    client = client_of(memory, requests_per_minute=1, burst=2)
    answered = [client.get(API) for _ in range(3)]
    assert [one.status_code for one in answered] == [200, 200, 429]
    assert 1 <= int(answered[-1].headers["Retry-After"]) <= 60
    assert answered[-1].json()["code"] == "access.rate"
    assert client.get("/healthz").status_code == 200
    memory.admin.keys.create("read", label="x")
    wrong = {"Authorization": "Bearer sk-1"}
    assert client.get(API, headers=wrong).status_code == 429  # whoever tries keys is counted by address


def test_the_pages_and_the_login_count_too(memory: Memory) -> None:
    client = client_of(memory, requests_per_minute=1, burst=2)
    assert [client.get("/memories").status_code for _ in range(2)] == [200, 200]
    refused = client.get("/memories")
    assert (refused.status_code, refused.headers["content-type"]) == (429, "text/html; charset=utf-8")
    assert 1 <= int(refused.headers["Retry-After"]) <= 60
    assert client.get(API).status_code == 429  # one bound for every face
    memory.admin.keys.create("read", label="x")
    other = client_of(memory, requests_per_minute=1, burst=2)
    tries = [other.post("/login", data={"key": f"phr_{n}"}).status_code for n in range(3)]
    assert tries == [401, 401, 429]


def test_a_request_keeps_the_id_it_came_with(memory: Memory) -> None:
    client = client_of(memory)
    assert client.get("/healthz", headers={"X-Request-ID": "my-1"}).headers["X-Request-ID"] == "my-1"
    ids = {client.get("/healthz", headers={"X-Request-ID": given}).headers["X-Request-ID"] for given in ("", "a b")}
    assert len(ids) == 2
    assert not ids & {"", "a b"}


def test_counts_and_log_name_routes_and_no_words(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    client = client_of(memory)
    with caplog.at_level(logging.INFO, "phronesis.access"):
        client.post(API, json={"content": "我住在杭州。", "user_id": "lin"})
        client.get(API, params={"query": "杭州", "user_id": "lin"})
        client.get("/api/v1/users/lin/traits")
        client.get("/nowhere/lin")
    lines = [json.loads(record.message) for record in caplog.records]
    assert [(line["route"], line["status"]) for line in lines] == [
        (API, 201),
        (API, 200),
        ("/api/v1/users/{user_id}/traits", 200),
        ("unknown", 404),
    ]
    assert [line["tenant"] for line in lines] == ["default"] * 3 + [None]
    text = client.get("/metrics").text
    samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
    counted = {(sample.name, *sorted(sample.labels.values())): sample.value for sample in samples}
    assert counted["phronesis_http_requests_total", "/api/v1/memories", "201", "POST"] == 1
    assert counted["phronesis_http_request_seconds_bucket", "+Inf", "/api/v1/memories", "GET"] == 1
    assert counted["phronesis_items", "message"] == 1
    assert counted["phronesis_pending_entries",] == 0
    assert "lin" not in caplog.text + text.replace("lines", "")


def test_a_span_names_the_route(memory: Memory) -> None:
    tracer = MagicMock()
    watch = Watch(log=False, tracer=tracer)
    scope = {"type": "http", "method": "GET", "path": "/api/v1/memories/1"}
    with watch.span(scope, {}) as span:  # type: ignore[arg-type]
        watch.record_result(scope, span, 404, 0.1)
    span.update_name.assert_called_once_with("GET unknown")  # type: ignore[attr-defined]
    assert span.set_attributes.call_args.args[0]["http.response.status_code"] == 404  # type: ignore[attr-defined]
    assert client_of(memory).get("/healthz").status_code == 200  # without OpenTelemetry nothing is written


def test_docs_ask_nothing_of_others(memory: Memory) -> None:
    client = client_of(memory)
    page, document = client.get("/docs"), client.get("/openapi.json").json()
    assert "src=" not in page.text
    assert "http://" not in page.text.replace(PLACE, "")
    assert "default-src 'none'" in page.headers["Content-Security-Policy"]
    assert all(path in page.text for path in document["paths"])
    off = client_of(memory, docs=False)
    assert [off.get(path).status_code for path in ("/docs", "/openapi.json")] == [404, 404]


def test_other_sites_are_let_in_by_name_alone(memory: Memory) -> None:
    asked = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
    assert "access-control-allow-origin" not in client_of(memory).options(API, headers=asked).headers
    named = client_of(memory, cors_origins=("https://app.example",))
    assert named.options(API, headers=asked).headers["access-control-allow-origin"] == "https://app.example"
    made = named.post(API, json={"content": "tea"}, headers={"Origin": "https://app.example"})
    assert (made.status_code, made.headers["access-control-allow-origin"]) == (201, "https://app.example")


def test_what_nobody_foresaw_is_told_without_its_words(memory: Memory, caplog: pytest.LogCaptureFixture) -> None:
    app: FastAPI = make_server_app(memory, Serving())

    @app.get("/broken")
    def broken() -> None:
        raise RuntimeError("the words of a memory")

    said = TestClient(app, base_url=PLACE).get("/broken")
    assert (said.status_code, said.json()["code"]) == (500, "phronesis.error")
    assert "RuntimeError" in caplog.text
    assert "words of a memory" not in said.text
    assert "the words" not in caplog.text.replace('raise RuntimeError("the words of a memory")', "")


def test_options_that_are_wrong_name_their_field() -> None:
    for wrong in ({"port": 70000}, {"host": "http://x"}, {"cors_origins": ["*"]}, {"cors_origins": ["https://a/b"]}):
        with pytest.raises(InputError) as refusal:
            Serving().overridden(wrong)
        assert refusal.value.field == next(iter(wrong))


NESTED = ["[" * 100_000, '{"a":' * 10_000, '{"content":"x","metadata":' + '{"a":[' * 100 + "1" + "]}" * 100 + "}"]
MANY = [
    json.dumps({"content": "x", "metadata": {f"k{n}": n for n in range(300_000)}}),
    json.dumps({"content": "x", "metadata": {f"k{n}": n for n in range(20_000)}}),
    json.dumps({"content": "x", **{f"k{n}": "\\" for n in range(250_000)}}),
    '{"content": "x", "metadata": {"a": [' + "[]," * 250_000 + "1]}}",
]


def test_a_body_that_holds_too_much_is_refused_before_it_is_parsed(memory: Memory) -> None:
    for body in (*NESTED, *MANY):
        said = client_of(memory).post(API, content=body, headers={"Content-Type": "application/json"})
        assert (said.status_code, said.json()["code"]) == (413, "input.too_large")
        assert len(memory.get_all()) == 0


def test_the_time_to_look_at_a_body_goes_with_its_length() -> None:
    little = Serving(max_members=100, max_depth=8)
    for piece in ('"\\"', "[{", '"', '"",', "[]", "\\\\"):
        made = repeated(piece)
        assert_linear(lambda text: _looked_at(little, text.encode()), made, 1_000_000)


def _looked_at(serving: Serving, body: bytes) -> None:
    with suppress(TooLarge):
        check_extent(body, serving)
