"""Resources have a schema of their own: written, searched, replayed, rolled back and erased there as memory is."""

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from custom_store import registered
from phronesis import Memory
from phronesis.core.documents import DOCUMENT, SECTION
from phronesis.core.items import Item
from phronesis.core.retrieval_plan import Store
from phronesis.core.scope import LaneName, make_scope
from phronesis.models.embedder import HashingEmbedder
from phronesis.recall.search import Query
from phronesis.store.database import Unit
from phronesis.store.document_tables import HOMES, MEMORY, RESOURCES, chunks, documents, home_of
from phronesis.store.document_tables import sections as section_rows
from phronesis.store.documents import count_without_vector, documents_of_items, read_vectors
from phronesis.store.eligible import Wanted
from phronesis.store.lane_view import LaneView
from phronesis.store.lanes import Lane, find_lane
from phronesis.store.resources import documents_at, sections_of, versions_of
from scenarios.engines import Clock
from shelved import HANDLERS, shelve

URI = "file:///kettle.md"
FIRST = {"Descaling": "Fill the kettle with vinegar and boil it twice.", "Safety": "Never open the lid while it boils."}
SECOND = {
    "Descaling": "Use citric acid, never vinegar.",
    "Safety": FIRST["Safety"],
    "水垢": "每月用柠檬酸清洗水壶一次。",
}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(database_url: str, clock: Clock) -> Iterator[Memory]:
    with registered(HANDLERS), Memory.open(database_url, policy={"embedder": "hashing"}, clock=clock) as opened:
        yield opened


def read(memory: Memory) -> Any:
    return memory.admin.components.database.transaction(memory.admin.tenant, "read")


def lane_of(unit: Unit, user: str = "alice") -> Lane:
    lane = find_lane(unit, LaneName("user", user))
    assert lane is not None
    return lane


def sections(memory: Memory, **given: Any) -> list[Item]:
    return [*memory.get_all(user_id="alice", kinds=[SECTION], **given)]


def rows(memory: Memory, table: sa.Table) -> int:
    with read(memory) as unit:
        query = sa.select(sa.func.count()).select_from(table).where(table.c.tenant_id == memory.admin.tenant)
        return int(unit.run(query).scalar_one())


def found(memory: Memory, query: str, **given: Any) -> list[str]:
    return [one.item.content for one in memory.search(query, user_id="alice", kinds=[SECTION], **given)]


def test_documents_of_sections_go_to_their_own_home(memory: Memory) -> None:
    memory.add("the kettle is new", user_id="alice")
    shelve(memory, URI, "Kettle", FIRST)
    memory.flush()
    assert [home_of(kind) for kind in (SECTION, DOCUMENT, "message", "l1")] == [RESOURCES, MEMORY, MEMORY, MEMORY]
    assert [rows(memory, home.documents) for home in HOMES] == [rows(memory, home.vectors) for home in HOMES]
    with read(memory) as unit:
        lane = lane_of(unit)
        ids = [item.id for item in sections(memory)]
        made = documents_of_items(unit, lane.lane_id, ids, home=RESOURCES)
        assert documents_of_items(unit, lane.lane_id, ids) == []
        assert {(row.kind, row.part) for row in made} == {(SECTION, "chunk:0")}
        assert sorted(str(row.text) for row in made) == [
            f"Kettle › {heading}\n{text}" for heading, text in sorted(FIRST.items())
        ]
        model = memory.admin.components.vectorizer.embedders.serving(memory.admin.tenant)
        assert model is not None
        own = read_vectors(unit, lane.lane_id, model.name, home=RESOURCES)
        assert {row.document_id for row in own} == {row.id for row in made}
        assert count_without_vector(unit, model.name) == 0
        assert all(np.any(row.embedding) for row in own)


