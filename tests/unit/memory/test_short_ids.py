"""Ids that are named by a part: items, entries, changes, entities and keys, each of the tenant alone."""

import pytest

from phronesis import Memory
from phronesis.errors import InputError, NotFound
from phronesis.memory.external_ids import MAX_CANDIDATES, IdFinder


def finder(memory: Memory) -> IdFinder:
    return IdFinder(memory.admin.components.database, memory.admin.tenant)


def test_every_kind_of_id_is_found_by_its_end_and_by_its_beginning() -> None:
    with Memory.open("sqlite://", policy={"embedder": "none"}) as memory:
        added = memory.add("Robert lives in Paris.", kind="fact", subject="Robert", key="home_city", value="Paris")
        edited = memory.update(added.items[0].id, content="Robert lives in Rome.", value="Rome")
        change = memory.history(added.items[0].id)[-1].delta_id
        entity = memory.entities.list()[0].id
        _, key = memory.admin.keys.create("read", label="audit")
        for whole in (added.items[0].id, added.entry_id, edited.entry_id, change, entity, key.id):
            for part in (whole[-8:], whole[-13:], whole[:-1], f"mem:{whole[-12:]}"):
                assert finder(memory).complete(part) == whole
        for other in (added.entry_id, "build.log#L1", "run-17", "abc"):
            assert finder(memory).complete(other) == other


def test_a_part_of_several_ids_is_refused_with_the_first_of_them() -> None:
    with Memory.open("sqlite://", policy={"embedder": "none"}) as memory:
        made = [memory.add(f"fact {n}", kind="fact").items[0] for n in range(MAX_CANDIDATES)]
        with pytest.raises(InputError, match=f"of more than {MAX_CANDIDATES} ids") as refused:
            finder(memory).complete(made[0].id[:4], field="item")
        assert refused.value.field == "item"
        assert set(refused.value.details["candidates"]) == {(one.id, "fact", one.content) for one in made}


def test_an_id_of_another_tenant_is_not_found() -> None:
    with Memory.open("sqlite://", policy={"embedder": "none"}) as memory:
        item = memory.add("tea", kind="fact").items[0]
        with pytest.raises(NotFound, match="begins or ends with"):
            IdFinder(memory.admin.components.database, "other").complete(item.id[-8:])
