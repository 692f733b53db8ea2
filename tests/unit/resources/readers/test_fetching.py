"""Fetching, against a server on this machine that misbehaves on request; names are resolved by the test."""

import gzip
import time
import zlib
from dataclasses import replace

import pytest

from model_server import Behaviour, ModelServer, Reply, redirect
from phronesis.errors import FetchFailed, FetchRefused
from phronesis.resources.fetcher import FetchRules, fetch, is_open
from phronesis.resources.readers.port import RawDocument

PUBLIC = "93.184.215.14"


def page(body: bytes = b"# words", *, kind: str = "text/markdown", **headers: str) -> Behaviour:
    return lambda reply: reply.send(
        body, kind=kind, headers={name.replace("_", "-"): said for name, said in headers.items()}
    )


def rules(server: ModelServer, **more: object) -> FetchRules:
    """Give rules that open the test's server, and nothing else that is not public."""
    port = int(server.base_url.split(":")[2].partition("/")[0])
    given = FetchRules(ports=(port,), allow_private=True, seconds=20.0)
    return replace(given, **more)  # type: ignore[arg-type]


def fetched(*behaviours: Behaviour, **more: object) -> RawDocument:
    with ModelServer(*behaviours) as server:
        return fetch(f"{server.base_url}/guide.md?a=1#top", rules(server, **more))


def test_a_document_is_fetched() -> None:
    with ModelServer(page("# 手册".encode("gbk"), kind='Text/HTML; x=1; charset="gbk"')) as server:
        found = fetch(f" {server.base_url}/guide.md?a=1#top", rules(server))
        (asked,) = server.requests
    assert found == RawDocument(
        name=f"{server.base_url}/guide.md?a=1", media_type="text/html; charset=gbk", data="# 手册".encode("gbk")
    )
    assert (asked.method, asked.path) == ("GET", "/v1/guide.md?a=1")
    assert asked.headers["user-agent"] == "phronesis"
    assert asked.headers["host"] == server.base_url.split("/")[2]
    assert set(asked.headers) == {"host", "user-agent", "accept", "accept-encoding"}


def test_redirects_are_followed_to_the_end() -> None:
    found = fetched(redirect("/other"), redirect("third?x"), page())
    assert found.name.endswith("/third?x")
    with pytest.raises(FetchRefused) as refused:
        fetched(redirect("/again"))
    assert refused.value.rule == "max_redirects"
    with pytest.raises(FetchFailed) as failed:
        fetched(lambda reply: reply.send(b"", code=302))
    assert failed.value.details["status"] == 302


def test_where_a_redirect_leads_is_judged_as_the_first_address() -> None:
    cases: list[tuple[str, str]] = [
        ("http://169.254.169.254:{port}/latest/meta-data", "allow_private"),
        ("http://[fe80::1]:{port}/", "allow_private"),
        ("http://0.0.0.0:{port}/", "allow_private"),
        ("http://127.0.0.1:22/", "ports"),
        ("http://me:secret@127.0.0.1:{port}/", "credentials"),
        ("file:///etc/passwd", "scheme"),
        ("gopher://127.0.0.1:{port}/", "scheme"),
        ("http://denied.example:{port}/", "deny_hosts"),
        ("http://127.0.0.1:x/", "url"),
    ]
    for location, rule in cases:
        with ModelServer(page()) as server:
            port = server.base_url.split(":")[2].partition("/")[0]
            server.answers(redirect(location.format(port=port)), page())
            with pytest.raises(FetchRefused) as refused:
                fetch(server.base_url, rules(server, deny_hosts=["Example."]))
            assert refused.value.rule == rule, location
            assert "secret" not in str(refused.value), location
            assert len(server.requests) == 1, location


