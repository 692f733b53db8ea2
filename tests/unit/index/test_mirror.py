"""An index outside the database is a copy: it is kept in step, never believed, and repaired from the database."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from claim_blocks import CHINESE, COPPER, USER, added, block, judge
from memory_index import InMemoryIndex, MemorySpace
from minute_clock import Clock
from phronesis import Memory
from phronesis.core.results import Check, Degraded
from phronesis.errors import IndexUnavailable, ModelUnavailable
from phronesis.index.external_index import OutsideDocument, Where
from phronesis.models.embedder import HashingEmbedder
from phronesis.reasoning.external_search import MirroredSearch
from phronesis.store.columns import Vector
from phronesis.store.index_marks import drop_marks, followed_spaces
from phronesis.wiring import open_memory
from phronesis.worker import OUTSIDE, Worker

AWAY = Degraded("index", "index.unavailable", "native", "memory")


class Wide(HashingEmbedder):
    """Another encoder, of another dimension."""

    name = "wide"
    dimension = 512

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        found = super().embed_documents(texts)
        return np.concatenate([found, found], axis=1)

    def embed_query(self, text: str) -> Vector:
        vector: Vector = self.embed_documents([text])[0]
        return vector


class Away(HashingEmbedder):
    """An encoder whose server is away when it is told to be."""

    away = False

    def embed_documents(self, texts: Sequence[str]) -> Vector:
        if self.away:
            raise ModelUnavailable("away")
        return super().embed_documents(texts)


@dataclass
class Shaky:
    """The reference, away when it is told to be.

    ``between`` runs once before the next documents are put, ``before_look`` before it is next asked what it holds.
    """

    within: InMemoryIndex = field(default_factory=InMemoryIndex)
    name: str = "memory"
    beyond: tuple[str, ...] = ("copies",)
    down: bool = False
    tried: int = 0
    between: Any = None
    before_look: Any = None

    def space(self, model: str, dimension: int) -> "ShakySpace":
        self.reach()
        return ShakySpace(self, self.within.space(model, dimension))

    def spaces(self) -> "list[ShakySpace]":
        self.reach()
        return [ShakySpace(self, space) for space in self.within.spaces()]

    def close(self) -> None:
        self.within.close()

    def reach(self) -> None:
        self.tried += 1
        if self.down:
            raise IndexUnavailable("away")

    @property
    def held(self) -> dict[str, OutsideDocument]:
        return {document.id: document for space in self.within.spaces() for document in space.held({})}


@dataclass
class ShakySpace:
    index: Shaky
    within: MemorySpace

    @property
    def id(self) -> str:
        return self.within.id

    def put(self, documents: Sequence[OutsideDocument]) -> None:
        self.index.reach()
        between, self.index.between = self.index.between, None
        if between is not None:
            between()
        self.within.put(documents)

    def remove(self, ids: Sequence[str]) -> None:
        self.index.reach()
        self.within.remove(ids)

    def clear(self, where: Where) -> None:
        self.index.reach()
        self.within.clear(where)

    def held(self, where: Where, *, vectors: bool = False) -> Iterator[OutsideDocument]:
        self.index.reach()
        look, self.index.before_look = self.index.before_look, None
        if look is not None:
            look()
        return self.within.held(where, vectors=vectors)

    def nearest(self, vector: Vector, where: Where, *, limit: int) -> list[str]:
        self.index.reach()
        return self.within.nearest(vector, where, limit=limit)


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
        index=index,
        embedder=HashingEmbedder() if embedder is None else embedder,
    )
    memory._runtime._background.stop()
    return memory


@pytest.fixture
def memory(sqlite_url: str, index: Shaky) -> Iterator[Memory]:
    with opened(sqlite_url, index) as found:
        yield found


def by_id(index: Shaky) -> dict[str, tuple[str, Any]]:
    return {one: (found.text, found.facts.get("claim_status")) for one, found in index.held.items()}


def hits(memory: Memory, query: str = "formate copper", **given: Any) -> list[str]:
    found = memory.mem_search(query, **({"user_id": USER} | given))
    assert found.degraded == ()
    return [claim.id for one in found for claim in one.matched_claims]


def checked(memory: Memory) -> Check:
    return next(check for check in memory.admin.doctor().checks if check.name == "index")


@contextmanager
def without_pause(memory: Memory) -> Iterator[None]:
    searcher = memory.admin.components.searcher
    assert isinstance(searcher, MirroredSearch)
    searcher._away_until = float("-inf")
    yield


def test_an_item_and_each_claim_are_documents_with_what_they_are_found_by(memory: Memory, index: Shaky) -> None:
    item = added(memory, COPPER, CHINESE)
    memory.flush()
    held = index.held
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


def test_what_it_holds_is_not_believed(memory: Memory, index: Shaky) -> None:
    item, gone = added(memory, COPPER), added(memory, {**COPPER, "claim_id": "g"})
    held = added(memory, {**COPPER, "claim_id": "q"})
    memory.reasoning.add(block({**COPPER, "claim_id": "o"}), user_id="someone else")
    memory.flush()
    [space] = index.within.spaces()
    kept = list(space.held({}, vectors=True))
    memory.items.archive(gone.id)
    memory.items.retract(held.id)
    memory.flush()
    lane = index.held[item.id].facts["lane"]
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
    assert index.held.keys() == {
        document.id for document in kept if "::claim::" not in document.id or document.id.endswith(("c1", "o"))
    } - {gone.id, held.id}


@pytest.mark.parametrize("harm", ["lost", "text", "status", "vector", "lane", "nothing"])
def test_it_is_repaired_whole(memory: Memory, index: Shaky, harm: str) -> None:
    item = added(memory, COPPER, CHINESE)
    memory.flush()
    [space] = index.within.spaces()
    right = {document.id: document for document in space.held({}, vectors=True)}
    claim = right[f"{item.id}::claim::c1"]
    harmed = {
        "text": replace(claim, text="other words"),
        "status": replace(claim, facts={**claim.facts, "claim_status": "fact"}),
        "vector": replace(claim, vector=np.ones(256, np.float32)),
        "lane": replace(claim, facts={**claim.facts, "lane": "17"}),
    }
    if harm == "lost":
        space.remove([claim.id])
        assert hits(memory) == [f"{item.id}::claim::c2"]  # what is near among what is left
    elif harm in harmed:
        space.put([harmed[harm]])
    assert checked(memory).ok is (harm in {"nothing", "vector"})  # vectors are read by a repair alone
    assert memory.reasoning.rebuild_index().repaired_outside == (harm != "nothing")
    again = {document.id: document for document in space.held({}, vectors=True)}
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
    with without_pause(memory):
        assert hits(memory, "甲酸占比")[0] == f"{other.id}::claim::c2"
    assert set(by_id(index)) == {item.id, f"{item.id}::claim::c1", other.id, f"{other.id}::claim::c2"}


def test_doctor_says_how_far_behind_it_is(memory: Memory, index: Shaky) -> None:
    assert checked(memory).ok
    item = added(memory, COPPER)
    memory.admin.components.vectorizer.run("acme")
    late = checked(memory)
    assert (late.ok, late.remedy) == (False, "call flush()")
    assert "2 documents, 1 lanes" in late.detail
    memory.flush()
    assert checked(memory).ok
    judge(memory, "r7", item.id, c1="support")
    assert "1 lanes" in checked(memory).detail
    memory.flush()
    memory.add("hello", user_id="other")
    assert checked(memory).ok


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


def test_a_process_that_does_not_know_it_says_so(memory: Memory, index: Shaky, sqlite_url: str) -> None:
    item = added(memory, COPPER)
    with opened(sqlite_url, None) as native:
        assert len(native.erase(id=added(native, CHINESE).id).not_scanned) == 1  # it was never told of anything
        memory.flush()
        certificate = native.erase(id=item.id)
    assert "index outside the database" in certificate.not_scanned[-1]
    memory.flush()
    assert by_id(index) == {}


def test_a_user_is_erased_deleted_and_begun_anew(memory: Memory, index: Shaky) -> None:
    added(memory, COPPER)
    memory.flush()
    memory.items.delete_all(user_id=USER)
    memory.flush()
    assert by_id(index) == {}
    fresh = added(memory, CHINESE)
    memory.flush()
    assert memory.erase(user_id=USER).clean
    assert by_id(index) == {}
    assert fresh.id not in by_id(index)
    again = added(memory, COPPER)
    assert hits(memory) == [f"{again.id}::claim::c1"]


def test_a_rebuild_and_an_import_leave_it_right(memory: Memory, index: Shaky, sqlite_url: str, tmp_path: Path) -> None:
    item = added(memory, COPPER, CHINESE)
    memory.flush()
    before = by_id(index)
    assert memory.admin.rebuild().equal
    assert hits(memory) == [f"{item.id}::claim::c1"]
    assert by_id(index) == before
    memory.export(tmp_path / "log.jsonl")
    apart = Shaky()
    with opened(f"sqlite:///{tmp_path / 'other.db'}", apart) as other:
        other.import_(tmp_path / "log.jsonl")
        assert hits(other) == [f"{item.id}::claim::c1"]
        assert by_id(apart) == before


def test_another_encoder_has_a_space_of_its_own_and_the_old_one_is_emptied(memory: Memory, index: Shaky) -> None:
    item = added(memory, COPPER)
    assert hits(memory) == [f"{item.id}::claim::c1"]
    memory.admin.reembed(Wide())
    old, new = index.within.spaces()
    assert (len(list(old.held({}))), len(list(new.held({})))) == (0, 2)
    assert hits(memory) == [f"{item.id}::claim::c1"]
    memory.admin.reembed(HashingEmbedder())
    assert (len(list(old.held({}))), len(list(new.held({})))) == (2, 0)
    index.down = True
    memory.admin.reembed(Wide())
    assert memory.erase(id=item.id).outstanding
    index.down = False
    memory.flush()
    assert by_id(index) == {}


def test_without_an_encoder_the_database_answers_by_words(sqlite_url: str) -> None:
    index = Shaky()
    with open_memory(sqlite_url, policy={"embedder": "none"}, tenant="acme", clock=Clock(), index=index) as memory:
        item = added(memory, COPPER)
        found = memory.mem_search("formate copper", user_id=USER)
        assert [one.item.id for one in found] == [item.id]
        assert found.degraded == (Degraded("index", "index.no_encoder", "native", "memory"),)
        memory.flush()
        assert checked(memory).ok
        assert memory.reasoning.rebuild_index().repaired_outside == 0
        assert memory.erase(id=item.id).clean
    assert index.within.spaces() == []


def test_a_question_without_words_and_other_searches_are_the_databases(memory: Memory, index: Shaky) -> None:
    item = added(memory, COPPER)
    assert memory.mem_search("???", user_id=USER).degraded == (
        Degraded("index", "index.no_encoder", "native", "memory"),
    )
    tried = index.tried
    found = memory.search("formate copper", user_id=USER)
    assert [one.item.id for one in found] == [item.id]
    assert index.tried == tried
    assert memory.search("formate copper", user_id=USER, kinds=["reasoning"])[0].item.id == item.id
    assert index.tried > tried  # reasoning alone is a search of claims
    assert len(memory.mem_search("formate", user_id="nobody", namespace="nowhere")) == 0


def test_while_the_encoder_is_away_what_needs_none_is_done(sqlite_url: str) -> None:
    index, encoder = Shaky(), Away()
    with opened(sqlite_url, index, encoder) as memory:
        item, other = added(memory, COPPER), added(memory, CHINESE)
        memory.flush()
        encoder.away = True
        late = added(memory, {**COPPER, "claim_id": "late"})
        found = memory.mem_search("formate copper", user_id=USER)
        assert {one.item.id for one in found} >= {item.id, late.id}
        assert [one.role for one in found.degraded] == ["embed", "index"]
        assert memory.erase(id=item.id).clean
        assert set(by_id(index)) == {other.id, f"{other.id}::claim::c2"}
        encoder.away = False
        assert hits(memory)[0] == f"{late.id}::claim::late"


def test_news_that_were_overtaken_are_told_again(sqlite_url: str) -> None:
    index = Shaky()
    with opened(sqlite_url, index) as one, opened(sqlite_url, index) as other:
        item = added(one, COPPER)
        one.flush()
        one.items.archive(item.id)

        def meanwhile() -> None:
            other.items.unarchive(item.id)
            other.flush()

        index.between = meanwhile  # the first tells of the archiving after the second told of its end
        one.flush()
        assert set(by_id(index)) == {item.id, f"{item.id}::claim::c1"}
        judge(one, "r7", item.id, c1="support")
        index.between = lambda: (other.items.archive(item.id), other.flush())
        one.flush()
        assert by_id(index) == {}
        assert checked(one).ok


def test_what_is_new_to_one_who_compares_a_whole_lane_is_not_taken_for_foreign(sqlite_url: str) -> None:
    index = Shaky()
    with opened(sqlite_url, index) as one, opened(sqlite_url, index) as other:
        item = added(one, COPPER)
        one.flush()
        one.admin.rebuild()
        fresh: list[str] = []

        def meanwhile() -> None:
            fresh.append(added(other, CHINESE).id)
            other.flush()

        index.before_look = meanwhile
        one.flush()
        assert set(by_id(index)) == {item.id, f"{item.id}::claim::c1", fresh[0], f"{fresh[0]}::claim::c2"}


def test_what_was_put_by_one_who_died_before_the_mark_is_taken_away(memory: Memory, index: Shaky) -> None:
    item = added(memory, COPPER)
    memory.flush()
    [space] = index.within.spaces()
    with memory.admin.components.database.transaction("acme", "derive") as unit:
        drop_marks(unit, space.id)
    assert memory.erase(id=item.id).clean
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


def test_more_is_asked_for_when_too_little_is_left(memory: Memory, index: Shaky) -> None:
    item = added(memory, COPPER)
    memory.flush()
    [space] = index.within.spaces()
    claim = next(one for one in space.held({}, vectors=True) if "::claim::" in one.id)
    query = HashingEmbedder().embed_query("formate copper")
    space.put([replace(claim, id=f"{n:08}-nobody::claim::c1", vector=query) for n in range(300)])
    assert hits(memory) == [f"{item.id}::claim::c1"]


def test_the_worker_and_the_background_tell_it_too(memory: Memory, index: Shaky) -> None:
    item = added(memory, COPPER)
    worker = Worker(memory)
    index.down = True
    worker.work()
    assert worker.faults["acme", OUTSIDE].code == "index.unavailable"
    index.down = False
    worker.work()
    assert worker.faults == {}
    assert item.id in by_id(index)
    memory.items.archive(item.id)
    memory._runtime._work(lambda: False)
    assert by_id(index) == {}


def test_where_there_is_none_nothing_is_noted(sqlite_url: str) -> None:
    with opened(sqlite_url, None) as memory:
        added(memory, COPPER)
        memory.flush()
        assert memory.reasoning.rebuild_index().repaired_outside is None
        assert checked(memory).detail == "claims are searched in the database itself"
        with memory.admin.components.database.transaction("acme", "read") as unit:
            assert followed_spaces(unit) == set()
