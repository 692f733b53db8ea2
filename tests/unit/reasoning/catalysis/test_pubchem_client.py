"""PubChem's PUG REST is spoken as it is documented, and nothing that comes back is believed unseen."""

import logging
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from model_server import Behaviour, ModelServer, cut, endless, garbage, shown, slow, status, trickle
from phronesis.models.call_policy import Limits, never
from phronesis.reasoning.catalysis.pubchem import PER_SECOND, LookupFailed, Pace, PubChem
from phronesis.reasoning.laws.records import ReviewReason
from pug_server import Pug, answer, asked_for, fault


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


@pytest.mark.parametrize("name", ["nothing at all", "CID 999999999", "AAAAAAAAAAAAAA-AAAAAAAAAA-N"])
def test_what_is_not_there_is_no_failure(name: str) -> None:
    with opened(Pug()) as (_, pubchem):
        assert pubchem.look_up(name, cancelled=never).total == 0


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


@pytest.mark.parametrize("behaviour", [slow(30, Pug()), trickle()])
def test_a_look_up_ends_in_time(behaviour: Behaviour) -> None:
    began = time.monotonic()
    assert failure(behaviour, patience=0.3)[0] == "timeout"
    assert time.monotonic() - began < 10


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


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        assert seconds > 0
        self.now += seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def pace(clock: Clock) -> Pace:
    return Pace(clock=clock, sleep=clock.sleep)


def limits(clock: Clock, seconds: float = 30.0) -> Limits:
    return Limits(clock, clock.now + seconds)


def test_at_most_five_begin_within_any_second(clock: Clock, pace: Pace) -> None:
    began = []
    for _ in range(12):
        assert pace.take(limits(clock))
        began.append(clock.now)
    assert began[0] == 100.0
    assert all(later - earlier >= 1.0 - 1e-9 for earlier, later in zip(began, began[5:], strict=False))
    assert PER_SECOND == 5.0


def test_a_turn_that_comes_too_late_is_not_waited_for(clock: Clock, pace: Pace) -> None:
    pace.hold(10)
    assert not pace.take(limits(clock, 5))
    assert clock.now == 100.0
    assert pace.take(limits(clock, 11))
    assert clock.now == pytest.approx(110.0)


@pytest.mark.parametrize(
    ("headers", "held"),
    [
        ({}, 0.0),
        ({"x-throttling-control": "Request Count status: Yellow (60%), Service status: Green (20%)"}, 0.0),
        ({"x-throttling-control": "Request Count status: Green (0%), Request Time status: Red (80%)"}, 1.0),
        ({"x-throttling-control": "Request Count status: Black (100%), Service status: Red (20%)"}, 10.0),
        ({"retry-after": "7"}, 7.0),
    ],
)
def test_what_a_server_says_of_its_load_is_heeded(
    headers: dict[str, str], held: float, clock: Clock, pace: Pace
) -> None:
    pace.apply_limits(headers)
    assert pace.take(limits(clock, 2000))
    assert clock.now - 100.0 == pytest.approx(held)
