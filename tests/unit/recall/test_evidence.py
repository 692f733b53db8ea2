import dataclasses

from phronesis import Memory
from phronesis.recall.evidence import sources_of
from phronesis.store.lanes import list_lanes


def test_what_was_learned_from_nothing_has_no_source_and_what_was_said_has() -> None:
    with Memory.open("sqlite://", policy={"embedder": "none"}) as memory:
        said = memory.add("tea at four").items[0]
        trait = dataclasses.replace(said, kind="trait")
        with memory._runtime._components.database.transaction(memory.admin.tenant, "read") as unit:
            lane = list_lanes(unit)[0].lane_id
            assert sources_of(unit, lane, [trait]) == {said.id: []}
            assert [source.quote for source in sources_of(unit, lane, [said])[said.id]] == ["tea at four"]
