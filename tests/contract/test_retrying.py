"""Taking up what failed, whatever its verb: what a retry does is done, and what it cannot do it does not say it did."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest

from custom_store import open_with
from phronesis import Memory
from phronesis.core.changes import Changes
from phronesis.core.entries import Entry, Outcome
from phronesis.core.ids import LaneName
from phronesis.core.items import Item
from phronesis.core.results import Check
from phronesis.engine import erasure_plan, replay
from phronesis.engine.handler import Handler, Outcomes, PrepareContext
from phronesis.errors import Conflict, EntryFailed, NotFound
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import list_lanes

WORDS = "my secret is abracadabra-zebra"


@pytest.fixture
def memory(database_url: str) -> Iterator[Memory]:
    with Memory.open(database_url, policy={"embedder": "none"}) as memory:
        memory._runtime._background.stop()
        yield memory


@contextmanager
def broken(owner: Any, name: str) -> Iterator[None]:
    with mock.patch.object(owner, name, side_effect=RuntimeError("boom")):
        yield


def said_of(memory: Memory, name: str) -> Check:
    return next(check for check in memory.admin.doctor().checks if check.name == name)


def failed_rederive(memory: Memory) -> str:
    memory.add("I live in Oslo", user_id="alice")
    with broken(replay, "difference"), pytest.raises(EntryFailed, match="call rederive again") as told:
        memory.admin.rederive(user_id="alice")
    return str(told.value.details["entry_id"])


# --- rederive -------------------------------------------------------------------------------------------------------


def test_a_rederive_that_failed_is_called_again(memory: Memory) -> None:
    entry_id = failed_rederive(memory)
    with pytest.raises(Conflict, match="call rederive again"):
        memory.admin.retry(entry_id)
    assert not memory.add("I like tea", user_id="alice").pending
    assert memory.admin.jobs().failed == 1
    told = said_of(memory, "failed")
    assert (told.ok, told.command) == (False, None)
    assert "call rederive again" in str(told.remedy)
    memory.admin.rederive(user_id="alice")
    assert memory.admin.jobs().failed == 0
    assert said_of(memory, "failed").ok
    assert memory.admin.rebuild(verify=True).equal


@pytest.mark.parametrize("target", ["item", "user"])
def test_an_erasure_that_failed_is_called_again(memory: Memory, target: str) -> None:
    item = memory.add(WORDS, user_id="alice", kind="fact").items[0]
    wanted: dict[str, Any] = {"id": item.id} if target == "item" else {"user_id": "alice"}
    with broken(erasure_plan.Erasure, "carry_out"), pytest.raises(EntryFailed, match="call erase again") as told:
        memory.erase(**wanted)
    with pytest.raises(Conflict, match="call erase again"):
        memory.admin.retry(str(told.value.details["entry_id"]))
    assert memory.get(item.id).content == WORDS
    assert memory.admin.jobs().failed == 1
    assert memory.erase(**wanted).clean
    with pytest.raises(NotFound):
        memory.get(item.id)
    assert memory.admin.jobs().failed == 0
    assert memory.admin.rebuild(verify=True).equal


# --- erasures -------------------------------------------------------------------------------------------------------


def test_what_could_not_be_prepared_again_is_outstanding_until_a_retry(memory: Memory) -> None:
    said = [{"role": "user", "content": text} for text in ("My name is Karla.", "I live in Oslo.")]
    made = memory.add(said, user_id="alice", session_id="s").items
    with broken(erasure_plan.Preparation, "prepare"):
        certificate = memory.erase(id=made[0].id)
    [failed] = [job.entry_id for job in memory.admin.jobs() if job.state == "failed"]
    assert not certificate.clean
    assert f"call admin.retry('{failed}')" in certificate.outstanding[0]
    assert not memory.get_all(user_id="alice", kinds=["profile"])
    with broken(erasure_plan.Preparation, "prepare"), pytest.raises(EntryFailed) as told:
        memory.admin.retry(str(failed))
    assert memory.admin.jobs().failed == 1
    memory.admin.retry(str(told.value.details["entry_id"]))  # by either id
    assert [item.value for item in memory.get_all(user_id="alice", kinds=["profile"])] == ["Oslo"]
    assert memory.admin.jobs().failed == 0
    assert said_of(memory, "failed").ok
    with pytest.raises(Conflict, match="taken up again"):
        memory.admin.retry(str(failed))
    assert memory.admin.rebuild(verify=True).equal


def _principle(view: LaneView, entry: Entry, outcomes: Outcomes) -> Changes:
    quotes = [text for outcome in outcomes.get("found", ()) for text in outcome.body["texts"]]
    return Changes(
        items=[
            Item(
                id=entry.id,
                kind="principle",
                content=" and ".join(["People say", *quotes]),
                entry_id=entry.id,
                recorded_at=entry.recorded_at,
                updated_at=entry.recorded_at,
                **view.scope_fields(),
            )
        ]
    )


def _read_all(bench: PrepareContext, _entry: Entry) -> list[Outcome]:
    with bench.database.transaction(bench.tenant, "read") as unit:
        lanes = [lane for lane in list_lanes(unit) if lane.kind == "user"]
        texts = sorted(item.content for lane in lanes for item in LaneView(unit, lane).find(kinds=("fact",)))
    return [Outcome(role="found", made_by="test", body={"texts": texts})]


def test_a_lane_that_leans_on_it_is_outstanding_until_a_retry(database_url: str) -> None:
    carry_out = erasure_plan.Erasure.carry_out

    def only_here(self: Any, unit: Any, lane: Any, entry: Entry, outcomes: Any) -> None:
        if lane.kind == "shared":
            raise RuntimeError("boom")
        carry_out(self, unit, lane, entry, outcomes)

    with open_with(database_url, [Handler(verb="learn_shared", apply=_principle, prepare=_read_all)]) as memory:
        memory._runtime._background.stop()
        gone = memory.add(WORDS, user_id="alice", kind="fact").items[0]
        memory.add("trains are fast", user_id="bob", kind="fact")
        memory.admin.components.writer.write(
            memory.admin.tenant, LaneName("shared", "default"), verb="learn_shared", payload={}, actor="agent"
        )
        with mock.patch.object(erasure_plan.Erasure, "carry_out", only_here):
            certificate = memory.erase(id=gone.id)
        assert not certificate.clean
        [failed] = [job.entry_id for job in memory.admin.jobs() if job.state == "failed"]
        assert any(f"call admin.retry('{failed}')" in one for one in certificate.outstanding)
        assert WORDS in memory.get_all(kinds=["principle"])[0].content
        memory.admin.retry(str(failed))
        memory.flush()
        assert memory.get_all(kinds=["principle"])[0].content == "People say and trains are fast"
        assert memory.admin.jobs().failed == 0
        assert memory.admin.rebuild(verify=True).equal
