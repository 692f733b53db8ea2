"""An index outside the database is a copy: it is kept in step, never believed, and repaired from the database."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from claim_blocks import CHINESE, COPPER, USER, added, block, judge
from memory_index import InMemoryIndex, MemorySpace
from minute_clock import Clock
from phronesis import Memory
from phronesis.core.results import Check, Degraded
from phronesis.errors import IndexUnavailable
from phronesis.index.projections import OutsideDocument
from phronesis.models.embedder import HashingEmbedder
from phronesis.reasoning import external_search
from phronesis.reasoning.external_search import MirroredSearch
from phronesis.wiring import open_memory

AWAY = Degraded("index", "index.unavailable", "native", "memory")


@dataclass
class Shaky:
    """The reference, away when it is told to be."""

    index: InMemoryIndex = field(init=False)
    down: bool = False
    tried: int = 0

    def __post_init__(self) -> None:
        self.index = InMemoryIndex(beyond=("copies",), reach=self.reach)

    def reach(self) -> None:
        self.tried += 1
        if self.down:
            raise IndexUnavailable("away")

    @property
    def space(self) -> MemorySpace:
        [space] = self.index.made.values()
        return space

    @property
    def list_documents(self) -> dict[str, OutsideDocument]:
        return {document.id: document for space in self.index.made.values() for document in space.matching({})}


@pytest.fixture
def index() -> Shaky:
    return Shaky()


def opened(url: str, index: Shaky | None, embedder: HashingEmbedder | None = None, tenant: str = "acme") -> Memory:
    """Open a store whose background does nothing, so that a test says when the index is told."""
    memory = open_memory(
        url,
        policy={"embedder": "none"},
        tenant=tenant,
        clock=Clock(),
        index=None if index is None else index.index,
        embedder=HashingEmbedder() if embedder is None else embedder,
    )
    memory._runtime._background.stop()
    return memory


@pytest.fixture
def memory(sqlite_url: str, index: Shaky) -> Iterator[Memory]:
    with opened(sqlite_url, index) as found:
        yield found


def by_id(index: Shaky) -> dict[str, tuple[str, Any]]:
    return {one: (found.text, found.facts.get("claim_status")) for one, found in index.list_documents.items()}


def hits(memory: Memory, query: str = "formate copper", **given: Any) -> list[str]:
    found = memory.mem_search(query, **({"user_id": USER} | given))
    assert found.degraded == ()
    return [claim.id for one in found for claim in one.matched_claims]


def checked(memory: Memory) -> Check:
    return next(check for check in memory.admin.doctor().checks if check.name == "index")


def test_an_item_and_each_claim_are_documents_with_what_they_are_found_by(memory: Memory, index: Shaky) -> None:
    item = added(memory, COPPER, CHINESE)
    memory.flush()
    held = index.list_documents
    assert set(held) == {item.id, f"{item.id}::claim::c1", f"{item.id}::claim::c2"}
    whole, claim = held[item.id], held[f"{item.id}::claim::c1"]
    assert (whole.text, whole.facts["doc_type"]) == (item.content, "item")
    assert claim.text == "Formate comes from *OCHO on copper next to titanium.\nimidazole as modifier"
    facts = dict(claim.facts)
    store, lane, document = facts.pop("store"), facts.pop("lane"), facts.pop("document_id")
    assert (len(str(store)), str(lane).isdecimal(), len(str(document))) == (32, True, 36)
    assert facts == {
        "doc_type": "claim",
        "tenant": "acme",
        "kind": "reasoning",
        "version": 1,
        "scope": "tio2_expert",
        "parent_mem_id": item.id,
        "claim_id": "c1",
        "claim_status": "hypothesis",
    }
    assert USER not in str(held)


def test_it_follows_every_change_of_an_item(memory: Memory, index: Shaky) -> None:
    item = added(memory, COPPER, CHINESE)
    c1, c2 = f"{item.id}::claim::c1", f"{item.id}::claim::c2"
    assert hits(memory) == [c1]
    verdict = judge(memory, "r7", item.id, c1="support")  # no search document moves with it
    assert hits(memory) == [c1]
    assert by_id(index)[c1][1] == "conclusion"
    assert by_id(index)[item.id][0] == memory.get(item.id).content
    memory.rollback(verdict)
    memory.update(item.id, content=block(COPPER, scope="global"))
    assert hits(memory, scope="global") == [c1]
    assert by_id(index).keys() == {item.id, c1}
    assert by_id(index)[c1][1] == "hypothesis"
    memory.items.archive(item.id)
    assert hits(memory) == []
    assert by_id(index) == {}
    unarchived = memory.items.unarchive(item.id)
    assert hits(memory) == [c1]
    memory.rollback(unarchived.entry_id)
    memory.rollback(item.entry_id, cascade=True)
    memory.flush()
    assert c2 not in by_id(index)
    assert by_id(index) == {}
    assert checked(memory).ok


def test_where_too_few_of_the_nearest_remain_the_database_answers(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("FEWEST", "CLAIMS_EACH", "MORE"):
        monkeypatch.setattr(external_search, name, 1)
    one = added(memory, COPPER, {**COPPER, "claim_id": "c2"})
    other = added(memory, {**COPPER, "inference": "Formate needs copper and a base."})
    memory.flush()
    found = memory.mem_search(str(COPPER["inference"]), user_id=USER, limit=2)
    assert {found[0].item.id, found[1].item.id} == {one.id, other.id}


def test_what_it_holds_is_not_believed(memory: Memory, index: Shaky) -> None:
    item, gone = added(memory, COPPER), added(memory, {**COPPER, "claim_id": "g"})
    held = added(memory, {**COPPER, "claim_id": "q"})
    memory.reasoning.add(block({**COPPER, "claim_id": "o"}), user_id="someone else")
    memory.flush()
    space = index.space
    kept = list(space.list_documents({}, vectors=True))
    memory.items.archive(gone.id)
    memory.items.retract(held.id)
    memory.flush()
    lane = index.list_documents[item.id].facts["lane"]
    theirs = [one for one in kept if one.facts["lane"] != lane]
    stale = [replace(one, text="stale") for one in kept if one not in theirs]
    nobody = "0" * 8 + "-0000-4000-8000-" + "0" * 12 + "::claim::c1"
    space.put([*stale, *(replace(one, id=name) for one in stale for name in (nobody, f"{item.id}::claim::c9", "x"))])
    space.put([replace(one, facts={**one.facts, "lane": lane}) for one in theirs])
    found = memory.mem_search("formate copper", user_id=USER)
    space.put(theirs)
    assert [(match.id, match.snippet[:7]) for one in found for match in one.matched_claims] == [
        (f"{item.id}::claim::c1", "Formate")
    ]
    assert not checked(memory).ok
    assert memory.reasoning.rebuild_index().repaired_outside == 9
    assert checked(memory).ok
    assert index.list_documents.keys() == {
        document.id for document in kept if "::claim::" not in document.id or document.id.endswith(("c1", "o"))
    } - {gone.id, held.id}


@pytest.mark.parametrize("harm", ["lost", "text", "status", "vector", "lane", "nothing"])
def test_it_is_repaired_whole(memory: Memory, index: Shaky, harm: str) -> None:
    item = added(memory, COPPER, CHINESE)
    memory.flush()
    space = index.space
    right = {document.id: document for document in space.list_documents({}, vectors=True)}
    claim = right[f"{item.id}::claim::c1"]
    harmed = {
        "text": replace(claim, text="other words"),
        "status": replace(claim, facts={**claim.facts, "claim_status": "fact"}),
        "vector": replace(claim, vector=np.ones(256, np.float32)),
        "lane": replace(claim, facts={**claim.facts, "lane": "17"}),
    }
    if harm == "lost":
        space.remove([claim.id])
        assert hits(memory)[0] == claim.id  # the index names the item by its other claim
    elif harm in harmed:
        space.put([harmed[harm]])
    assert checked(memory).ok is (harm in {"nothing", "vector"})  # vectors are read by a repair alone
    assert memory.reasoning.rebuild_index().repaired_outside == (harm != "nothing")
    again = {document.id: document for document in space.list_documents({}, vectors=True)}
    assert again.keys() == right.keys()
    for one, document in again.items():
        assert (document.text, document.facts) == (right[one].text, right[one].facts)
        assert np.array_equal(document.vector, right[one].vector)  # type: ignore[arg-type]
    assert hits(memory)[0] == claim.id


def test_while_it_is_away_the_database_answers_and_nothing_is_lost(memory: Memory, index: Shaky) -> None:
    item = added(memory, COPPER)
    index.down = True
    found = memory.mem_search("formate copper", user_id=USER)
    assert [one.item.id for one in found] == [item.id]
    assert found.degraded == (AWAY,)
    tried = index.tried
    assert memory.mem_search("formate copper", user_id=USER).degraded == (AWAY,)
    assert index.tried == tried  # it is left alone for a while
    with pytest.raises(IndexUnavailable):
        memory.flush()
    with pytest.raises(IndexUnavailable):
        memory.reasoning.rebuild_index()
    assert (checked(memory).ok, checked(memory).detail) == (False, "away")
    other = added(memory, CHINESE)
    index.down = False
    searcher = memory.admin.components.searcher
    assert isinstance(searcher, MirroredSearch)
    searcher._away_until = float("-inf")
    assert hits(memory, "甲酸占比")[0] == f"{other.id}::claim::c2"
    assert set(by_id(index)) == {item.id, f"{item.id}::claim::c1", other.id, f"{other.id}::claim::c2"}


def test_an_erasure_reaches_it_or_says_what_is_outstanding(memory: Memory, index: Shaky) -> None:
    item, other = added(memory, COPPER), added(memory, CHINESE)
    memory.flush()
    certificate = memory.erase(id=item.id)
    assert (certificate.clean, certificate.outstanding) == (True, ())
    assert "copies" in certificate.not_scanned
    assert set(by_id(index)) == {other.id, f"{other.id}::claim::c2"}
    index.down = True
    certificate = memory.erase(id=other.id)
    assert (certificate.clean, certificate.residue, len(certificate.outstanding)) == (False, (), 1)
    assert other.id in by_id(index)
    index.down = False
    memory.flush()
    assert by_id(index) == {}


def test_tenants_share_it_and_never_see_each_other(memory: Memory, index: Shaky) -> None:
    item = added(memory, COPPER)
    rival = memory.for_tenant("rival")
    rival._runtime._background.stop()
    theirs = rival.reasoning.add(block(COPPER), user_id=USER)
    assert hits(memory) == [f"{item.id}::claim::c1"]
    assert hits(rival) == [f"{theirs.id}::claim::c1"]
    assert rival.reasoning.rebuild_index().repaired_outside == 0
    assert memory.erase(user_id=USER).clean
    assert set(by_id(index)) == {theirs.id, f"{theirs.id}::claim::c1"}
