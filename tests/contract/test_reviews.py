"""Reviews of modifiers: asked once, kept for a while, made beside a run, erased, never in the way."""

import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta

import pytest
import sqlalchemy as sa

from model_server import ModelServer, slow
from phronesis import Memory, Review
from phronesis.reasoning.catalysis.pubchem import Pace
from phronesis.reasoning.catalysis.review import ABSENT_DAYS, FOUND_DAYS
from phronesis.store.schema import lookups
from pug_server import Pug, asked_for, fault
from set_clock import Clock

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(Pug()) as running:
        yield running


@pytest.fixture
def opened(
    database_url: str, server: ModelServer, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Memory]:
    monkeypatch.setenv("PHRONESIS_PUBCHEM_URL", server.base_url)
    monkeypatch.setattr("phronesis.reasoning.catalysis.pubchem.pace_of", lambda _: Pace(1000.0))
    monkeypatch.setattr("phronesis.reasoning.catalysis.pubchem.WAIT_SECONDS", 0.01)

    def opening(review: str = "on_request") -> Memory:
        policy = {"embedder": "none", "reasoning": {"review": review}}
        return Memory.open(database_url, policy=policy, tenant="acme", clock=clock)

    return opening


@pytest.fixture
def memory(opened: Callable[..., Memory]) -> Iterator[Memory]:
    with opened() as one:
        yield one


def record(memory: Memory, modifier: object, run_id: str = "r1", *, raw: str = "", user: str = "lin") -> str:
    output = {"M1": "Cu", "M2": "Zn", "atomic_ratio": "3:1", "small_molecule_modifier": modifier}
    return memory.runs.record({"run_id": run_id, "output": output, "raw": raw}, user_id=user)


def kept(memory: Memory) -> int:
    with memory.admin.components.database.transaction(memory.admin.tenant, "read") as unit:
        query = sa.select(sa.func.count()).where(lookups.c.tenant_id == memory.admin.tenant)
        return int(unit.run(query).scalar_one())


def until(condition: Callable[[], bool], seconds: float = 10.0) -> None:
    ends = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends, "it did not come about"
        time.sleep(0.01)


def test_a_modifier_is_reviewed_and_the_answer_kept(memory: Memory, server: ModelServer, clock: Clock) -> None:
    record(memory, "imidazole")
    entries = memory.admin.rebuild(verify=True).entries
    review = memory.runs.review("r1", user_id="lin")
    assert isinstance(review, Review)
    assert (review.run_id, review.modifier, review.status, review.cid) == ("r1", "imidazole", "resolved", 795)
    assert (review.smiles, review.inchikey) == ("C1=CN=CN1", "RAXXELZNTBOGNW-UHFFFAOYSA-N")
    assert (review.has_cooh, review.has_carboxylate, review.asked_at) == (False, False, START)
    assert review.suggestion.startswith("The modifier imidazole (PubChem CID 795) has no free carboxyl group")
    clock.now += timedelta(days=1)
    assert memory.runs.review("r1", user_id="lin") == review
    assert asked_for(server.requests) == ["name=imidazole", "cid=795"]
    verified = memory.admin.rebuild(verify=True)
    assert (verified.entries, verified.equal) == (entries, True)  # a review is no entry


@pytest.mark.parametrize(
    ("modifier", "reason"),
    [
        (None, "no_modifier"),
        ("none", "no_modifier"),
        (["a", "b"], "unreadable_modifier"),
        ("x" * 900, "unreadable_modifier"),
    ],
)
def test_what_cannot_be_asked_is_not(memory: Memory, server: ModelServer, modifier: object, reason: str) -> None:
    record(memory, modifier)
    review = memory.runs.review("r1", user_id="lin")
    assert (review.status, review.reason, review.has_cooh) == ("unresolved", reason, None)
    assert (server.requests, kept(memory)) == ([], 0)


def test_an_answer_counts_for_a_while(memory: Memory, server: ModelServer, clock: Clock) -> None:
    record(memory, "imidazole")
    record(memory, "unobtainium", "r2")
    memory.runs.review("r1", user_id="lin")
    assert memory.runs.review("r2", user_id="lin").reason == "not_found"
    asked = len(server.requests)
    clock.now = START + timedelta(days=ABSENT_DAYS) - timedelta(seconds=1)
    memory.runs.review("r1", user_id="lin")
    memory.runs.review("r2", user_id="lin")
    assert len(server.requests) == asked
    clock.now = START + timedelta(days=ABSENT_DAYS)
    memory.runs.review("r1", user_id="lin")
    assert memory.runs.review("r2", user_id="lin").asked_at == clock.now
    assert asked_for(server.requests)[asked:] == ["name=unobtainium"]
    clock.now = START + timedelta(days=FOUND_DAYS)
    assert memory.runs.review("r1", user_id="lin").asked_at == clock.now
    assert kept(memory) == 1  # what no longer counts went with the next answer


