"""Events and patterns in a real store: every pattern reaches its sources, and keeps its id while its members stay."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from phronesis.core.items import Item
from scenarios.engines import EngineStore, made

PINNED = "pin the dependency before the release build"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[EngineStore]:
    with EngineStore(tmp_path) as opened:
        yield opened


def members(store: EngineStore, pattern: Item) -> set[str]:
    edges = store.memory.explain(pattern.id).edges
    return {edge["from_id"] for edge in edges if edge["type"] == "member_of" and edge["to_id"] == pattern.id}


def test_like_events_make_a_pattern_that_reaches_every_source(store: EngineStore) -> None:
    events = [store.experience(f"{PINNED} {n}", situation="release") for n in ("one", "two", "three")]
    store.experience("an unrelated walk in the park")
    (pattern,) = made(store.aggregate())
    assert members(store, pattern) == {event.id for event in events}
    explained = store.memory.explain(pattern.id)
    assert {source.source_ref for source in explained.sources} == {event.source_ref for event in events}
    assert not explained.needs_validation
    assert all(0.5 <= edge["weight"] <= 1 for edge in explained.edges)
    assert (pattern.label, pattern.data["cluster_info"]["size"]) == ("success", 3)
    assert pattern.data["summary"] in {event.attempt for event in events}
    assert store.verified()


def test_a_pattern_keeps_its_id_while_it_grows(store: EngineStore) -> None:
    for n in ("one", "two"):
        store.experience(f"{PINNED} {n}")
    (pattern,) = made(store.aggregate())
    third = store.experience(f"{PINNED} three")
    grown = store.aggregate()
    assert made(grown) == []
    (now,) = store.live("pattern")
    assert now.id == pattern.id
    assert third.id in members(store, now)
    assert len(store.evidence(now.id)) == 3
    store.memory.rollback(grown.entry.id)
    assert members(store, now) == members(store, pattern) - {third.id}
    assert len(store.evidence(now.id)) == 2
    assert store.verified()


def test_a_member_that_goes_is_let_go_and_the_last_pair_retires_the_pattern(store: EngineStore) -> None:
    events = [store.experience(f"{PINNED} {n}") for n in ("one", "two", "three")]
    (pattern,) = made(store.aggregate())
    store.memory.items.archive(events[0].id)
    store.aggregate()
    assert members(store, pattern) == {event.id for event in events[1:]}
    assert {row.source_key for row in store.evidence(pattern.id)} == {event.id for event in events[1:]}
    store.memory.items.archive(events[1].id)
    store.aggregate()
    assert store.live("pattern") == []
    gone = store.memory.get(pattern.id)
    assert gone.ended == "retired"
    assert store.memory.explain(pattern.id).sources  # what it stood on is still there to see
    assert store.verified()
