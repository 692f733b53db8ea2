"""PubChem's PUG REST is spoken as it is documented, and nothing that comes back is believed unseen."""

import logging
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from model_server import (
    Behaviour,
    ModelServer,
    cut,
    endless,
    garbage,
    shown,
    slow,
    status,
    trickle,
)
from phronesis.models.call_policy import never
from phronesis.reasoning.catalysis.pubchem import MAX_COMPOUNDS, LookupFailed, Pace, PubChem, normal_name
from phronesis.reasoning.laws.records import ReviewReason
from pug_server import ROWS, Pug, answer, asked_for, fault


@contextmanager
def opened(*behaviours: Behaviour, patience: float = 20.0) -> Iterator[tuple[ModelServer, PubChem]]:
    with (
        ModelServer(*behaviours) as server,
        closing(PubChem(server.base_url, pace=Pace(1000.0), patience=patience, wait=0.01)) as pubchem,
    ):
        yield server, pubchem


def failure(*behaviours: Behaviour, patience: float = 20.0) -> tuple[ReviewReason, int]:
    """Give why a look-up failed, and how many requests it took."""
    with opened(*behaviours, patience=patience) as (server, pubchem):
        with pytest.raises(LookupFailed) as failed:
            pubchem.look_up("imidazole", cancelled=never)
        return failed.value.reason, len(server.requests)


def test_a_name_leads_to_a_compound() -> None:
    with opened(Pug()) as (server, pubchem):
        found = pubchem.look_up("imidazole", cancelled=never)
    assert found.total == 1
    [compound] = found.listed
    assert (compound.cid, compound.name, compound.smiles) == (795, "Imidazole", "C1=CN=CN1")
    assert compound.inchikey == "RAXXELZNTBOGNW-UHFFFAOYSA-N"
    assert asked_for(server.requests) == ["name=imidazole", "cid=795"]
    assert [one.path for one in server.requests] == [
        "/v1/compound/name/imidazole/cids/JSON",
        "/v1/compound/cid/795/property/SMILES,ConnectivitySMILES,InChIKey,Title/JSON",
    ]
    for request in server.requests:
        assert request.method == "GET"
        assert request.headers["accept"] == "application/json"
        assert set(request.headers) == {"host", "accept", "accept-encoding", "user-agent"}


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("N,N'-dimethyl [4.2.0] (2S)", "GET"),
        ("a" * 300, "POST"),
        *((name, "POST") for name in ("1H-imidazole/buffer", "咪唑", "a,b;c", "50% acetic & more = ?", "..", "../x")),
        *((name, "POST") for name in ("L-α-alanine’s", "poly[(α→β)-x]", "#2244", "a\\b", "a+b", "%2F")),
    ],
)
def test_a_name_of_any_letters_arrives_as_it_is(name: str, method: str) -> None:
    with opened(Pug()) as (server, pubchem):
        found = pubchem.look_up(name, cancelled=never)
    assert asked_for(server.requests)[0] == f"name={name}"
    assert server.requests[0].method == method
    assert found.total == int(name in {"1H-imidazole/buffer", "咪唑"})


def test_greek_letters_are_spelled_out_where_the_name_is_not_known() -> None:
    with opened(Pug()) as (server, pubchem):
        assert pubchem.look_up("β-ionone", cancelled=never).listed[0].cid == 638014
        assert pubchem.look_up("beta-ionone", cancelled=never).listed[0].cid == 638014
        assert pubchem.look_up("λ-nothing", cancelled=never).total == 0
    assert asked_for(server.requests) == [
        *("name=β-ionone", "name=beta-ionone", "cid=638014"),
        *("name=beta-ionone", "cid=638014"),
        *("name=λ-nothing", "name=lambda-nothing"),
    ]


@pytest.mark.parametrize("name", ["CID 795", "cid:795", "PubChem CID 795", "RAXXELZNTBOGNW-UHFFFAOYSA-N"])
def test_a_cid_or_an_inchikey_is_asked_for_as_one(name: str) -> None:
    with opened(Pug()) as (server, pubchem):
        assert [one.cid for one in pubchem.look_up(name, cancelled=never).listed] == [795]
    assert not any(asked.startswith("name") for asked in asked_for(server.requests))


@pytest.mark.parametrize("name", ["nothing at all", "CID 999999999", "AAAAAAAAAAAAAA-AAAAAAAAAA-N"])
def test_what_is_not_there_is_no_failure(name: str) -> None:
    with opened(Pug()) as (_, pubchem):
        assert pubchem.look_up(name, cancelled=never).total == 0


def test_many_compounds_are_counted_and_the_first_looked_at() -> None:
    cids = [*ROWS, *range(10_000, 10_100)]
    with opened(Pug(names={"salt": [*cids, cids[0]]})) as (server, pubchem):
        found = pubchem.look_up("salt", cancelled=never)
    assert found.total == len(cids)
    assert [one.cid for one in found.listed] == cids[:MAX_COMPOUNDS]
    assert len(asked_for(server.requests)[1].split(",")) == MAX_COMPOUNDS


