"""Resources have a schema of their own: written, searched, replayed, rolled back and erased there as memory is."""

from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from phronesis import Memory
from phronesis.core.entries import SECTION
from phronesis.core.ids import LaneName
from phronesis.core.items import Item
from phronesis.models.embedder import HashingEmbedder
from phronesis.store.conversations import documents_at, sections_of
from phronesis.store.database import Unit
from phronesis.store.lanes import Lane, find_lane
from phronesis.store.schema import HOMES, RESOURCES, documents
from phronesis.store.schema import sections as section_rows
from scenarios.engines import Clock
from shelved import shelve

URI = "file:///kettle.md"
FIRST = {"Descaling": "Fill the kettle with vinegar and boil it twice.", "Safety": "Never open the lid while it boils."}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def memory(database_url: str, clock: Clock) -> Iterator[Memory]:
    with Memory.open(database_url, policy={"embedder": "hashing"}, clock=clock) as opened:
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


@pytest.mark.both_databases
def test_erasing_leaves_no_trace_in_the_second_schema(memory: Memory) -> None:
    memory.add("unrelated", user_id="alice")
    shelve(memory, URI, "Kettle of the lighthouse", FIRST)
    kept = shelve(memory, "file:///other.md", "Other", {"Oven": "Preheat the oven for ten minutes."})
    memory.flush()
    found(memory, "kettle")
    (section, *_) = [one for one in sections(memory) if str(one.source_ref).startswith(URI)]
    certificate = memory.erase(id=section.id)
    assert certificate.clean
    assert found(memory, "kettle vinegar lighthouse") in ([], ["Preheat the oven for ten minutes."])
    assert [rows(memory, table) for table in (documents, section_rows, RESOURCES.documents)] == [1, 1, 1]
    memory.flush()
    assert rows(memory, RESOURCES.vectors) == 1
    with read(memory) as unit:
        assert documents_at(unit, lane_of(unit).lane_id, URI) == []
        own = documents_at(unit, lane_of(unit).lane_id, "file:///other.md")
        assert [row.entry_id for row in own] == [kept.entry_id]
        assert len(sections_of(unit, lane_of(unit).lane_id, own[0].document_id, 1)) == 1
    assert memory.admin.rebuild(verify=True).equal


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
