"""The search of claims over every index that answers it: SQLite, PostgreSQL, and those outside the database."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from claim_blocks import CHINESE, COPPER, USER, added, block, judge, shown, stored, verified
from minute_clock import Clock
from phronesis import Memory
from phronesis.errors import NotFound
from phronesis.index.chroma import Chroma
from phronesis.index.projections import OutsideIndex
from phronesis.models.embedder import HashingEmbedder
from phronesis.store.schema import search_documents
from phronesis.wiring import open_memory

pytestmark = pytest.mark.parametrize("index", ["native", "chroma"], indirect=True)


@pytest.fixture
def index(request: pytest.FixtureRequest, tmp_path: Path) -> OutsideIndex | None:
    """Return the index outside the database, or None where the database itself is searched."""
    if request.param == "chroma":
        return Chroma(path=str(tmp_path / "chroma"), url=None, collection="phronesis")
    return None


@pytest.fixture
def memory(database_url: str, index: OutsideIndex | None) -> Iterator[Memory]:
    policy = {"embedder": "none"}
    with open_memory(
        database_url, policy=policy, tenant="acme", clock=Clock(), embedder=HashingEmbedder(), index=index
    ) as opened:
        yield opened


@pytest.mark.both_databases
def test_a_search_of_claims_gives_each_item_once_with_the_claims_that_met_it(memory: Memory) -> None:
    copper = added(memory, COPPER, CHINESE)
    zinc = added(
        memory,
        {**COPPER, "claim_id": "z", "status": "conclusion", "inference": "Zinc gives methanol."},
        scope="global",
        topic="copper copper copper",
    )
    memory.add("Formate comes from copper next to titanium", user_id=USER)
    judge(memory, "r7", copper.id, c1="support")
    found = memory.mem_search("formate on copper next to titanium 甲酸占比", user_id=USER)
    assert found.degraded == ()
    assert found[0].item.id == copper.id
    assert {one.item.kind for one in found} == {"reasoning"}
    assert len({one.item.id for one in found}) == len(found)
    claims = {match.claim_id: match for match in found[0].matched_claims}
    assert (claims["c1"].id, claims["c1"].parent_mem_id) == (f"{copper.id}::claim::c1", copper.id)
    assert (claims["c1"].claim_status, claims["c2"].claim_status) == ("conclusion", "fact")
    assert claims["c1"].snippet.startswith("Formate comes from *OCHO")
    assert (claims["c2"].id, claims["c2"].snippet) == (f"{copper.id}::claim::c2", "三比一时甲酸占比为 0.41。")
    assert all(0 <= match.distance < 1 for match in claims.values())
    assert found[0].matched == found[0].matched_claims
    assert {row["claim_id"] for row in found[0].to_dict()["matched_claims"]} == {"c1", "c2"}
    alone = memory.mem_search("OCHO next to titanium", user_id=USER)[0]
    assert [match.claim_id for match in alone.matched_claims] == ["c1"]  # no word of it is in the other one
    scoped = memory.mem_search("copper with imidazole as modifier", user_id=USER, scope="global", limit=1)
    assert [one.item.id for one in scoped] == [zinc.id]  # filtered before the limit
    assert len(memory.mem_search("formate", user_id=USER, scope="orchestrator")) == 0
    assert [one.item.id for one in memory.mem_search("methanol", user_id=USER, limit=1)] == [zinc.id]
    memory.items.archive(zinc.id)
    assert zinc.id not in {one.item.id for one in memory.mem_search("zinc methanol imidazole", user_id=USER)}


@pytest.mark.both_databases
def test_the_index_is_put_right_from_the_items(memory: Memory) -> None:
    item, other = added(memory, COPPER, CHINESE), added(memory, COPPER)
    judge(memory, "r7", item.id, c1="support")
    memory.update(item.id, content=block(CHINESE))
    memory.items.archive(other.id)
    memory.flush()
    right = memory.reasoning.rebuild_index()
    assert (right.items, right.claims, right.documents, right.repaired) == (2, 1, 7, 0)
    before = sorted(stored(memory, item.id), key=lambda row: row.id)
    with memory.admin.components.database.transaction("acme", "derive") as unit:
        unit.run(search_documents.delete().where(search_documents.c.part == "claim:c2"))
        unit.run(search_documents.update().where(search_documents.c.part == "prose").values(text="wrong", terms=b""))
        lost = search_documents.c.item_id == item.id, search_documents.c.part == "claim:c1"
        unit.run(search_documents.update().where(*lost).values(item_id="nobody"))
    assert memory.reasoning.rebuild_index().repaired == 7  # 3 missing, 3 altered, 1 nobody's
    assert sorted(stored(memory, item.id), key=lambda row: row.id) == before
    assert [one.item.id for one in memory.mem_search("甲酸占比", user_id=USER)] == [item.id]
    assert verified(memory)


def test_erasing_an_item_leaves_nothing_of_it(memory: Memory) -> None:
    item, other = added(memory, COPPER), added(memory, CHINESE)
    judge(memory, "r7", item.id, c1="support")
    judge(memory, "r7", other.id, c2="support")
    memory.update(item.id, content=block({**COPPER, "limitations": ["a rather long limitation of this claim"]}))
    memory.flush()
    certificate = memory.erase(id=item.id)
    assert (certificate.clean, certificate.residue, certificate.items_erased) == (True, (), 1)
    assert certificate.outstanding == ()
    assert {one.item.id for one in memory.mem_search("copper titanium", user_id=USER)} <= {other.id}
    with pytest.raises(NotFound):
        memory.get(item.id)
    assert shown(memory, other.id, "c2") == ("fact", (1, "r7"), (0,))
    assert len(memory.mem_search("copper titanium", user_id=USER)) <= 1
    assert verified(memory)