def test_an_answer_that_was_only_promised_is_asked_after() -> None:
    waiting = answer({"Waiting": {"ListKey": "123", "Message": "Your request is running"}}, code=202)
    with opened(waiting, waiting, answer({"IdentifierList": {"CID": [795]}}), Pug()) as (server, pubchem):
        assert pubchem.look_up("imidazole", cancelled=never).listed[0].cid == 795
    assert [(one.method, one.path) for one in server.requests[1:3]] == [
        ("GET", "/v1/compound/listkey/123/cids/JSON")
    ] * 2
    assert failure(waiting)[0] == "timeout"
    assert failure(answer({"Waiting": {"ListKey": "../../x"}}, code=202)) == ("unreadable_answer", 1)


@pytest.mark.parametrize(
    ("behaviour", "reason"),
    [
        (fault(503, "ServerBusy"), "busy"),
        (garbage(b"<html>maintenance</html>", kind="text/html"), "unreadable_answer"),
        (status(404), "unreadable_answer"),  # a path that is not there, not a compound
        (answer([]), "unreadable_answer"),
        (answer({"IdentifierList": {"CID": ["795"]}}), "unreadable_answer"),
        (endless(), "unreadable_answer"),
        (cut(), "unreachable"),
    ],
)
def test_what_is_no_answer_is_no_answer(behaviour: Behaviour, reason: ReviewReason) -> None:
    told, requests = failure(behaviour)
    assert told == reason
    assert requests == (3 if reason in {"busy", "timeout"} else 1)


def test_who_is_busy_is_asked_again_when_it_said() -> None:
    began = time.monotonic()
    with opened(fault(503, "ServerBusy", {"Retry-After": "0.3"}), Pug()) as (server, pubchem):
        assert pubchem.look_up("imidazole", cancelled=never).total == 1
    assert time.monotonic() - began >= 0.3
    assert len(server.requests) == 3


@pytest.mark.parametrize("behaviour", [slow(30, Pug()), trickle()])
def test_a_look_up_ends_in_time(behaviour: Behaviour) -> None:
    began = time.monotonic()
    assert failure(behaviour, patience=0.3)[0] == "timeout"
    assert time.monotonic() - began < 10


def test_who_gives_up_waits_no_longer() -> None:
    stop = threading.Event()
    threading.Timer(0.1, stop.set).start()
    with opened(slow(30, Pug())) as (_, pubchem):
        began = time.monotonic()
        with pytest.raises(LookupFailed):
            pubchem.look_up("imidazole", cancelled=stop.is_set)
        assert time.monotonic() - began < 10


def test_nobody_there_is_told_as_that() -> None:
    with closing(PubChem("http://127.0.0.1:1/rest", pace=Pace(1000.0), wait=0.01)) as pubchem:
        with pytest.raises(LookupFailed) as failed:
            pubchem.look_up("imidazole", cancelled=never)
        assert failed.value.reason == "unreachable"
    with pytest.raises(LookupFailed):
        pubchem.look_up("imidazole", cancelled=never)  # closed


def test_without_the_http_library_the_reason_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "httpx2", None)
    with closing(PubChem("http://127.0.0.1:1/rest", pace=Pace(1000.0))) as pubchem:
        with pytest.raises(LookupFailed) as failed:
            pubchem.look_up("imidazole", cancelled=never)
        assert failed.value.reason == "no_http_client"


@pytest.mark.parametrize("behaviour", [Pug(), fault(503, "ServerBusy"), status(404), cut()])
def test_nothing_is_logged(behaviour: Behaviour, caplog: pytest.LogCaptureFixture) -> None:
    with opened(behaviour) as (_, pubchem), caplog.at_level(logging.DEBUG):
        told = ""
        try:
            pubchem.look_up("a secret modifier", cancelled=never)
        except LookupFailed as failed:
            told = shown(failed)
        assert "secret" not in told.replace('look_up("a secret modifier"', "")
        assert caplog.records == []


NAME_ASKED_FOR: list[tuple[str, str | None]] = [
    (" imidazole ", "imidazole"),
    ("N,N′‑dimethyl−x", "N,N'-dimethyl-x"),
    ("咪唑", "咪唑"),
    ("x" * 10_000_000, None),
    ("", None),
]


def test_a_name_is_asked_for_in_its_plain_form() -> None:
    for written, asked in NAME_ASKED_FOR:
        assert normal_name(written) == asked, written


def test_all_of_this_process_share_one_pace() -> None:
    with ModelServer(Pug()) as server:
        clients = [PubChem(server.base_url), PubChem(server.base_url + "/")]
        began = time.monotonic()
        for pubchem in clients:
            pubchem.look_up("imidazole", cancelled=never)
            pubchem.close()
        assert len(server.requests) == 4
        assert time.monotonic() - began >= 0.59