@pytest.mark.both_databases
def test_versions_and_their_sections_come_back_as_they_were_written(memory: Memory, clock: Clock) -> None:
    first = shelve(memory, URI, "Kettle", FIRST)
    clock.pass_days(1)
    shelve(memory, URI, "Kettle, second edition", SECOND)
    with read(memory) as unit:
        lane = lane_of(unit)
        view = LaneView(unit, lane)
        document = view.document(URI)
        assert document is not None
        assert (document.kind, document.data["number"], view.document("file:///else")) == (DOCUMENT, 2, None)
        versions = view.document_versions(document.id)
        assert [(row.number, row.title, row.uri) for row in versions] == [
            (1, "Kettle", URI),
            (2, "Kettle, second edition", URI),
        ]
        assert (versions[0].entry_id, versions[0].recorded_at) == (first.entry.id, first.entry.recorded_at)
        assert documents_at(unit, lane.lane_id, URI) == versions
        moment = int(versions[0].recorded_at.timestamp() * 1_000_000)
        assert versions_of(unit, lane.lane_id, document.id, as_of=moment) == versions[:1]
        assert documents_at(unit, lane.lane_id, URI, as_of=moment - 1) == []
        told = [view.sections(document.id, number) for number in (1, 2, 3)]
        assert [[row.path for row in one] for one in told] == [
            [("Descaling",), ("Safety",)],
            [("Descaling",), ("Safety",), ("水垢",)],
            [],
        ]
        assert [row.item_id for row in told[1]] == list(document.data["sections"])
        assert told[0][1].item_id == told[1][1].item_id  # what did not change is the same item
        assert [(row.n, row.start, row.end) for row in told[1]][:2] == [(0, 0, 31), (1, 32, 66)]
        assert view.items([row.item_id for row in told[1]])[told[1][2].item_id].content == SECOND["水垢"]


@pytest.mark.both_databases
def test_versions_and_sections_are_looked_up_by_an_index(sqlite_url: str) -> None:
    """On SQLite alone: PostgreSQL reads a table of one page as a whole."""
    seen: list[str] = []
    with registered(HANDLERS), Memory.open(sqlite_url, policy={"embedder": "none"}) as memory:
        shelve(memory, URI, "Kettle", FIRST)
    with registered(HANDLERS), Memory.open(sqlite_url, policy={"embedder": "none"}) as memory, read(memory) as unit:
        lane_id = lane_of(unit).lane_id
        unit.driver.set_trace_callback(seen.append)
        (version,) = documents_at(unit, lane_id, URI)
        assert versions_of(unit, lane_id, version.document_id, as_of=2**62) == [version]
        assert len(sections_of(unit, lane_id, version.document_id, 1)) == 2
        unit.driver.set_trace_callback(None)
        plans = [unit.driver.execute(f"EXPLAIN QUERY PLAN {text}").fetchone()[3] for text in seen]
    assert plans == [
        "SEARCH documents USING INDEX ix_documents_tenant_id_lane_id_uri (tenant_id=? AND lane_id=? AND uri=?)",
        "SEARCH documents USING INDEX sqlite_autoindex_documents_1 (tenant_id=? AND lane_id=? AND document_id=?)",
        "SEARCH sections USING PRIMARY KEY (tenant_id=? AND lane_id=? AND document_id=? AND number=?)",
    ]


def test_memory_and_resources_are_searched_apart(memory: Memory) -> None:
    memory.add("I boil the kettle every morning", user_id="alice")
    shelve(memory, URI, "Kettle", FIRST)
    everywhere = memory.search("kettle boil", user_id="alice")
    assert {one.item.kind for one in everywhere} == {"message", SECTION}
    assert {one.item.kind for one in memory.search("kettle", user_id="alice", kinds=["message"])} == {"message"}
    assert {one.item.kind for one in memory.search("kettle boil", user_id="alice", kinds=[SECTION])} == {SECTION}
    both = memory.search("kettle boil", user_id="alice", kinds=["message", SECTION], explain=True)
    assert {one.item.kind for one in both} == {"message", SECTION}
    assert [one.score for one in both] == sorted((one.score for one in both), reverse=True)
    assert both.explain is not None
    assert set(both.explain) == {"memory", "resources"}
    searcher, query = memory.admin.components.searcher, Query("kettle", make_scope(user_id="alice"), Wanted(), 5)
    stores: dict[Store, set[str]] = {"resources": {SECTION}, "memory": {"message"}}
    for store, kinds in stores.items():
        asked = dataclasses.replace(query, store=store)
        assert {one.item.kind for one in searcher.search(memory.admin.tenant, asked)} == kinds