def test_private_addresses_are_refused_before_anything_is_sent() -> None:
    with pytest.raises(FetchRefused) as refused:
        fetch("http://mixed.example/", FetchRules(), lambda *_: [PUBLIC, "192.168.1.1"])
    assert refused.value.details == {"rule": "allow_private", "host": "mixed.example"}
    with ModelServer(page()) as server:
        closed = rules(server, allow_private=False)
        port = closed.ports[0]
        for host in ("127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "10.0.0.1"):
            with pytest.raises(FetchRefused) as refused:
                fetch(f"http://{host}:{port}/", closed)
            assert refused.value.rule == "allow_private"
        assert server.requests == []


def test_a_name_is_resolved_once_and_the_judged_address_connected_to() -> None:
    answers = [[PUBLIC], ["127.0.0.1"]]
    asked = []

    def rebinding(host: str, port: int) -> list[str]:
        asked.append((host, port))
        return answers.pop(0) if len(answers) > 1 else answers[0]

    with ModelServer(page()) as server:
        closed = rules(server, allow_private=False, seconds=0.3)
        with pytest.raises(FetchFailed) as failed:  # the public address does not answer here; the private one would
            fetch(f"http://rebinding.example:{closed.ports[0]}/", closed, rebinding)
        assert not isinstance(failed.value, FetchRefused)
        assert asked == [("rebinding.example", closed.ports[0])]
        with pytest.raises(FetchRefused):
            fetch(f"http://rebinding.example:{closed.ports[0]}/", closed, rebinding)
        assert server.requests == []


def test_the_other_end_of_a_connection_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phronesis.resources.fetcher.allowed_addresses", lambda *_: ["127.0.0.1"])
    with ModelServer(page()) as server:
        closed = rules(server, allow_private=False)
        with pytest.raises(FetchRefused, match="led to an address"):
            fetch(f"http://tricky.example:{closed.ports[0]}/", closed)
        assert server.requests == []


def test_addresses_that_are_refused() -> None:
    cases: list[tuple[str, str]] = [
        ("ftp://example.org/x", "scheme"),
        ("guide.html", "scheme"),
        ("http://u@example.org/", "credentials"),
        ("http://example.org:25/", "ports"),
        ("https://example.org/" + "x" * 8_000, "length"),
        ("http://exa mple.org:x/", "url"),
        ("http://other.org/", "allow_hosts"),
        ("http://notexample.org/", "allow_hosts"),
        ("http://bad.example.org/", "deny_hosts"),
    ]
    for url, rule in cases:
        with pytest.raises(FetchRefused) as refused:
            fetch(url, FetchRules(allow_hosts=["example.org"], deny_hosts=["*.bad.example.org"]), lambda *_: [])
        assert (refused.value.rule, refused.value.field, refused.value.code) == (rule, "url", "fetch.refused"), url


PRIVATE = (
    "10.1.2.3 172.16.0.1 192.168.0.1 127.9.9.9 169.254.169.254 100.64.0.1 0.0.0.1 224.0.0.1 255.255.255.255 198.18.0.1"
    " 168.63.129.16 ::1 :: fe80::1%eth0 fd00::1 ff02::1 ::ffff:10.0.0.1 ::10.0.0.1 64:ff9b::a00:1 2002:a00:1::"
    " nowhere 2001:0:1:2:3:4:f5ff:fffe"
)
CLOSED = "169.254.169.254 fe80::1 100.100.100.200 168.63.129.16 fd00:ec2::254 ::ffff:169.254.169.254"


@pytest.mark.parametrize(
    ("addresses", "allow_private", "is_allowed"),
    [
        (f"{PUBLIC} 2606:2800:220:1::1 64:ff9b::5db8:d70e", False, True),
        (PRIVATE, False, False),
        ("10.1.2.3 127.0.0.1 fd00::1 ::1", True, True),
        (CLOSED, True, False),
    ],
)
def test_addresses(addresses: str, allow_private: bool, is_allowed: bool) -> None:
    for address in addresses.split():
        assert is_open(address, FetchRules(allow_private=allow_private)) is is_allowed, address


def test_what_is_too_large_is_refused_whatever_it_says() -> None:
    for behaviour in (
        page(b"x" * 2_000),
        lambda reply: reply.head(200, {"Content-Type": "text/plain", "Content-Length": "5000"}),
        endless_text,
        page(gzip.compress(b"x" * 5_000_000, mtime=0), Content_Encoding="gzip"),
        page(zlib.compress(b"x" * 5_000_000), Content_Encoding="deflate"),
    ):
        with pytest.raises(FetchRefused) as refused:
            fetched(behaviour, max_bytes=1_000)
        assert refused.value.rule == "max_bytes"


def endless_text(reply: Reply) -> None:
    reply.head(200, {"Content-Type": "text/plain", "Connection": "close"})
    reply.hang_up()
    while reply.wait(0.0):
        reply.write(b"x" * 1_000)


def test_bodies_are_unfolded_or_refused() -> None:
    words = b"words " * 50_000
    packed = gzip.compress(words, mtime=0)
    for body, coding in ((packed, "gzip"), (packed, "x-gzip"), (zlib.compress(words), "Deflate"), (words, "identity")):
        assert fetched(page(body, Content_Encoding=coding)).data == words, coding
    assert fetched(page(zlib.compress(words, wbits=-15), Content_Encoding="deflate")).data == words
    for body, coding, told in (
        (b"no gzip", "gzip", "cannot be unfolded"),
        (packed[:-12], "gzip", "cut off"),
        (b"x", "br", "not asked for"),
    ):
        with pytest.raises(FetchFailed, match=told):
            fetched(page(body, Content_Encoding=coding))


def test_other_types_are_refused() -> None:
    cases: list[str] = ["image/png", "application/zip", "application/x+jsonx", "video/mp4; x=y"]
    for kind in cases:
        with pytest.raises(FetchRefused) as refused:
            fetched(page(kind=kind))
        assert refused.value.details == {"rule": "content_types", "content_type": kind.partition(";")[0]}, kind


def drip(reply: Reply) -> None:
    reply.head(200, {"Content-Type": "text/plain", "Content-Length": "100"})
    while reply.wait(0.05):
        reply.write(b"x")


def silent(reply: Reply) -> None:
    while reply.wait(0.05):
        pass


@pytest.mark.parametrize("behaviour", [drip, silent])
def test_a_slow_server_is_left(behaviour: Behaviour) -> None:
    began = time.monotonic()
    with pytest.raises(FetchFailed, match=r"took longer than 0\.4 seconds"):
        fetched(behaviour, seconds=0.4)
    assert time.monotonic() - began < 10