@pytest.mark.parametrize(
    ("code", "name", "reason"),
    [(503, "ServerBusy", "busy"), (504, "Timeout", "timeout"), (400, "BadRequest", "refused")],
)
def test_a_failure_is_told_and_not_kept(memory: Memory, server: ModelServer, code: int, name: str, reason: str) -> None:
    record(memory, "imidazole")
    server.answers(fault(code, name, {"Retry-After": "0.01"}))
    review = memory.runs.review("r1", user_id="lin")
    assert (review.status, review.reason, review.asked_at) == ("unresolved", reason, None)
    assert kept(memory) == 0
    assert memory.runs.get("r1", user_id="lin").review is None
    server.answers(Pug())
    assert memory.runs.review("r1", user_id="lin").status == "resolved"


def test_in_the_background_a_run_is_reviewed_when_it_is_recorded(
    opened: Callable[..., Memory], server: ModelServer
) -> None:
    with opened("background") as memory:
        record(memory, "imidazole")
        record(memory, "Imidazole ", "r2")
        record(memory, None, "r3")
        until(lambda: memory.runs.get("r1", user_id="lin").review is not None)
        until(lambda: memory.runs.get("r2", user_id="lin").review is not None)
        assert len(server.requests) == 4


def test_never_means_never(opened: Callable[..., Memory], server: ModelServer) -> None:
    with opened() as memory:
        record(memory, "imidazole")
        record(memory, "acetic acid", "r2")
        memory.runs.review("r1", user_id="lin")
    asked = len(server.requests)
    with opened("never") as memory:
        assert memory.runs.review("r1", user_id="lin", refresh=True).cid == 795  # known from before
        for wait in (True, False):
            review = memory.runs.review("r2", user_id="lin", wait=wait)
            assert (review.status, review.reason) == ("unresolved", "never_asked")
    assert len(server.requests) == asked


def test_a_server_that_hangs_holds_up_neither_a_run_nor_closing(
    opened: Callable[..., Memory], server: ModelServer
) -> None:
    server.answers(slow(60, Pug()))
    memory = opened("background")
    began = time.monotonic()
    for n in range(3):
        record(memory, f"modifier {n}", f"r{n}")
        assert memory.runs.feedback(f"r{n}", {"pros": "x"}, user_id="lin").items
    memory.flush()
    until(lambda: len(server.requests) == 1)
    memory.close()
    assert time.monotonic() - began < 40


@pytest.mark.both_databases
def test_tenants_keep_their_own_answers(memory: Memory, server: ModelServer) -> None:
    record(memory, "imidazole")
    memory.runs.review("r1", user_id="lin")
    with memory.for_tenant("rival") as rival:
        record(rival, "imidazole")
        assert rival.runs.get("r1", user_id="lin").review is None
        assert rival.runs.review("r1", user_id="lin").cid == 795
        assert kept(rival) == 1
    assert len(server.requests) == 4


SMILES = "CC1=C(C(CCC1)(C)C)C=CC(=O)C"


@pytest.mark.parametrize("whole", [False, True])
def test_an_erasure_takes_what_was_looked_up(memory: Memory, whole: bool) -> None:
    record(memory, "beta-ionone", raw=f"The modifier's SMILES is {SMILES}.")
    item = memory.runs.get("r1", user_id="lin").item_id
    assert memory.runs.review("r1", user_id="lin").smiles == SMILES
    assert kept(memory) == 1
    certificate = memory.erase(user_id="lin") if whole else memory.erase(id=item)
    assert (certificate.clean, certificate.residue) == (True, ())
    assert kept(memory) == 0


def test_an_answer_that_comes_after_the_erasure_is_not_kept(memory: Memory, server: ModelServer) -> None:
    record(memory, "beta-ionone")
    server.answers(slow(0.5, Pug()), Pug())
    memory.runs.review("r1", user_id="lin", wait=False)
    until(lambda: len(server.requests) == 1)
    memory.erase(id=memory.runs.get("r1", user_id="lin").item_id)
    until(lambda: len(server.requests) == 2)
    time.sleep(0.2)
    assert kept(memory) == 0