def test_what_changes_in_one_home_moves_nothing_in_the_others_index(memory: Memory) -> None:
    memory.add("the kettle is new", user_id="alice")
    shelve(memory, URI, "Kettle", FIRST)
    indexes = memory.admin.components.eraser.indexes

    def laid(home: Any) -> Any:
        with read(memory) as unit, indexes.lock:
            index = indexes.of(unit, lane_of(unit), home=home)
            return index, index.laid()

    before = {home: laid(home) for home in HOMES}
    assert [len(before[home][0].document_ids) for home in HOMES] == [1, 2]
    memory.add("and it is red", user_id="alice")
    after = {home: laid(home) for home in HOMES}
    assert after[RESOURCES][1] is before[RESOURCES][1]
    assert len(after[MEMORY][1].layout) == 2
    shelve(memory, URI, "Kettle", SECOND)
    assert laid(MEMORY)[1] is after[MEMORY][1]
    assert len(laid(RESOURCES)[1].layout) == 3


@pytest.mark.both_databases
def test_a_replay_makes_the_same_rows_and_mends_what_drifted(memory: Memory) -> None:
    shelve(memory, URI, "Kettle", FIRST)
    shelve(memory, URI, "Kettle", SECOND)
    memory.flush()
    assert memory.admin.rebuild(verify=True).equal
    with memory.admin.components.database.transaction(memory.admin.tenant, "derive") as unit:
        for table, drift in ((chunks, {"text": "x"}), (documents, {"title": "x"}), (section_rows, {"start": 7})):
            unit.run(sa.update(table).where(table.c.tenant_id == memory.admin.tenant).values(drift))
    result = memory.admin.rebuild(verify=True)
    differing = {one.partition(": ")[2].partition("/")[0] for one in result.differences}
    assert differing == {"chunks", "documents", "sections"}
    memory.admin.rebuild()
    assert memory.admin.rebuild(verify=True).equal
    assert rows(memory, RESOURCES.vectors) == 0  # other words: they are encoded anew
    memory.flush()
    assert rows(memory, RESOURCES.vectors) == 3
    assert found(memory, "citric acid")[0] == SECOND["Descaling"]


def test_a_version_that_is_taken_back_gives_the_older_one_again(memory: Memory) -> None:
    shelve(memory, URI, "Kettle", FIRST)
    second = shelve(memory, URI, "Kettle", SECOND)
    memory.flush()
    memory.rollback(second.entry.id)
    memory.flush()
    assert found(memory, "vinegar or citric acid for descaling")[0] == FIRST["Descaling"]
    assert SECOND["Descaling"] not in found(memory, "vinegar or citric acid for descaling")
    assert memory.admin.rebuild(verify=True).equal
    third = shelve(memory, URI, "Kettle", {"Descaling": "Ask somebody."})
    assert third.applied is not None
    with read(memory) as unit:
        view = LaneView(unit, lane_of(unit))
        document = view.document(URI)
        assert document is not None
        assert (document.data["number"], len(view.document_versions(document.id))) == (3, 3)
    assert found(memory, "descaling") == ["Ask somebody."]


@pytest.mark.both_databases
def test_erasing_leaves_no_trace_in_the_second_schema(memory: Memory) -> None:
    memory.add("unrelated", user_id="alice")
    shelve(memory, URI, "Kettle of the lighthouse", FIRST)
    kept = shelve(memory, "file:///other.md", "Other", {"Oven": "Preheat the oven for ten minutes."})
    memory.flush()
    found(memory, "kettle")
    (section, *_) = [one for one in sections(memory) if one.source_ref == URI]
    certificate = memory.erase(id=section.id)
    assert certificate.clean
    assert found(memory, "kettle vinegar lighthouse") in ([], ["Preheat the oven for ten minutes."])
    assert [rows(memory, table) for table in (documents, section_rows, RESOURCES.documents)] == [1, 1, 1]
    memory.flush()
    assert rows(memory, RESOURCES.vectors) == 1
    with read(memory) as unit:
        assert documents_at(unit, lane_of(unit).lane_id, URI) == []
        own = documents_at(unit, lane_of(unit).lane_id, "file:///other.md")
        assert [row.entry_id for row in own] == [kept.entry.id]
        assert len(sections_of(unit, lane_of(unit).lane_id, own[0].document_id, 1)) == 1
    assert memory.admin.rebuild(verify=True).equal


def test_erasing_a_person_empties_both_homes(memory: Memory) -> None:
    memory.add("the kettle is new", user_id="alice")
    shelve(memory, URI, "Kettle", FIRST)
    memory.flush()
    assert memory.erase(user_id="alice").clean
    tables = [documents, section_rows, *(table for home in HOMES for table in (home.documents, home.vectors))]
    assert [rows(memory, table) for table in tables] == [0] * 6


@pytest.mark.both_databases
def test_other_users_and_tenants_see_none_of_it(memory: Memory) -> None:
    shelve(memory, URI, "Kettle", FIRST)
    memory.flush()
    assert len(found(memory, "kettle")) == 2
    assert list(memory.search("kettle", user_id="Alice", kinds=[SECTION])) == []
    with memory.for_tenant("rival") as rival:
        assert list(rival.search("kettle", user_id="alice", kinds=[SECTION])) == []
        assert list(rival.search("kettle", across="tenant", kinds=[SECTION])) == []
        with memory.admin.components.database.transaction("rival", "read") as unit:
            lane = dataclasses.replace(_lane(memory))
            assert documents_at(unit, lane.lane_id, URI) == []
            assert LaneView(unit, lane).document(URI) is None
            assert documents_of_items(unit, lane.lane_id, [one.id for one in sections(memory)], home=RESOURCES) == []
        shelve(rival, URI, "Kettle", {"Descaling": "Call the rival."})
    assert "Call the rival." not in found(memory, "call the rival")


def _lane(memory: Memory) -> Lane:
    with read(memory) as unit:
        return lane_of(unit)


def test_repairing_the_index_of_sections(memory: Memory) -> None:
    shelve(memory, URI, "Kettle", FIRST)
    memory.flush()
    with memory.admin.components.database.transaction(memory.admin.tenant, "derive") as unit:
        table = RESOURCES.documents
        unit.run(
            sa.update(table)
            .where(table.c.tenant_id == memory.admin.tenant, table.c.text.like("%vinegar%"))
            .values(text="wrong")
        )
    done = memory.admin.components.reindexer.run(memory.admin.tenant, SECTION, counted="chunk")
    assert (done.items, done.counted, done.documents, done.repaired) == (2, 2, 2, 1)
    assert rows(memory, RESOURCES.vectors) == 1
    assert memory.admin.rebuild(verify=True).equal
    assert memory.admin.components.reindexer.run(memory.admin.tenant, SECTION, counted="chunk").repaired == 0


def test_another_encoder_takes_both_homes_along(memory: Memory) -> None:
    class Other(HashingEmbedder):
        @property
        def name(self) -> str:
            return "other"

    memory.add("the kettle is new", user_id="alice")
    shelve(memory, URI, "Kettle", FIRST)
    memory.flush()
    assert memory.admin.reembed(Other()) is not None
    with read(memory) as unit:
        for home in HOMES:
            models = unit.run(
                sa.select(home.vectors.c.model_id).where(home.vectors.c.tenant_id == memory.admin.tenant).distinct()
            )
            assert models.scalars().all() == ["other"]
    assert found(memory, "vinegar")[0] == FIRST["Descaling"]
